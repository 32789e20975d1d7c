// What becomes of the jobs that wait (AFTER) when a parent ends otherwise than by COMPLETE.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/net/stepped_server.h"

namespace vestq::nettest {
namespace {

class ServerParents : public SteppedServer {};

TEST_P(ServerParents, WhatBecomesOfAParentIsTheReason) {
  OPEN_OR_SKIP();
  Client c(port());
  const struct {
    std::vector<std::string> options;  // of the parent
    std::vector<std::string> ends;     // "$" is its id
    const char* reason;
  } cases[] = {
      {{"EXPIRE", "1s"}, {"PING"}, "expired"},
      {{"DELAY", "1h"}, {"PURGE", "p"}, "was purged"},
      {{"DELAY", "1h"}, {"PURGE", "p", "STATE", "scheduled"}, "was purged"},
      {{"DELAY", "1h"}, {"PURGE", "p", "ID", "$"}, "was purged"},
      {{"DELAY", "1h", "SPACE", "s"}, {"PURGE", "p", "SPACE", "s"}, "was purged"},
      {{"DELAY", "1h"}, {"QUEUE", "DROP", "p"}, "was dropped with its queue"},
      {{"DELAY", "1h"}, {"CANCEL", "$"}, "was cancelled"},
  };
  for (const auto& test : cases) {
    c.Call({"QUEUE", "PAUSE", "p"});  // nobody takes the parent, and it expires all the same
    std::vector<std::string> words = {"ENQUEUE", "p", "x"};
    words.insert(words.end(), test.options.begin(), test.options.end());
    const std::string parent = c.Call({words.begin(), words.end()}).text;
    const std::string child = c.Call({"ENQUEUE", "c", "x", "AFTER", "1", parent}).text;
    const std::string grandchild = c.Call({"ENQUEUE", "c", "x", "AFTER", "1", child}).text;
    words = test.ends;
    for (std::string& word : words) {
      if (word == "$") word = parent;
    }
    Pass(&c, 999);
    EXPECT_EQ(State(&c, child), "waiting");
    EXPECT_NE(c.Call({words.begin(), words.end()}).type, '-');
    Pass(&c, 1);  // EXPIRE's
    const Value dead = c.Call({"WAITFOR", child, "BLOCK", "0"});
    EXPECT_EQ(dead.at("state").text, "dead") << dead.ToString();
    EXPECT_EQ(dead.at("reason").text, "job " + parent + ", which it waited for, " + test.reason);
    // A child of a dead job waits. Redriven, the dead one has nothing left to wait for.
    EXPECT_EQ(c.Call({"JOB", grandchild}).at("state").text, "waiting");
    EXPECT_EQ(c.Text({"REDRIVE", "c", "ID", child}), ":1");
    EXPECT_EQ(c.Call({"JOB", child}).at("state").text, "ready");
    for (const std::string& id : {child, grandchild}) {
      const std::string receipt =
          c.Call({"LEASE", "c", "BLOCK", "36500d"}).items.at(0).at("receipt").text;
      EXPECT_EQ(receipt.substr(0, receipt.find('.')), id);
      EXPECT_EQ(c.Text({"COMPLETE", receipt}), "OK");
    }
  }
}

VESTQ_STEPPED_TESTS(ServerParents);

}  // namespace
}  // namespace vestq::nettest
