#include "lanes/adaptive_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <vector>

namespace vestq {
namespace {

// A window of leases that ran one after the other, at the limit.
void Window(AdaptiveLimit* limit, MonoTime* now, Duration length, uint32_t failures,
            uint32_t leases = AdaptiveLimit::kWindowMin) {
  for (uint32_t i = 0; i < leases; ++i) {
    limit->Started(limit->limit());
    const MonoTime began = *now;
    *now = *now + length;
    if (i < failures) {
      limit->Failed(began, *now);
    } else {
      limit->Succeeded(began, *now);
    }
  }
}

TEST(AdaptiveLimit, RisesByOneAfterEachFullWindowOfSuccesses) {
  AdaptiveLimit limit({1, 5});
  MonoTime now(1000);
  EXPECT_EQ(limit.limit(), 1u);
  for (uint32_t expected : {2u, 3u, 4u, 5u, 5u}) {
    Window(&limit, &now, Seconds(1), 0);
    EXPECT_EQ(limit.limit(), expected);
  }
  EXPECT_EQ(limit.usual(), Milliseconds(896));  // the bucket that 1 s is in begins there
}

TEST(AdaptiveLimit, StaysWhereNobodyRunsIntoIt) {
  AdaptiveLimit limit({5, 100});
  MonoTime now(1000);
  for (int window = 0; window < 10; ++window) {
    for (uint32_t i = 0; i < AdaptiveLimit::kWindowMin; ++i) {
      limit.Started(4);
      const MonoTime began = now;
      now = now + Seconds(1);
      EXPECT_FALSE(limit.Succeeded(began, now));
    }
  }
  EXPECT_EQ(limit.limit(), 5u);
}

TEST(AdaptiveLimit, AFewFailuresDoNotCountSomeHoldMoreHalve) {
  MonoTime now(1000);
  AdaptiveLimit limit({10, 100});
  Window(&limit, &now, Seconds(1), 2);  // one in fifty
  EXPECT_EQ(limit.limit(), 11u);
  Window(&limit, &now, Seconds(1), 3);
  EXPECT_EQ(limit.limit(), 11u);
  Window(&limit, &now, Seconds(1), 10);  // a tenth is not above a tenth
  EXPECT_EQ(limit.limit(), 11u);
  limit.SetBounds({2, 100});
  Window(&limit, &now, Seconds(1), 11, 11);  // at once, not at the window's end
  EXPECT_EQ(limit.limit(), 5u);
  EXPECT_EQ(limit.in_window(), 0u);
  Window(&limit, &now, Seconds(1), 11, 11);
  EXPECT_EQ(limit.limit(), 2u);
  Window(&limit, &now, Seconds(1), 11, 11);
  EXPECT_EQ(limit.limit(), 2u);  // ADAPT-1
}

TEST(AdaptiveLimit, OneOverloadHalvesOnce) {
  AdaptiveLimit limit({40, 100});
  limit.SetBounds({1, 100});
  const MonoTime began(1000);
  // Forty at once, and all of them fail.
  for (int i = 0; i < 40; ++i) limit.Failed(began, MonoTime(2000 + i));
  EXPECT_EQ(limit.limit(), 20u);
  EXPECT_EQ(limit.halvings(), 1u);
}

TEST(AdaptiveLimit, HalvesWhenTheMedianLeaseHasDoubled) {
  AdaptiveLimit limit({40, 100});
  limit.SetBounds({1, 100});
  MonoTime now(1000);
  Window(&limit, &now, Milliseconds(100), 0);
  EXPECT_EQ(limit.limit(), 41u);
  Window(&limit, &now, Milliseconds(170), 0);
  EXPECT_EQ(limit.limit(), 42u);
  Window(&limit, &now, Milliseconds(230), 0);
  EXPECT_EQ(limit.limit(), 21u);
  // It helped: as before.
  Window(&limit, &now, Milliseconds(110), 0);
  EXPECT_EQ(limit.limit(), 22u);
}

TEST(AdaptiveLimit, JobsThatHaveBecomeLongerAreNoOverload) {
  AdaptiveLimit limit({40, 100});
  limit.SetBounds({1, 100});
  MonoTime now(1000);
  Window(&limit, &now, Milliseconds(100), 0);
  Window(&limit, &now, Milliseconds(1000), 0);
  EXPECT_EQ(limit.limit(), 20u);
  // Half as many at once, and just as long: that is how long they take now.
  Window(&limit, &now, Milliseconds(1000), 0);
  EXPECT_EQ(limit.limit(), 21u);
  Window(&limit, &now, Milliseconds(1000), 0);
  EXPECT_EQ(limit.limit(), 22u);
  EXPECT_EQ(limit.halvings(), 1u);
}

TEST(AdaptiveLimit, AnyLengthHasItsBucket) {
  AdaptiveLimit limit({1, 2});
  MonoTime now(1000);
  for (const int64_t ms : {int64_t{0}, int64_t{1}, int64_t{604'800'000}, int64_t{1} << 40}) {
    Window(&limit, &now, Milliseconds(ms), 0);
    EXPECT_LE(limit.usual().ms(), std::max<int64_t>(ms, 1));
  }
}

TEST(AdaptiveLimit, AMillionRandomStepsStayWithinTheBounds) {
  std::mt19937_64 random(7);
  AdaptiveLimit limit({1, 10});
  uint32_t min = 1, max = 10;
  MonoTime now(1000);
  for (int step = 0; step < 1'000'000; ++step) {
    now = now + Milliseconds(static_cast<int64_t>(random() % 3));
    const MonoTime began(now.ms() - static_cast<int64_t>(random() % 1000));
    const uint32_t before = limit.limit();
    const uint64_t halvings = limit.halvings();
    const uint64_t choice = random() % 1000;
    if (choice == 0) {
      min = static_cast<uint32_t>(1 + random() % 20);
      max = min + static_cast<uint32_t>(random() % 2000);
      limit.SetBounds({min, max});
    } else if (choice < 30 + random() % 200) {
      const bool rose = limit.Failed(began, now);
      ASSERT_TRUE(rose ? limit.limit() == before + 1 : limit.limit() <= before);  // ADAPT-2
    } else {
      limit.Started(static_cast<uint32_t>(random() % (max + 1)));
      const bool rose = limit.Succeeded(began, now);
      ASSERT_TRUE(rose ? limit.limit() == before + 1 : limit.limit() <= before);
    }
    ASSERT_GE(limit.limit(), min);  // ADAPT-1
    ASSERT_LE(limit.limit(), max);
    ASSERT_LE(limit.halvings(), halvings + 1);
    ASSERT_LT(limit.in_window(), AdaptiveLimit::kWindowMax);
  }
}

// Workers without end before a downstream that can take `capacity` calls at once.
class Downstream {
 public:
  enum class Kind { kRefuses, kQueues };

