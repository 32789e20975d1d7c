// Groups and the room of queues: all of it or none, and what a group ends makes room for what it adds.
#include <string>

#include "engine/group_request.h"
#include "tests/engine/room_fixture.h"

namespace vestq {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RoomGroup : public Room {
 protected:
  static EnqueueRequest* AddJob(GroupRequest* group, const std::string& space = "") {
    auto job = std::make_unique<EnqueueRequest>();
    job->queue = "q";
    job->payload = "g";
    job->space = space;
    group->members.push_back(std::move(job));
    return static_cast<EnqueueRequest*>(group->members.back().get());
  }
  static void AddComplete(GroupRequest* group, const Receipt& receipt) {
    auto complete = std::make_unique<CompleteRequest>();
    complete->receipt = receipt;
    group->members.push_back(std::move(complete));
  }
  void Run(GroupRequest* group) {
    world_.Run(group, AnyCore());
    world_.Settle();
  }
};

TEST_P(RoomGroup, IsRefusedWholeAndNamesTheMember) {
  MaxJobs(3);
  ASSERT_EQ(Fill(1), 1);
  for (const char* space : {"", "a"}) {
    GroupRequest group;
    AddJob(&group, space);
    AddJob(&group);
    AddJob(&group, "b");
    Run(&group);
    EXPECT_EQ(group.error.code(), ErrorCode::kFull);
    EXPECT_THAT(group.error.text(), HasSubstr("max-jobs is 3"));
    EXPECT_EQ(group.failed, 2u);
    EXPECT_EQ(world_.Counts("q").ready, 1);
    ExpectExact();
  }
  EXPECT_EQ(Fill(3), 2) << "what was taken for the groups is given back";
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(RoomGroup, TheNextJobTakesThePlaceOfTheOneThatIsDone) {
  MaxJobs(2);
  ASSERT_EQ(Fill(2, [](EnqueueRequest* r) { r->space = "a"; }), 2);
  auto waiter = Wait();
  for (int round = 0; round < 10; ++round) {
    const auto jobs = Take(1);
    ASSERT_THAT(jobs, SizeIs(1));
    GroupRequest group;
    // Of other cores, and in any order.
    AddJob(&group, "s" + std::to_string(round));
    AddComplete(&group, jobs[0].receipt);
    Run(&group);
    ASSERT_TRUE(group.error.ok()) << group.error.ToString();
    EXPECT_FALSE(waiter->done);
    ExpectExact();
    EXPECT_EQ(Fill(1), 0);
  }
  GroupRequest last;
  AddComplete(&last, Take(1)[0].receipt);
  Run(&last);
  EXPECT_TRUE(waiter->taken());
  ExpectExact();
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(RoomGroup, ADuplicateNeedsNoRoom) {
  MaxJobs(1);
  ASSERT_TRUE(Enqueue([](EnqueueRequest* r) { r->unique_key = "k"; }).ok());
  GroupRequest group;
  AddJob(&group)->unique_key = "k";
  AddJob(&group)->unique_key = "k";
  Run(&group);
  EXPECT_TRUE(group.error.ok()) << group.error.ToString();
  MaxJobs(2);
  GroupRequest twice;
  AddJob(&twice)->unique_key = "new";
  AddJob(&twice)->unique_key = "new";
  Run(&twice);
  EXPECT_TRUE(twice.error.ok()) << twice.error.ToString();
  GroupRequest other;
  AddJob(&other)->unique_key = "one more";
  Run(&other);
  EXPECT_EQ(other.error.code(), ErrorCode::kFull);
  ExpectExact();
}

TEST_P(RoomGroup, DoesNotWait) {
  GroupRequest group;
  AddJob(&group)->wait = Seconds(1);
  Run(&group);
  EXPECT_EQ(group.error.code(), ErrorCode::kSyntax);
  EXPECT_EQ(group.failed, 0u);
}

INSTANTIATE_TEST_SUITE_P(Cores, RoomGroup, ::testing::Values(1, 3));

}  // namespace
}  // namespace vestq
