// Events: what a job's life says, when, and to whom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/purge_request.h"
#include "engine/watch_request.h"
#include "tests/engine/world_fixture.h"

namespace vestq {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Events : public ::testing::Test {
 protected:
  Events() : world_(WorldOf(3, 6)) { world_.Open(); }
  ~Events() override {
    if (request_.subscription != nullptr) world_.engine()->Unlisten(request_.subscription.get());
  }

  void Listen(std::vector<std::string> queues = {}) {
    request_.subscription = std::make_shared<EventSubscription>(CoreId(2), std::move(queues));
    ASSERT_TRUE(world_.engine()->Listen(request_.subscription).ok());
  }
  // All there are now: "kind attempt", with worker and reason where there are any.
  std::vector<std::string> Read() {
    std::vector<std::string> out;
    for (;;) {
      world_.Start(&request_, &done_, 2);
      world_.Settle();
      if (!done_) world_.core(2)->Abandon(&request_);
      world_.Settle();
      CHECK(done_);
      if (request_.missed > 0) out.push_back("missed " + std::to_string(request_.missed));
      for (const JobEvent& event : request_.events) {
        std::string text(EventName(event.kind));
        text += " " + std::to_string(event.attempt);
        if (event.id == JobId(0)) text += " of " + std::to_string(event.jobs) + " jobs";
        if (!event.worker.empty()) text += " by " + event.worker;
        if (!event.reason.empty()) text += ": " + event.reason;
        out.push_back(std::move(text));
        last_ = event;
      }
      if (request_.events.empty()) return out;
    }
  }
  JobId Put(const Setter<EnqueueRequest>& set = {}) { return PutJob(&world_, set); }
  Receipt Take() {
    LeaseRequest lease;
    lease.queues = {"q"};
    lease.worker = "w";
    world_.Run(&lease);
    CHECK(lease.jobs.size() == 1);
    return lease.jobs[0].receipt;
  }