  Downstream(Kind kind, uint32_t capacity, uint64_t seed)
      : kind_(kind), capacity_(capacity), random_(seed), limit_({1, 1000}) {}

  void SetCapacity(uint32_t capacity) { capacity_ = capacity; }
  AdaptiveLimit& limit() { return limit_; }

  // Lets about `windows` windows of leases end; returns the mean of the limit over time.
  double Run(int windows) {
    double limits = 0, leases = 0;
    for (int window = 0; window < windows; ++window) {
      uint32_t left = std::max(limit_.limit(), AdaptiveLimit::kWindowMin);
      for (; left > 0; --left) {
        while (calls_.size() < limit_.limit()) Begin();
        End();
        limits += limit_.limit();
        ++leases;
      }
    }
    return limits / leases;
  }

 private:
  struct Call {
    MonoTime end;
    MonoTime began;
    bool fails;
    bool refused;
    bool operator>(const Call& other) const { return end > other.end; }
  };

  void Begin() {
    // What it refuses takes its caller as long, but nothing of its own room.
    const double load = static_cast<double>(served_ + 1) / capacity_;
    const bool over = load > 1;
    // Around 100 ms, some far longer.
    double length = 50 - 50 * std::log((static_cast<double>(random_() % 10'000) + 1) / 10'001);
    if (kind_ == Kind::kQueues && over) length *= load;
    const bool refused = kind_ == Kind::kRefuses && over;
    const bool fails = refused || random_() % 200 == 0;  // some for reasons of their own
    calls_.push({now_ + Milliseconds(1 + static_cast<int64_t>(length)), now_, fails, refused});
    served_ += refused ? 0 : 1;
    limit_.Started(static_cast<uint32_t>(calls_.size()));
  }
  void End() {
    const Call call = calls_.top();
    calls_.pop();
    now_ = std::max(now_, call.end);
    served_ -= call.refused ? 0 : 1;
    if (call.fails) {
      limit_.Failed(call.began, now_);
    } else {
      limit_.Succeeded(call.began, now_);
    }
  }

  const Kind kind_;
  uint32_t capacity_;
  std::mt19937_64 random_;
  AdaptiveLimit limit_;
  uint32_t served_ = 0;
  MonoTime now_{1000};
  std::priority_queue<Call, std::vector<Call>, std::greater<>> calls_;
};

TEST(AdaptiveLimit, SettlesAtANewCapacityWithinTwentyWindows) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Downstream downstream(Downstream::Kind::kRefuses, 40, seed);
    downstream.Run(100);
    for (const uint32_t capacity : {20u, 30u, 40u, 12u, 24u}) {
      downstream.SetCapacity(capacity);
      downstream.Run(20);
      const double mean = downstream.Run(20);
      EXPECT_NEAR(mean, capacity, 0.2 * capacity) << "seed " << seed;
    }
  }
}

TEST(AdaptiveLimit, KeepsADownstreamThatQueuesBetweenItsCapacityAndTwice) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Downstream downstream(Downstream::Kind::kQueues, 20, seed);
    downstream.Run(100);
    for (const uint32_t capacity : {20u, 10u, 30u}) {
      downstream.SetCapacity(capacity);
      downstream.Run(30);
      const double mean = downstream.Run(60);
      EXPECT_GE(mean, 0.8 * capacity) << "seed " << seed;
      EXPECT_LE(mean, 2.2 * capacity) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace vestq
