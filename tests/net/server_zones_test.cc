// Schedules over RESP while days go by: named zones around clock changes (case B26 with its own dates), the policy on
// missed slots, phases, and stepped clocks.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "net/words.h"
#include "tests/net/stepped_server.h"

namespace vestq::nettest {
namespace {

constexpr int64_t kMinute = 60'000, kHour = 60 * kMinute, kDay = 24 * kHour;

int64_t Ms(std::string_view rfc3339) {
  const auto time = words::ParseTime("", rfc3339);
  EXPECT_TRUE(time.ok()) << rfc3339;
  return time.ok() ? time->ms() : 0;
}

class ServerZones : public SteppedServer {
 protected:
  // What SCHEDULE GET says once all slots that are due have been looked at, and the next one is at most `most` away.
  Value Settled(Client* c, std::string_view name, int64_t most = 400 * kDay) {
    Value got;
    for (int i = 0; i < 10'000; ++i) {
      got = c->Call({"SCHEDULE", "GET", name});
      const int64_t next = got.at("next").number;
      if (next > clock.wall_ms && next <= clock.wall_ms + most) break;
    }
    Turn(c);
    EXPECT_GT(got.at("next").number, clock.wall_ms) << "never in the past";
    EXPECT_LE(got.at("next").number, clock.wall_ms + most);
    return got;
  }
  // How many jobs its slots have put into the queue; waits until there are as many as are wanted.
  static int64_t Put(Client* c, std::string_view queue, int64_t wanted) {
    int64_t jobs = 0;
    for (int i = 0; i < 10'000; ++i) {
      const Value info = c->Call({"QUEUE", "INFO", queue});
      jobs = info.error() ? 0 : info.at("enqueued").number;
      if (jobs >= wanted) break;
    }
    return jobs;
  }
  // Sets a schedule at `from` and lets time go by until `to`; when its jobs came. At `restart`, unless it is 0, the server is
  // down for half a quarter of an hour and comes back inside it.
  std::vector<int64_t> Walk(std::string_view cron, std::string_view zone, int64_t from, int64_t to,
                            int64_t restart) {
    auto c = std::make_unique<Client>(port());
    clock.wall_ms = from;
    Turn(c.get());
    EXPECT_EQ(c->Text({"SCHEDULE", "SET", "s", "q", "p", "CRON", cron, "TZ", zone}), "OK");
    std::vector<int64_t> came;
    while (clock.wall_ms < to) {
      if (clock.wall_ms == restart) {
        c.reset();
        Restart(kMinute * 15 / 2);
        c = std::make_unique<Client>(port());
        Pass(c.get(), kMinute * 15 / 2);
      } else {
        Pass(c.get(), 15 * kMinute);
      }
      const Value got = Settled(c.get(), "s");
      for (const Value& job : c->Call({"LEASE", "q", "COUNT", "10"}).items) {
        came.push_back(job.at("enqueued").number);
        EXPECT_EQ(c->Text({"COMPLETE", job.at("receipt").text}), "OK");
      }
      if (!came.empty()) {
        EXPECT_EQ(got.at("last").number, came.back());
      }
      EXPECT_EQ(got.at("fired").number, static_cast<int64_t>(came.size()));
    }
    EXPECT_EQ(c->Text({"SCHEDULE", "DEL", "s"}), ":1");
    return came;
  }
  std::vector<int64_t> Next(std::string_view cron, std::string_view zone, int64_t from,
                            int64_t to) {
    Client c(port());
    clock.wall_ms = from;
    std::vector<int64_t> slots;
    for (const Value& slot :
         c.Call({"SCHEDULE", "NEXT", cron, "TZ", zone, "COUNT", "1000"}).items) {
      if (slot.number <= to) slots.push_back(slot.number);
    }
    return slots;
  }
};

TEST_P(ServerZones, B26_ClockChanges) {
  OPEN_OR_SKIP();
  const struct {
    const char* cron;
    const char* zone;
    const char* from;     // the entry is made before
    const char* restart;  // inside the hour of the change
    const char* to;
    std::vector<const char*> slots;
  } cases[] = {
      {"30 2 * * *",
       "America/New_York",
       "2026-03-06T12:00:00Z",
       "2026-03-08T06:45:00Z",
       "2026-03-09T12:00:00Z",
       {"2026-03-07T07:30:00Z", "2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"}},
      {"30 1 * * *",
       "America/New_York",
       "2026-10-31T12:00:00Z",
       "2026-11-01T06:00:00Z",
       "2026-11-02T12:00:00Z",
       {"2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"}},
      {"0 6 * * 1",
       "America/New_York",
       "2026-10-31T12:00:00Z",
       "2026-11-01T06:00:00Z",
       "2026-11-03T12:00:00Z",
       {"2026-11-02T11:00:00Z"}},
      {"45 1 * * *",
       "Australia/Lord_Howe",
       "2026-04-04T00:00:00Z",
       "2026-04-04T15:00:00Z",
       "2026-04-05T18:00:00Z",
       {"2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"}},
      {"0 0 * * *",
       "America/Santiago",
       "2026-09-05T00:00:00Z",
       "2026-09-06T03:45:00Z",
       "2026-09-07T12:00:00Z",
       {"2026-09-05T04:00:00Z", "2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"}},
  };
  for (const auto& test : cases) {
    std::vector<int64_t> slots;
    for (const char* slot : test.slots) slots.push_back(Ms(slot));
    EXPECT_EQ(Next(test.cron, test.zone, Ms(test.from), Ms(test.to)), slots)
        << test.cron << " " << test.zone;
    EXPECT_EQ(Walk(test.cron, test.zone, Ms(test.from), Ms(test.to), 0), slots)
        << test.cron << " " << test.zone;
    // A slot that falls while the server is down comes once, when it is back.
    std::vector<int64_t> late =
        Walk(test.cron, test.zone, Ms(test.from), Ms(test.to), Ms(test.restart));
    ASSERT_EQ(late.size(), slots.size()) << test.cron << " " << test.zone;
    for (size_t i = 0; i < slots.size(); ++i) {
      EXPECT_GE(late[i], slots[i]);
      EXPECT_LE(late[i], slots[i] + 15 * kMinute / 2);
    }
  }
}

TEST_P(ServerZones, B26_EachQuarterAndEachHourOfRealTime) {
  OPEN_OR_SKIP();
  const struct {
    const char* from;  // midnight in New York
    const char* change;
    int hours;
  } days[] = {{"2026-03-08T05:00:00Z", "2026-03-08T07:00:00Z", 23},
              {"2026-11-01T04:00:00Z", "2026-11-01T06:00:00Z", 25}};
  for (const auto& day : days) {
    const int64_t from = Ms(day.from) - 1, to = Ms(day.from) + day.hours * kHour - 1;
    const std::vector<int64_t> hours = Next("0 * * * *", "America/New_York", from, to);
    const std::vector<int64_t> quarters = Next("*/15 * * * *", "America/New_York", from, to);
    ASSERT_EQ(hours.size(), static_cast<size_t>(day.hours));
    ASSERT_EQ(quarters.size(), static_cast<size_t>(day.hours) * 4);
    for (size_t i = 0; i < hours.size(); ++i)
      EXPECT_EQ(hours[i], Ms(day.from) + static_cast<int64_t>(i) * kHour);
    for (size_t i = 0; i < quarters.size(); ++i)
      EXPECT_EQ(quarters[i], Ms(day.from) + static_cast<int64_t>(i) * 15 * kMinute);
    // And as jobs, around the change.
    const int64_t change = Ms(day.change);
    EXPECT_EQ(
        Walk("*/15 * * * *", "America/New_York", change - kHour, change + 2 * kHour, 0).size(),
        12u);
    EXPECT_EQ(Walk("0 * * * *", "America/New_York", change - kHour, change + 2 * kHour, 0).size(),
              3u);
    EXPECT_EQ(Walk("*/15 * * * *", "America/New_York", change - kHour, change + 2 * kHour,
                   change + 15 * kMinute)
                  .size(),
              12u);
  }
}

TEST_P(ServerZones, B26_ZoneNames) {
  OPEN_OR_SKIP();
  Client c(port());
  for (const char* zone :
       {"Europe/London", "EST5EDT", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "UTC"}) {
    EXPECT_EQ(c.Call({"SCHEDULE", "NEXT", "0 0 * * *", "TZ", zone}).items.size(), 1u) << zone;
    EXPECT_EQ(c.Text({"SCHEDULE", "SET", "s", "q", "p", "CRON", "0 0 * * *", "TZ", zone}), "OK")
        << zone;
  }
  c.Call({"SCHEDULE", "DEL", "s"});
  for (const std::string zone :
       {"europe/london", "GMT+5", "Mars/Olympus", "../etc/passwd", "Europe", "Europe/London "}) {
    const std::string shown = zone.back() == ' ' ? "Europe/London?" : zone;
    const std::string error =
        "-ERR there is no time zone " + shown +
        " in this machine's zone data; a name such as Europe/London is expected, case included";
    EXPECT_EQ(c.Text({"SCHEDULE", "SET", "s", "q", "p", "CRON", "0 0 * * *", "TZ", zone}), error);
    EXPECT_EQ(c.Text({"SCHEDULE", "NEXT", "0 0 * * *", "TZ", zone}), error);
  }
  EXPECT_EQ(c.Text({"SCHEDULE", "SET", "s", "q", "p", "CRON", "0 0 * * *", "TZ", ""}),
            "-ERR TZ: the time zone's name is empty");
  EXPECT_EQ(c.Text({"SCHEDULE", "NEXT", "0 0 * * *", "TZ", ""}).substr(0, 5), "-ERR ");
  EXPECT_EQ(
      c.Text({"SCHEDULE", "SET", "s", "q", "p", "CRON", "0 0 * * *", "TZ", std::string(101, 'x')})
          .substr(0, 8),
      "-TOOBIG ");
  EXPECT_EQ(c.Text({"SCHEDULE", "GET", "s"}), "(null)");
}

TEST_P(ServerZones, MissedSlotsByPolicy) {
  OPEN_OR_SKIP();
  for (const bool every : {true, false}) {
    const char* const policies[] = {"once", "skip", "all"};
    clock.wall_ms = Ms("2026-09-21T13:30:00Z");
    {
      Client c(port());
      Turn(&c);
      for (const char* policy : policies) {
        const std::string queue = std::string(policy) + (every ? "-every" : "-cron");
        EXPECT_EQ(c.Text({"SCHEDULE", "SET", queue, queue, "p", every ? "EVERY" : "CRON",
                          every ? "1m" : "* * * * *", "MISSED", policy}),
                  "OK");
      }
    }
    Restart(10 * kMinute + 30'000);  // ten slots passed, the last half a minute ago
    const auto expect = [&](std::vector<int64_t> fired, std::vector<int64_t> passed_over) {
      Client c(port());
      Turn(&c);
      for (size_t i = 0; i < 3; ++i) {
        const std::string queue = std::string(policies[i]) + (every ? "-every" : "-cron");
        for (int n = 0;
             n < 10'000 && c.Call({"SCHEDULE", "GET", queue}).at("fired").number < fired[i]; ++n)
          Turn(&c);
        const Value got = c.Call({"SCHEDULE", "GET", queue});
        EXPECT_EQ(got.at("fired").number, fired[i]) << queue;
        EXPECT_EQ(got.at("passed-over").number, passed_over[i]) << queue;
        EXPECT_EQ(Put(&c, queue, fired[i]), fired[i]) << queue;
        EXPECT_EQ(got.at("next").number % kMinute, 0);
      }
    };
    expect({1, 0, 10}, {9, 10, 0});
    {
      Client c(port());
      Pass(&c, 30'000);
    }
    expect({2, 1, 11}, {9, 10, 0});
    Restart(kMinute + 2'000);  // a slot that is two seconds old is late, not missed
    expect({3, 2, 12}, {9, 10, 0});
    Restart(kMinute);
    expect({4, 3, 13}, {9, 10, 0});
    Client c(port());
    Pass(&c, 58'000);
    expect({5, 4, 14}, {9, 10, 0});
    for (const char* policy : policies) {
      const std::string queue = std::string(policy) + (every ? "-every" : "-cron");
      EXPECT_EQ(c.Text({"SCHEDULE", "DEL", queue}), ":1");
    }
  }
}

TEST_P(ServerZones, SetAgainKeepsThePhase) {
  OPEN_OR_SKIP();
  Client c(port());
  const std::vector<std::string_view> set = {"SCHEDULE", "SET", "s", "q", "p", "EVERY", "10s"};
  EXPECT_EQ(c.Text(set), "OK");
  const int64_t first = c.Call({"SCHEDULE", "GET", "s"}).at("next").number;
  EXPECT_EQ(first, clock.wall_ms + 10'000);
  Pass(&c, 3'000);
  EXPECT_EQ(c.Text(set), "OK");
  EXPECT_EQ(c.Call({"SCHEDULE", "GET", "s"}).at("next").number, first);
  Pass(&c, 7'000);
  EXPECT_EQ(Info(&c, "q", "ready"), 1);
  Pass(&c, 4'000);
  EXPECT_EQ(c.Text({"SCHEDULE", "SET", "s", "q", "other", "EVERY", "10s", "PRIORITY", "1", "MISSED",
                    "skip"}),
            "OK");
  Value got = c.Call({"SCHEDULE", "GET", "s"});
  EXPECT_EQ(got.at("next").number, first + 10'000) << "what its jobs are does not move it";
  EXPECT_EQ(got.at("fired").number, 1);
  EXPECT_EQ(c.Text({"SCHEDULE", "PAUSE", "s"}), "OK");
  EXPECT_EQ(c.Text(set), "OK");
  EXPECT_EQ(c.Call({"SCHEDULE", "GET", "s"}).at("state").text, "paused");
  Pass(&c, 20'000);
  EXPECT_EQ(c.Text({"SCHEDULE", "RESUME", "s"}), "OK");
  got = c.Call({"SCHEDULE", "GET", "s"});
  EXPECT_EQ(got.at("next").number, first + 30'000) << "in phase, and what passed is void";
  EXPECT_EQ(got.at("fired").number, 1);
  EXPECT_EQ(c.Text({"SCHEDULE", "SET", "s", "q", "p", "EVERY", "20s"}), "OK");
  got = c.Call({"SCHEDULE", "GET", "s"});
  EXPECT_EQ(got.at("next").number, clock.wall_ms + 20'000) << "another period is another phase";
  EXPECT_EQ(got.at("fired").number, 1);
}

TEST_P(ServerZones, UniqueSkipsAndCounts) {
  OPEN_OR_SKIP();
  Client c(port());
  c.Call({"QUEUE", "SET", "q", "lease",
          "1h"});  // or it would vanish between two slots, with its counts
  EXPECT_EQ(c.Text({"SCHEDULE", "SET", "s", "q", "p", "CRON", "* * * * *", "UNIQUE", "k"}), "OK");
  const auto expect = [&](int64_t fired, int64_t skipped) {
    const Value got = Settled(&c, "s", kMinute);
    EXPECT_EQ(got.at("fired").number, fired);
    EXPECT_EQ(got.at("skipped").number, skipped);
    EXPECT_EQ(got.at("passed-over").number, 0);
    EXPECT_EQ(Put(&c, "q", fired), fired);
  };
  Pass(&c, kMinute - clock.wall_ms % kMinute);
  expect(1, 0);
  for (int i = 0; i < 3; ++i) Pass(&c, kMinute);
  expect(1, 3);
  const std::string receipt = Take(&c, "q", "1h").at("receipt").text;
  Pass(&c, kMinute);
  expect(1, 4);
  EXPECT_EQ(c.Text({"COMPLETE", receipt}), "OK");
  Pass(&c, kMinute);
  expect(2, 4);
}

TEST_P(ServerZones, B28_ASteppedClockRepeatsNoSlotAndLosesNone) {
  OPEN_OR_SKIP();
  Client c(port());
  clock.wall_ms = Ms("2026-09-21T13:33:20Z");
  const struct {
    const char* policy;
    int64_t fired[5];  // after each step below
    int64_t passed_over;
  } cases[] = {
      {"once", {1, 1, 2, 3, 4}, 13}, {"skip", {1, 1, 1, 2, 2}, 15}, {"all", {1, 1, 6, 7, 17}, 0}};
  for (const auto& test : cases)
    EXPECT_EQ(c.Text({"SCHEDULE", "SET", test.policy, test.policy, "p", "CRON", "* * * * *",
                      "MISSED", test.policy}),
              "OK");
  const auto expect = [&](size_t step) {
    for (const auto& test : cases) {
      for (int n = 0; n < 10'000 && c.Call({"SCHEDULE", "GET", test.policy}).at("fired").number <
                                        test.fired[step];
           ++n)
        Turn(&c);
      EXPECT_EQ(c.Call({"SCHEDULE", "GET", test.policy}).at("fired").number, test.fired[step])
          << test.policy << " " << step;
      EXPECT_EQ(Put(&c, test.policy, test.fired[step]), test.fired[step])
          << test.policy << " " << step;
    }
  };
  Pass(&c, 40'000);  // 13:34:00
  expect(0);
  StepWall(&c, -10 * kMinute);
  for (int i = 0; i < 5; ++i) Pass(&c, kMinute);  // until 13:29: nothing is run again
  expect(1);
  StepWall(&c, 10 * kMinute + 30'000);  // 13:39:30: five slots lie between
  expect(2);
  Pass(&c, 30'000);
  expect(3);
  StepWall(&c, 10 * kMinute + 30'000);  // 13:50:30: ten
  expect(4);
  for (const auto& test : cases)
    EXPECT_EQ(c.Call({"SCHEDULE", "GET", test.policy}).at("passed-over").number, test.passed_over)
        << test.policy;
}

// A machine that boots in 1970, with schedules set before its clock is corrected; and one that stood 20 years ahead.
TEST_P(ServerZones, B28_SchedulesAfterACorrection) {
  const int64_t right = Ms("2026-09-21T13:33:00Z");
  clock.wall_ms = 0;
  OPEN_OR_SKIP();
  for (const int64_t start : {int64_t{0}, right + 20 * 365 * kDay}) {
    Client c(port());
    clock.wall_ms = start;
    Turn(&c);
    for (const char* policy : {"once", "skip"}) {
      const std::string cron = std::string("cron-") + policy,
                        every = std::string("every-") + policy;
      EXPECT_EQ(c.Text({"SCHEDULE", "SET", cron, cron, "p", "CRON", "* * * * *", "TZ",
                        "Europe/London", "MISSED", policy}),
                "OK");
      EXPECT_EQ(c.Text({"SCHEDULE", "SET", every, every, "p", "EVERY", "1m", "MISSED", policy}),
                "OK");
    }
    const char* const names[] = {"cron-once", "every-once", "cron-skip", "every-skip"};
    Pass(&c, kMinute);
    for (const char* name : names) {
      Settled(&c, name, kMinute);
      EXPECT_EQ(Put(&c, name, 1), 1) << name;
    }
    clock.wall_ms = right + 30'000;
    Turn(&c);
    for (const char* name : names) {
      const Value got = Settled(&c, name, kMinute);
      const bool ran = start < right && std::string_view(name).ends_with("once");
      EXPECT_EQ(got.at("fired").number, ran ? 2 : 1) << name;
      EXPECT_GE(got.at("passed-over").number, 0) << name;
    }
    Pass(&c, 30'000);
    for (const char* name : names) {
      const bool ran = start < right && std::string_view(name).ends_with("once");
      Settled(&c, name, kMinute);
      EXPECT_EQ(Put(&c, name, ran ? 3 : 2), ran ? 3 : 2) << name;
      EXPECT_EQ(c.Text({"SCHEDULE", "DEL", name}), ":1");
      c.Call({"QUEUE", "DROP", name});
    }
  }
}

VESTQ_STEPPED_TESTS(ServerZones);

}  // namespace
}  // namespace vestq::nettest
