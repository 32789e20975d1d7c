// Scan bounds: a prefix and its successor hold exactly the keys meant (KEY-3).
#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "keycodec/keys.h"
#include "tests/keycodec/random.h"

namespace vestq::keycodec {
namespace {

using testing::Random;

std::string ZonePrefix(LaneId lane, const Zone& zone) {
  std::string out;
  AppendZonePrefix(lane, zone.queue, zone.incarnation, zone.order, zone.space, &out);
  return out;
}

struct Bounds {
  explicit Bounds(std::string prefix) : lower(prefix), upper(PrefixSuccessor(prefix)) {}
  bool Hold(const std::string& key) const { return key >= lower && (upper.empty() || key < upper); }
  std::string lower, upper;
};

TEST(PrefixSuccessor, IsTheLeastStringAboveAllContinuations) {
  EXPECT_EQ(PrefixSuccessor("a"), "b");
  EXPECT_EQ(PrefixSuccessor("ab"), "ac");
  EXPECT_EQ(PrefixSuccessor("a\xFF"), "b");
  EXPECT_EQ(PrefixSuccessor("a\xFE\xFF\xFF"), "a\xFF");
  EXPECT_EQ(PrefixSuccessor(std::string("a\0", 2)), "a\x01");
  EXPECT_EQ(PrefixSuccessor("\x7F"), "\x80");
  EXPECT_EQ(PrefixSuccessor(""), "");
  EXPECT_EQ(PrefixSuccessor("\xFF"), "");
  EXPECT_EQ(PrefixSuccessor("\xFF\xFF"), "");
}

TEST(PrefixSuccessor, SeparatesContinuationsFromAllElse) {
  Random r(41);
  for (int i = 0; i < 200'000; ++i) {
    const std::string prefix = r.Bytes(1 + r.Below(4));
    const std::string other = r.OneIn(2) ? prefix + r.Bytes(r.Below(4)) : r.Bytes(r.Below(6));
    ASSERT_EQ(Bounds(prefix).Hold(other), other.starts_with(prefix));
  }
}

TEST(ZonePrefix, HoldsExactlyTheKeysOfItsZone) {
  Random r(42);
  for (int i = 0; i < 300'000; ++i) {
    const ReadyKey a = r.AnyReadyKey();
    ReadyKey b = r.AnyReadyKey();
    if (!r.OneIn(8)) b.lane = a.lane;
    if (!r.OneIn(8)) b.zone.queue = a.zone.queue;
    if (!r.OneIn(8)) b.zone.incarnation = a.zone.incarnation;
    if (!r.OneIn(8)) b.zone.order = a.zone.order;
    if (r.OneIn(2)) b.zone.space = a.zone.space;
    const bool same = a.lane == b.lane && a.zone == b.zone;
    const std::string prefix = ZonePrefix(a.lane, a.zone);
    const std::string key = Encode(b);
    ASSERT_EQ(key.starts_with(prefix), same);
    ASSERT_EQ(Bounds(prefix).Hold(key), same);
    ASSERT_EQ(*ZonePrefixLength(Encode(a)), prefix.size());
    ASSERT_EQ(*ZonePrefixLength(prefix), prefix.size());
  }
}

// All spaces of up to three edge bytes, so that every space meets all its continuations.
TEST(ZonePrefix, NoneBeginsAnother) {
  constexpr std::array<char, 5> kEdges = {'\x00', '\x01', '\x02', '\xFE', '\xFF'};
  std::vector<std::string> spaces = {""};
  for (size_t from = 0, length = 0; length < 3; ++length) {
    const size_t to = spaces.size();
    for (; from < to; ++from) {
      for (const char c : kEdges) spaces.push_back(spaces[from] + c);
    }
  }
  ASSERT_EQ(spaces.size(), 1u + 5 + 25 + 125);
  std::vector<std::string> prefixes;
  std::sort(spaces.begin(), spaces.end());
  for (const std::string& space : spaces) {
    prefixes.push_back(
        ZonePrefix(LaneId(1), {QueueId(1), Incarnation(1), Order::kPriority, space}));
  }
  EXPECT_TRUE(std::is_sorted(prefixes.begin(), prefixes.end()));
  for (size_t a = 0; a < prefixes.size(); ++a) {
    for (size_t b = 0; b < prefixes.size(); ++b) {
      EXPECT_EQ(prefixes[b].starts_with(prefixes[a]), a == b);
    }
  }
}

TEST(ScanPrefix, RangeClockAndQueueHoldTheirKeysOnly) {
  Random r(43);
  for (int i = 0; i < 100'000; ++i) {
    const LaneId lane(r.U16());
    const Clock clock = r.AnyClock();
    const QueueId queue(r.U32());
    std::string scheduled, ready, leased, by_clock, by_queue;
    AppendRangePrefix(lane, Range::kScheduled, &scheduled);
    AppendRangePrefix(lane, Range::kReady, &ready);
    AppendRangePrefix(lane, Range::kLeased, &leased);
    AppendScheduledPrefix(lane, clock, &by_clock);
    AppendQueuePrefix(lane, queue, &by_queue);

    ScheduledKey s = r.AnyScheduledKey();
    ReadyKey d = r.AnyReadyKey();
    LeasedKey l = r.AnyLeasedKey();
    if (r.OneIn(2)) s.lane = d.lane = l.lane = lane;
    if (r.OneIn(2)) d.zone.queue = queue;
    const std::string s_bytes = Encode(s), d_bytes = Encode(d), l_bytes = Encode(l);
    ASSERT_EQ(Bounds(scheduled).Hold(s_bytes), s.lane == lane);
    ASSERT_EQ(Bounds(ready).Hold(d_bytes), d.lane == lane);
    ASSERT_EQ(Bounds(leased).Hold(l_bytes), l.lane == lane);
    ASSERT_FALSE(Bounds(scheduled).Hold(d_bytes) || Bounds(ready).Hold(l_bytes));
    ASSERT_FALSE(Bounds(leased).Hold(s_bytes) || Bounds(ready).Hold(s_bytes));
    ASSERT_EQ(Bounds(by_clock).Hold(s_bytes), s.lane == lane && s.clock == clock);
    ASSERT_EQ(Bounds(by_queue).Hold(d_bytes), d.lane == lane && d.zone.queue == queue);
  }
}

TEST(LaneOfSpace, SpreadsSpacesOverAllLanes) {
  constexpr uint16_t kLanes = 16;
  constexpr int kSpaces = 16'000;
  std::array<int, kLanes> count{};
  for (int i = 0; i < kSpaces; ++i) {
    const LaneId lane = LaneOfSpace("mail", "tenant-" + std::to_string(i), kLanes);
    ASSERT_LT(lane.value(), kLanes);
    ++count[lane.value()];
  }
  // A thousand each, standard deviation about 31.
  for (const int n : count) EXPECT_NEAR(n, kSpaces / kLanes, 200);
}

// Short inputs are hashed from the stack and long ones from a string; both are the formula of
// FORMAT.md.
TEST(LaneOfSpace, IsOneFormulaAtEverySize) {
  Random r(44);
  for (size_t size = 0; size < 1500; ++size) {
    const std::string queue = "q" + r.Bytes(r.Below(limits::kQueueNameBytes));
    const std::string space = r.Bytes(size);
    std::string input = {static_cast<char>(queue.size()), 0, 0, 0};
    input.append(queue).append(space);
    const uint64_t hash = XXH3_64bits(input.data(), input.size());
    ASSERT_EQ(LaneOfSpace(queue, space, 1021).value(), hash % 1021) << size;
  }
}

}  // namespace
}  // namespace vestq::keycodec
