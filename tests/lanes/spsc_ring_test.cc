#include "lanes/spsc_ring.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <thread>

namespace vestq {
namespace {

struct Message {
  uint64_t number = 0;
  uint64_t twice = 0;
  uint64_t rest[6] = {};
};
Message Numbered(uint64_t n) { return Message{n, 2 * n, {n, n, n, n, n, n + 1}}; }

TEST(SpscRing, HoldsExactlyItsCapacity) {
  for (const size_t capacity : {size_t{1}, size_t{2}, size_t{8}}) {
    SpscRing<Message> ring(capacity);
    EXPECT_EQ(ring.capacity(), capacity);
    EXPECT_TRUE(ring.EmptyApprox());
    for (size_t i = 0; i < capacity; ++i) {
      EXPECT_EQ(ring.Room(), capacity - i);
      EXPECT_TRUE(ring.TryPush(Numbered(i)));
    }
    EXPECT_EQ(ring.Room(), 0u);
    EXPECT_FALSE(ring.TryPush(Numbered(99)));
    Message message;
    for (size_t i = 0; i < capacity; ++i) {
      EXPECT_FALSE(ring.EmptyApprox());
      ASSERT_TRUE(ring.TryPop(&message));
      EXPECT_EQ(message.number, i);
    }
    EXPECT_FALSE(ring.TryPop(&message));
    EXPECT_TRUE(ring.EmptyApprox());
  }
}

TEST(SpscRing, CapacityRoundsUpToAPowerOfTwo) {
  EXPECT_EQ(SpscRing<uint64_t>(5).capacity(), 8u);
  EXPECT_EQ(SpscRing<uint64_t>(1000).capacity(), 1024u);
}

TEST(SpscRing, PopAllTakesAtMostWhatIsAskedAcrossTheEnd) {
  SpscRing<uint64_t> ring(8);
  uint64_t next_in = 0, next_out = 0;
  std::array<uint64_t, 16> out;
  for (int round = 0; round < 1000; ++round) {
    const size_t in = static_cast<size_t>(round * 7 % 9);
    for (size_t i = 0; i < in && ring.TryPush(next_in); ++i) ++next_in;
    const size_t max = static_cast<size_t>(round * 5 % 11);
    const size_t waiting = next_in - next_out;
    const size_t got = ring.PopAll(out.data(), max);
    ASSERT_EQ(got, std::min(max, waiting));
    for (size_t i = 0; i < got; ++i) ASSERT_EQ(out[i], next_out++);
  }
  EXPECT_GT(next_out, 1000u);
}

// RING-1 and RING-2 across threads; the data race detector sees the payload being handed over.
TEST(SpscRing, TwoThreadsPassTwoMillionMessagesInOrder) {
  constexpr uint64_t kMessages = 2'000'000;
  SpscRing<Message> ring(1024);
  std::thread producer([&ring] {
    for (uint64_t n = 0; n < kMessages; ++n) {
      while (!ring.TryPush(Numbered(n))) std::this_thread::yield();
    }
  });
  std::array<Message, 64> out;
  uint64_t next = 0;
  uint64_t wrong = 0;
  while (next < kMessages) {
    // Single and bulk pops in turn.
    const size_t got = ring.PopAll(out.data(), next % 3 == 0 ? 1 : out.size());
    for (size_t i = 0; i < got; ++i, ++next) {
      wrong += out[i].number != next || out[i].twice != 2 * next || out[i].rest[5] != next + 1;
    }
    if (got == 0) std::this_thread::yield();
  }
  producer.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_TRUE(ring.EmptyApprox());
}

}  // namespace
}  // namespace vestq
