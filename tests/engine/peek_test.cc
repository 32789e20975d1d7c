// PEEK: every job that stays is seen once, in every state, in pages of any size, with other jobs coming
// and going, and nothing is shown that a power cut could take back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/engine/world_fixture.h"

namespace vestq {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Peek : public ::testing::Test {
 protected:
  explicit Peek(const WorldOptions& options = Options()) : world_(options) { world_.Open(); }

  static WorldOptions Options() { return WorldOf(3); }
  JobId Put(const std::string& queue, const std::string& space, uint16_t core,
            Duration delay = Duration(0), uint32_t priority = 1024) {
    EnqueueRequest request;
    request.queue = queue;
    request.space = space;
    request.payload = "payload";
    request.priority = priority;
    if (delay > Duration(0)) {
      request.when = EnqueueRequest::When::kDelay;
      request.delay = delay;
    }
    world_.Run(&request, core);
    EXPECT_TRUE(request.error.ok());
    return request.id;
  }
  // One page; the request is kept for a look.
  PeekRequest& Page(
      JobState state, const std::string& cursor, uint32_t count,
      const std::function<void(PeekRequest*)>& set = [](PeekRequest*) {}) {
    page_ = std::make_unique<PeekRequest>();
    page_->queue = "q";
    page_->state = state;
    page_->cursor = cursor;
    page_->count = count;
    set(page_.get());
    world_.Run(page_.get(), 1);
    return *page_;
  }
  // How often each job came, over all pages.
  std::map<JobId, int> All(
      JobState state, uint32_t count, const std::function<void()>& between = [] {},
      const std::function<void(PeekRequest*)>& set = [](PeekRequest*) {}) {
    std::map<JobId, int> seen;
    std::string cursor = "0";
    for (int pages = 0; pages < 1000; ++pages) {
      const PeekRequest& page = Page(state, cursor, count, set);
      EXPECT_TRUE(page.error.ok()) << page.error.ToString();
      EXPECT_LE(page.jobs.size(), count);
      for (const auto& job : page.jobs) {
        ++seen[job->id];
        order_.push_back(job->id);
        EXPECT_EQ(job->state, state);
      }
      cursor = page.cursor;
      if (cursor == "0") return seen;
      between();
    }
    ADD_FAILURE() << "the pages do not end";
    return seen;
  }
  std::set<JobId> Spread(size_t count, Duration delay = Duration(0)) {
    std::set<JobId> ids;
    const char* const spaces[] = {"", "acme", "bolt"};
    for (size_t i = 0; i < count; ++i) {
      ids.insert(Put("q", spaces[i % 3], static_cast<uint16_t>(i % 3),
                     delay > Duration(0) ? delay + Seconds(static_cast<int64_t>(i)) : delay));
      Put("other", spaces[i % 3], static_cast<uint16_t>(i % 3), delay);
    }
    return ids;
  }
  void ExpectOnce(const std::map<JobId, int>& seen, const std::set<JobId>& ids) {
    EXPECT_EQ(seen.size(), ids.size());
    for (JobId id : ids) EXPECT_EQ(seen.count(id) == 0 ? 0 : seen.at(id), 1) << id.value();
  }

