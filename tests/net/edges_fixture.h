// A server and a table-driven client: what a command does with a word, at the edges of the word's limits.
//
// Each argument is kept exactly, or refused with an error that names it and its limits, and then nothing is left: never
// clamped, never wrapped.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "net/words.h"
#include "tests/net/stepped_server.h"

namespace vestq::nettest {

using Words = std::vector<std::string>;

inline constexpr uint64_t kIdMost = (uint64_t{1} << 53) - 1;
inline constexpr int64_t kDay = 86'400'000;
inline constexpr int64_t kCentury = 36'500 * kDay;
inline constexpr int64_t kWeek = 7 * kDay;
inline const char* const kNoNumbers[] = {"",     "1e3", "007", "00", "+5", "5.5",
                                         "0x10", " 5",  "5 ",  "-",  "x",  "\xd9\xa3"};
inline const char* const kNoSpans[] = {"",  "30", "1e3s", "007s", "+5s",  "5.5s", "0x10s",
                                       "s", "-",  "5S",   "5 s",  "1s1s", "0s0"};
inline const char* const kBeyond[] = {"9223372036854775808",
                                      "18446744073709551615",
                                      "18446744073709551616",
                                      "18446744073709551617",
                                      "-1",
                                      "-1800000001",
                                      "340282366920938463463374607431768211456"};

// What a command does with a word.
struct Argument {
  const char* name;  // as its errors call it
  uint64_t least, most;
  std::function<Words(const std::string&)> words;
  // Reads it back after the command was answered so; empty: that it was no error is enough.
  std::function<std::string(const Value& reply)> kept;
};

class ServerEdges : public SteppedServer {
 protected:
  // Waits for no clock: it stands still, so that spans are read back as they were given.
  bool OpenEdges() {
    if (!Open()) return false;
    client_ = std::make_unique<Client>(port());
    return true;
  }
  Client* c() { return client_.get(); }
  Value Call(const Words& words) { return c()->Call({words.begin(), words.end()}); }
  std::string Text(const Words& words) { return Call(words).ToString(); }
  std::string Enqueued(const Words& options = {}) {
    Words words = {"ENQUEUE", "q", "p"};
    words.insert(words.end(), options.begin(), options.end());
    const Value reply = Call(words);
    EXPECT_TRUE(reply.type == '$' || reply.items.size() == 3) << reply.ToString();
    return reply.type == '$' ? reply.text : reply.items.at(0).text;
  }
  // A receipt of a job of its own.
  std::string Held() {
    receipt_id_ = Text({"ENQUEUE", "held", "p", "ATTEMPTS", "0"});
    return Call({"LEASE", "held", "FOR", "1h"}).items.at(0).at("receipt").text;
  }
  std::string Field(const std::string& id, const char* field) {
    const Value value = Call({"JOB", id}).at(field);
    return value.type == ':' ? std::to_string(value.number) : value.type == 0 ? "0" : value.text;
  }
  std::string QueueField(const char* field) {
    const Value value = Call({"QUEUE", "INFO", "set"}).at(field);
    return value.type == ':' ? std::to_string(value.number) : value.text;
  }
  void ExpectTaken(const Argument& argument, const std::string& text, const std::string& as) {
    const Value reply = Call(argument.words(text));
    ASSERT_FALSE(reply.error() &&
                 (reply.text.starts_with("ERR") || reply.text.starts_with("RANGE")))
        << argument.name << " " << text << ": " << reply.ToString();
    if (argument.kept) {
      EXPECT_EQ(argument.kept(reply), as) << argument.name << " " << text;
    }
  }
  void ExpectRefused(const Argument& argument, const std::string& text, const std::string& error) {
    Words words = argument.words(text);
    for (std::string& word : words) {
      if (word == "q" || word == "set") word = "none";
    }
    EXPECT_EQ(Text(words).substr(0, error.size()), error) << argument.name << " " << text;
  }
  void ExpectNothingLeft() {
    EXPECT_EQ(Text({"QUEUE", "INFO", "none"}), "-NOTFOUND there is no queue 'none'");
    EXPECT_EQ(Text({"SCHEDULE", "GET", "none"}), "(null)");
  }
  void Numbers(const Argument& a) {
    const std::string name = a.name, limits = " is outside " + std::to_string(a.least) + " to " +
                                              std::to_string(a.most);
    for (const uint64_t n : {uint64_t{0}, uint64_t{1}, a.least, a.least + 1, a.most - 1, a.most})
      if (n >= a.least) ExpectTaken(a, std::to_string(n), std::to_string(n));
    Words beyond(std::begin(kBeyond), std::end(kBeyond));
    if (a.least > 0) beyond.push_back(std::to_string(a.least - 1));
    beyond.push_back(std::to_string(a.most + 1));
    for (const std::string& text : beyond)
      ExpectRefused(a, text, "-RANGE " + name + " '" + text + "'" + limits);
    for (const char* text : kNoNumbers) ExpectRefused(a, text, "-ERR " + name + " ");
  }
  void Spans(const Argument& a) {
    const auto ms = [](uint64_t n) { return std::to_string(n) + "ms"; };
    const std::string name = a.name,
                      limits = " is outside " +
                               words::FormatDuration(Milliseconds(static_cast<int64_t>(a.least))) +
                               " to " +
                               words::FormatDuration(Milliseconds(static_cast<int64_t>(a.most)));
    if (a.least == 0) ExpectTaken(a, "0", "0");
    for (const uint64_t n : {uint64_t{0}, uint64_t{1}, a.least, a.least + 1, uint64_t{2147483647},
                             uint64_t{2147483648}, uint64_t{4294967295}, uint64_t{4294967296},
                             uint64_t{31'536'000'000}, a.most - 1, a.most})
      if (n >= a.least && n <= a.most) ExpectTaken(a, ms(n), std::to_string(n));
    Words beyond = {ms(a.most + 1), "9223372036854775s", "9223372036854776s", "106751991168d",
                    "213503982335d"};
    if (a.least > 0) beyond.insert(beyond.end(), {"0", ms(a.least - 1)});
    for (const char* number : kBeyond)
      beyond.insert(beyond.end(), {std::string(number) + "ms", std::string(number) + "s"});
    for (const std::string& text : beyond)
      ExpectRefused(a, text, "-RANGE " + name + " '" + text + "'" + limits);
    for (const char* text : kNoSpans) ExpectRefused(a, text, "-ERR " + name + " ");
  }

  std::unique_ptr<Client> client_;
  std::string receipt_id_;
};

}  // namespace vestq::nettest
