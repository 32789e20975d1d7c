#include "lanes/published_head.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "engine/base/limits.h"

namespace vestq {
namespace {

using keycodec::Order;
using keycodec::ReadyRank;

TEST(PublishedHead, PriorityKeepsItsOrderAndSmallOnesAreExact) {
  for (uint32_t p = 0; p < 4096; ++p) ASSERT_EQ(PackPriority(p), p);
  EXPECT_EQ(PackPriority(4096), 4096u);
  EXPECT_EQ(PackPriority(UINT32_MAX), 45'055u);
  uint64_t before = 0;
  for (uint64_t p = 0; p <= UINT32_MAX; p += 1 + p / 5000) {
    const uint64_t packed = PackPriority(static_cast<uint32_t>(p));
    ASSERT_GE(packed, before) << p;
    ASSERT_LE(packed, before + 1) << p;
    before = packed;
  }
}

TEST(PublishedHead, RankWordsFollowTheRank) {
  std::mt19937_64 random(2);
  for (const Order order : {Order::kPriority, Order::kTime}) {
    for (int i = 0; i < 100'000; ++i) {
      ReadyRank a, b;
      a.priority = static_cast<uint32_t>(random() >> (random() % 32 + 32));
      b.priority = random() % 2 ? a.priority : static_cast<uint32_t>(random());
      a.time_ms = static_cast<int64_t>(random() % (1u << 20));
      b.time_ms = random() % 4 ? static_cast<int64_t>(random() % (1u << 20)) : a.time_ms;
      if (keycodec::ReadyRankLess(order, b, a)) std::swap(a, b);
      // Large priorities round: of those that round alike the time decides.
      if (order == Order::kPriority && a.priority != b.priority &&
          PackPriority(a.priority) == PackPriority(b.priority)) {
        continue;
      }
      ASSERT_LE(PackHead(order, a), PackHead(order, b));
    }
  }
}

TEST(PublishedHead, TagWordsFollowWholeRoundsThenTime) {
  constexpr uint64_t kRound = FairQueue::kRound;
  EXPECT_LT(PackHead(5 * kRound, 900'000), PackHead(6 * kRound, 0));
  EXPECT_LT(PackHead(5 * kRound, 1'000), PackHead(5 * kRound + 77, 3'000));
  EXPECT_EQ(PackHead(5 * kRound, 1'000), PackHead(5 * kRound, 1'001));
  EXPECT_EQ(TagOfHead(PackHead(5 * kRound + 77, 123'456'789)), 5 * kRound);
}

TEST(PublishedHead, NothingAndUnknownComeAfterEveryHead) {
  ReadyRank last;
  last.priority = UINT32_MAX;
  last.time_ms = limits::kKeyTimeMsMax;
  EXPECT_LT(PackHead(Order::kPriority, last), kUnknownHead);
  EXPECT_LT(PackHead(Order::kTime, last), kUnknownHead);
  EXPECT_LT(PackHead(UINT64_MAX - FairQueue::kRound, INT64_MAX), kUnknownHead);
  EXPECT_LT(kUnknownHead, kNoHead);
}

}  // namespace
}  // namespace vestq
