// MULTI ... EXEC over the wire: queueing, answers, what makes it abort, limits.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/net/test_server.h"

namespace vestq::nettest {
namespace {

class ServerMulti : public ServerTest {
 protected:
  static std::string Receipt(Client* c, const std::string& queue) {
    const Value jobs = c->Call({"LEASE", queue});
    return jobs.items.empty() ? "" : jobs.items[0].at("receipt").text;
  }
};

TEST_P(ServerMulti, CompletesBooksTheNextAndWritesTheResult) {
  OPEN_OR_SKIP();
  for (const char* protocol : {"2", "3"}) {
    Client c(port());
    c.Call({"HELLO", protocol});
    ASSERT_EQ(c.Call({"ENQUEUE", "q", "p", "SPACE", "s"}).type, '$');
    const std::string receipt = Receipt(&c, "q");
    EXPECT_EQ(c.Text({"MULTI"}), "OK");
    EXPECT_EQ(c.Text({"COMPLETE", receipt}), "QUEUED");
    EXPECT_EQ(c.Text({"ENQUEUE", "next", "payload", "SPACE", "t"}), "QUEUED");
    EXPECT_EQ(c.Text({"SET", "result", protocol}), "QUEUED");
    EXPECT_EQ(c.Text({"GET", "result"}), "QUEUED");
    EXPECT_EQ(c.Text({"GET", "nothing"}), "QUEUED");
    EXPECT_EQ(c.Text({"COMPLETEMANY", receipt, receipt}), "QUEUED");
    EXPECT_EQ(c.Text({"ENQUEUE", "q", "p", "UNIQUE", "u"}), "QUEUED");
    EXPECT_EQ(c.Text({"CANCEL", "999999999"}), "QUEUED");
    const Value all = c.Call({"EXEC"});
    ASSERT_EQ(all.items.size(), 8u) << all.ToString();
    EXPECT_EQ(all.items[0].text, "OK");
    EXPECT_EQ(all.items[1].type, '$');
    EXPECT_EQ(all.items[2].text, "OK");
    EXPECT_EQ(all.items[3].text, protocol);
    EXPECT_TRUE(all.items[4].null() || all.items[4].ToString() == "(null)");
    EXPECT_EQ(all.items[5].ToString(), "[:0, :0]");
    EXPECT_EQ(all.items[6].items.size(), 3u);
    EXPECT_EQ(all.items[7].ToString(), ":0");
    EXPECT_EQ(c.Text({"GET", "result"}), protocol);
    EXPECT_EQ(c.Text({"EXEC"}), "-ERR EXEC without MULTI");
  }
}

// Each command that may stand in a group: what EXEC answers for it, and that it happened.
TEST_P(ServerMulti, EveryKindOfCommand) {
  OPEN_OR_SKIP();
  Client c(port());
  std::vector<std::string> held;
  for (int i = 0; i < 7; ++i) {
    c.Call({"ENQUEUE", "q", "p", "BACKOFF", "fixed:1h", "SPACE", "s"});
    held.push_back(Receipt(&c, "q"));
  }
  const std::string job = held[0].substr(0, held[0].find('.'));
  c.Call({"SET", "old", "1"});
  const struct {
    std::vector<std::string_view> args;
    std::string reply;
  } cases[] = {
      {{"ENQUEUEMANY", "many", "2", "a", "b", "PRIORITY", "7"}, "["},
      {{"FAIL", held[0], "REASON", "bad"}, "[retry, :3600000]"},
      {{"FAIL", held[1], "DELAY", "5s"}, "[retry, :5000]"},
      {{"FAIL", held[2], "DEAD"}, "[dead, :0]"},
      {{"RELEASE", held[3], "DELAY", "1h", "PRIORITY", "9"}, "OK"},
      {{"RENEW", held[4], "FOR", "1h"}, ":36"},
      {{"CHECKPOINT", held[4], "page 7"}, ":36"},
      {{"COMPLETE", held[5], "RESULT", "r"}, "OK"},
      {{"COMPLETEMANY", held[6], held[5]}, "[:1, :0]"},
      {{"CANCEL", job}, ":1"},
      {{"CANCEL", job}, ":0"},
      {{"SET", "a", "1", "NX"}, "OK"},
      {{"SET", "a", "2", "NX"}, "(null)"},
      {{"SET", "a", "3", "IF", "2"}, "(null)"},
      {{"SET", "a", "3", "IF", "1"}, "OK"},
      {{"SET", "b", "4"}, "OK"},
      {{"GET", "a"}, "3"},
      {{"MGET", "a", "none", "b", "old"}, "[3, (null), 4, 1]"},
      {{"EXISTS", "a", "a", "none", "old"}, ":3"},
      {{"RANGE", "", "COUNT", "2"}, "["},
      {{"DEL", "a", "none", "old"}, ":2"},
      {{"MGET", "a", "old"}, "[(null), (null)]"},
      {{"RANGE", ""}, "[0, [b, 4]]"},
      {{"ENQUEUE", "q2", "p", "UNIQUE", "k"}, "["},
      {{"ENQUEUE", "q2", "p", "UNIQUE", "k"}, "["},
  };
  EXPECT_EQ(c.Text({"MULTI"}), "OK");
  for (const auto& test : cases) EXPECT_EQ(c.Text(test.args), "QUEUED") << test.args[0];
  const Value all = c.Call({"EXEC"});
  ASSERT_EQ(all.items.size(), std::size(cases)) << all.ToString();
  for (size_t i = 0; i < all.items.size(); ++i) {
    const std::string reply = all.items[i].ToString();
    // What has an id or a rest of time in it is looked at below.
    const bool begins = cases[i].reply == "[" || cases[i].reply == ":36";
    EXPECT_EQ(begins ? reply.substr(0, cases[i].reply.size()) : reply, cases[i].reply) << i;
  }
  EXPECT_EQ(all.items[0].items.size(), 2u);
  EXPECT_EQ(c.Call({"JOB", all.items[0].items[1].text}).at("priority").number, 7);
  EXPECT_EQ(all.items[19].items[1].items.size(), 4u);
  EXPECT_EQ(all.items[24].items[0].text, all.items[23].items[0].text);
  EXPECT_EQ(all.items[24].items[2].text, "ready");
  const Value info = c.Call({"QUEUE", "INFO", "q"});
  const std::pair<const char*, int64_t> counts[] = {
      {"ready", 0},  {"scheduled", 2}, {"leased", 1},    {"dead", 1},
      {"failed", 3}, {"released", 1},  {"completed", 2}, {"cancelled", 1}};
  for (const auto& [name, count] : counts) EXPECT_EQ(info.at(name).number, count) << name;
  EXPECT_EQ(c.Text({"CANCEL", held[4].substr(0, held[4].find('.'))}), ":1");
  EXPECT_EQ(c.Text({"EXISTS", "a", "b", "old"}), ":1");
  // The same, wherever the one that cannot be carried out stands, changes nothing.
  for (const std::vector<std::string_view>& lost : {std::vector<std::string_view>{"FAIL", held[5]},
                                                    {"RELEASE", held[5]},
                                                    {"RENEW", held[5]},
                                                    {"CHECKPOINT", held[5], "x"},
                                                    {"COMPLETE", held[5]}}) {
    for (const bool first : {true, false}) {
      c.Text({"MULTI"});
      if (first) c.Text(lost);
      c.Text({"SET", "c", "5"});
      c.Text({"ENQUEUEMANY", "q3", "1", "p"});
      if (!first) c.Text(lost);
      EXPECT_EQ(c.Text({"EXEC"}), "-EXECABORT nothing was changed: command " +
                                      std::string(first ? "1" : "3") + " (" + std::string(lost[0]) +
                                      "): LEASELOST the lease of job " +
                                      held[5].substr(0, held[5].find('.')) + " is over");
      EXPECT_EQ(c.Text({"EXISTS", "c"}), ":0");
      EXPECT_EQ(c.Text({"QUEUE", "INFO", "q3"}), "-NOTFOUND there is no queue 'q3'");
    }
  }
}

TEST_P(ServerMulti, AnyErrorAbortsAll) {
  OPEN_OR_SKIP();
  Client c(port());
  c.Call({"ENQUEUE", "q", "p"});
  const std::string receipt = Receipt(&c, "q");
  EXPECT_EQ(c.Text({"COMPLETE", receipt}), "OK");
  c.Text({"MULTI"});
  c.Text({"SET", "k", "v"});
  c.Text({"COMPLETE", receipt});
  const std::string id = receipt.substr(0, receipt.find('.'));
  EXPECT_EQ(c.Text({"EXEC"}),
            "-EXECABORT nothing was changed: command 2 (COMPLETE): LEASELOST the lease of job " +
                id + " is over");
  EXPECT_EQ(c.Text({"EXISTS", "k"}), ":0");
}

TEST_P(ServerMulti, WhatIsRefusedWhenQueuedAbortsExec) {
  OPEN_OR_SKIP();
  Client c(port());
  const struct {
    std::vector<std::string_view> args;
    const char* reply;
    const char* named;
  } cases[] = {
      {{"LEASE", "q", "BLOCK", "1s"}, "-ERR LEASE is not allowed between MULTI and EXEC", "LEASE"},
      {{"PING"}, "-ERR PING is not allowed between MULTI and EXEC", "PING"},
      {{"QUEUE", "INFO", "q"}, "-ERR QUEUE is not allowed between MULTI and EXEC", "QUEUE"},
      {{"MULTI"}, "-ERR MULTI calls can not be nested", "MULTI"},
      {{"SET", "k"}, "-ERR wrong number of arguments for 'set' command", "SET"},
      {{"COMPLETE", "x"}, "-ERR a receipt looks like 4711.3.12, as LEASE gave it", "COMPLETE"},
      {{"NONSENSE"}, "-ERR unknown command 'NONSENSE', with args beginning with: ", "unknown"},
      {{"WATCH", "k"},
       "-ERR WATCH is not supported: SET key value IF old stores a value only where it still is "
       "the "
       "old one, also between MULTI and EXEC",
       "WATCH"},
  };
  for (const auto& test : cases) {
    EXPECT_EQ(c.Text({"MULTI"}), "OK");
    EXPECT_EQ(c.Text({"SET", "a", "1"}), "QUEUED");
    EXPECT_EQ(c.Text(test.args), test.reply);
    EXPECT_EQ(c.Text({"SET", "b", "1"}), "QUEUED");
    const std::string exec = c.Text({"EXEC"});
    EXPECT_EQ(exec, "-EXECABORT Transaction discarded because of previous errors: command 2 (" +
                        std::string(test.named) + ") was refused");
    EXPECT_EQ(c.Text({"EXISTS", "a", "b"}), ":0");
  }
  EXPECT_EQ(c.Text({"MULTI"}), "OK");
  EXPECT_EQ(c.Text({"MULTI"}), "-ERR MULTI calls can not be nested");
  EXPECT_EQ(c.Text({"EXEC"}),
            "-EXECABORT Transaction discarded because of previous errors: command 1 (MULTI) was "
            "refused");
  const std::string large((size_t{1} << 20) + 1, 'x');
  EXPECT_EQ(c.Text({"MULTI"}), "OK");
  EXPECT_EQ(c.Text({"SET", "a", "1"}), "QUEUED");
  EXPECT_EQ(c.Text({"SET", "b", large}).rfind("-TOOBIG", 0), 0u);
  EXPECT_EQ(c.Text({"EXEC"}),
            "-EXECABORT Transaction discarded because of previous errors: command 2 (too big) was "
            "refused");
  EXPECT_EQ(c.Text({"EXISTS", "a", "b"}), ":0");
  EXPECT_EQ(c.Text({"UNWATCH"}).rfind("-ERR UNWATCH is not supported", 0), 0u);
}

TEST_P(ServerMulti, DiscardAndResetForgetIt) {
  OPEN_OR_SKIP();
  Client c(port());
  EXPECT_EQ(c.Text({"DISCARD"}), "-ERR DISCARD without MULTI");
  c.Text({"MULTI"});
  c.Text({"SET", "k", "v"});
  EXPECT_EQ(c.Text({"DISCARD"}), "OK");
  EXPECT_EQ(c.Text({"EXEC"}), "-ERR EXEC without MULTI");
  c.Text({"MULTI"});
  c.Text({"SET", "k", "v"});
  EXPECT_EQ(c.Text({"RESET"}), "RESET");
  EXPECT_EQ(c.Text({"GET", "k"}), c.Text({"GET", "none"}));
  EXPECT_EQ(c.Text({"MULTI"}), "OK");
  EXPECT_EQ(c.Text({"EXEC"}), "[]");
  c.Text({"MULTI"});
  c.Text({"SET", "k", "v"});
  c.Close();  // and so does the end of the connection
  Client d(port());
  EXPECT_EQ(d.Text({"EXISTS", "k"}), ":0");
}

TEST_P(ServerMulti, StandsInPipelines) {
  OPEN_OR_SKIP();
  Client c(port());
  std::string bytes;
  for (int i = 0; i < 20; ++i) {
    bytes += Encode({"SET", "before", std::to_string(i)});
    bytes += Encode({"MULTI"});
    bytes += Encode({"GET", "before"});
    bytes += Encode({"SET", "x", std::to_string(i)});
    bytes += Encode({"EXEC"});
    bytes += Encode({"GET", "x"});
  }
  c.SendRaw(bytes);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(c.Read().text, "OK");
    EXPECT_EQ(c.Read().text, "OK");
    EXPECT_EQ(c.Read().text, "QUEUED");
    EXPECT_EQ(c.Read().text, "QUEUED");
    EXPECT_EQ(c.Read().ToString(), "[" + std::to_string(i) + ", OK]");
    EXPECT_EQ(c.Read().text, std::to_string(i));
  }
}

TEST_P(ServerMulti, HasAtMostTenThousandCommands) {
  OPEN_OR_SKIP();
  Client c(port());
  for (const int count : {10'000, 10'001}) {
    std::string bytes = Encode({"MULTI"});
    for (int i = 0; i < count; ++i) bytes += Encode({"SET", "k" + std::to_string(i), "v"});
    bytes += Encode({"EXEC"});
    c.SendRaw(bytes);
    EXPECT_EQ(c.Read().text, "OK");
    for (int i = 0; i < 10'000; ++i) ASSERT_EQ(c.Read().text, "QUEUED") << i;
    if (count == 10'000) {
      EXPECT_EQ(c.Read().items.size(), 10'000u);
    } else {
      EXPECT_EQ(c.Read().ToString(), "-RANGE a group has at most 10000 commands");
      EXPECT_EQ(c.Read().ToString(),
                "-EXECABORT Transaction discarded because of previous errors: command 10001 (SET) "
                "was refused");
    }
  }
}

TEST_P(ServerMulti, HasAtMostAQuarterOfTheMemory) {
  OPEN_OR_SKIP();
  Client c(port());
  const uint64_t most = std::min<uint64_t>(limits::kGroupBytesMax, engine_->memory() / 4);
  const std::string value(size_t{1} << 19, 'v');
  EXPECT_EQ(c.Text({"MULTI"}), "OK");
  const uint64_t fit = most / (value.size() + limits::kGroupItemBytes);
  for (uint64_t i = 0; i < fit; ++i) ASSERT_EQ(c.Text({"SET", "k", value}), "QUEUED");
  EXPECT_EQ(c.Text({"SET", "k", value}),
            "-TOOBIG the commands of a group have at most " + std::to_string(most) +
                " bytes together, counting 256 for each job, key and receipt");
  EXPECT_EQ(c.Call({"EXEC"}).type, '-');
  // What was held is free again.
  EXPECT_EQ(c.Text({"MULTI"}), "OK");
  for (uint64_t i = 0; i < fit; ++i) ASSERT_EQ(c.Text({"SET", "k", value}), "QUEUED");
  EXPECT_EQ(c.Call({"EXEC"}).items.size(), fit);
  EXPECT_EQ(c.Text({"MULTI"}), "OK");
  EXPECT_EQ(c.Text({"SET", "k", value}), "QUEUED");
  EXPECT_EQ(c.Text({"EXEC"}), "[OK]");
}

TEST_P(ServerMulti, IsSilentWhenRepliesAreOff) {
  OPEN_OR_SKIP();
  Client c(port());
  c.Send({"CLIENT", "REPLY", "OFF"});
  c.Send({"MULTI"});
  c.Send({"SET", "k", "v"});
  c.Send({"EXEC"});
  c.Send({"CLIENT", "REPLY", "ON"});
  EXPECT_EQ(c.Read().text, "OK");
  EXPECT_EQ(c.Text({"GET", "k"}), "v");
}

VESTQ_SERVER_TESTS(ServerMulti);

}  // namespace
}  // namespace vestq::nettest
