// Groups beside everything else: waiting LEASEs, other groups, streams, power cuts, a disk that fails.
#include <algorithm>

#include "tests/engine/group_fixture.h"

namespace vestq {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class GroupBeside : public Group {};

TEST_P(GroupBeside, AJobOfAGroupWakesAWaitingLease) {
  for (uint16_t core = 0; core < cores(); ++core) {
    LeaseRequest lease;
    lease.queues = {"q"};
    lease.wait = true;
    bool done = false;
    world_.Start(&lease, &done, core);
    world_.Settle();
    EXPECT_FALSE(done);
    GroupRequest group;
    AddJob(&group, "q", "p", "s" + std::to_string(core));
    AddGet(&group, {"k"});
    EXPECT_EQ(Outcome(&group, 0), "");
    EXPECT_TRUE(done);
    EXPECT_EQ(lease.jobs.size(), 1u);
  }
  ExpectSound();
}

// Many groups and single commands from all cores at once: counting in one key loses nothing.
TEST_P(GroupBeside, GroupsOfAllCoresRunOneAfterTheOther) {
  struct Task {
    std::unique_ptr<GroupRequest> group = std::make_unique<GroupRequest>();
    DataGetRequest* read = nullptr;
    bool done = false;
  };
  for (int round = 0; round < 20; ++round) {
    std::vector<std::unique_ptr<Task>> tasks;
    for (int i = 0; i < 12; ++i) {
      auto task = std::make_unique<Task>();
      const std::string value = std::to_string(round) + "-" + std::to_string(i);
      AddSet(task->group.get(), "x", value);
      AddJob(task->group.get(), "q", value, "s" + std::to_string(i % 5));
      AddSet(task->group.get(), "y", value);
      task->read = AddGet(task->group.get(), {"x", "y"});
      world_.Start(task->group.get(), &task->done, static_cast<uint16_t>(i % cores()));
      tasks.push_back(std::move(task));
    }
    const auto all_done = [&] {
      return std::all_of(tasks.begin(), tasks.end(), [](const auto& t) { return t->done; });
    };
    while (!all_done()) {
      if (!world_.Step()) world_.Settle();
    }
    for (const auto& task : tasks) {
      EXPECT_TRUE(task->group->error.ok());
      const std::vector<std::string> values = Values(*task->read);
      EXPECT_EQ(values[0], values[1]);
    }
    const std::vector<std::string> now = Get({"x", "y"});
    EXPECT_EQ(now[0], now[1]);
  }
  EXPECT_EQ(world_.Lease("q", 1000).size(), 240u);
  ExpectSound();
}

TEST_P(GroupBeside, IsInTheOrderOfItsStream) {
  Stream stream;
  DataSetRequest before;
  before.key = "k";
  before.value = "1";
  GroupRequest group;
  DataGetRequest* const read = AddGet(&group, {"k"});
  AddSet(&group, "k", "2");
  DataGetRequest after;
  after.keys = {"k"};
  bool done[3] = {};
  world_.Start(&before, &done[0], 0, &stream);
  world_.Start(&group, &done[1], 0, &stream);
  world_.Start(&after, &done[2], 0, &stream);
  world_.Settle();
  ASSERT_TRUE(done[0] && done[1] && done[2]);
  EXPECT_THAT(Values(*read), ElementsAre("1"));
  EXPECT_THAT(Values(after), ElementsAre("2"));
}

TEST_P(GroupBeside, HasItsLimits) {
  GroupRequest many;
  for (size_t i = 0; i <= limits::kGroupCommandsMax; ++i) AddSet(&many, "k", "v");
  EXPECT_EQ(Outcome(&many), "- RANGE number of commands of a group 10001 is outside 0 to 10000");
  GroupRequest large;
  const std::string megabyte(size_t{1} << 20, 'x');
  for (int i = 0; i < 4; ++i) AddSet(&large, "k" + std::to_string(i), megabyte);
  for (int i = 0; i < 3; ++i) AddGet(&large, {"k0", "k1", "k2", "k3"});
  EXPECT_EQ(Outcome(&large),
            "6 TOOBIG the values that this group reads have more than 8388608 bytes together");
  EXPECT_THAT(Get({"k", "k0"}), ElementsAre("(none)", "(none)"));
}

// GROUP-1: at any moment of a power cut all of a group is there or nothing.
TEST_P(GroupBeside, NoPowerCutLeavesHalf) {
  for (int round = 0; round < 60; ++round) {
    const std::string key = std::to_string(round);
    world_.Enqueue("q", "p", "s" + key);
    const LeasedJob job = One();
    GroupRequest group;
    AddOf<CompleteRequest>(&group, job.receipt);
    AddJob(&group, "next" + key, "p", "t" + key);
    AddSet(&group, "a" + key, "1");
    AddSet(&group, "b" + key, "2");
    AddGet(&group, {"a" + key});
    bool done = false;
    world_.Start(&group, &done, static_cast<uint16_t>(round % cores()));
    for (int step = 0; step < round && !done; ++step) {
      if (!world_.Step()) break;
    }
    world_.PowerCut(round % 2 == 0 ? CrashMode::kLoseUnsynced : CrashMode::kTorn);
    world_.Boot(Seconds(1));
    EXPECT_THAT(world_.CheckOffline(), IsEmpty());
    world_.Open();
    world_.Settle();
    const bool there = Get({"a" + key})[0] == "1";
    EXPECT_TRUE(there || !done) << "an answered group is lost, round " << round;
    EXPECT_EQ(Get({"b" + key})[0], there ? "2" : "(none)");
    EXPECT_EQ(world_.Counts("next" + key).ready, there ? 1 : 0);
    EXPECT_EQ(world_.State(job.receipt.id), there ? JobState::kGone : JobState::kLeased);
    if (there) {
      EXPECT_EQ(world_.Lease("next" + key).size(), 1u);
    } else {
      EXPECT_TRUE(world_.Complete(job.receipt).ok());
    }
  }
  ExpectSound();
}

// GROUP-5: whenever the disk fails, every group and everything that came meanwhile is answered.
TEST_P(GroupBeside, AFailingStoreLeavesNoCoreFrozen) {
  for (int round = 0; round < 40; ++round) {
    WorldOptions options = Options();
    options.seed = static_cast<uint64_t>(round + 1);
    World world(options);
    world.Open();
    std::vector<std::unique_ptr<GroupRequest>> groups;
    std::vector<std::unique_ptr<EnqueueRequest>> jobs;
    bool done[12] = {};
    for (uint16_t i = 0; i < 6; ++i) {
      groups.push_back(std::make_unique<GroupRequest>());
      AddJob(groups.back().get(), "q", "p", "s" + std::to_string(i));
      AddSet(groups.back().get(), "k" + std::to_string(i), "v");
      AddGet(groups.back().get(), {"k0", "k1"});
      world.Start(groups.back().get(), &done[i], static_cast<uint16_t>(i % cores()));
    }
    for (int step = 0; step < round; ++step) world.Step();
    world.fs().Inject({SimCall::kSync, 1, true, SimErrno::kIo, ".log"});
    for (int step = 0; step < 3; ++step) world.Step();
    for (uint16_t i = 6; i < 12; ++i) {
      jobs.push_back(std::make_unique<EnqueueRequest>());
      jobs.back()->queue = "q";
      jobs.back()->space = "s" + std::to_string(i);
      world.Start(jobs.back().get(), &done[i], static_cast<uint16_t>(i % cores()));
    }
    world.Settle();
    for (int i = 0; i < 12; ++i) EXPECT_TRUE(done[i]) << "round " << round << ", request " << i;
    for (const auto& group : groups) {
      EXPECT_TRUE(group->error.ok() || group->error.code() == ErrorCode::kNotDurable ||
                  group->error.code() == ErrorCode::kShutdown)
          << group->error.ToString();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cores, GroupBeside, ::testing::Values(1, 2, 4));

}  // namespace
}  // namespace vestq
