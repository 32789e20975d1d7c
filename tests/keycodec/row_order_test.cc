// KEY-1 for the rows family: byte order equals tuple order, so that timers come soonest first,
// kept results oldest first, and what belongs to one job or queue stands together; and the scan
// prefixes hold exactly the keys meant.
#include <gtest/gtest.h>

#include <compare>
#include <string>
#include <string_view>
#include <tuple>

#include "keycodec/keys.h"
#include "tests/keycodec/codecs.h"
#include "tests/keycodec/random.h"

namespace vestq::keycodec {
namespace {

using testing::EncodedChildEdge;
using testing::EncodedParentEdge;
using testing::EncodedRow;
using testing::Random;

constexpr int kPairs = 300'000;

// A key's fields are few, so two random keys rarely share a beginning: now and then a field of one
// is taken into the other.
template <typename Field>
void Share(Random& r, const Field& from, Field* to) {
  if (!r.OneIn(3)) *to = from;
}

template <typename Key, typename Near, typename Tuple, typename Encode>
void ExpectOrder(uint64_t seed, Key (Random::*make)(), Near near, Tuple tuple, Encode encode) {
  Random r(seed);
  int less = 0, equal = 0, greater = 0;
  for (int i = 0; i < kPairs; ++i) {
    const Key a = (r.*make)();
    Key b = (r.*make)();
    near(r, a, &b);
    const std::strong_ordering tuples = tuple(a) <=> tuple(b);
    const std::string a_bytes = encode(a), b_bytes = encode(b);
    ASSERT_EQ(a_bytes.compare(b_bytes) <=> 0, tuples) << "seed " << seed << " pair " << i;
    ++(tuples < 0 ? less : tuples > 0 ? greater : equal);
  }
  EXPECT_GT(less, kPairs / 10);
  EXPECT_GT(greater, kPairs / 10);
  EXPECT_GT(equal, kPairs / 100);
}

template <typename Key>
std::string Row(const Key& key) {
  return EncodedRow(key);
}

TEST(RowOrder, TimersSortByLaneClockTimeKindAndRest) {
  ExpectOrder<TimerRowKey>(
      71, &Random::AnyTimerKey,
      [](Random& r, const TimerRowKey& a, TimerRowKey* b) {
        Share(r, a.lane, &b->lane);
        Share(r, a.clock, &b->clock);
        Share(r, a.time_ms, &b->time_ms);
        if (r.OneIn(2)) *b = TimerRowKey{b->lane, b->clock, b->time_ms, a.kind, a.id, a.schedule};
        if (b->kind == TimerKind::kSchedule && r.OneIn(2)) {
          b->schedule = (b->schedule + r.Bytes(1)).substr(0, limits::kScheduleNameBytes);
        }
        if (b->kind != TimerKind::kSchedule && r.OneIn(4)) b->id = r.Id();
      },
      [](const TimerRowKey& k) {
        return std::tuple(k.lane, k.clock, k.time_ms, k.kind, k.id, std::string_view(k.schedule));
      },
      Row<TimerRowKey>);
}

TEST(RowOrder, KeptResultsSortByQueueIncarnationTimeAndId) {
  ExpectOrder<DoneRowKey>(
      72, &Random::AnyDoneKey,
      [](Random& r, const DoneRowKey& a, DoneRowKey* b) {
        Share(r, a.queue, &b->queue);
        Share(r, a.incarnation, &b->incarnation);
        Share(r, a.finished_ms, &b->finished_ms);
        Share(r, a.id, &b->id);
      },
      [](const DoneRowKey& k) { return std::tuple(k.queue, k.incarnation, k.finished_ms, k.id); },
      Row<DoneRowKey>);
}

TEST(RowOrder, WaitingJobsSortByQueueIncarnationAndId) {
  ExpectOrder<WaitingRowKey>(
      73, &Random::AnyWaitingKey,
      [](Random& r, const WaitingRowKey& a, WaitingRowKey* b) {
        Share(r, a.queue, &b->queue);
        Share(r, a.incarnation, &b->incarnation);
        Share(r, a.id, &b->id);
      },
      [](const WaitingRowKey& k) { return std::tuple(k.queue, k.incarnation, k.id); },
      Row<WaitingRowKey>);
}

TEST(RowOrder, UniqueKeysSortByQueueSpaceAndKey) {
  ExpectOrder<UniqueRowKey>(
      74, &Random::AnyUniqueKey,
      [](Random& r, const UniqueRowKey& a, UniqueRowKey* b) {
        Share(r, a.queue, &b->queue);
        Share(r, a.space, &b->space);
        Share(r, a.key, &b->key);
        if (r.OneIn(8)) b->space = (b->space + r.Bytes(1)).substr(0, limits::kSpaceBytes);
        if (r.OneIn(8)) b->key = (b->key + r.Bytes(1)).substr(0, limits::kUniqueKeyBytes);
      },
      [](const UniqueRowKey& k) {
        return std::tuple(k.queue, std::string_view(k.space), std::string_view(k.key));
      },
      Row<UniqueRowKey>);
}

void NearEdge(Random& r, const EdgeRowKey& a, EdgeRowKey* b) {
  Share(r, a.lane, &b->lane);
  Share(r, a.child, &b->child);
  Share(r, a.parent, &b->parent);
}

TEST(RowOrder, EdgesOfAChildStandTogether) {
  ExpectOrder<EdgeRowKey>(
      75, &Random::AnyEdgeKey, NearEdge,
      [](const EdgeRowKey& k) { return std::tuple(k.lane, k.child, k.parent); }, EncodedChildEdge);
}

TEST(RowOrder, EdgesOfAParentStandTogether) {
  ExpectOrder<EdgeRowKey>(
      76, &Random::AnyEdgeKey, NearEdge,
      [](const EdgeRowKey& k) { return std::tuple(k.lane, k.parent, k.child); }, EncodedParentEdge);
}

TEST(RowOrder, HandoversSortByLaneEpochAndNumber) {
  ExpectOrder<HandoverRowKey>(
      77, &Random::AnyHandoverKey,
      [](Random& r, const HandoverRowKey& a, HandoverRowKey* b) {
        Share(r, a.lane, &b->lane);
        Share(r, a.epoch, &b->epoch);
        Share(r, a.number, &b->number);
      },
      [](const HandoverRowKey& k) { return std::tuple(k.lane, k.epoch, k.number); },
      Row<HandoverRowKey>);
}

bool Holds(const std::string& prefix, const std::string& key) {
  const std::string upper = PrefixSuccessor(prefix);
  return key >= prefix && (upper.empty() || key < upper);
}

TEST(RowPrefix, OfAQueueHoldsItsRowsOnly) {
  Random r(78);
  for (int i = 0; i < 100'000; ++i) {
    const QueueId queue(r.U32());
    const Incarnation incarnation(r.U32());
    DoneRowKey done = r.AnyDoneKey();
    WaitingRowKey waiting = r.AnyWaitingKey();
    UniqueRowKey unique = r.AnyUniqueKey();
    if (r.OneIn(2)) done.queue = waiting.queue = unique.queue = queue;
    if (r.OneIn(2)) done.incarnation = waiting.incarnation = incarnation;
    const bool same = done.queue == queue && done.incarnation == incarnation;
    std::string all, one;
    AppendQueueRowsPrefix(QueueRows::kDone, queue, &all);
    AppendQueueRowsPrefix(QueueRows::kDone, queue, incarnation, &one);
    ASSERT_EQ(Holds(all, EncodedRow(done)), done.queue == queue);
    ASSERT_EQ(Holds(one, EncodedRow(done)), same);
    const std::string dead = DeadKey(done.queue, done.incarnation, done.finished_ms, done.id);
    ASSERT_FALSE(Holds(all, dead) || Holds(all, EncodedRow(waiting)));
    std::string of_dead, of_waiting, of_unique;
    AppendQueueRowsPrefix(QueueRows::kDead, queue, incarnation, &of_dead);
    AppendQueueRowsPrefix(QueueRows::kWaiting, queue, incarnation, &of_waiting);
    AppendQueueRowsPrefix(QueueRows::kUnique, queue, &of_unique);
    ASSERT_EQ(Holds(of_dead, dead), same);
    ASSERT_EQ(Holds(of_waiting, EncodedRow(waiting)),
              waiting.queue == queue && waiting.incarnation == incarnation);
    ASSERT_EQ(Holds(of_unique, EncodedRow(unique)), unique.queue == queue);
  }
}

TEST(RowPrefix, OfALaneOrAJobHoldsItsRowsOnly) {
  Random r(79);
  for (int i = 0; i < 100'000; ++i) {
    const LaneId lane(r.U16());
    const Clock clock = r.AnyClock();
    const JobId job = r.Id();
    TimerRowKey timer = r.AnyTimerKey();
    HandoverRowKey handover = r.AnyHandoverKey();
    EdgeRowKey edge = r.AnyEdgeKey();
    if (r.OneIn(2)) timer.lane = handover.lane = edge.lane = lane;
    if (r.OneIn(2)) edge.child = job;
    if (r.OneIn(2)) edge.parent = job;
    std::string timers, handovers, of_child, of_parent;
    AppendTimerPrefix(lane, clock, &timers);
    AppendHandoverPrefix(lane, &handovers);
    AppendChildEdgePrefix(lane, job, &of_child);
    AppendParentEdgePrefix(lane, job, &of_parent);
    ASSERT_EQ(Holds(timers, EncodedRow(timer)), timer.lane == lane && timer.clock == clock);
    ASSERT_EQ(Holds(handovers, EncodedRow(handover)), handover.lane == lane);
    ASSERT_EQ(Holds(of_child, EncodedChildEdge(edge)), edge.lane == lane && edge.child == job);
    ASSERT_EQ(Holds(of_parent, EncodedParentEdge(edge)), edge.lane == lane && edge.parent == job);
    ASSERT_FALSE(Holds(of_child, EncodedParentEdge(edge)));
  }
}

}  // namespace
}  // namespace vestq::keycodec
