// Every number, id, name and size that a command takes, at the edges of its limits.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/net/edges_fixture.h"

namespace vestq::nettest {
namespace {

class ServerEdgesOfNumbers : public ServerEdges {};

TEST_P(ServerEdgesOfNumbers, NumbersOfJobs) {
  if (!OpenEdges()) GTEST_SKIP();
  const auto option = [](const char* name) {
    return [name](const std::string& n) { return Words{"ENQUEUE", "q", "p", name, n}; };
  };
  Numbers({"PRIORITY", 0, UINT32_MAX, option("PRIORITY"),
           [this](const Value& r) { return Field(r.text, "priority"); }});
  Numbers({"ATTEMPTS", 0, 1'000'000'000, option("ATTEMPTS"),
           [this](const Value& r) { return Field(r.text, "attempts"); }});
  const std::string moved = Enqueued({"DELAY", "1h"});
  Numbers({"PRIORITY", 0, UINT32_MAX,
           [&](const std::string& n) {
             return Words{"RESCHEDULE", moved, "DELAY", "1h", "PRIORITY", n};
           },
           [&](const Value&) { return Field(moved, "priority"); }});
  std::string receipt = Held();
  Numbers({"PRIORITY", 0, UINT32_MAX,
           [&](const std::string& n) {
             return Words{"RELEASE", receipt, "PRIORITY", n};
           },
           [&](const Value&) {
             const std::string kept = Field(receipt_id_, "priority");
             receipt = Call({"LEASE", "held", "FOR", "1h"}).items.at(0).at("receipt").text;
             return kept;
           }});
  EXPECT_EQ(Text({"COMPLETE", receipt}), "OK") << "no refused word has ended it";
  Numbers({"number of jobs", 1, 1000,
           [](const std::string& n) {
             Words words = {"ENQUEUEMANY", "q", n};
             words.resize(1003, "p");
             if (n.size() < 5 && n[0] >= '1' && n[0] <= '9')
               words.resize(3 + static_cast<size_t>(std::atoi(n.c_str())));
             return words;
           },
           [](const Value& r) { return std::to_string(r.items.size()); }});
  Numbers({"HEADER", 1, 64,
           [](const std::string& n) {
             Words words = {"ENQUEUE", "q", "p", "HEADER", n};
             words.resize(
                 5 + 2 * static_cast<size_t>(std::max(0, std::atoi(n.substr(0, 3).c_str()))), "h");
             return words;
           },
           [this](const Value& r) {
             return std::to_string(Call({"JOB", r.text}).at("headers").items.size() / 2);
           }});
  ExpectNothingLeft();
}

TEST_P(ServerEdgesOfNumbers, NumbersOfParents) {
  if (!OpenEdges()) GTEST_SKIP();
  std::vector<std::string> ids;
  for (int i = 0; i < 10; ++i) {
    Words words = {"ENQUEUEMANY", "parents", "1000"};
    words.resize(1003, "p");
    for (const Value& id : Call(words).items) ids.push_back(id.text);
  }
  Numbers({"AFTER", 1, 10'000,
           [&](const std::string& n) {
             Words words = {"ENQUEUE", "q", "p", "AFTER", n};
             const size_t count =
                 n.size() > 5 ? 1 : static_cast<size_t>(std::max(0, std::atoi(n.c_str())));
             for (size_t i = 0; i < count; ++i) words.push_back(ids[i % ids.size()]);
             return words;
           },
           [this](const Value& r) { return Field(r.text, "waits-for"); }});
  ExpectNothingLeft();
}

TEST_P(ServerEdgesOfNumbers, NumbersOfListings) {
  if (!OpenEdges()) GTEST_SKIP();
  Words many = {"ENQUEUEMANY", "many", "1000", "one"};
  many.resize(1003, "p");
  Call(many);
  Call(many);
  const auto in = [](Words before) {
    return [before](const std::string& n) {
      Words words = before;
      words.push_back(n);
      return words;
    };
  };
  const auto items = [](const Value& r) { return std::to_string(r.items.size()); };
  const auto rows = [](const Value& r) { return std::to_string(r.items.at(1).items.size()); };
  Numbers({"COUNT", 1, 1000, in({"PEEK", "many", "COUNT"}), rows});
  Numbers({"COUNT", 1, 1000, in({"SCHEDULE", "NEXT", "* * * * *", "COUNT"}), items});
  Numbers({"COUNT", 1, 1000, in({"SCHEDULE", "LIST", "COUNT"}), nullptr});
  Numbers({"COUNT", 1, 10'000, in({"RANGE", "", "COUNT"}), nullptr});
  Numbers({"COUNT", 1, 1000,
           [&](const std::string& n) {
             Call({"PURGE", "many", "STATE", "leased"});
             Call(many);
             return Words{"LEASE", "many", "COUNT", n};
           },
           items});
  Words queues = {"LEASE"};
  queues.resize(65, "many");
  EXPECT_EQ(Call(queues).items.size(), 1u);
  queues.push_back("many");
  EXPECT_EQ(Text(queues), "-RANGE number of queues 65 is outside 1 to 64");
  queues[0] = "EVENTS";
  EXPECT_EQ(Text(queues), "-RANGE EVENTS of 65 queues is outside 0 to 64");
}

TEST_P(ServerEdgesOfNumbers, NumbersOfQueues) {
  if (!OpenEdges()) GTEST_SKIP();
  const auto option = [this](const char* name, uint64_t least, uint64_t most) {
    Numbers({name, least, most,
             [name](const std::string& n) {
               return Words{"QUEUE", "SET", "set", name, n};
             },
             [this, name](const Value&) { return QueueField(name); }});
  };
  option("attempts", 0, 1'000'000'000);
  option("dead-max", 0, uint64_t{1} << 48);
  option("concurrency", 0, 1'000'000);
  option("space-concurrency", 0, 1'000'000);
  option("burst", 1, 1'000'000);
  Call({"QUEUE", "SET", "q", "lease", "1m"});
  Call({"QUEUE", "SET", "none", "lease", "1m"});
  Numbers({"COUNT", 1, kIdMost,
           [](const std::string& n) {
             return Words{"REDRIVE", "q", "COUNT", n};
           },
           nullptr});
  Numbers({"RATE", 1, 1'000'000,
           [](const std::string& n) {
             return Words{"REDRIVE", "q", "ALL", "RATE", n + "/s"};
           },
           nullptr});
  for (const char* text : {"", "5", "/s", "5/m", "5 /s"}) {
    const Argument rate = {"RATE", 1, 1,
                           [](const std::string& n) {
                             return Words{"REDRIVE", "q", "ALL", "RATE", n};
                           },
                           nullptr};
    ExpectRefused(rate, text, "-ERR RATE ");
  }
}

TEST_P(ServerEdgesOfNumbers, RatesOfQueues) {
  if (!OpenEdges()) GTEST_SKIP();
  const Argument rate = {"rate", 0, 0,
                         [](const std::string& n) {
                           return Words{"QUEUE", "SET", "set", "rate", n};
                         },
                         [this](const Value&) { return QueueField("rate"); }};
  const std::pair<const char*, const char*> kept[] = {{"0.000001", "0.000001/s"},
                                                      {"0.000001/s", "0.000001/s"},
                                                      {"1", "1/s"},
                                                      {"2147483.647", nullptr},
                                                      {"999999.999999", "999999.999999/s"},
                                                      {"1000000", "1000000/s"},
                                                      {"0.5", "0.5/s"},
                                                      {"2.50", "2.5/s"},
                                                      {"none", "none"},
                                                      {"4294.967296/s", "4294.967296/s"}};
  for (const auto& [text, as] : kept) {
    if (as == nullptr) continue;
    ExpectTaken(rate, text, as);
  }
  for (const char* text : {"0", "0.0", "0.000000", "1000000.000001", "1000001", "2147483.647",
                           "4294967296", "9223372036854775808", "18446744073709551616",
                           "18446744073710", "340282366920938463463374607431768211456"})
    ExpectRefused(rate, text, "-RANGE rate must be from 0.000001 to 1000000 jobs a second");
  for (const char* text : {"", "-1", "-0.5", "1e3", "0.0000001", ".5", "5.", "+5", "007", "00.5",
                           "1,5", "0x10", "5/m", "fast", "/s", "5 /s"})
    ExpectRefused(rate, text, "-ERR rate ");
  ExpectNothingLeft();
}

TEST_P(ServerEdgesOfNumbers, Ids) {
  if (!OpenEdges()) GTEST_SKIP();
  Call({"QUEUE", "SET", "q", "lease", "1m"});
  const Words commands[] = {{"JOB", "$"},
                            {"CANCEL", "$"},
                            {"REVOKE", "$"},
                            {"PROMOTE", "$"},
                            {"RESCHEDULE", "$", "DELAY", "1s"},
                            {"WAITFOR", "$"},
                            {"REDRIVE", "q", "ID", "$"},
                            {"PURGE", "q", "ID", "$"},
                            {"ENQUEUE", "q", "p", "AFTER", "1", "$"}};
  for (const Words& command : commands) {
    Numbers({"job id", 1, kIdMost,
             [&](const std::string& n) {
               Words words = command;
               for (std::string& word : words)
                 if (word == "$") word = n;
               return words;
             },
             nullptr});
  }
  for (const char* text : {"",
                           "1",
                           "1.2",
                           "1.2.",
                           "1.2.3.4",
                           ".1.1",
                           "0.1.1",
                           "9007199254740992.1.1",
                           "18446744073709551617.1.1",
                           "1.4294967296.1",
                           "1.1.18446744073709551616",
                           "01.1.1",
                           "1.01.1",
                           "1.1.01",
                           "+1.1.1",
                           "-1.1.1",
                           "1.-1.1",
                           "1e3.1.1",
                           "1.1.1 ",
                           " 1.1.1",
                           "1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1"}) {
    for (const Words& command :
         {Words{"COMPLETE", text}, Words{"COMPLETEMANY", text}, Words{"RENEW", text},
          Words{"FAIL", text}, Words{"RELEASE", text}, Words{"CHECKPOINT", text, "x"}})
      EXPECT_EQ(Text(command), "-ERR a receipt looks like 4711.3.12, as LEASE gave it") << text;
  }
  for (const std::string text :
       {"1.0.0", "1.1.1", "9007199254740991.4294967295.18446744073709551615"})
    EXPECT_EQ(Text({"COMPLETE", text}),
              "-LEASELOST the lease of job " + text.substr(0, text.find('.')) + " is over");
}

TEST_P(ServerEdgesOfNumbers, NamesAndSizes) {
  if (!OpenEdges()) GTEST_SKIP();
  std::string receipt = Held();
  const struct {
    size_t least, most;
    const char* code;
    std::function<Words(const std::string&)> words;
  } cases[] = {
      {1, 200, "-RANGE queue name of ",
       [](const std::string& x) {
         return Words{"ENQUEUE", x, "p"};
       }},
      {0, 200, "-RANGE space of ",
       [](const std::string& x) {
         return Words{"ENQUEUE", "q", "p", "SPACE", x};
       }},
      {1, 200, "-RANGE TYPE: a name of ",
       [](const std::string& x) {
         return Words{"ENQUEUE", "q", "p", "TYPE", x};
       }},
      {1, 512, "-RANGE UNIQUE: a key of ",
       [](const std::string& x) {
         return Words{"ENQUEUE", "q", "p", "UNIQUE", x};
       }},
      {0, 16'384, "-RANGE HEADER: names and values of ",
       [](const std::string& x) { return Words{"ENQUEUE", "q", "p", "HEADER", "1", "", x}; }},
      {0, 1 << 20, "-TOOBIG ",
       [](const std::string& x) {
         return Words{"ENQUEUE", "q", x};
       }},
      {0, 200, "-RANGE worker name of ",
       [](const std::string& x) {
         return Words{"LEASE", "q", "WORKER", x};
       }},
      {1, 200, "-RANGE schedule name of ",
       [](const std::string& x) { return Words{"SCHEDULE", "SET", x, "q", "p", "EVERY", "1h"}; }},
      {0, 65'536, "-TOOBIG a checkpoint of ",
       [&](const std::string& x) {
         return Words{"CHECKPOINT", receipt, x};
       }},
      {0, 4'096, "-RANGE reason of ",
       [&](const std::string& x) {
         if (x.size() <= 4'096) receipt = Held();
         return Words{"FAIL", receipt, "REASON", x};
       }},
      {0, 1 << 20, "-TOOBIG ",
       [&](const std::string& x) {
         if (x.size() <= 1 << 20) receipt = Held();
         return Words{"COMPLETE", receipt, "RESULT", x};
       }},
      {1, 1024, "-RANGE ",
       [](const std::string& x) {
         return Words{"SET", x, "v"};
       }},
      {0, 1 << 20, "-TOOBIG ",
       [](const std::string& x) {
         return Words{"SET", "k", x};
       }},
  };
  for (const auto& test : cases) {
    for (const size_t size : {test.least, test.least + 1, test.most - 1, test.most})
      EXPECT_NE(Call(test.words(std::string(size, 'x'))).type, '-') << test.code << size;
    EXPECT_EQ(Text(test.words(std::string(test.most + 1, 'x'))).rfind(test.code, 0), 0u)
        << test.code;
    if (test.least > 0) {
      EXPECT_EQ(Text(test.words("")).rfind(test.code, 0), 0u) << test.code;
    }
  }
}

VESTQ_STEPPED_TESTS(ServerEdgesOfNumbers);

}  // namespace
}  // namespace vestq::nettest
