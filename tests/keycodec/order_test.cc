// KEY-1: byte order equals tuple order.
#include <gtest/gtest.h>

#include <compare>
#include <string>
#include <string_view>
#include <tuple>

#include "keycodec/keys.h"
#include "tests/keycodec/random.h"

namespace vestq::keycodec {
namespace {

using testing::Random;

constexpr int kPairs = 1'000'000;

// The oracle knows nothing of bytes: it compares fields, and spaces as unsigned bytes.
auto Tuple(const ScheduledKey& k) { return std::tuple(k.lane, k.clock, k.time_ms, k.id); }
auto Tuple(const LeasedKey& k) { return std::tuple(k.lane, k.deadline_ms, k.id); }
auto ZoneTuple(const ReadyKey& k) {
  return std::tuple(k.lane, k.zone.queue, k.zone.incarnation, k.zone.order,
                    std::string_view(k.zone.space));
}

template <typename Key>
std::strong_ordering Compare(const Key& a, const Key& b) {
  return Tuple(a) <=> Tuple(b);
}
std::strong_ordering Compare(const ReadyKey& a, const ReadyKey& b) {
  if (const auto zones = ZoneTuple(a) <=> ZoneTuple(b); zones != 0) return zones;
  const ReadyRank &x = a.rank, &y = b.rank;
  if (a.zone.order == Order::kPriority) {
    return std::tuple(x.priority, x.time_ms, x.id) <=> std::tuple(y.priority, y.time_ms, y.id);
  }
  return std::tuple(x.time_ms, x.priority, x.id) <=> std::tuple(y.time_ms, y.priority, y.id);
}

// A key that differs from `key` in few fields, so that later fields decide.
ScheduledKey Near(ScheduledKey key, Random& r) {
  const ScheduledKey other = r.AnyScheduledKey();
  if (r.OneIn(8)) key.lane = other.lane;
  if (r.OneIn(8)) key.clock = other.clock;
  if (r.OneIn(2)) key.time_ms = other.time_ms;
  if (r.OneIn(2)) key.id = other.id;
  return key;
}
LeasedKey Near(LeasedKey key, Random& r) {
  const LeasedKey other = r.AnyLeasedKey();
  if (r.OneIn(8)) key.lane = other.lane;
  if (r.OneIn(2)) key.deadline_ms = other.deadline_ms;
  if (r.OneIn(2)) key.id = other.id;
  return key;
}
std::string NearSpace(std::string space, Random& r) {
  switch (r.Below(4)) {
    case 0: space.append(r.Bytes(1 + r.Below(2))); break;  // a continuation
    case 1: space.resize(r.Below(space.size() + 1)); break;
    case 2:
      if (!space.empty()) space[r.Below(space.size())] = r.Bytes(1)[0];
      break;
    default: space = r.Space();
  }
  space.resize(std::min(space.size(), limits::kSpaceBytes));
  return space;
}
ReadyKey Near(ReadyKey key, Random& r) {
  const ReadyKey other = r.AnyReadyKey();
  if (r.OneIn(16)) key.lane = other.lane;
  if (r.OneIn(16)) key.zone.queue = other.zone.queue;
  if (r.OneIn(16)) key.zone.incarnation = other.zone.incarnation;
  if (r.OneIn(16)) key.zone.order = other.zone.order;
  if (r.OneIn(2)) key.zone.space = NearSpace(key.zone.space, r);
  if (r.OneIn(3)) key.rank.priority = other.rank.priority;
  if (r.OneIn(3)) key.rank.time_ms = other.rank.time_ms;
  if (r.OneIn(3)) key.rank.id = other.rank.id;
  return key;
}

std::strong_ordering CompareBytes(const std::string& a, const std::string& b) {
  return a.compare(b) <=> 0;
}

// How often each outcome came, so that the test cannot pass by never comparing anything close.
struct Seen {
  int less = 0, equal = 0, greater = 0;
  void Add(std::strong_ordering order) { ++(order < 0 ? less : order > 0 ? greater : equal); }
};

template <typename Key, typename Make>
void ExpectByteOrderIsTupleOrder(uint64_t seed, Make make) {
  Random r(seed);
  Seen seen;
  for (int i = 0; i < kPairs; ++i) {
    const Key a = make(r);
    const Key b = Near(a, r);
    const std::strong_ordering tuples = Compare(a, b);
    ASSERT_EQ(CompareBytes(Encode(a), Encode(b)), tuples) << "seed " << seed << " pair " << i;
    seen.Add(tuples);
  }
  EXPECT_GT(seen.less, kPairs / 10);
  EXPECT_GT(seen.greater, kPairs / 10);
  EXPECT_GT(seen.equal, kPairs / 100);
}

TEST(KeyOrder, ScheduledBytesSortAsTuples) {
  ExpectByteOrderIsTupleOrder<ScheduledKey>(1, [](Random& r) { return r.AnyScheduledKey(); });
}

TEST(KeyOrder, LeasedBytesSortAsTuples) {
  ExpectByteOrderIsTupleOrder<LeasedKey>(2, [](Random& r) { return r.AnyLeasedKey(); });
}

TEST(KeyOrder, ReadyBytesSortAsTuplesByPriority) {
  ExpectByteOrderIsTupleOrder<ReadyKey>(3, [](Random& r) {
    ReadyKey key = r.AnyReadyKey();
    key.zone.order = Order::kPriority;
    return key;
  });
}

TEST(KeyOrder, ReadyBytesSortAsTuplesByTime) {
  ExpectByteOrderIsTupleOrder<ReadyKey>(4, [](Random& r) {
    ReadyKey key = r.AnyReadyKey();
    key.zone.order = Order::kTime;
    return key;
  });
}

TEST(KeyOrder, RankLessAgreesWithTheBytes) {
  Random r(5);
  for (int i = 0; i < 100'000; ++i) {
    const ReadyKey a = r.AnyReadyKey();
    ReadyKey b = Near(a, r);
    b.lane = a.lane;
    b.zone = a.zone;
    ASSERT_EQ(ReadyRankLess(a.zone.order, a.rank, b.rank), Encode(a) < Encode(b)) << i;
  }
}

TEST(KeyOrder, LanesThenRangesSeparateTheFamily) {
  Random r(6);
  for (int i = 0; i < 100'000; ++i) {
    const LaneId lane(static_cast<uint16_t>(r.Below(UINT16_MAX)));
    ScheduledKey scheduled = r.AnyScheduledKey();
    ReadyKey ready = r.AnyReadyKey();
    LeasedKey leased = r.AnyLeasedKey();
    scheduled.lane = ready.lane = leased.lane = lane;
    ScheduledKey next = r.AnyScheduledKey();
    next.lane = LaneId(static_cast<uint16_t>(lane.value() + 1));
    ASSERT_LT(Encode(scheduled), Encode(ready));
    ASSERT_LT(Encode(ready), Encode(leased));
    ASSERT_LT(Encode(leased), Encode(next));
  }
}

TEST(KeyOrder, DeadLettersOfAQueueSortByTimeThenId) {
  Random r(7);
  for (int i = 0; i < 100'000; ++i) {
    const DeadRowKey a{QueueId(r.U32()), Incarnation(r.U32()), r.Time(), r.Id()};
    const DeadRowKey b{r.OneIn(8) ? QueueId(r.U32()) : a.queue,
                       r.OneIn(8) ? Incarnation(r.U32()) : a.incarnation,
                       r.OneIn(2) ? r.Time() : a.time_ms, r.OneIn(2) ? r.Id() : a.id};
    ASSERT_EQ(CompareBytes(DeadKey(a.queue, a.incarnation, a.time_ms, a.id),
                           DeadKey(b.queue, b.incarnation, b.time_ms, b.id)),
              std::tuple(a.queue, a.incarnation, a.time_ms, a.id) <=>
                  std::tuple(b.queue, b.incarnation, b.time_ms, b.id));
  }
}

}  // namespace
}  // namespace vestq::keycodec