  World world_;
  EventsRequest request_;
  bool done_ = false;
  JobEvent last_;
};

TEST_F(Events, TellAJobsLife) {
  Listen();
  const JobId id = Put([](EnqueueRequest* r) {
    r->when = EnqueueRequest::When::kDelay;
    r->delay = Seconds(1);
    r->attempts_set = true;
    r->attempts = 3;
  });
  world_.Advance(Seconds(1));
  world_.Settle();
  ReleaseRequest release;
  release.receipt = Take();
  world_.Run(&release);
  FailRequest fail;
  fail.receipt = Take();
  fail.reason = "no";
  fail.delay_set = true;
  world_.Run(&fail);
  Take();
  world_.Advance(Seconds(30));
  world_.Settle();
  RevokeRequest revoke;
  revoke.id = id;
  Take();
  world_.Run(&revoke);
  RedriveRequest redrive;
  redrive.queue = "q";
  world_.Run(&redrive);
  CompleteRequest complete;
  complete.receipt = Take();
  world_.Run(&complete);
  EXPECT_THAT(Read(), ElementsAre("enqueued 0", "ready 0", "leased 1 by w", "released 1 by w",
                                  "leased 1 by w", "failed 1 by w: no", "leased 2 by w",
                                  "expired 2 by w", "leased 3 by w", "revoked 3 by w",
                                  "dead 3 by w: attempts used up: the lease was revoked",
                                  "redriven 0", "leased 1 by w", "completed 1 by w"));
  EXPECT_EQ(last_.id, id);
  EXPECT_EQ(last_.queue, "q");
  EXPECT_EQ(last_.at.ms(), world_.clock().wall_ms);
}

TEST_F(Events, TellWhatIsDoneToJobsByHand) {
  Listen();
  const JobId id = Put();
  RescheduleRequest later;
  later.id = id;
  later.delay = Hours(1);
  world_.Run(&later);
  PromoteRequest promote;
  promote.id = id;
  world_.Run(&promote);
  CancelRequest cancel;
  cancel.id = id;
  world_.Run(&cancel);
  Put([](EnqueueRequest* r) { r->expire = Seconds(1); });
  world_.Advance(Seconds(2));
  world_.Settle();
  EXPECT_THAT(Read(), ElementsAre("enqueued 0", "rescheduled 0", "rescheduled 0", "cancelled 0",
                                  "enqueued 0", "lapsed 0"));
}

// One for each job that is removed by itself, one for all that a small write makes void.
TEST_F(Events, TellWhatWasPurgedOrDropped) {
  const auto purge = [this](const std::function<void(PurgeRequest*)>& set) {
    PurgeRequest request;
    request.queue = "q";
    set(&request);
    world_.Run(&request, 1);
    world_.Settle();
  };
  for (int i = 0; i < 3; ++i) Put();
  const JobId by_id = Put([](EnqueueRequest* r) { r->space = "acme"; });
  Put([](EnqueueRequest* r) { r->space = "acme"; });
  Take();
  Listen();
  purge([&](PurgeRequest* r) { r->ids = {by_id}; });
  EXPECT_THAT(Read(), ElementsAre("purged 0"));
  EXPECT_EQ(last_.id, by_id);
  purge([](PurgeRequest* r) {
    r->one_space = true;
    r->space = "acme";
  });
  EXPECT_THAT(Read(), ElementsAre("purged 0"));
  purge([](PurgeRequest*) {});
  EXPECT_THAT(Read(), ElementsAre("purged 0 of 2 jobs: PURGE"));
  EXPECT_EQ(last_.queue, "q");
  purge([](PurgeRequest* r) { r->state = JobState::kReady; });
  EXPECT_THAT(Read(), IsEmpty()) << "nothing was there";
  purge([](PurgeRequest* r) { r->state = JobState::kLeased; });
  EXPECT_THAT(Read(), ElementsAre("purged 1 by w"));
  Put([](EnqueueRequest* r) {
    r->when = EnqueueRequest::When::kDelay;
    r->delay = Hours(1);
  });
  purge([](PurgeRequest* r) { r->state = JobState::kScheduled; });
  Put();
  Take();
  Put();
  purge([](PurgeRequest* r) { r->drop = true; });
  EXPECT_THAT(Read(),
              ElementsAre("enqueued 0", "purged 0 of 1 jobs: PURGE STATE scheduled", "enqueued 0",
                          "leased 1 by w", "enqueued 0", "purged 0 of 2 jobs: QUEUE DROP"));
}

TEST_F(Events, OfSomeQueuesOnly) {
  Listen({"q", "s"});
  world_.Enqueue("r", "p");
  world_.Enqueue("q", "p");
  EXPECT_THAT(Read(), ElementsAre("enqueued 0"));
  EXPECT_EQ(last_.queue, "q");
}

TEST_F(Events, BeginWithListeningAndEndWithIt) {
  Put();
  Listen();
  EXPECT_THAT(Read(), IsEmpty());
  Put();
  world_.engine()->Unlisten(request_.subscription.get());
  Put();
  EXPECT_THAT(Read(), SizeIs(1)) << "what was published is still there to be read";
}

TEST_F(Events, WaitUntilWhatTheyReportIsDurable) {
  Listen();
  world_.Start(&request_, &done_, 2);
  world_.Settle();
  EnqueueRequest put;
  put.queue = "q";
  bool put_done = false;
  world_.Start(&put, &put_done, 1);
  for (int i = 0; i < 50; ++i) {  // all but the sync
    for (uint16_t core = 0; core < 3; ++core) world_.core(core)->Turn();
    world_.engine()->WriteDrain();
  }
  EXPECT_FALSE(put_done);
  EXPECT_FALSE(done_) << "EVENT-1";
  world_.Settle();
  EXPECT_TRUE(done_);
  EXPECT_THAT(request_.events, SizeIs(1));
}

TEST_F(Events, AReaderThatFallsBehindIsToldHowManyItMissed) {
  Listen();
  constexpr int kJobs = 5000;
  EnqueueRequest put;
  put.queue = "q";
  for (int i = 0; i < kJobs; ++i) {
    bool done = false;
    world_.Start(&put, &done, 1);
    world_.core(1)->Turn();
    world_.engine()->WriteDrain();
    world_.engine()->SyncOnce();
    world_.core(1)->Turn();
    CHECK(done);
  }
  world_.Settle();
  const auto read = Read();
  ASSERT_THAT(read, SizeIs(EventSubscription::kEvents + 1));
  EXPECT_EQ(read[0], "missed " + std::to_string(kJobs - EventSubscription::kEvents));
  EXPECT_EQ(last_.id, put.id) << "the newest are there";
}

TEST_F(Events, ReadersAreLimited) {
  std::vector<std::shared_ptr<EventSubscription>> all;
  for (size_t i = 0; i < limits::kEventReaders; ++i) {
    all.push_back(std::make_shared<EventSubscription>(CoreId(0), std::vector<std::string>()));
    ASSERT_TRUE(world_.engine()->Listen(all.back()).ok());
  }
  const auto more = std::make_shared<EventSubscription>(CoreId(0), std::vector<std::string>());
  EXPECT_EQ(world_.engine()->Listen(more).code(), ErrorCode::kFull);
  world_.engine()->Unlisten(all[3].get());
  EXPECT_TRUE(world_.engine()->Listen(more).ok());
}

}  // namespace
}  // namespace vestq
