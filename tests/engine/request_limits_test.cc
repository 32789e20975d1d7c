// LIMIT-1: every number and size of every request at both edges of its range, through the library. What is
// just inside is taken, what is just outside is refused with an error that names the thing and the limits,
// and leaves nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/group_request.h"
#include "engine/handling_request.h"
#include "engine/kv_request.h"
#include "engine/purge_request.h"
#include "engine/request_check.h"
#include "engine/schedule_request.h"
#include "engine/space_request.h"
#include "engine/watch_request.h"
#include "lease/backoff.h"
#include "tests/engine/world_fixture.h"

namespace vestq {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kPayloadMax = 1 << 20;
const std::string kSpan = " is outside ";

std::string Bytes(size_t n) { return std::string(n, 'x'); }

// One number of a request: `set` puts it there. `least` and `most` are taken, `below` and `above` are not.
struct Edge {
  std::string name;
  std::function<std::unique_ptr<Request>(int64_t)> with;
  int64_t least, most;
  std::string limits;  // of the error
  ErrorCode code = ErrorCode::kRange;
};

template <typename T, typename Set>
Edge Of(std::string name, int64_t least, int64_t most, std::string limits, Set set,
        ErrorCode code = ErrorCode::kRange) {
  return {std::move(name),
          [set](int64_t value) {
            auto request = std::make_unique<T>();
            if constexpr (requires { request->queue; }) request->queue = "q";
            if constexpr (requires { request->id; }) request->id = JobId(1);
            set(request.get(), value);
            return request;
          },
          least,
          most,
          std::move(limits),
          code};
}

template <typename T, typename Set>
Edge SpanOf(std::string name, Duration least, Duration most, std::string limits, Set set) {
  return Of<T>(std::move(name), least.ms(), most.ms(), std::move(limits),
               [set](T* r, int64_t ms) { set(r, Milliseconds(ms)); });
}

#define VESTQ_SET(T, body) [](T* r, auto v) { body; }

std::vector<Edge> JobEdges() {
  using R = EnqueueRequest;
  using When = EnqueueRequest::When;
  const Duration most = limits::kDelayMax;
  std::vector<Edge> edges;
  edges.push_back(SpanOf<R>("DELAY", Duration(0), most, "0 to 36500d",
                            VESTQ_SET(R, r->when = When::kDelay; r->delay = v)));
  edges.push_back(Of<R>("AT", 0, limits::kKeyTimeMsMax, "0 to 281474976710655",
                        VESTQ_SET(R, r->when = When::kAt; r->at = WallTime(v))));
  edges.push_back(
      Of<R>("ATTEMPTS", 0, limits::kAttemptsMax, "0 to 1000000000",
            VESTQ_SET(R, r->attempts_set = true; r->attempts = static_cast<uint32_t>(v))));
  edges.push_back(SpanOf<R>("LEASE", limits::kLeaseMin, limits::kLeaseMax, "100ms to 7d",
                            VESTQ_SET(R, r->lease = v)));
  edges.push_back(
      SpanOf<R>("EXPIRE", Duration(0), most, "0 to 36500d", VESTQ_SET(R, r->expire = v)));
  edges.push_back(
      SpanOf<R>("WAIT", Duration(0), limits::kBlockMax, "0 to 36500d", VESTQ_SET(R, r->wait = v)));
  edges.push_back(SpanOf<R>("KEEP", Duration(0), most, "0 to 36500d", VESTQ_SET(R, r->keep = v)));
  edges.push_back(SpanOf<R>("FOR", Duration(0), most, "0 to 36500d",
                            VESTQ_SET(R, r->unique_key = "k"; r->unique_window = v)));
  const auto size = [&](const char* name, size_t least, size_t max, auto set) {
    edges.push_back(Of<R>(name, static_cast<int64_t>(least), static_cast<int64_t>(max),
                          std::to_string(least) + " to " + std::to_string(max),
                          [set](R* r, int64_t n) { set(r, static_cast<size_t>(n)); }));
  };
  size("queue name", 1, limits::kQueueNameBytes, VESTQ_SET(R, r->queue = Bytes(v)));
  size("space", 0, limits::kSpaceBytes, VESTQ_SET(R, r->space = Bytes(v)));
  size("UNIQUE: a key", 0, limits::kUniqueKeyBytes, VESTQ_SET(R, r->unique_key = Bytes(v)));
  size("TYPE: a name", 0, limits::kTypeBytes, VESTQ_SET(R, r->type = Bytes(v)));
  size("number of HEADER pairs", 0, limits::kHeadersMax,
       VESTQ_SET(R, r->headers.assign(v, std::make_pair("n", "v"))));
  size("number of AFTER ids", 0, limits::kAfterMax, VESTQ_SET(R, r->after.assign(v, JobId(1))));
  edges.push_back(
      Of<R>("HEADER", 0, limits::kHeadersBytes, "more than 16384",
            VESTQ_SET(R, r->headers.assign(1, std::make_pair("", Bytes(static_cast<size_t>(v)))))));
  edges.push_back(Of<R>("a payload", 0, kPayloadMax, "more than 1048576",
                        VESTQ_SET(R, r->payload = Bytes(static_cast<size_t>(v))),
                        ErrorCode::kTooBig));
  using M = EnqueueManyRequest;
  edges.push_back(
      Of<M>("number of jobs", 1, limits::kEnqueueManyMax, "1 to 1000",
            VESTQ_SET(M, r->job.queue = "q"; r->payloads.assign(static_cast<size_t>(v), "p"))));
  edges.push_back(
      Of<M>("a payload", 0, kPayloadMax, "more than 1048576",
            VESTQ_SET(M, r->job.queue = "q"; r->payloads = {Bytes(static_cast<size_t>(v))}),
            ErrorCode::kTooBig));
  edges.push_back(
      SpanOf<M>("EXPIRE", Duration(0), most, "0 to 36500d",
                VESTQ_SET(M, r->job.queue = "q"; r->payloads = {"p"}; r->job.expire = v)));
  return edges;
}

std::vector<Edge> LeaseEdges() {
  using L = LeaseRequest;
  const auto one = [](L* r) { r->queues = {"q"}; };
  std::vector<Edge> edges;
  edges.push_back(Of<L>("number of queues", 1, limits::kQueuesPerLease, "1 to 64",
                        VESTQ_SET(L, r->queues.assign(static_cast<size_t>(v), "q"))));
  edges.push_back(Of<L>("COUNT", 1, limits::kLeaseCountMax, "1 to 1000",
                        [one](L* r, int64_t v) { one(r), r->count = static_cast<uint32_t>(v); }));
  edges.push_back(SpanOf<L>("BLOCK", Duration(0), limits::kBlockMax, "0 to 36500d",
                            [one](L* r, Duration v) { one(r), r->block = v; }));
  edges.push_back(SpanOf<L>("FOR", limits::kLeaseMin, limits::kLeaseMax, "100ms to 7d",
                            [one](L* r, Duration v) { one(r), r->lease = v; }));
  edges.push_back(
      Of<L>("worker name", 0, limits::kWorkerNameBytes, "0 to 200",
            [one](L* r, int64_t v) { one(r), r->worker = Bytes(static_cast<size_t>(v)); }));
  edges.push_back(Of<L>("space", 0, limits::kSpaceBytes, "0 to 200", [one](L* r, int64_t v) {
    one(r), r->one_space = true, r->space = Bytes(static_cast<size_t>(v));
  }));
  edges.push_back(SpanOf<RenewRequest>("FOR", limits::kLeaseMin, limits::kLeaseMax, "100ms to 7d",
                                       VESTQ_SET(RenewRequest, r->lease = v)));
  edges.push_back(SpanOf<CheckpointRequest>("FOR", limits::kLeaseMin, limits::kLeaseMax,
                                            "100ms to 7d",
                                            VESTQ_SET(CheckpointRequest, r->lease = v)));
  edges.push_back(Of<CheckpointRequest>(
      "a checkpoint", 0, limits::kCheckpointBytes, "more than 65536",
      VESTQ_SET(CheckpointRequest, r->checkpoint = Bytes(static_cast<size_t>(v))),
      ErrorCode::kTooBig));
  edges.push_back(Of<CompleteRequest>(
      "a result", 0, limits::kResultBytes, "more than 1048576",
      VESTQ_SET(CompleteRequest, r->result = Bytes(static_cast<size_t>(v))), ErrorCode::kTooBig));
  edges.push_back(
      Of<FailRequest>("reason", 0, limits::kReasonBytes, "0 to 4096",
                      VESTQ_SET(FailRequest, r->reason = Bytes(static_cast<size_t>(v)))));
  edges.push_back(SpanOf<FailRequest>("DELAY", Duration(0), limits::kDelayMax, "0 to 36500d",
                                      VESTQ_SET(FailRequest, r->delay_set = true; r->delay = v)));
  edges.push_back(SpanOf<ReleaseRequest>("DELAY", Duration(0), limits::kDelayMax, "0 to 36500d",
                                         VESTQ_SET(ReleaseRequest, r->delay = v)));
  return edges;
}

template <typename T>
Edge IdOf() {
  return Of<T>("job id", 1, limits::kJobIdMax, "1 to 9007199254740991",
               VESTQ_SET(T, r->id = JobId(static_cast<uint64_t>(v))));
}

std::vector<Edge> HandlingEdges() {
  std::vector<Edge> edges = {IdOf<CancelRequest>(),  IdOf<RevokeRequest>(),
                             IdOf<PromoteRequest>(), IdOf<JobRequest>(),
                             IdOf<WaitForRequest>(), IdOf<RescheduleRequest>()};
  edges.push_back(SpanOf<WaitForRequest>("BLOCK", Duration(0), limits::kBlockMax, "0 to 36500d",
                                         VESTQ_SET(WaitForRequest, r->block = v)));
  edges.push_back(SpanOf<RescheduleRequest>("DELAY", Duration(0), limits::kDelayMax, "0 to 36500d",
                                            VESTQ_SET(RescheduleRequest, r->delay = v)));
  edges.push_back(
      Of<RescheduleRequest>("AT", 0, limits::kKeyTimeMsMax, "0 to 281474976710655",
                            VESTQ_SET(RescheduleRequest, r->at_set = true; r->at = WallTime(v))));
  edges.push_back(Of<PeekRequest>("COUNT", 1, limits::kPeekCountMax, "1 to 1000",
                                  VESTQ_SET(PeekRequest, r->count = static_cast<uint32_t>(v))));
  edges.push_back(
      Of<RedriveRequest>("job id", 0, limits::kJobIdMax, "0 to 9007199254740991",
                         VESTQ_SET(RedriveRequest, r->id = JobId(static_cast<uint64_t>(v)))));
  edges.push_back(Of<RedriveRequest>(
      "COUNT", 0, limits::kJobIdMax, "0 to 9007199254740991",
      VESTQ_SET(RedriveRequest, r->id = JobId(0); r->count = static_cast<uint64_t>(v))));
  edges.push_back(
      Of<RedriveRequest>("RATE", 0, limits::kRedriveRateMax, "0 to 1000000",
                         VESTQ_SET(RedriveRequest, r->rate = static_cast<uint32_t>(v))));
  edges.push_back(
      Of<RedriveRequest>("queue name", 0, limits::kQueueNameBytes, "1 to 200",
                         VESTQ_SET(RedriveRequest, r->to = Bytes(static_cast<size_t>(v)))));
  edges.push_back(
      Of<PurgeRequest>("number of ids", 0, limits::kPurgeIds, "0 to 1000",
                       VESTQ_SET(PurgeRequest, r->ids.assign(static_cast<size_t>(v), JobId(1)))));
  edges.push_back(
      Of<PurgeRequest>("job id", 1, limits::kJobIdMax, "1 to 9007199254740991",
                       VESTQ_SET(PurgeRequest, r->ids = {JobId(static_cast<uint64_t>(v))})));
  edges.push_back(
      Of<WorkersRequest>("queue name", 0, limits::kQueueNameBytes, "1 to 200",
                         VESTQ_SET(WorkersRequest, r->queue = Bytes(static_cast<size_t>(v)))));
  edges.push_back(
      Of<QueueInfoRequest>("queue name", 1, limits::kQueueNameBytes, "1 to 200",
                           VESTQ_SET(QueueInfoRequest, r->queue = Bytes(static_cast<size_t>(v)))));
  return edges;
}

std::vector<Edge> OptionEdges() {
  using Q = QueueSetRequest;
  using S = SpaceSetRequest;
  using Bounds = keycodec::AdaptiveBounds;
  const std::string rate = "1 to 1000000000000";
  const auto n = [](int64_t v) { return static_cast<uint32_t>(v); };
  std::vector<Edge> edges;
  const Duration most = limits::kDelayMax;
  edges.push_back(SpanOf<Q>("lease", limits::kLeaseMin, limits::kLeaseMax, "100ms to 7d",
                            VESTQ_SET(Q, r->set.lease = v)));
  edges.push_back(Of<Q>("attempts", 0, limits::kAttemptsMax, "0 to 1000000000",
                        [n](Q* r, int64_t v) { r->set.attempts = n(v); }));
  edges.push_back(
      SpanOf<Q>("keep", Duration(0), most, "0 to 36500d", VESTQ_SET(Q, r->set.keep = v)));
  edges.push_back(
      SpanOf<Q>("dead-keep", Duration(0), most, "0 to 36500d", VESTQ_SET(Q, r->set.dead_keep = v)));
  edges.push_back(Of<Q>("dead-max", 0, int64_t{1} << 48, "0 to 281474976710656",
                        VESTQ_SET(Q, r->set.dead_max = static_cast<uint64_t>(v))));
  edges.push_back(Of<Q>("concurrency", 0, limits::kConcurrencyMax, "0 to 1000000",
                        [n](Q* r, int64_t v) { r->set.concurrency = n(v); }));
  edges.push_back(Of<Q>("space-concurrency", 0, limits::kConcurrencyMax, "0 to 1000000",
                        [n](Q* r, int64_t v) { r->set.space_concurrency = n(v); }));
  edges.push_back(Of<Q>("rate", 1, limits::kRateMicroMax, rate,
                        VESTQ_SET(Q, r->set.rate_micro = static_cast<uint64_t>(v))));
  edges.push_back(Of<Q>("burst", 1, limits::kBurstMax, "1 to 1000000",
                        [n](Q* r, int64_t v) { r->set.burst = n(v); }));
  edges.push_back(Of<Q>("space-rate", 1, limits::kRateMicroMax, rate,
                        VESTQ_SET(Q, r->set.space_rate_micro = static_cast<uint64_t>(v))));
  edges.push_back(Of<Q>("space-burst", 1, limits::kBurstMax, "1 to 1000000",
                        [n](Q* r, int64_t v) { r->set.space_burst = n(v); }));
  edges.push_back(Of<Q>("space-weight", 1, limits::kSpaceWeightMax, "1 to 1000",
                        [n](Q* r, int64_t v) { r->set.space_weight = n(v); }));
  edges.push_back(SpanOf<Q>("ageing", limits::kAgeingMin, limits::kAgeingMax, "100ms to 365d",
                            VESTQ_SET(Q, r->set.ageing = v)));
  edges.push_back(Of<Q>("max-jobs", 0, int64_t{1} << 48, "0 to 281474976710656",
                        VESTQ_SET(Q, r->set.max_jobs = static_cast<uint64_t>(v))));
  edges.push_back(Of<Q>("max-bytes", 0, int64_t{1} << 56, "0 to 72057594037927936",
                        VESTQ_SET(Q, r->set.max_bytes = static_cast<uint64_t>(v))));
  edges.push_back(
      Of<Q>("adaptive min", 1, limits::kConcurrencyMax, "1 to 1000000", [n](Q* r, int64_t v) {
        r->set.adaptive = Bounds{n(v), 1'000'000};
      }));
  edges.push_back(
      Of<Q>("adaptive max", 1, limits::kConcurrencyMax, "1 to 1000000", [n](Q* r, int64_t v) {
        r->set.adaptive = Bounds{1, n(v)};
      }));
  edges.push_back(SpanOf<Q>("FOR", Duration(0), most, "0 to 36500d",
                            VESTQ_SET(Q, r->pause = true; r->pause_for = v)));
  edges.push_back(Of<S>("concurrency", 0, limits::kConcurrencyMax, "0 to 1000000",
                        [n](S* r, int64_t v) { r->set.concurrency = n(v); }));
  edges.push_back(Of<S>("rate", 0, limits::kRateMicroMax, "0 to 1000000000000",
                        VESTQ_SET(S, r->set.rate_micro = static_cast<uint64_t>(v))));
  edges.push_back(Of<S>("burst", 1, limits::kBurstMax, "1 to 1000000",
                        [n](S* r, int64_t v) { r->set.burst = n(v); }));
  edges.push_back(Of<S>("weight", 1, limits::kSpaceWeightMax, "1 to 1000",
                        [n](S* r, int64_t v) { r->set.weight = n(v); }));
  edges.push_back(SpanOf<S>("FOR", Duration(0), most, "0 to 36500d",
                            VESTQ_SET(S, r->pause = true; r->pause_for = v)));
  edges.push_back(Of<SpacesRequest>("COUNT", 1, limits::kSpacesCountMax, "1 to 1000",
                                    [n](SpacesRequest* r, int64_t v) { r->count = n(v); }));
  return edges;
}

std::vector<Edge> OtherEdges() {
  using C = ScheduleRequest;
  const auto schedule = [](C* r) {
    r->op = ScheduleOp::kSet;
    r->name = "s";
    r->timing.kind = keycodec::ScheduleKind::kEvery;
    r->timing.every = Seconds(60);
    r->job.queue = "q";
  };
  std::vector<Edge> edges;
  edges.push_back(SpanOf<C>("EVERY", limits::kEveryMin, limits::kEveryMax, "100ms to 36500d",
                            [=](C* r, Duration v) { schedule(r), r->timing.every = v; }));
  edges.push_back(
      Of<C>("schedule name", 1, limits::kScheduleNameBytes, "1 to 200",
            [=](C* r, int64_t v) { schedule(r), r->name = Bytes(static_cast<size_t>(v)); }));
  edges.push_back(SpanOf<C>("LEASE", limits::kLeaseMin, limits::kLeaseMax, "100ms to 7d",
                            [=](C* r, Duration v) { schedule(r), r->job.lease = v; }));
  edges.push_back(
      Of<C>("COUNT", 1, static_cast<int64_t>(limits::kScheduleListMax), "1 to 1000",
            VESTQ_SET(C, r->op = ScheduleOp::kList; r->count = static_cast<size_t>(v))));
  edges.push_back(
      Of<DataSetRequest>("a key", 1, limits::kDataKeyBytes, "1 to 1024",
                         VESTQ_SET(DataSetRequest, r->key = Bytes(static_cast<size_t>(v)))));
  edges.push_back(Of<DataSetRequest>(
      "a value", 0, kPayloadMax, "more than 1048576",
      VESTQ_SET(DataSetRequest, r->key = "k"; r->value = Bytes(static_cast<size_t>(v))),
      ErrorCode::kTooBig));
  edges.push_back(
      Of<DataGetRequest>("number of keys", 1, limits::kDataKeysMax, "1 to 1000",
                         VESTQ_SET(DataGetRequest, r->keys.assign(static_cast<size_t>(v), "k"))));
  edges.push_back(Of<DataDeleteRequest>(
      "number of keys", 1, limits::kDataKeysMax, "1 to 1000",
      VESTQ_SET(DataDeleteRequest, r->keys.assign(static_cast<size_t>(v), "k"))));
  edges.push_back(Of<DataDeleteRequest>(
      "a key", 1, limits::kDataKeyBytes, "1 to 1024",
      VESTQ_SET(DataDeleteRequest, r->keys = {Bytes(static_cast<size_t>(v))})));
  edges.push_back(
      Of<DataRangeRequest>("COUNT", 1, limits::kRangeCountMax, "1 to 10000",
                           VESTQ_SET(DataRangeRequest, r->count = static_cast<uint32_t>(v))));
  edges.push_back(Of<DataRangeRequest>(
      "a key", 0, limits::kDataKeyBytes, "0 to 1024",
      VESTQ_SET(DataRangeRequest, r->count = 1; r->prefix = Bytes(static_cast<size_t>(v)))));
  return edges;
}

std::vector<Edge> AllEdges() {
  std::vector<Edge> all = JobEdges();
  for (const auto& part : {LeaseEdges(), HandlingEdges(), OptionEdges(), OtherEdges()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

bool IsSize(const Edge& edge) { return edge.limits.starts_with("more than"); }

TEST(RequestLimits, EachNumberIsTakenToItsEdgesAndRefusedBeyondThem) {
  for (const Edge& edge : AllEdges()) {
    for (const int64_t inside : {edge.least, edge.most}) {
      const auto request = edge.with(inside);
      EXPECT_EQ(CheckRequest(request.get(), kPayloadMax).ToString(), "OK")
          << edge.name << " " << inside;
    }
    std::vector<int64_t> outside = {edge.most + 1};
    if (edge.least > 1 || (edge.least == 1 && !edge.limits.starts_with("100")))
      outside.push_back(edge.least - 1);
    for (const int64_t value : outside) {
      const auto request = edge.with(value);
      const Error error = CheckRequest(request.get(), kPayloadMax);
      EXPECT_EQ(error.code(), edge.code) << edge.name << " " << value;
      EXPECT_THAT(error.text(), HasSubstr(edge.name)) << value;
      EXPECT_THAT(error.text(), HasSubstr(IsSize(edge) ? edge.limits : kSpan + edge.limits))
          << edge.name << " " << value;
    }
  }
}

// The same through a core: nothing of it is carried out.
TEST(RequestLimits, WhatIsRefusedLeavesNothing) {
  World world(WorldOf(2));
  world.Open();
  PutJob(&world);
  const uint64_t written = world.records_written();
  for (const Edge& edge : AllEdges()) {
    if (edge.name == "a payload" || edge.name == "a value") continue;  // that world allows more
    const auto request = edge.with(edge.most + 1);
    world.Run(request.get(), 1);
    EXPECT_EQ(request->error.code(), edge.code) << edge.name << " " << request->error.ToString();
  }
  EXPECT_EQ(world.records_written(), written);
  EXPECT_EQ(world.Counts("q").enqueued, 1);
  EXPECT_EQ(world.Counts("q").ready, 1);
  EXPECT_THAT(world.Violations(), IsEmpty());
}

// Negative spans, and those whose sum with the time of day would not fit a number: never none, never wrapped.
TEST(RequestLimits, NoSpanIsTakenForAnother) {
  World world;
  world.Open();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  for (const Edge& edge : AllEdges()) {
    if (!edge.limits.ends_with("d")) continue;
    for (const int64_t ms : {int64_t{-1}, kLeast, kLeast + 1, kMost - 1, kMost}) {
      const auto request = edge.with(ms);
      world.Run(request.get());
      EXPECT_EQ(request->error.code(), ErrorCode::kRange) << edge.name << " " << ms;
      EXPECT_THAT(request->error.text(), HasSubstr(edge.name + " ")) << ms;
      EXPECT_THAT(request->error.text(), HasSubstr(kSpan + edge.limits)) << ms;
    }
  }
  EXPECT_EQ(world.Counts("q").enqueued, 0);
}

TEST(RequestLimits, TheLastSpansVestWhenTheySay) {
  World world;
  world.Open();
  world.Enqueue("q", "p");
  const auto held = world.Lease("q");
  ASSERT_EQ(held.size(), 1u);
  FailRequest fail;
  fail.receipt = held[0].receipt;
  fail.delay_set = true;
  fail.delay = limits::kDelayMax;
  world.Run(&fail);
  ASSERT_TRUE(fail.error.ok()) << fail.error.ToString();
  EXPECT_EQ(fail.retry_in, limits::kDelayMax);
  JobRequest job;
  job.id = held[0].receipt.id;
  world.Run(&job);
  EXPECT_EQ(job.state, JobState::kScheduled);
  EXPECT_EQ(job.vests_in, limits::kDelayMax);
}

TEST(RequestLimits, NamesAndWordsThatDoNotGoTogetherAreSaid) {
  EnqueueRequest job;
  job.queue = "q u";
  EXPECT_THAT(CheckRequest(&job, kPayloadMax).ToString(), HasSubstr("ERR queue name 'q u'"));
  job.queue = "q";
  job.unique_window = Seconds(1);
  EXPECT_THAT(CheckRequest(&job, kPayloadMax).ToString(), HasSubstr("belong to UNIQUE"));
  job.unique_window = Duration(0);
  job.backoff = "exp";
  EXPECT_THAT(CheckRequest(&job, kPayloadMax).ToString(), HasSubstr("ERR BACKOFF: "));
  job.backoff = *ParseBackoff("exp:5s:12h");
  EXPECT_TRUE(CheckRequest(&job, kPayloadMax).ok());
  EnqueueManyRequest many;
  many.job.queue = "q";
  many.payloads = {"p"};
  many.job.unique_key = "k";
  EXPECT_THAT(CheckRequest(&many, kPayloadMax).ToString(), HasSubstr("ERR option UNIQUE"));
  ScheduleRequest schedule;
  schedule.op = ScheduleOp::kSet;
  schedule.name = "s";
  schedule.job.queue = "q";
  schedule.job.when = EnqueueRequest::When::kAt;
  EXPECT_THAT(CheckRequest(&schedule, kPayloadMax).ToString(), HasSubstr("ERR options DELAY"));
}

TEST(RequestLimits, AGroupIsRefusedForItsMemberAndSaysWhich) {
  World world(WorldOf(2));
  world.Open();
  GroupRequest group;
  auto job = std::make_unique<EnqueueRequest>();
  job->queue = "q";
  group.members.push_back(std::move(job));
  auto fail = std::make_unique<FailRequest>();
  fail->delay = Milliseconds(-1);
  group.members.push_back(std::move(fail));
  world.Run(&group, 1);
  EXPECT_EQ(group.failed, 1u);
  EXPECT_EQ(group.error.ToString(), "RANGE DELAY -1ms is outside 0 to 36500d");
  group.members.pop_back();
  group.members.push_back(std::make_unique<PromoteRequest>());
  world.Run(&group, 1);
  EXPECT_EQ(group.failed, 1u);
  EXPECT_THAT(group.error.text(), HasSubstr("not allowed in a group"));
  EXPECT_EQ(world.Counts("q").enqueued, 0);
}

}  // namespace
}  // namespace vestq
