// What is written is what is read: every field of every key and value, and no allocation on the hot
// path.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>

#include "keycodec/keys.h"
#include "keycodec/records.h"
#include "tests/keycodec/allocations.h"
#include "tests/keycodec/codecs.h"
#include "tests/keycodec/random.h"

namespace vestq::keycodec {
namespace {

using testing::Encoded;
using testing::EncodedJob;
using testing::EncodedRow;
using testing::JobKey;
using testing::Random;

constexpr int kRounds = 50'000;

template <typename T, typename Make, typename Decode>
void ExpectRoundTrip(uint64_t seed, Make make, Decode decode) {
  Random r(seed);
  for (int i = 0; i < kRounds; ++i) {
    const T value = make(r);
    const std::string bytes = Encoded(value);
    const Result<T> back = decode(bytes);
    ASSERT_TRUE(back.ok()) << back.error().ToString() << " round " << i;
    ASSERT_EQ(*back, value) << "round " << i;
  }
}

TEST(Keys, VestingKeysComeBackWhole) {
  Random r(11);
  for (int i = 0; i < kRounds; ++i) {
    const ScheduledKey scheduled = r.AnyScheduledKey();
    const ReadyKey ready = r.AnyReadyKey();
    const LeasedKey leased = r.AnyLeasedKey();
    const auto s = DecodeScheduledKey(Encode(scheduled));
    const auto d = DecodeReadyKey(Encode(ready));
    const auto l = DecodeLeasedKey(Encode(leased));
    ASSERT_TRUE(s.ok() && d.ok() && l.ok());
    ASSERT_EQ(*s, scheduled);
    ASSERT_EQ(*d, ready);
    ASSERT_EQ(*l, leased);
    ASSERT_EQ(*RangeOf(Encode(scheduled)), Range::kScheduled);
    ASSERT_EQ(*RangeOf(Encode(ready)), Range::kReady);
    ASSERT_EQ(*RangeOf(Encode(leased)), Range::kLeased);
  }
}

TEST(Keys, RowAndJobKeysComeBackWhole) {
  Random r(12);
  for (int i = 0; i < kRounds; ++i) {
    const LaneId lane(r.U16());
    const JobId id = r.Id();
    const uint16_t slot = r.U16();
    const QueueId queue(r.U32());
    const Incarnation incarnation(r.U32());
    const int64_t time_ms = r.Time();
    const std::string name = "x" + r.Text(199);
    ASSERT_EQ(*DecodeJobKey(JobKey(lane, id)), id);
    ASSERT_EQ(*DecodeJobRowKey(JobRowKey(lane, id)), std::pair(lane, id));
    ASSERT_EQ(*DecodeClockKey(ClockKey(slot)), slot);
    ASSERT_EQ(*DecodeQueueKey(QueueKey(name)), name);
    const auto counter = DecodeCounterKey(CounterKey(slot, queue));
    ASSERT_EQ(counter->slot, slot);
    ASSERT_EQ(counter->queue, queue);
    const auto dead = DecodeDeadKey(DeadKey(queue, incarnation, time_ms, id));
    ASSERT_EQ(dead->queue, queue);
    ASSERT_EQ(dead->incarnation, incarnation);
    ASSERT_EQ(dead->time_ms, time_ms);
    ASSERT_EQ(dead->id, id);
  }
}

TEST(Keys, KeysOfLinksComeBackWhole) {
  Random r(13);
  for (int i = 0; i < kRounds; ++i) {
    const DoneRowKey done = r.AnyDoneKey();
    const auto d = DecodeDoneKey(EncodedRow(done));
    ASSERT_EQ(std::tuple(d->queue, d->incarnation, d->finished_ms, d->id),
              std::tuple(done.queue, done.incarnation, done.finished_ms, done.id));
    const WaitingRowKey waiting = r.AnyWaitingKey();
    const auto w = DecodeWaitingKey(EncodedRow(waiting));
    ASSERT_EQ(std::tuple(w->queue, w->incarnation, w->id),
              std::tuple(waiting.queue, waiting.incarnation, waiting.id));
    const UniqueRowKey unique = r.AnyUniqueKey();
    const auto u = DecodeUniqueKey(EncodedRow(unique));
    ASSERT_EQ(std::tie(u->queue, u->space, u->key),
              std::tie(unique.queue, unique.space, unique.key));
    const TimerRowKey timer = r.AnyTimerKey();
    const auto t = DecodeTimerKey(EncodedRow(timer));
    ASSERT_EQ(
        std::tie(t->lane, t->clock, t->time_ms, t->kind, t->id, t->schedule),
        std::tie(timer.lane, timer.clock, timer.time_ms, timer.kind, timer.id, timer.schedule));
    const EdgeRowKey edge = r.AnyEdgeKey();
    const auto a = DecodeChildEdgeKey(ChildEdgeKey(edge.lane, edge.child, edge.parent));
    const auto p = DecodeParentEdgeKey(ParentEdgeKey(edge.lane, edge.parent, edge.child));
    ASSERT_EQ(std::tuple(a->lane, a->child, a->parent),
              std::tuple(edge.lane, edge.child, edge.parent));
    ASSERT_EQ(std::tuple(p->lane, p->child, p->parent),
              std::tuple(edge.lane, edge.child, edge.parent));
    const HandoverRowKey handover = r.AnyHandoverKey();
    const auto m = DecodeHandoverKey(EncodedRow(handover));
    ASSERT_EQ(std::tuple(m->lane, m->epoch, m->number),
              std::tuple(handover.lane, handover.epoch, handover.number));
    const std::string name = r.Name(limits::kScheduleNameBytes);
    ASSERT_EQ(*DecodeScheduleKey(ScheduleKey(name)), name);
    const QueueId queue(r.U32());
    ASSERT_EQ(*DecodeDroppedKey(DroppedKey(queue)), queue);
    const std::string space = r.Name(limits::kSpaceBytes);
    const auto o = DecodeSpaceOptionsKey(SpaceOptionsKey(queue, space));
    const auto g = DecodeSpaceRateKey(SpaceRateKey(queue, space));
    ASSERT_EQ(std::tuple(o->queue, o->space, g->queue, g->space),
              std::tuple(queue, space, queue, space));
  }
}

TEST(Keys, ALongSpaceOfZerosComesBackWhole) {
  ReadyKey key;
  key.zone.order = Order::kTime;
  key.zone.space.assign(limits::kSpaceBytes, '\0');
  key.rank = {UINT32_MAX, limits::kKeyTimeMsMax, JobId(limits::kJobIdMax)};
  const std::string bytes = Encode(key);
  EXPECT_EQ(bytes.size(), 31 + 2 * limits::kSpaceBytes);
  EXPECT_EQ(*DecodeReadyKey(bytes), key);
}

TEST(Values, VestingValuesComeBackWhole) {
  ExpectRoundTrip<ReadyValue>(
      21, [](Random& r) { return r.AnyReadyValue(); }, DecodeReadyValue);
  ExpectRoundTrip<ScheduledValue>(
      22, [](Random& r) { return r.AnyScheduledValue(); }, DecodeScheduledValue);
  ExpectRoundTrip<LeasedValue>(
      23, [](Random& r) { return r.AnyLeasedValue(); }, DecodeLeasedValue);
}

TEST(Values, RowValuesComeBackWhole) {
  ExpectRoundTrip<JobRow>(
      24, [](Random& r) { return r.AnyJobRow(); }, DecodeJobRow);
  ExpectRoundTrip<DeadValue>(
      25, [](Random& r) { return r.AnyDeadValue(); }, DecodeDeadValue);
  ExpectRoundTrip<CounterValue>(
      26, [](Random& r) { return r.AnyCounterValue(); }, DecodeCounterValue);
  ExpectRoundTrip<QueueValue>(
      27, [](Random& r) { return r.AnyQueueValue(); }, DecodeQueueValue);
  ExpectRoundTrip<ClockValue>(
      28, [](Random& r) { return r.AnyClockValue(); }, DecodeClockValue);
  ExpectRoundTrip<VouchValue>(
      29, [](Random& r) { return r.AnyVouchValue(); }, DecodeVouchValue);
}

TEST(Values, JobAndLinkValuesComeBackWhole) {
  ExpectRoundTrip<DoneValue>(
      33, [](Random& r) { return r.AnyDoneValue(); }, DecodeDoneValue);
  ExpectRoundTrip<WaitingValue>(
      34, [](Random& r) { return r.AnyWaitingValue(); }, DecodeWaitingValue);
  ExpectRoundTrip<UniqueValue>(
      35, [](Random& r) { return r.AnyUniqueValue(); }, DecodeUniqueValue);
  ExpectRoundTrip<TimerValue>(
      36, [](Random& r) { return r.AnyTimerValue(); }, DecodeTimerValue);
  ExpectRoundTrip<HandoverValue>(
      37, [](Random& r) { return r.AnyHandoverValue(); }, DecodeHandoverValue);
  ExpectRoundTrip<ScheduleValue>(
      38, [](Random& r) { return r.AnyScheduleValue(); }, DecodeScheduleValue);
  ExpectRoundTrip<DroppedValue>(
      39, [](Random& r) { return r.AnyDroppedValue(); }, DecodeDroppedValue);
  ExpectRoundTrip<SpaceValue>(
      40, [](Random& r) { return r.AnySpaceValue(); }, DecodeSpaceValue);
  ExpectRoundTrip<SpaceRateValue>(
      41, [](Random& r) { return SpaceRateValue{r.Time()}; }, DecodeSpaceRateValue);
  EXPECT_TRUE(DecodeEdgeValue(Encoded(EdgeValue())).ok());
}

TEST(Values, NumbersComeBackWhole) {
  Random r(30);
  for (int i = 0; i < kRounds; ++i) {
    const uint64_t number = r.Number(UINT64_MAX);
    ASSERT_EQ(*DecodeNumber(EncodeNumber(number)), number);
  }
}

TEST(JobRecord, HeaderAndPayloadComeBackWhole) {
  Random r(31);
  for (int i = 0; i < kRounds; ++i) {
    const JobHeader header = r.AnyJobHeader();
    const std::string payload = r.Text(3000);
    const std::string bytes = EncodedJob(header, payload);
    const Result<JobRecord> record = DecodeJobRecord(bytes);
    ASSERT_TRUE(record.ok()) << record.error().ToString();
    ASSERT_EQ(record->header, header);
    ASSERT_EQ(record->payload, payload);
  }
}

TEST(JobRecord, ThePayloadIsAViewIntoTheRecord) {
  const std::string bytes = EncodedJob(JobHeader(), "payload");
  const Result<JobRecord> record = DecodeJobRecord(bytes);
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record->payload.data() + record->payload.size(), bytes.data() + bytes.size());
}

// KEEP 0 is said, not left out: it stands against the queue's `keep`.
TEST(RoundTrip, KeepOfNothingIsNotNoKeep) {
  JobHeader header = Random(33).AnyJobHeader();
  for (const std::optional<int64_t> keep_ms :
       {std::optional<int64_t>(), std::optional<int64_t>(0), std::optional<int64_t>(1)}) {
    header.keep_ms = keep_ms;
    const Result<JobRecord> record = DecodeJobRecord(EncodedJob(header, "p"));
    ASSERT_TRUE(record.ok()) << record.error().ToString();
    EXPECT_EQ(record->header.keep_ms, keep_ms);
  }
}

TEST(HotPath, AppendsBehindWhatIsThereAndAllocatesNothing) {
  Random r(32);
  ReadyKey ready = r.AnyReadyKey();
  ready.zone.space = std::string("tenant\0one", 10);
  const LeasedKey leased = r.AnyLeasedKey();
  const ScheduledKey scheduled = r.AnyScheduledKey();
  const ReadyValue ready_value = r.AnyReadyValue();
  const ScheduledValue scheduled_value = r.AnyScheduledValue();
  const LeasedValue leased_value = r.AnyLeasedValue();
  JobHeader header = r.AnyJobHeader();
  header.lease_ms = 60'000;
  header.backoff = "0123";
  header.unique_key = "order-1";
  header.unique_ms = header.expire_ms = 1000;
  header.keep_ms = 1000;
  header.type = "mail";
  header.user_headers = {{"trace", "7f"}};
  std::string out = "before";
  out.reserve(8192);

  testing::ResetAllocations();
  AppendReadyKey(ready.lane, ready.zone.queue, ready.zone.incarnation, ready.zone.order,
                 ready.zone.space, ready.rank, &out);
  AppendLeasedKey(leased.lane, leased.deadline_ms, leased.id, &out);
  AppendScheduledKey(scheduled.lane, scheduled.clock, scheduled.time_ms, scheduled.id, &out);
  AppendJobKey(scheduled.lane, scheduled.id, &out);
  Append(ready_value, &out);
  Append(scheduled_value, &out);
  Append(leased_value, &out);
  AppendJobRecord(header, "payload", &out);
  const testing::Allocations allocations = testing::CountedAllocations();

  EXPECT_EQ(allocations.count, 0u);
  EXPECT_EQ(out, "before" + Encode(ready) + Encode(leased) + Encode(scheduled) +
                     JobKey(scheduled.lane, scheduled.id) + Encoded(ready_value) +
                     Encoded(scheduled_value) + Encoded(leased_value) +
                     EncodedJob(header, "payload"));
}

TEST(HotPath, KeysWithShortSpacesDecodeWithoutAllocating) {
  ReadyKey ready{
      LaneId(7), {QueueId(3), Incarnation(1), Order::kPriority, "acme"}, {1, 2, JobId(3)}};
  const std::string ready_bytes = Encode(ready);
  const std::string leased_bytes = Encode(LeasedKey{LaneId(7), 5, JobId(3)});
  testing::ResetAllocations();
  const bool ok = DecodeReadyKey(ready_bytes).ok() && DecodeLeasedKey(leased_bytes).ok() &&
                  ZonePrefixLength(ready_bytes).ok();
  const testing::Allocations allocations = testing::CountedAllocations();
  EXPECT_TRUE(ok);
  EXPECT_EQ(allocations.count, 0u);
}

using KeysDeathTest = ::testing::Test;

TEST(KeysDeathTest, ATimeOrAnIdThatDoesNotFitIsABug) {
  std::string out;
  EXPECT_DEATH(AppendLeasedKey(LaneId(0), -1, JobId(1), &out), "a key's time");
  EXPECT_DEATH(AppendLeasedKey(LaneId(0), limits::kKeyTimeMsMax + 1, JobId(1), &out),
               "a key's time");
  EXPECT_DEATH(AppendJobKey(LaneId(0), JobId(limits::kJobIdMax + 1), &out), "below 2\\^53");
  EXPECT_DEATH(Append(ReadyValue{kFlagsKnown + 1, 0}, &out), "flag without a name");
  const std::string long_space(limits::kSpaceBytes + 1, 'x');
  EXPECT_DEATH(UniqueKey(QueueId(1), "", ""), "a unique key has");
  EXPECT_DEATH(UniqueKey(QueueId(1), "", std::string(limits::kUniqueKeyBytes + 1, 'x')),
               "a unique key has");
  EXPECT_DEATH(TimerKey(LaneId(0), Clock::kWall, 1, ""), "a schedule's name");
  EXPECT_DEATH(TimerKey(LaneId(0), Clock::kWall, 1, TimerKind::kSchedule, JobId(1)),
               "has its name, not a job");
  EXPECT_DEATH(AppendQueueRowsPrefix(QueueRows::kUnique, QueueId(1), Incarnation(1), &out),
               "of no incarnation");
  EXPECT_DEATH(Append(DroppedValue{}, &out), "a queue name has");
  EXPECT_DEATH(Append(SpaceValue{}, &out), "have no row");
  EXPECT_DEATH(
      AppendZonePrefix(LaneId(0), QueueId(1), Incarnation(1), Order::kTime, long_space, &out),
      "a space is at most");
}

}  // namespace
}  // namespace vestq::keycodec
