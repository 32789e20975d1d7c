// A server whose clocks stand still until the test moves them: each on its own, as a machine's do. So a wait of ten
// seconds takes none, and ends at its millisecond or the test fails.
//
// The engine sees time only in its turns, so every step is followed by commands that make it turn. One core: with several,
// those that are asleep would not be woken.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine_clock.h"
#include "tests/net/test_server.h"

namespace vestq::nettest {

class SteppedClock : public ClockSource {
 public:
  int64_t BoottimeMs() override { return mono_ms.load(); }
  int64_t WallMs() override { return wall_ms.load(); }
  std::string BootId() override { return "boot-" + std::to_string(boot.load()); }
  int64_t NowNs() override { return SystemClockSource()->NowNs(); }

  std::atomic<int64_t> mono_ms{1'000'000};
  std::atomic<int64_t> wall_ms{1'790'000'000'000};  // 2026-09-21T13:33:20Z
  std::atomic<int> boot{1};
};

class SteppedServer : public ServerTest {
 protected:
  SteppedServer() {
    clock_ = &clock;
    durability_ = Durability::kOs;
  }

  ~SteppedServer() override { CloseServer(); }  // before the clock

  // Both clocks go on, and what is due happens.
  void Pass(Client* c, int64_t ms) {
    clock.mono_ms += ms;
    StepWall(c, ms);
  }
  // Only the wall clock, forward or back.
  void StepWall(Client* c, int64_t ms) {
    clock.wall_ms += ms;
    Turn(c);
  }
  // Turns until nothing is under way any more: what a turn began was read and written, and that began nothing new.
  void Turn(Client* c) {
    uint64_t before = 0;
    for (int i = 0; i < 100'000; ++i) {
      for (int ping = 0; ping < 2; ++ping) EXPECT_EQ(c->Text({"PING"}), "PONG");
      const EngineInfo info = engine_->Info();
      const uint64_t now = info.tickets_submitted + info.cold_reads;
      if (info.reads_under_way == 0 && info.tickets_written == info.tickets_submitted &&
          now == before)
        return;
      before = now;
    }
    ADD_FAILURE() << "the engine finds no end";
  }
  // Ends the server, lets `down_ms` pass without it, and starts it again on the same data.
  void Restart(int64_t down_ms = 0) {
    CloseServer();
    clock.mono_ms += down_ms;
    clock.wall_ms += down_ms;
    ASSERT_TRUE(Open());
  }

  static std::string Put(Client* c, std::vector<std::string_view> words) {
    const Value reply = c->Call(words);
    EXPECT_TRUE(reply.type == '$' || reply.items.size() == 3) << reply.ToString();
    return reply.type == '$' ? reply.text : reply.items.empty() ? "" : reply.items[0].text;
  }
  // A job of the queue; an empty map when there is none.
  static Value Take(Client* c, std::string_view queue, std::string_view length = "30s") {
    const Value jobs = c->Call({"LEASE", queue, "FOR", length});
    return jobs.items.empty() ? Value() : jobs.items[0];
  }
  // The same of one that is on its way; fails the test when it does not come.
  static Value Await(Client* c, std::string_view queue, std::string_view length = "30s") {
    const Value jobs = c->Call({"LEASE", queue, "FOR", length, "BLOCK", "36500d"});
    return jobs.items.empty() ? Value() : jobs.items[0];
  }
  static std::string State(Client* c, std::string_view id) {
    return c->Call({"JOB", id}).at("state").text;
  }
  static int64_t Info(Client* c, std::string_view queue, std::string_view field) {
    return c->Call({"QUEUE", "INFO", queue}).at(field).number;
  }
  static bool IsNull(const Value& value) { return value.null(); }

  SteppedClock clock;
};

// io_uring and epoll, one core.
#define VESTQ_STEPPED_TESTS(fixture)                                                         \
  INSTANTIATE_TEST_SUITE_P(                                                                  \
      Io, fixture,                                                                           \
      testing::Combine(testing::Values(IoKind::kUring, IoKind::kEpoll), testing::Values(1)), \
      ServerTestName)

}  // namespace vestq::nettest
