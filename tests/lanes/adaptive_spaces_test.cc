#include "lanes/adaptive_spaces.h"

#include <gtest/gtest.h>

#include <string>

namespace vestq {
namespace {

constexpr QueueId kQueue{7};

// A full window of successes that the limit was reached in.
void Rise(AdaptiveLimit* limit, MonoTime at) {
  limit->Started(limit->limit());
  for (uint32_t i = 0; i < AdaptiveLimit::kWindowMin; ++i) limit->Succeeded(at, at);
}

TEST(AdaptiveSpaces, EachSpaceOfEachQueueHasItsOwn) {
  AdaptiveSpaces spaces;
  EXPECT_EQ(spaces.Find(kQueue, "a"), nullptr);
  Rise(spaces.Of(kQueue, "a", {2, 5}, MonoTime(100)), MonoTime(100));
  EXPECT_EQ(spaces.Of(kQueue, "b", {2, 5}, MonoTime(100))->limit(), 2u);
  EXPECT_EQ(spaces.Of(QueueId(8), "a", {4, 5}, MonoTime(100))->limit(), 4u);
  ASSERT_NE(spaces.Find(kQueue, "a"), nullptr);
  EXPECT_EQ(spaces.Find(kQueue, "a")->limit(), 3u);
  EXPECT_EQ(spaces.Of(kQueue, "a", {2, 5}, MonoTime(200))->limit(), 3u) << "what was learned stays";
  EXPECT_EQ(spaces.size(), 3u);
}

TEST(AdaptiveSpaces, ANumberInANameIsNoOtherQueue) {
  AdaptiveSpaces spaces;
  Rise(spaces.Of(QueueId(1), "2/a", {1, 5}, MonoTime(1)), MonoTime(1));
  EXPECT_EQ(spaces.Find(QueueId(12), "/a"), nullptr);
  EXPECT_EQ(spaces.Find(QueueId(1), "2/a")->limit(), 2u);
}

TEST(AdaptiveSpaces, NewBoundsHoldAtTheNextUse) {
  AdaptiveSpaces spaces;
  Rise(spaces.Of(kQueue, "a", {2, 5}, MonoTime(1)), MonoTime(1));
  EXPECT_EQ(spaces.Of(kQueue, "a", {10, 20}, MonoTime(2))->limit(), 10u);
  EXPECT_EQ(spaces.Of(kQueue, "a", {1, 4}, MonoTime(3))->limit(), 4u);
}

TEST(AdaptiveSpaces, LeasesFromBeforeItWasMadeAreNotCounted) {
  AdaptiveSpaces spaces;
  AdaptiveLimit* const limit = spaces.Of(kQueue, "a", {2, 5}, MonoTime(1000));
  limit->Started(2);
  for (uint32_t i = 0; i < 2 * AdaptiveLimit::kWindowMin; ++i)
    limit->Failed(MonoTime(999), MonoTime(1001));
  EXPECT_EQ(limit->in_window(), 0u);
  limit->Succeeded(MonoTime(1000), MonoTime(1001));
  EXPECT_EQ(limit->in_window(), 1u);
}

TEST(AdaptiveSpaces, ThoseUnusedLongestAreForgottenFirst) {
  AdaptiveSpaces spaces(100);
  for (int i = 0; i < 100; ++i) spaces.Of(kQueue, std::to_string(i), {1, 5}, MonoTime(i));
  spaces.Of(kQueue, "0", {1, 5}, MonoTime(200));
  for (int i = 100; i < 150; ++i) spaces.Of(kQueue, std::to_string(i), {1, 5}, MonoTime(i));
  EXPECT_EQ(spaces.size(), 100u);
  EXPECT_NE(spaces.Find(kQueue, "0"), nullptr);
  EXPECT_EQ(spaces.Find(kQueue, "1"), nullptr);
  EXPECT_EQ(spaces.Find(kQueue, "50"), nullptr);
  EXPECT_NE(spaces.Find(kQueue, "51"), nullptr);
  EXPECT_NE(spaces.Find(kQueue, "149"), nullptr);
}

}  // namespace
}  // namespace vestq
