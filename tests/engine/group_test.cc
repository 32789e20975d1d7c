// MULTI ... EXEC: each command that is allowed, each way to fail, over one core and over four.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/group_request.h"
#include "engine/handling_request.h"
#include "engine/kv_request.h"
#include "tests/sim/world.h"

namespace vestq {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Parameter: cores.
class Group : public ::testing::TestWithParam<int> {
 protected:
  Group() : world_(Options()) { world_.Open(); }

  static WorldOptions Options() {
    WorldOptions options;
    options.cores = static_cast<uint16_t>(GetParam());
    options.lanes = 8;
    return options;
  }
  uint16_t cores() const { return static_cast<uint16_t>(GetParam()); }

  template <typename T>
  static T* Add(GroupRequest* group) {
    group->members.push_back(std::make_unique<T>());
    return static_cast<T*>(group->members.back().get());
  }
  static EnqueueRequest* AddJob(GroupRequest* group, const std::string& queue,
                                const std::string& payload = "p", const std::string& space = "") {
    auto* const job = Add<EnqueueRequest>(group);
    job->queue = queue;
    job->payload = payload;
    job->space = space;
    return job;
  }
  static DataSetRequest* AddSet(GroupRequest* group, const std::string& key,
                                const std::string& value) {
    auto* const set = Add<DataSetRequest>(group);
    set->key = key;
    set->value = value;
    return set;
  }
  static DataGetRequest* AddGet(GroupRequest* group, std::vector<std::string> keys) {
    auto* const get = Add<DataGetRequest>(group);
    get->keys = std::move(keys);
    return get;
  }
  template <typename T>
  static T* AddOf(GroupRequest* group, const Receipt& receipt) {
    auto* const request = Add<T>(group);
    request->receipt = receipt;
    return request;
  }
  void RunGroup(GroupRequest* group, uint16_t core = 0) {
    world_.Run(group, static_cast<uint16_t>(core % cores()));
  }
  // Runs it and says how it ended: "" or "3 LEASELOST the lease ...", the member's place first.
  std::string Outcome(GroupRequest* group, uint16_t core = 0) {
    RunGroup(group, core);
    if (group->error.ok()) return "";
    return (group->failed == GroupRequest::kNone ? "-" : std::to_string(group->failed)) + " " +
           group->error.ToString();
  }
  std::vector<std::string> Values(const DataGetRequest& get) {
    std::vector<std::string> out;
    for (const auto& value : get.values) out.push_back(value ? *value : "(none)");
    return out;
  }
  std::vector<std::string> Get(std::vector<std::string> keys) {
    DataGetRequest get;
    get.keys = std::move(keys);
    world_.Run(&get);
    return Values(get);
  }
  LeasedJob One(const std::string& queue = "q", Duration lease = Seconds(30)) {
    std::vector<LeasedJob> jobs = world_.Lease(queue, 1, lease);
    EXPECT_EQ(jobs.size(), 1u);
    return jobs.empty() ? LeasedJob() : jobs[0];
  }
  // Everything that memory says must be what the disk says.
  void ExpectSound() {
    EXPECT_THAT(world_.discipline_breach(), IsEmpty());
    EXPECT_THAT(world_.Violations(), IsEmpty());
  }
  void CutAndReopen() {
    world_.PowerCut(CrashMode::kLoseUnsynced);
    world_.Boot(Seconds(1));
    EXPECT_THAT(world_.CheckOffline(), IsEmpty());
    world_.Open();
    world_.Settle();
  }

