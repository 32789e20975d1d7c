// MULTI ... EXEC: each command that is allowed, and each way to fail, over one core and over several.
#include "tests/engine/group_fixture.h"

namespace vestq {
namespace {

using ::testing::ElementsAre;

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
    EXPECT_EQ(Outcome(&group), "1 RANGE AT 281474976710656 is outside 0 to 281474976710655");
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

// A job that an earlier member names behind AFTER: while it is unfinished its CANCEL would leave the child
// without a trace of it; of one that is over nobody waits.
TEST_P(Group, CancelOfAParentIsBusyOnlyWhileThatIsUnfinished) {
  const auto outcome = [this](const std::function<void(GroupRequest*)>& add, uint64_t* cancelled) {
    GroupRequest group;
    add(&group);
    const std::string text = Outcome(&group, 1);
    if (text.empty()) *cancelled = static_cast<CancelRequest&>(*group.members.back()).cancelled;
    return text;
  };
  uint64_t cancelled = 7;
  const auto after_then_cancel = [](JobId parent) {
    return [parent](GroupRequest* group) {
      AddJob(group, "children")->after = {parent};
      Add<CancelRequest>(group)->id = parent;
    };
  };
  const auto busy = [](JobId parent) {
    return "1 BUSY an earlier command of the group waits for job " + std::to_string(parent.value());
  };
  // Ready, leased, dead.
  const JobId unfinished = world_.Enqueue("q", "p");
  EXPECT_EQ(outcome(after_then_cancel(unfinished), &cancelled), busy(unfinished));
  const LeasedJob leased = One();
  EXPECT_EQ(outcome(after_then_cancel(unfinished), &cancelled), busy(unfinished));
  FailRequest fail;
  fail.receipt = leased.receipt;
  fail.to_dead = true;
  world_.Run(&fail);
  EXPECT_EQ(outcome(after_then_cancel(unfinished), &cancelled), busy(unfinished));
  EXPECT_EQ(world_.Counts("children").waiting + world_.Counts("children").ready, 0);
  // Complete, with a result kept and without; cancelled.
  for (const Duration keep : {Duration(0), Hours(1)}) {
    const JobId done = PutJob(
        &world_, [keep](EnqueueRequest* r) { r->keep = keep; }, 0);
    ASSERT_TRUE(world_.Complete(One().receipt).ok());
    EXPECT_EQ(outcome(after_then_cancel(done), &cancelled), "");
    EXPECT_EQ(cancelled, 0u);
  }
  // Complete by the group itself: before the child, or behind it.
  for (const bool before : {false, true}) {
    world_.Enqueue("q", "p");
    const LeasedJob job = One();
    const auto all = [&](GroupRequest* group) {
      if (before) AddOf<CompleteRequest>(group, job.receipt);
      AddJob(group, "children")->after = {job.receipt.id};
      if (!before) AddOf<CompleteRequest>(group, job.receipt);
      Add<CancelRequest>(group)->id = job.receipt.id;
    };
    EXPECT_EQ(outcome(all, &cancelled), "");
    EXPECT_EQ(cancelled, 0u);
  }
  world_.Settle();
  EXPECT_EQ(world_.Counts("children").ready, 4);
  ExpectSound();
}

// A job that waits learns behind the group that what it waited for has ended: for later members it waits
// still, and one that they cancel has never died.
TEST_P(Group, ChildrenLearnOfAnEndBehindTheGroup) {
  for (const bool together : {true, false}) {
    const JobId parent = world_.Enqueue("q", "p");
    const JobId child = PutJob(
        &world_,
        [parent](EnqueueRequest* r) {
          r->queue = "children";
          r->after = {parent};
        },
        0);
    GroupRequest group;
    auto* const first = Add<CancelRequest>(&group);
    first->id = parent;
    auto* const second = Add<CancelRequest>(&group);
    second->id = together ? child : JobId(parent.value() + 4000);
    EXPECT_EQ(Outcome(&group, 1), "");
    EXPECT_TRUE(first->cancelled);
    EXPECT_EQ(second->cancelled, together);
    world_.Settle();
    EXPECT_EQ(world_.State(child), together ? JobState::kGone : JobState::kDead);
    EXPECT_EQ(world_.Counts("children").died, together ? 0 : 1);
    EXPECT_EQ(world_.Counts("children").cancelled, 1);
  }
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

INSTANTIATE_TEST_SUITE_P(Cores, Group, ::testing::Values(1, 2, 4));

}  // namespace
}  // namespace vestq
