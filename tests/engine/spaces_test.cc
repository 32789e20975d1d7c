// What SPACES and SPACE INFO say, and what options of spaces leave behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/space_fixture.h"

namespace vestq {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class Spaces : public SpaceLimits {};

TEST_P(Spaces, ADroppedQueueLeavesNothingOfThem) {
  Own("a", 1);
  OwnRate("b", 0.01);
  Pause("c");
  Own("", 0);
  for (const char* space : {"a", "b", "c", ""}) Enqueue(3, space);
  EXPECT_THAT(Take(), SizeIs(2));
  PurgeRequest drop;
  drop.queue = "q";
  drop.drop = true;
  world_.Run(&drop, AnyCore());
  world_.Settle();
  for (const char* space : {"a", "b", "c", ""}) Enqueue(3, space);
  EXPECT_THAT(Take(), SizeIs(12));
  EXPECT_TRUE(Info("a").own.empty() && Info("").own.empty());
  Restart();
  EXPECT_EQ(world_.last_report().void_keys, 0u);
  EXPECT_THAT(Take(), IsEmpty());
}

// Options are options of the queue: it stays for them, and vanishes after the last has gone.
TEST_P(Spaces, AQueueStaysForTheOptionsOfItsSpacesAndNothingIsLeftBehind) {
  SetSpace("a", [](SpaceSetRequest* r) { r->set.weight = 3; });
  OwnRate("", 5);
  Pass(Seconds(200));
  Restart();
  Pass(Seconds(200));
  EXPECT_THAT(Listed(), ::testing::ElementsAre("", "a"));
  EXPECT_EQ(Info("a").own.weight, 3u);
  UnsetAll("a");
  OwnRate("b", 0.01, 2);
  Enqueue(1, "b");
  for (const LeasedJob& job : Take()) Complete(job);
  UnsetAll("b");  // its debt goes with its rate
  UnsetAll("");
  // A pause that ends by itself is no option any more, also where it ended while nobody was here.
  Pause("p", Seconds(5));
  Pause("", Seconds(50));
  Pass(Seconds(6));
  EXPECT_THAT(Listed(), ::testing::ElementsAre(""));
  Restart();
  Pass(Seconds(60));
  EXPECT_THAT(Listed(), IsEmpty());
  Pass(Seconds(70));
  Pass(Seconds(70));
  EXPECT_FALSE(QueueIsThere());
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

// What a queue's rate for each space has left is erased when it is free again.
TEST_P(Spaces, DebtsAreErasedWhenTheyAreOver) {
  Set([](QueueSetRequest* r) {
    r->set.space_rate_micro = 10'000;
    r->set.space_burst = 3;
  });
  for (int i = 0; i < 20; ++i) Enqueue(1, "s" + std::to_string(i));
  for (const LeasedJob& job : Take()) Complete(job);
  Set([](QueueSetRequest* r) { r->unset.space_burst = 0; });
  Pass(Seconds(101));
  Set([](QueueSetRequest* r) { r->unset.space_rate_micro = 0; });
  Pass(Seconds(70));
  Pass(Seconds(70));
  EXPECT_FALSE(QueueIsThere());
}

TEST_P(Spaces, SpacesAreListedInOrderWithWhatTheyHave) {
  const std::string odd("\0\xff:", 3);
  for (const std::string& space : {std::string("b"), std::string(), odd, std::string("ba")}) {
    Enqueue(3, space);
  }
  SetSpace("c", [](SpaceSetRequest* r) { r->set.weight = 7; });
  SetSpace("b", [](SpaceSetRequest* r) { r->set.weight = 2; });
  Enqueue(1, "leased");
  std::vector<LeasedJob> held;
  for (LeasedJob& job : Take()) {
    if (job.space == "leased" || (job.space == "b" && held.size() < 2)) {
      held.push_back(std::move(job));
      continue;
    }
    ReleaseRequest release;
    release.receipt = job.receipt;
    world_.Run(&release, AnyCore());
  }
  world_.Settle();
  const std::vector<std::string> all = {"", odd, "b", "ba", "c", "leased"};
  for (const uint32_t count : {1u, 2u, 3u, 4u, 100u}) EXPECT_EQ(Listed(count), all) << count;
  const auto b = Info("b");
  const auto leased_b = static_cast<uint64_t>(
      std::count_if(held.begin(), held.end(), [](auto& job) { return job.space == "b"; }));
  EXPECT_EQ(b.leased, leased_b);
  EXPECT_EQ(b.ready, 3 - leased_b);
  EXPECT_TRUE(b.exact);
  EXPECT_TRUE(b.oldest.has_value());
  EXPECT_EQ(b.own.weight, 2u);
  EXPECT_EQ(Info("").ready, 3u);
  EXPECT_EQ(Info("nobody").ready, 0u);
  EXPECT_FALSE(Info("c").oldest.has_value());
  Restart();
  for (const uint32_t count : {1u, 2u, 100u}) EXPECT_EQ(Listed(count), all) << count;
  // In a life that is over nothing is listed but options and leases.
  PurgeRequest purge;
  purge.queue = "q";
  purge.state = JobState::kReady;
  world_.Run(&purge, AnyCore());
  EXPECT_EQ(Listed(), (std::vector<std::string>{"b", "c", "leased"}));
}

TEST_P(Spaces, APageCountsOnlySoManyJobs) {
  EnqueueManyRequest many;
  many.job.queue = "q";
  many.job.space = "a";
  many.payloads.assign(1000, "p");
  world_.Run(&many, AnyCore());
  SpacesRequest page;
  page.queue = "q";
  page.count = 1000;  // 100 of each
  world_.Run(&page, AnyCore());
  EXPECT_EQ(page.spaces["a"].ready, 100u);
  EXPECT_FALSE(page.spaces["a"].exact);
  EXPECT_EQ(Info("a").ready, 1000u);
  EXPECT_TRUE(Info("a").exact);
}

TEST_P(Spaces, CursorsAreThoseThatWereGiven) {
  Enqueue(1, "a");
  for (const char* cursor : {"", "a", "1", ":1", ":0g", ":+1"}) {
    SpacesRequest request;
    request.queue = "q";
    request.cursor = cursor;
    world_.Run(&request, AnyCore());
    EXPECT_EQ(request.error.code(), ErrorCode::kSyntax) << cursor;
  }
  SpacesRequest none;
  none.queue = "nobody";
  world_.Run(&none, AnyCore());
  EXPECT_EQ(none.error.code(), ErrorCode::kNotFound);
}

// As many as the memory budget allows, and no more; those that are there may be changed and go.
TEST_P(Spaces, OptionsAreBounded) {
  if (CoresOf(GetParam()) != 2) return;  // once is enough
  const uint64_t most = world_.options().memory / limits::kMemoryPerSpaceOptions;
  std::vector<std::unique_ptr<SpaceSetRequest>> requests;
  std::deque<bool> done(most);
  for (uint64_t i = 0; i < most; ++i) {
    auto request = std::make_unique<SpaceSetRequest>();
    request->queue = "q";
    request->space = "s" + std::to_string(i);
    request->set.weight = 2;
    world_.Start(request.get(), &done[i], AnyCore());
    requests.push_back(std::move(request));
    if (i % 1000 == 0) world_.Settle();
  }
  world_.Settle();
  for (const auto& request : requests) ASSERT_TRUE(request->error.ok());
  const auto weigh = [](SpaceSetRequest* r) { r->set.weight = 3; };
  EXPECT_EQ(TrySet("one more", weigh).code(), ErrorCode::kFull);
  EXPECT_TRUE(TrySet("s1", weigh).ok());
  EXPECT_TRUE(TrySet("", weigh).ok());
  UnsetAll("s1");
  EXPECT_TRUE(TrySet("one more", weigh).ok());
  Restart();
  EXPECT_EQ(TrySet("s1", weigh).code(), ErrorCode::kFull);
  PurgeRequest drop;
  drop.queue = "q";
  drop.drop = true;
  world_.Run(&drop, AnyCore());
  world_.Settle();
  EXPECT_TRUE(TrySet("s1", weigh).ok());
}

INSTANTIATE_TEST_SUITE_P(Cores, Spaces, ::testing::Values(1, 2, 4, kFewSpaces + 1, kFewSpaces + 4),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace vestq