  World world_;
};

TEST_P(Group, OfNothingIsDone) {
  GroupRequest group;
  EXPECT_EQ(Outcome(&group), "");
}

TEST_P(Group, CompletesBooksTheNextAndWritesTheResult) {
  for (uint16_t core = 0; core < cores(); ++core) {
    world_.Enqueue("q", "first", "space" + std::to_string(core), core);
    const LeasedJob job = One();
    GroupRequest group;
    AddOf<CompleteRequest>(&group, job.receipt);
    EnqueueRequest* const next = AddJob(&group, "next", "second", "tenant");
    EnqueueRequest* const here = AddJob(&group, "next", "third");
    AddSet(&group, "result:" + std::to_string(core), "42");
    EXPECT_EQ(Outcome(&group, core), "");
    EXPECT_EQ(world_.State(job.receipt.id), JobState::kGone);
    EXPECT_EQ(world_.State(next->id), JobState::kReady);
    EXPECT_EQ(world_.State(here->id), JobState::kReady);
    EXPECT_THAT(Get({"result:" + std::to_string(core)}), ElementsAre("42"));
  }
  CutAndReopen();
  EXPECT_EQ(world_.Lease("next", 100).size(), 2u * cores());
  ExpectSound();
}

TEST_P(Group, EachCommandAnswersAsAlone) {
  std::vector<LeasedJob> jobs;
  for (int i = 0; i < 8; ++i) world_.Enqueue("q", "p", "s" + std::to_string(i));
  jobs = world_.Lease("q", 8);
  ASSERT_EQ(jobs.size(), 8u);
  const JobId waits = world_.Enqueue("other", "p");
  GroupRequest group;
  auto* const many = Add<EnqueueManyRequest>(&group);
  many->job.queue = "many";
  many->payloads = {"a", "b", "c"};
  AddOf<CompleteRequest>(&group, jobs[0].receipt);
  auto* const fail = AddOf<FailRequest>(&group, jobs[1].receipt);
  fail->delay_set = true;
  fail->delay = Seconds(5);
  auto* const dead = AddOf<FailRequest>(&group, jobs[2].receipt);
  dead->to_dead = true;
  dead->reason = "no";
  AddOf<ReleaseRequest>(&group, jobs[3].receipt);
  auto* const renew = AddOf<RenewRequest>(&group, jobs[4].receipt);
  renew->lease = Seconds(60);
  auto* const mark = AddOf<CheckpointRequest>(&group, jobs[5].receipt);
  mark->checkpoint = "half";
  auto* const cancel = Add<CancelRequest>(&group);
  cancel->id = jobs[6].receipt.id;
  auto* const cancel_waiting = Add<CancelRequest>(&group);
  cancel_waiting->id = waits;
  auto* const cancel_nothing = Add<CancelRequest>(&group);
  cancel_nothing->id = JobId(1 << 30);
  auto* const several = Add<CompleteManyRequest>(&group);
  several->receipts = {jobs[7].receipt, jobs[0].receipt, jobs[7].receipt};
  EXPECT_EQ(Outcome(&group, 1), "");

  EXPECT_EQ(many->ids.size(), 3u);
  EXPECT_FALSE(fail->dead);
  EXPECT_EQ(fail->retry_in, Seconds(5));
  EXPECT_TRUE(dead->dead);
  EXPECT_EQ(renew->left, Seconds(60));
  EXPECT_EQ(mark->left, Seconds(30));
  EXPECT_TRUE(cancel->cancelled);
  EXPECT_TRUE(cancel_waiting->cancelled);
  EXPECT_FALSE(cancel_nothing->cancelled);
  EXPECT_THAT(several->completed, ElementsAre(1, 0, 0));
  const JobState states[] = {JobState::kGone,  JobState::kScheduled, JobState::kDead,
                             JobState::kReady, JobState::kLeased,    JobState::kLeased,
                             JobState::kGone,  JobState::kGone};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(world_.State(jobs[i].receipt.id), states[i]) << i;
  EXPECT_EQ(world_.State(waits), JobState::kGone);
  EXPECT_EQ(world_.Counts("many").ready, 3);
  ExpectSound();
}

// GROUP-2, at each place of the failing member.
TEST_P(Group, WhenOneFailsNothingHasChanged) {
  for (int at = 0; at <= 7; ++at) {
    const std::string q = "q" + std::to_string(at);
    for (int i = 0; i < 6; ++i) world_.Enqueue(q, "p", "s" + std::to_string(i));
    std::vector<LeasedJob> jobs = world_.Lease(q, 6);
    ASSERT_EQ(jobs.size(), 6u);
    ASSERT_TRUE(world_.Complete(jobs[5].receipt).ok());
    GroupRequest group;
    for (int i = 0; i <= 7; ++i) {
      if (i == at) AddOf<CompleteRequest>(&group, jobs[5].receipt);
      switch (i) {
        case 0: AddJob(&group, "new" + q, "p", "x"); break;
        case 1: AddOf<CompleteRequest>(&group, jobs[0].receipt); break;
        case 2: AddOf<FailRequest>(&group, jobs[1].receipt); break;
        case 3: AddOf<ReleaseRequest>(&group, jobs[2].receipt); break;
        case 4: AddOf<CheckpointRequest>(&group, jobs[3].receipt)->checkpoint = "c"; break;
        case 5: Add<CancelRequest>(&group)->id = jobs[4].receipt.id; break;
        case 6: AddSet(&group, "key" + q, "value"); break;
        default: AddJob(&group, "new" + q, "p")->unique_key = "u"; break;
      }
    }
    EXPECT_EQ(Outcome(&group, static_cast<uint16_t>(at)),
              std::to_string(at) + " LEASELOST the lease of job " +
                  std::to_string(jobs[5].receipt.id.value()) + " is over");
    for (int i = 0; i < 5; ++i) EXPECT_EQ(world_.State(jobs[i].receipt.id), JobState::kLeased);
    EXPECT_EQ(world_.Counts("new" + q).enqueued, 0);
    EXPECT_THAT(Get({"key" + q}), ElementsAre("(none)"));
    // All of them can still be done.
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(world_.Complete(jobs[i].receipt).ok());
  }
  ExpectSound();
}

TEST_P(Group, ErrorsNameTheMember) {
  world_.Enqueue("q", "p", "s");
  const LeasedJob job = One("q", Seconds(1));
  const std::string lost =
      " LEASELOST the lease of job " + std::to_string(job.receipt.id.value()) + " is over";
  {
    GroupRequest group;  // an ended lease is ended for those behind
    AddOf<CompleteRequest>(&group, job.receipt);
    AddOf<CompleteRequest>(&group, job.receipt);
    EXPECT_EQ(Outcome(&group), "1" + lost);
  }
  {
    GroupRequest group;
    Add<CancelRequest>(&group)->id = job.receipt.id;
    AddOf<RenewRequest>(&group, job.receipt);
    EXPECT_EQ(Outcome(&group), "1" + lost);
  }
  {
    GroupRequest group;
    AddSet(&group, "k", "v");
    AddJob(&group, "q")->when = EnqueueRequest::When::kAt;
    static_cast<EnqueueRequest*>(group.members[1].get())->at = WallTime(limits::kKeyTimeMsMax + 1);
    EXPECT_EQ(Outcome(&group), "1 RANGE the job would vest after the last time a key can hold");
  }
  {
    GroupRequest group;
    AddSet(&group, "k", "v");
    Add<LeaseRequest>(&group);
    EXPECT_EQ(Outcome(&group), "1 ERR not allowed in a group");
  }
  world_.Advance(Seconds(1));  // the lease ends
  {
    GroupRequest group;
    AddSet(&group, "k", "v");
    AddOf<RenewRequest>(&group, job.receipt);
    EXPECT_EQ(Outcome(&group), "1" + lost);
  }
  EXPECT_THAT(Get({"k"}), ElementsAre("(none)"));
  ExpectSound();
}

TEST_P(Group, ReadsSeeWhatTheGroupWrote) {
  GroupRequest first;
  AddSet(&first, "a", "0");
  AddSet(&first, "c", "0");
  AddSet(&first, "e", "0");
  RunGroup(&first);
  GroupRequest group;
  AddSet(&group, "a", "1");
  AddSet(&group, "b", "2");
  auto* const nx = AddSet(&group, "b", "3");
  nx->when = DataSetRequest::When::kAbsent;
  auto* const swap = AddSet(&group, "a", "10");
  swap->when = DataSetRequest::When::kEqual;
  swap->expected = "1";
  auto* const no_swap = AddSet(&group, "a", "11");
  no_swap->when = DataSetRequest::When::kEqual;
  no_swap->expected = "1";
  auto* const get = AddGet(&group, {"a", "b", "c"});
  auto* const range_before = Add<DataRangeRequest>(&group);
  range_before->count = 10;
  auto* const del = Add<DataDeleteRequest>(&group);
  del->keys = {"c", "b", "nothing", "b"};
  auto* const exists = AddGet(&group, {"a", "b", "c"});
  exists->form = DataGetRequest::Form::kCount;
  auto* const range = Add<DataRangeRequest>(&group);
  range->count = 1;
  auto* const rest = Add<DataRangeRequest>(&group);
  rest->count = 1;
  rest->after = "a";
  AddSet(&group, "d", "later");
  EXPECT_EQ(Outcome(&group, 1), "");
  EXPECT_FALSE(nx->stored);
  EXPECT_TRUE(swap->stored);
  EXPECT_FALSE(no_swap->stored);
  EXPECT_THAT(Values(*get), ElementsAre("10", "2", "0"));
  using Entry = std::pair<std::string, std::string>;
  EXPECT_THAT(range_before->entries,
              ElementsAre(Entry("a", "10"), Entry("b", "2"), Entry("c", "0"), Entry("e", "0")));
  EXPECT_EQ(del->deleted, 2u);
  EXPECT_THAT(Values(*exists), ElementsAre("", "(none)", "(none)"));
  EXPECT_THAT(range->entries, ElementsAre(Entry("a", "10")));
  EXPECT_TRUE(range->more);
  EXPECT_THAT(rest->entries, ElementsAre(Entry("e", "0")));
  EXPECT_FALSE(rest->more);
  EXPECT_THAT(Get({"a", "b", "c", "d", "e"}), ElementsAre("10", "(none)", "(none)", "later", "0"));
  ExpectSound();
}

TEST_P(Group, AUniqueKeyHeldByTheGroupOrBeforeIsNoError) {
  const auto unique = [](EnqueueRequest* job, const std::string& key) {
    job->unique_key = key;
    return job;
  };
  GroupRequest before;
  const auto* const holder = unique(AddJob(&before, "q", "old"), "k1");
  EXPECT_EQ(Outcome(&before), "");
  EXPECT_TRUE(holder->added);

  GroupRequest group;
  const auto* const held = unique(AddJob(&group, "q"), "k1");
  const auto* const first = unique(AddJob(&group, "q", "one"), "k2");
  const auto* const second = unique(AddJob(&group, "q", "two"), "k2");
  auto* const replaces = unique(AddJob(&group, "q", "three"), "k2");
  replaces->unique_replace = true;
  const auto* const spaced = unique(AddJob(&group, "q", "p", "tenant"), "k2");
  Add<CancelRequest>(&group)->id = holder->id;
  const auto* const freed = unique(AddJob(&group, "q", "new"), "k1");
  EXPECT_EQ(Outcome(&group, 2), "");
  EXPECT_FALSE(held->added);
  EXPECT_EQ(held->id, holder->id);
  EXPECT_EQ(held->holder_state, JobState::kReady);
  EXPECT_TRUE(first->added);
  EXPECT_FALSE(second->added);
  EXPECT_EQ(second->id, first->id);
  EXPECT_FALSE(replaces->added);
  EXPECT_TRUE(spaced->added);
  EXPECT_TRUE(freed->added);
  std::vector<std::string> payloads;
  for (const LeasedJob& job : world_.Lease("q", 10)) payloads.emplace_back(job.payload);
  EXPECT_THAT(payloads, ::testing::UnorderedElementsAre("three", "p", "new"));
  ExpectSound();
}

// A job that one group changes several times.
TEST_P(Group, AJobGoesThroughSeveralCommands) {
  EnqueueRequest job;
  job.queue = "q";
  job.payload = "p";
  job.space = "s";
  job.keep = Hours(1);
  job.unique_key = "u";
  job.expire = Hours(1);
  world_.Run(&job);
  const LeasedJob leased = One();
  {
    GroupRequest group;
    AddOf<CheckpointRequest>(&group, leased.receipt)->checkpoint = "one";
    AddOf<CheckpointRequest>(&group, leased.receipt)->checkpoint = "two";
    AddOf<RenewRequest>(&group, leased.receipt)->lease = Hours(2);
    auto* const fail = AddOf<FailRequest>(&group, leased.receipt);
    fail->reason = "broken";
    fail->delay_set = true;
    EXPECT_EQ(Outcome(&group, 1), "");
  }
  const LeasedJob again = One();
  EXPECT_EQ(again.checkpoint, "two");
  EXPECT_EQ(again.attempt, 2u);
  GroupRequest group;
  AddOf<CompleteRequest>(&group, again.receipt)->result = "done";
  auto* const cancel = Add<CancelRequest>(&group);
  cancel->id = again.receipt.id;
  auto* const next = AddJob(&group, "q", "p", "s");
  next->unique_key = "u";
  EXPECT_EQ(Outcome(&group, 3), "");
  EXPECT_FALSE(cancel->cancelled);
  EXPECT_TRUE(next->added);
  JobRequest described;
  described.id = again.receipt.id;
  world_.Run(&described);
  EXPECT_EQ(described.state, JobState::kDone);
  EXPECT_EQ(described.result, "done");
  EXPECT_EQ(described.last_error, "broken");
  ExpectSound();
}

TEST_P(Group, AJobOfAGroupWakesAWaitingLease) {
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
TEST_P(Group, GroupsOfAllCoresRunOneAfterTheOther) {
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

TEST_P(Group, IsInTheOrderOfItsStream) {
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

TEST_P(Group, HasItsLimits) {
  GroupRequest many;
  for (size_t i = 0; i <= limits::kGroupCommandsMax; ++i) AddSet(&many, "k", "v");
  EXPECT_EQ(Outcome(&many), "- RANGE a group of 10001 commands is outside 0 to 10000");
  GroupRequest large;
  const std::string megabyte(size_t{1} << 20, 'x');
  for (int i = 0; i < 4; ++i) AddSet(&large, "k" + std::to_string(i), megabyte);
  for (int i = 0; i < 3; ++i) AddGet(&large, {"k0", "k1", "k2", "k3"});
  EXPECT_EQ(Outcome(&large),
            "6 TOOBIG the values that this group reads have more than 8388608 bytes together");
  EXPECT_THAT(Get({"k", "k0"}), ElementsAre("(none)", "(none)"));
}

// GROUP-1: at any moment of a power cut all of a group is there or nothing.
TEST_P(Group, NoPowerCutLeavesHalf) {
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
TEST_P(Group, AFailingStoreLeavesNoCoreFrozen) {
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

INSTANTIATE_TEST_SUITE_P(Cores, Group, ::testing::Values(1, 2, 4));

}  // namespace
}  // namespace vestq
