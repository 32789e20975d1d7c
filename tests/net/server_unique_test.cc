// UNIQUE and REPLACE over RESP: what holds a key, what frees it, what the one that holds it becomes (case B25 with its own
// numbers; kills stand in tests/tools/cases_test.py).
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/net/stepped_server.h"

namespace vestq::nettest {
namespace {

constexpr int64_t kHour = 3'600'000;

class ServerUnique : public SteppedServer {
 protected:
  static std::string Add(Client* c, const std::vector<std::string_view>& options = {},
                         std::string_view queue = "q") {
    std::vector<std::string_view> words = {"ENQUEUE", queue, "p", "UNIQUE", "k1"};
    words.insert(words.end(), options.begin(), options.end());
    return c->Text(words);
  }
  // Adds one that must be new; its id.
  static std::string New(Client* c, const std::vector<std::string_view>& options = {},
                         std::string_view queue = "q") {
    const std::string reply = Add(c, options, queue);
    EXPECT_NE(reply.find(", :1, new]"), std::string::npos) << reply;
    return reply.substr(1, reply.find(',') - 1);
  }
  static std::string Held(const std::string& id, const std::string& state) {
    return "[" + id + ", :0, " + state + "]";
  }
  static std::string Receipt(Client* c, std::string_view queue = "q") {
    return Take(c, queue, "1h").at("receipt").text;
  }
};

// What becomes of the key, however its job stands or ends, its window of 120 s included.
TEST_P(ServerUnique, WhatHoldsAKeyAndWhatFreesIt) {
  OPEN_OR_SKIP();
  Client c(port());
  const std::string parent = Put(&c, {"ENQUEUE", "parents", "p", "DELAY", "100d"});
  std::string receipt;
  const struct {
    const char* name;
    std::vector<std::string_view> options;            // of the first
    std::function<void(const std::string& id)> then;  // what happens to it
    const char* state;  // the one that holds the key then; empty: it is free
  } cases[] = {
      {"scheduled", {"DELAY", "60s"}, nullptr, "scheduled"},
      {"ready", {}, nullptr, "ready"},
      {"waiting", {"AFTER", "1", parent}, nullptr, "waiting"},
      {"leased", {}, [&](const auto&) { Receipt(&c); }, "leased"},
      {"retry",
       {"BACKOFF", "fixed:1h"},
       [&](const auto&) {
         c.Call({"FAIL", Receipt(&c)});
       },
       "scheduled"},
      {"released",
       {},
       [&](const auto&) {
         c.Call({"RELEASE", Receipt(&c)});
       },
       "ready"},
      {"worker died", {}, [&](const auto&) { Take(&c, "q", "2s"), Pass(&c, 2'000); }, "ready"},
      {"done",
       {},
       [&](const auto&) {
         c.Call({"COMPLETE", Receipt(&c)});
       },
       "gone"},
      {"kept",
       {"KEEP", "1h"},
       [&](const auto&) {
         c.Call({"COMPLETE", Receipt(&c)});
       },
       "gone"},
      {"dead",
       {},
       [&](const auto&) {
         c.Call({"FAIL", Receipt(&c), "DEAD"});
       },
       ""},
      {"died of expiry",
       {"ATTEMPTS", "1"},
       [&](const auto&) { Take(&c, "q", "2s"), Pass(&c, 2'000); },
       ""},
      {"cancelled",
       {"DELAY", "60s"},
       [&](const auto& id) {
         c.Call({"CANCEL", id});
       },
       ""},
      {"cancelled leased",
       {},
       [&](const auto& id) {
         Receipt(&c), c.Call({"CANCEL", id});
       },
       ""},
      {"lapsed", {"EXPIRE", "1s"}, [&](const auto&) { Pass(&c, 1'000); }, ""},
      {"purged",
       {},
       [&](const auto&) {
         EXPECT_EQ(c.Text({"PURGE", "q"}), ":1");
       },
       ""},
      {"purged scheduled",
       {"DELAY", "60s"},
       [&](const auto&) {
         EXPECT_EQ(c.Text({"PURGE", "q", "STATE", "scheduled"}), ":1");
       },
       ""},
      {"purged waiting",
       {"AFTER", "1", parent},
       [&](const auto&) {
         EXPECT_EQ(c.Text({"PURGE", "q"}), ":1");
       },
       ""},
      {"purged leased",
       {},
       [&](const auto&) {
         Receipt(&c);
         EXPECT_EQ(c.Text({"PURGE", "q", "STATE", "leased"}), ":1");
       },
       ""},
      {"purged by id",
       {},
       [&](const auto& id) {
         EXPECT_EQ(c.Text({"PURGE", "q", "ID", id}), ":1");
       },
       ""},
      {"purged space",
       {},
       [&](const auto&) {
         EXPECT_EQ(c.Text({"PURGE", "q", "SPACE", ""}), ":1");
       },
       ""},
      {"dropped",
       {},
       [&](const auto&) {
         EXPECT_EQ(c.Text({"QUEUE", "DROP", "q"}), ":1");
       },
       ""},
      {"dropped leased",
       {},
       [&](const auto&) {
         Receipt(&c);
         EXPECT_EQ(c.Text({"QUEUE", "DROP", "q"}), ":1");
       },
       ""},
      {"dropped in its window",
       {},
       [&](const auto&) {
         c.Call({"COMPLETE", Receipt(&c)}), c.Text({"QUEUE", "DROP", "q"});
       },
       ""},
      {"purged in its window",
       {"KEEP", "1h"},
       [&](const auto&) {
         c.Call({"COMPLETE", Receipt(&c)}), c.Text({"PURGE", "q", "STATE", "done"});
       },
       ""},
  };
  for (const auto& test : cases) {
    for (const bool window : {true, false}) {
      std::vector<std::string_view> options = test.options;
      if (window) options.insert(options.end(), {"FOR", "120s"});
      const std::string id = New(&c, options);
      if (test.then) test.then(id);
      const std::string state = !window && std::string(test.state) == "gone" ? "" : test.state;
      if (state.empty()) {
        New(&c);
      } else {
        EXPECT_EQ(Add(&c), Held(id, state)) << test.name << (window ? " with a window" : "");
      }
      c.Call({"QUEUE", "DROP", "q"});
    }
  }
}

TEST_P(ServerUnique, B25_ADeadOneIsRedrivenWhileANewOneWaits) {
  OPEN_OR_SKIP();
  Client c(port());
  const std::string dead = New(&c, {"FOR", "120s"});
  c.Call({"FAIL", Receipt(&c), "DEAD"});
  const std::string living = New(&c, {"FOR", "120s"});
  EXPECT_EQ(c.Text({"REDRIVE", "q", "ID", dead}),
            "-BUSY job " + living + " holds the unique key of job " + dead);
  // Among others it alone stays behind.
  for (int i = 0; i < 5; ++i) {
    Put(&c, {"ENQUEUE", "q", "p", "PRIORITY", "0"});
    c.Call({"FAIL", Receipt(&c), "DEAD"});
  }
  EXPECT_EQ(c.Text({"REDRIVE", "q", "ALL"}), ":5");
  EXPECT_EQ(State(&c, dead), "dead");
  EXPECT_EQ(c.Text({"CANCEL", living}), ":1");
  EXPECT_EQ(c.Text({"REDRIVE", "q", "ID", dead}), ":1");
  EXPECT_EQ(Add(&c), Held(dead, "ready"));
}

TEST_P(ServerUnique, B25_TheWindowLastsWhateverTheClockDoes) {
  OPEN_OR_SKIP();
  Client c(port());
  for (const int64_t step : {int64_t{0}, -kHour, kHour}) {
    const std::string id = New(&c, {"FOR", "120s"});
    Pass(&c, 1'000);
    EXPECT_EQ(c.Text({"COMPLETE", Receipt(&c)}), "OK");
    StepWall(&c, step);
    Pass(&c, 29'000);
    EXPECT_EQ(Add(&c), Held(id, "gone"));
    Pass(&c, 89'999);
    EXPECT_EQ(Add(&c), Held(id, "gone"));
    StepWall(&c, -step);
    EXPECT_EQ(Add(&c), Held(id, "gone"));
    Pass(&c, 1);
    New(&c);
    c.Call({"QUEUE", "DROP", "q"});
  }
}

TEST_P(ServerUnique, B25_TheWindowGoesOnAcrossARestart) {
  OPEN_OR_SKIP();
  std::string id;
  {
    Client c(port());
    id = New(&c, {"FOR", "120s"});
    EXPECT_EQ(c.Text({"COMPLETE", Receipt(&c)}), "OK");
  }
  Restart(119'999);
  Client c(port());
  EXPECT_EQ(Add(&c), Held(id, "gone"));
  Pass(&c, 1);
  New(&c);
}

TEST_P(ServerUnique, B25_AKeyInRetryAndAThousandOthersThatAreDueWithIt) {
  OPEN_OR_SKIP();
  Client c(port());
  const std::string first = New(&c, {"BACKOFF", "fixed:10s"});
  EXPECT_EQ(c.Text({"FAIL", Receipt(&c)}), "[retry, :10000]");
  for (int queue = 0; queue < 10; ++queue) {
    std::vector<std::string> words = {"ENQUEUEMANY", "other" + std::to_string(queue), "100"};
    words.resize(103, "p");
    words.insert(words.end(), {"DELAY", "10s"});
    EXPECT_EQ(c.Call({words.begin(), words.end()}).items.size(), 100u);
  }
  EXPECT_EQ(Add(&c, {"DELAY", "10s"}), Held(first, "scheduled"))
      << "refused aloud, never swallowed";
  Pass(&c, 9'999);
  for (int queue = 0; queue < 10; ++queue)
    EXPECT_EQ(Info(&c, "other" + std::to_string(queue), "ready"), 0);
  Pass(&c, 1);
  for (int queue = 0; queue < 10; ++queue)
    EXPECT_EQ(Info(&c, "other" + std::to_string(queue), "ready"), 100);
  EXPECT_EQ(Add(&c), Held(first, "ready"));
  EXPECT_EQ(Take(&c, "q").at("id").text, first);
}

TEST_P(ServerUnique, B25_ScopesAndKeys) {
  OPEN_OR_SKIP();
  Client c(port());
  const std::string binary("\0\xff\r\n k", 6), longest(512, 'x'), beyond(513, 'x'),
      large(65'536, 'x');
  for (const std::string_view queue : {"q", "r"}) {
    for (const std::string_view space : {"", "a", "b"}) {
      for (const std::string_view key :
           {std::string_view("k"), std::string_view(binary), std::string_view(longest)}) {
        const Value first = c.Call({"ENQUEUE", queue, "p", "SPACE", space, "UNIQUE", key});
        ASSERT_EQ(first.items.size(), 3u) << first.ToString();
        EXPECT_EQ(first.items[1].number, 1);
        EXPECT_EQ(c.Text({"ENQUEUE", queue, "p", "UNIQUE", key, "SPACE", space}),
                  Held(first.items[0].text, "ready"));
      }
    }
  }
  EXPECT_EQ(c.Text({"ENQUEUE", "q", "p", "UNIQUE", ""}),
            "-RANGE UNIQUE: a key of 0 bytes is outside 1 to 512");
  EXPECT_EQ(c.Text({"ENQUEUE", "q", "p", "UNIQUE", beyond}),
            "-RANGE UNIQUE: a key of 513 bytes is outside 1 to 512");
  EXPECT_EQ(c.Text({"ENQUEUE", "q", "p", "UNIQUE", large}),
            "-RANGE UNIQUE: a key of 65536 bytes is outside 1 to 512");
}

TEST_P(ServerUnique, ReplaceGivesPayloadTimeAndPriority) {
  OPEN_OR_SKIP();
  Client c(port());
  const std::string parent = Put(&c, {"ENQUEUE", "parents", "p", "DELAY", "100d"});
  const std::vector<std::string_view> plain = {"PRIORITY", "7",    "DELAY", "1h",       "FOR",
                                               "1h",       "TYPE", "old",   "ATTEMPTS", "9"};
  const struct {
    const char* holder;
    std::vector<std::string_view> options;
    std::function<void()> then;
    bool replaced;
    const char* state;  // what the answer says: as it was
  } cases[] = {
      {"scheduled", plain, nullptr, true, "scheduled"},
      {"ready", {"PRIORITY", "7"}, nullptr, true, "ready"},
      {"retry",
       {"BACKOFF", "fixed:1h"},
       [&] {
         c.Call({"FAIL", Receipt(&c), "REASON", "bad"});
       },
       true,
       "scheduled"},
      {"leased", {}, [&] { Receipt(&c); }, false, "leased"},
      {"waiting", {"AFTER", "1", parent}, nullptr, false, "waiting"},
      {"gone",
       {"FOR", "1h"},
       [&] {
         c.Call({"COMPLETE", Receipt(&c)});
       },
       false,
       "gone"},
  };
  for (const auto& test : cases) {
    const std::string id = New(&c, test.options);
    if (test.then) test.then();
    Pass(&c, 1'000);
    const Value before = c.Call({"JOB", id});
    EXPECT_EQ(c.Text({"ENQUEUE", "q", "second", "UNIQUE", "k1", "REPLACE", "PRIORITY", "3", "DELAY",
                      "5s", "FOR", "1m"}),
              Held(id, test.replaced ? "scheduled" : test.state))
        << test.holder;
    const Value job = c.Call({"JOB", id, "PAYLOAD"});
    if (test.replaced) {
      EXPECT_EQ(job.at("payload").text, "second") << test.holder;
      EXPECT_EQ(job.at("priority").number, 3);
      EXPECT_EQ(job.at("vests-in").number, 5'000);
      for (const char* same : {"type", "attempts", "attempt", "last-error", "enqueued"})
        EXPECT_EQ(job.at(same).ToString(), before.at(same).ToString())
            << test.holder << " " << same;
      Pass(&c, 4'999);
      EXPECT_EQ(Take(&c, "q").type, 0);
      Pass(&c, 1);
      // At once, and again with the default priority; a window that is given runs from now.
      EXPECT_EQ(c.Text({"ENQUEUE", "q", "third", "UNIQUE", "k1", "REPLACE", "FOR", "1m"}),
                Held(id, "ready"));
      const Value third = Take(&c, "q");
      EXPECT_EQ(third.at("payload").text, "third");
      EXPECT_EQ(third.at("priority").number, 1024);
      EXPECT_EQ(c.Text({"COMPLETE", third.at("receipt").text}), "OK");
      Pass(&c, 59'999);
      EXPECT_EQ(Add(&c), Held(id, "gone")) << test.holder;
      Pass(&c, 1);
      New(&c);
    } else if (job.type == '*' && !job.items.empty()) {
      EXPECT_EQ(job.at("payload").text, "p") << test.holder;
      EXPECT_EQ(job.at("priority").number, before.at("priority").number);
      EXPECT_EQ(job.at("state").text, test.state);
    }
    c.Call({"QUEUE", "DROP", "q"});
  }
}

VESTQ_STEPPED_TESTS(ServerUnique);

// Two connections, one on each core, add the same 10,000 keys at the same time.
class ServerUniqueRace : public ServerTest {
 protected:
  ServerUniqueRace() { durability_ = Durability::kOs; }
};

TEST_P(ServerUniqueRace, B25_TenThousandKeysFromTwoConnections) {
  OPEN_OR_SKIP();
  constexpr int kKeys = 10'000, kBatch = 500;
  Client one(port()), two(port());
  int added = 0;
  for (int at = 0; at < kKeys; at += kBatch) {
    std::string bytes;
    for (int i = at; i < at + kBatch; ++i)
      bytes += Encode({"ENQUEUE", "q", "p", "UNIQUE", "key-" + std::to_string(i)});
    one.SendRaw(bytes);
    two.SendRaw(bytes);
    for (int i = 0; i < kBatch; ++i) {
      const Value a = one.Read(), b = two.Read();
      ASSERT_EQ(a.items.size(), 3u) << a.ToString();
      ASSERT_EQ(b.items.size(), 3u) << b.ToString();
      ASSERT_EQ(a.items[0].text, b.items[0].text) << "both are told the same job";
      ASSERT_EQ(a.items[1].number + b.items[1].number, 1) << a.ToString() << b.ToString();
      ++added;
    }
  }
  EXPECT_EQ(added, kKeys);
  const Value info = one.Call({"QUEUE", "INFO", "q"});
  EXPECT_EQ(info.at("ready").number, kKeys);
  EXPECT_EQ(info.at("duplicates").number, kKeys);
}

INSTANTIATE_TEST_SUITE_P(Io, ServerUniqueRace,
                         testing::Combine(testing::Values(IoKind::kEpoll), testing::Values(2)),
                         ServerTestName);

}  // namespace
}  // namespace vestq::nettest
