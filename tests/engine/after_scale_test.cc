// AFTER: what an edge costs, in a group, and ten thousand of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/group_request.h"
#include "tests/engine/after_fixture.h"

namespace vestq {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// What ARCHITECTURE.md says of the cost of an edge: records beyond those of jobs that do not wait.
TEST_P(After, AnEdgeCostsFewRecords) {
  static constexpr uint64_t kEdges = 500;
  const auto cost = [this](const char* what, uint64_t most, const std::function<void()>& run) {
    // Beside these a batch has its clock and its counters, which all of a turn share.
    const auto written = [this] {
      return world_.records_written() - 2 * world_.engine()->Info().tickets_written;
    };
    const uint64_t before = written();
    run();
    world_.Settle();
    const uint64_t records = written() - before;
    std::printf("%s: %.2f records an edge\n", what, static_cast<double>(records) / kEdges);
    RecordProperty(what, std::to_string(records));
    EXPECT_LE(records, most) << what;
    EXPECT_GT(records, 2 * kEdges) << what;
  };
  const auto complete_all = [this](const std::string& queue) {
    std::vector<std::unique_ptr<CompleteRequest>> ends;
    std::vector<std::unique_ptr<bool>> done;
    for (const LeasedJob& job : world_.Lease(queue, kEdges)) {
      ends.push_back(std::make_unique<CompleteRequest>());
      ends.back()->receipt = job.receipt;
      done.push_back(std::make_unique<bool>(false));
      world_.Start(ends.back().get(), done.back().get());
    }
    EXPECT_EQ(ends.size(), kEdges);
    world_.Settle();
  };
  EnqueueManyRequest many;
  many.payloads.assign(kEdges, "x");

  // One child of many parents. Each is marked when it gets its edge; each COMPLETE tells its own lane and
  // that of the child.
  many.job.queue = "p";
  world_.Run(&many);
  const std::vector<JobId> parents = many.ids;
  cost("fan-in enqueue", 4 * kEdges + 200, [&] { Put("c", parents); });
  // 2 of these are the COMPLETE's own; the leases' 2 come on top.
  cost("fan-in complete", 10 * kEdges + 200, [&] { complete_all("p"); });

  // Many children of one parent.
  const JobId parent = Put("one");
  many.job.queue = "d";
  many.job.after = {parent};
  // 3 of these are a waiting job's record, row and job row; each child sends its own word.
  cost("fan-out enqueue", 7 * kEdges + 200, [&] { world_.Run(&many); });
  // A child loses both sides of its edge, its row and job row, and gets its READY key.
  cost("fan-out complete", 5 * kEdges + 200, [&] { Finish("one"); });
}

TEST_P(After, WorksInsideOfAGroup) {
  for (int round = 0; round < 6; ++round) {
    const JobId first = Put("p");
    const JobId second = Put("p", {}, [](EnqueueRequest* r) { r->space = "s"; });
    const JobId waits = Put("c", {first});
    GroupRequest group;
    const auto complete = [&group](const Receipt& receipt) {
      auto made = std::make_unique<CompleteRequest>();
      made->receipt = receipt;
      group.members.push_back(std::move(made));
    };
    const auto enqueue = [&group](const std::vector<JobId>& after, const std::string& space) {
      auto made = std::make_unique<EnqueueRequest>();
      made->queue = "c";
      made->space = space;
      made->after = after;
      group.members.push_back(std::move(made));
      return static_cast<EnqueueRequest*>(group.members.back().get());
    };
    Receipt receipts[2] = {Take("p"), Take("p")};
    if (receipts[0].id != first) std::swap(receipts[0], receipts[1]);
    complete(receipts[0]);
    const EnqueueRequest* const one = enqueue({first}, "t");
    const EnqueueRequest* const both = enqueue({first, second}, "u" + std::to_string(round));
    if (round == 0) {
      enqueue({JobId(uint64_t{1} << 40)}, "");
      world_.Run(&group, Any());
      EXPECT_EQ(group.error.code(), ErrorCode::kNotFound);
      EXPECT_EQ(group.failed, 3u);
      EXPECT_EQ(State(first), JobState::kLeased);
      EXPECT_EQ(world_.Counts("c").waiting, 1);
      ExpectSound();
      group.members.pop_back();
      receipts[0] = {};
    }
    world_.Run(&group, Any());
    ASSERT_TRUE(group.error.ok()) << group.error.ToString();
    EXPECT_EQ(State(one->id), JobState::kReady) << "the answer waits, as that of an ENQUEUE does";
    EXPECT_EQ(Job(both->id).state, JobState::kWaiting);
    EXPECT_EQ(job_->parents, 1u);
    world_.Settle();
    EXPECT_EQ(State(waits), JobState::kReady);
    EXPECT_TRUE(world_.Complete(receipts[1], Any()).ok());
    world_.Settle();
    EXPECT_EQ(State(both->id), JobState::kReady);
    EXPECT_THAT(world_.Lease("c", 10), SizeIs(3));
    ExpectNoEdges();
  }
}

TEST_P(After, TenThousandParents) {
  EnqueueManyRequest many;
  many.job.queue = "p";
  many.payloads.assign(1000, "x");
  std::vector<JobId> parents;
  for (int i = 0; i < 10; ++i) {
    many.job.space = i % 2 == 0 ? "" : "s" + std::to_string(i);
    world_.Run(&many, Any());
    parents.insert(parents.end(), many.ids.begin(), many.ids.end());
  }
  const JobId child = Put("c", parents);
  ASSERT_TRUE(error_.ok());
  EXPECT_EQ(Job(child).parents, 10'000u);
  ExpectSound();
  size_t left = parents.size();
  while (left > 1) {
    const auto jobs = world_.Lease("p", static_cast<uint32_t>(std::min<size_t>(1000, left - 1)),
                                   Duration(0), Any());
    ASSERT_FALSE(jobs.empty());
    std::vector<std::unique_ptr<CompleteRequest>> ends;
    std::vector<std::unique_ptr<bool>> done;
    for (const LeasedJob& job : jobs) {
      ends.push_back(std::make_unique<CompleteRequest>());
      ends.back()->receipt = job.receipt;
      done.push_back(std::make_unique<bool>(false));
      world_.Start(ends.back().get(), done.back().get(), Any());
    }
    world_.Settle();
    left -= jobs.size();
  }
  EXPECT_EQ(Job(child).state, JobState::kWaiting);
  EXPECT_EQ(job_->parents, 1u);
  ExpectSound();
  Finish("p");
  EXPECT_EQ(State(child), JobState::kReady);
  parents.push_back(JobId(parents.back().value()));
  for (uint64_t i = 0; i < 2; ++i) parents.push_back(JobId(7 + i));
  Put("c", parents);
  EXPECT_EQ(error_.code(), ErrorCode::kRange);
  EXPECT_THAT(error_.text(), HasSubstr("10000"));
  ExpectNoEdges();
}

TEST_P(After, TenThousandChildren) {
  const JobId parent = Put("p");
  EnqueueManyRequest many;
  many.job.queue = "c";
  many.job.after = {parent};
  many.payloads.assign(1000, "x");
  for (int i = 0; i < 10; ++i) {
    many.job.space = i % 2 == 0 ? "" : "s" + std::to_string(i);
    world_.Run(&many, Any());
    ASSERT_TRUE(many.error.ok());
  }
  EXPECT_EQ(world_.Counts("c").waiting, 10'000);
  ExpectSound();
  Finish("p");
  EXPECT_EQ(world_.Counts("c").ready, 10'000);
  ExpectNoEdges();
}

}  // namespace
}  // namespace vestq