  World world_;
  std::unique_ptr<PeekRequest> page_;
  std::vector<JobId> order_;
};

TEST_F(Peek, EveryJobComesOnceInEachState) {
  const std::set<JobId> scheduled = Spread(20, Hours(1));
  std::set<JobId> dead, leased, ready;
  Spread(60);
  for (const LeasedJob& job : world_.Lease("q", 40, Hours(1))) {
    if (dead.size() < 20) {
      FailRequest fail;
      fail.receipt = job.receipt;
      fail.to_dead = true;
      fail.reason = "bad";
      world_.Run(&fail);
      dead.insert(job.receipt.id);
    } else {
      leased.insert(job.receipt.id);
    }
  }
  for (uint32_t count : {1u, 3u, 7u, 1000u}) {
    ExpectOnce(All(JobState::kScheduled, count), scheduled);
    ExpectOnce(All(JobState::kDead, count), dead);
    ExpectOnce(All(JobState::kLeased, count), leased);
    EXPECT_THAT(All(JobState::kReady, count), SizeIs(20));
  }
  const PeekRequest& page = Page(JobState::kDead, "0", 1);
  ASSERT_THAT(page.jobs, SizeIs(1));
  EXPECT_EQ(page.jobs[0]->last_error, "bad");
  EXPECT_EQ(page.jobs[0]->queue, "q");
  EXPECT_EQ(page.jobs[0]->size, 7u);
  EXPECT_EQ(page.jobs[0]->payload, "");
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Peek, OneSpaceIsListedAlone) {
  Spread(30);
  for (const char* space : {"", "acme"}) {
    const auto set = [space](PeekRequest* r) {
      r->one_space = true;
      r->space = space;
    };
    EXPECT_THAT(All(
                    JobState::kReady, 4, [] {}, set),
                SizeIs(10));
  }
  world_.Lease("q", 30, Hours(1));
  const auto bolt = [](PeekRequest* r) {
    r->one_space = true;
    r->space = "bolt";
  };
  EXPECT_THAT(All(
                  JobState::kLeased, 4, [] {}, bolt),
              SizeIs(10));
  EXPECT_THAT(All(
                  JobState::kReady, 4, [] {}, bolt),
              IsEmpty());
}

TEST_F(Peek, JobsThatComeAndGoMeanwhileDoNotHideThoseThatStay) {
  for (JobState state : {JobState::kReady, JobState::kScheduled}) {
    SCOPED_TRACE(std::string(JobStateName(state)));
    const Duration delay = state == JobState::kReady ? Duration(0) : Hours(1);
    const std::set<JobId> stay = Spread(30, delay);
    std::vector<JobId> others;
    const auto seen = All(state, 3, [&] {
      others.push_back(Put("q", "acme", 0, delay, 1));
      others.push_back(Put("q", "", 1, delay, 5000));
      CancelRequest cancel;
      cancel.id = others[others.size() / 2];
      world_.Run(&cancel);
    });
    for (JobId id : stay) EXPECT_EQ(seen.at(id), 1);
    for (const auto& [id, times] : seen) EXPECT_EQ(times, 1);
    for (JobId id : others) {
      CancelRequest cancel;
      cancel.id = id;
      world_.Run(&cancel);
    }
    for (JobId id : stay) {
      CancelRequest cancel;
      cancel.id = id;
      world_.Run(&cancel);
      EXPECT_TRUE(cancel.cancelled);
    }
  }
}

TEST_F(Peek, RenewedLeasesAreSeenOnce) {
  Spread(30);
  const auto jobs = world_.Lease("q", 30, Seconds(30));
  size_t next = 0;
  const auto seen = All(JobState::kLeased, 4, [&] {
    world_.Advance(Seconds(20));
    for (const LeasedJob& job : jobs) {
      RenewRequest renew;
      renew.receipt = job.receipt;
      renew.lease = Seconds(25 + static_cast<int64_t>(next++ % 50));
      world_.Run(&renew);
      ASSERT_TRUE(renew.error.ok());
    }
  });
  EXPECT_THAT(seen, SizeIs(30));
  for (const auto& [id, times] : seen) EXPECT_EQ(times, 1);
}

TEST_F(Peek, LeasedJobsShowTheExactEndOfTheirLease) {
  Put("q", "", 0);
  LeaseRequest lease;
  lease.queues = {"q"};
  lease.worker = "w";
  lease.lease = Seconds(10);
  world_.Run(&lease);
  world_.Advance(Seconds(9));
  RenewRequest renew;  // the key goes to 20 s from now, the lease ends in 10
  renew.receipt = lease.jobs.at(0).receipt;
  world_.Run(&renew);
  world_.Advance(Seconds(3));
  const PeekRequest& page = Page(JobState::kLeased, "0", 10);
  ASSERT_THAT(page.jobs, SizeIs(1));
  EXPECT_EQ(page.jobs[0]->lease_left, Seconds(7));
  EXPECT_EQ(page.jobs[0]->worker, "w");
}

TEST_F(Peek, DeadLettersComeOldestFirstAlsoAfterARestart) {
  std::vector<JobId> died;
  for (int i = 0; i < 12; ++i) {
    Put("q", i % 2 == 0 ? "" : "acme", static_cast<uint16_t>(i % 3));
    FailRequest fail;
    fail.receipt = world_.Lease("q", 1).at(0).receipt;
    fail.to_dead = true;
    world_.Run(&fail);
    died.push_back(fail.receipt.id);
    world_.Advance(Milliseconds(5));
  }
  All(JobState::kDead, 5, [&] {
    EXPECT_THAT(world_.Violations(), IsEmpty());
    world_.Kill();
    world_.Open();
  });
  EXPECT_EQ(order_, died);
}

TEST_F(Peek, KeptResultsAreListedInTheOrderOfTheirEnd) {
  std::vector<JobId> done;
  for (int i = 0; i < 9; ++i) {
    EnqueueRequest request;
    request.queue = i % 3 == 2 ? "other" : "q";
    request.space = i % 2 == 0 ? "" : "acme";
    request.payload = "payload";
    request.keep = Hours(1);
    world_.Run(&request, static_cast<uint16_t>(i % 3));
    CompleteRequest complete;
    complete.receipt = world_.Lease(request.queue, 1).at(0).receipt;
    complete.result = "r" + std::to_string(i);
    world_.Run(&complete);
    world_.Advance(Milliseconds(5));
    if (request.queue == "q") done.push_back(request.id);
  }
  All(JobState::kDone, 2);
  EXPECT_EQ(order_, done);
  const PeekRequest& page = Page(JobState::kDone, "0", 1);
  EXPECT_EQ(page.jobs.at(0)->result, "r0");
  EXPECT_THAT(All(
                  JobState::kDone, 2, [] {},
                  [](PeekRequest* r) {
                    r->one_space = true;
                    r->space = "acme";
                  }),
              SizeIs(3));
}

TEST_F(Peek, AnotherCursorIsRefused) {
  Spread(10);
  const std::string cursor = Page(JobState::kReady, "0", 2).cursor;
  ASSERT_NE(cursor, "0");
  const auto expect_wrong = [this](JobState state, const std::string& text,
                                   const std::function<void(PeekRequest*)>& set) {
    EXPECT_EQ(Page(state, text, 2, set).error.code(), ErrorCode::kSyntax) << text;
    EXPECT_THAT(page_->error.text(), HasSubstr("CURSOR"));
  };
  const auto plain = [](PeekRequest*) {};
  expect_wrong(JobState::kScheduled, cursor, plain);
  expect_wrong(JobState::kReady, cursor, [](PeekRequest* r) { r->queue = "other"; });
  expect_wrong(JobState::kReady, cursor, [](PeekRequest* r) { r->one_space = true; });
  for (const std::string& text :
       {std::string(), std::string("1"), cursor + "0", cursor + "00", "00" + cursor,
        cursor.substr(2), std::string("zz"), std::string(5000, 'a')}) {
    expect_wrong(JobState::kReady, text, plain);
  }
  for (size_t i = 0; i < cursor.size(); ++i) {
    std::string text = cursor;
    text[i] = text[i] == '5' ? '6' : '5';
    expect_wrong(JobState::kReady, text, plain);
  }
  EXPECT_TRUE(Page(JobState::kReady, cursor, 2).error.ok());
  EXPECT_EQ(Page(JobState::kReady, "0", 2, [](PeekRequest* r) { r->queue = "none"; }).error.code(),
            ErrorCode::kNotFound);
}

TEST_F(Peek, ALeasedCursorEndsWithARestart) {
  Spread(10);
  world_.Lease("q", 10, Hours(1));
  const std::string cursor = Page(JobState::kLeased, "0", 2).cursor;
  EXPECT_TRUE(Page(JobState::kLeased, cursor, 2).error.ok());
  world_.Kill();
  world_.Open();
  EXPECT_EQ(Page(JobState::kLeased, cursor, 2).error.code(), ErrorCode::kSyntax);
  EXPECT_THAT(page_->error.text(), HasSubstr("restart"));
  EXPECT_THAT(All(JobState::kLeased, 3), SizeIs(10));
}

// With memory that allows payloads longer than a page.
class PeekOfLongJobs : public Peek {
 protected:
  PeekOfLongJobs() : Peek(Large()) {}
  static WorldOptions Large() {
    WorldOptions options = Options();
    options.memory = uint64_t{160} << 20;
    return options;
  }
};

TEST_F(PeekOfLongJobs, APageHoldsEightMebibytesOfPayloadsButAlwaysOneJob) {
  std::set<JobId> ids;
  for (int i = 0; i < 30; ++i) {
    EnqueueRequest request;
    request.queue = "q";
    request.payload.assign(i == 7 ? size_t{9} << 20 : size_t{1} << 20, 'x');
    world_.Run(&request, static_cast<uint16_t>(i % 3));
    ASSERT_TRUE(request.error.ok()) << request.error.ToString();
    ids.insert(request.id);
  }
  std::map<JobId, int> seen;
  std::string cursor = "0";
  int pages = 0;
  do {
    const PeekRequest& page =
        Page(JobState::kReady, cursor, 1000, [](PeekRequest* r) { r->want_payload = true; });
    ASSERT_TRUE(page.error.ok());
    uint64_t bytes = 0;
    ASSERT_FALSE(page.jobs.empty());
    for (const auto& job : page.jobs) {
      EXPECT_EQ(job->payload.size(), job->size);
      bytes += job->payload.size();
      ++seen[job->id];
    }
    EXPECT_TRUE(bytes <= limits::kLeaseReplyBytes || page.jobs.size() == 1) << bytes;
    cursor = page.cursor;
    ++pages;
  } while (cursor != "0" && pages < 100);
  ExpectOnce(seen, ids);
  EXPECT_GE(pages, 5);
}

// A queue whose one job stands behind very many of others: the call looks at so many and comes back
// with nothing and a cursor.
TEST_F(Peek, ALongWayToTheNextJobIsCutIntoPages) {
  for (int i = 0; i < 40; ++i) {
    EnqueueManyRequest many;
    many.job.queue = "other";
    many.job.when = EnqueueRequest::When::kDelay;
    many.job.delay = Hours(1);
    many.payloads.assign(1000, "x");
    world_.Run(&many);
    ASSERT_TRUE(many.error.ok());
  }
  const JobId id = Put("q", "", 0, Hours(2));
  std::string cursor = "0";
  int empty = 0;
  for (;;) {
    const PeekRequest& page = Page(JobState::kScheduled, cursor, 10);
    ASSERT_TRUE(page.error.ok());
    if (!page.jobs.empty()) {
      EXPECT_EQ(page.jobs[0]->id, id);
      EXPECT_EQ(page.jobs[0]->vests_in, Hours(2));
      break;
    }
    ++empty;
    cursor = page.cursor;
    ASSERT_NE(cursor, "0");
  }
  EXPECT_GE(empty, 1);
}

// What a page shows is on disk before the page is answered.
TEST_F(Peek, NothingIsShownThatAPowerCutCouldTakeBack) {
  int shown = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    WorldOptions options = Options();
    options.seed = seed;
    World world(options);
    world.Open();
    world.Enqueue("q", "first");
    std::vector<std::unique_ptr<EnqueueRequest>> jobs;
    bool enqueued[8] = {};
    PeekRequest peek;
    peek.queue = "q";
    peek.count = 100;
    bool done = false;
    for (size_t i = 0; i < 8; ++i) {
      jobs.push_back(std::make_unique<EnqueueRequest>());
      jobs.back()->queue = "q";
      jobs.back()->payload = "x";
      world.Start(jobs.back().get(), &enqueued[i], static_cast<uint16_t>(i % 3));
      world.Step();
      if (i == 4) world.Start(&peek, &done, static_cast<uint16_t>(seed % 3));
    }
    for (int i = 0; i < 400 && !done; ++i) world.Step();
    ASSERT_TRUE(done);
    world.PowerCut(CrashMode::kLoseUnsynced);
    world.Boot(Seconds(1));
    world.Open();
    for (const auto& job : peek.jobs) {
      ++shown;
      EXPECT_EQ(world.State(job->id), JobState::kReady) << "seed " << seed;
    }
  }
  EXPECT_GT(shown, 100);
}

}  // namespace
}  // namespace vestq
