// The same engine on real threads and a real disk: cores that sleep and wake, in every durability mode.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "engine/group_request.h"
#include "engine/kv_request.h"
#include "engine/shared_adaptive_limit.h"

namespace vestq {
namespace {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string path = (std::filesystem::temp_directory_path() / "vestq-test-XXXXXX").string();
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    path_ = path;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  std::string data() const { return path_ + "/data"; }

 private:
  std::string path_;
};

// Drives one core as a reactor does, without a network: sleeps when there is nothing to do.
class CoreThread {
 public:
  explicit CoreThread(Core* core) : core_(core) {
    core_->set_wake([](void* self) { static_cast<CoreThread*>(self)->Ring(); }, this);
  }
  void Start(std::function<void(Core*)> begin, std::function<bool()> finished) {
    thread_ = std::thread([this, begin, finished] {
      begin(core_);
      while (!finished()) {
        if (core_->Turn()) continue;
        if (!core_->PrepareSleep()) continue;
        Sleep(core_->UntilDue());
        core_->EndSleep();
      }
    });
  }
  void Ring() {
    std::lock_guard lock(mutex_);
    rung_ = true;
    wake_.notify_one();
  }
  void Join() { thread_.join(); }

 private:
  void Sleep(Duration longest) {
    std::unique_lock lock(mutex_);
    const auto limit = std::chrono::milliseconds(std::min<int64_t>(longest.ms(), 5000));
    wake_.wait_for(lock, limit, [this] { return rung_; });
    rung_ = false;
  }

  Core* const core_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool rung_ = false;
  std::thread thread_;
};

// A client of one core that puts, takes and completes, one at a time, `rounds` times; `together`: completes
// in a group, with a result for all to see, which all such clients count up.
struct Client {
  Core* core = nullptr;
  int rounds = 0;
  std::atomic<int>* left = nullptr;
  std::function<void()> all_done;
  std::string space;
  EnqueueRequest enqueue;
  LeaseRequest lease;
  CompleteRequest complete;
  bool together = false;
  std::unique_ptr<GroupRequest> group;
  std::set<uint64_t>* seen = nullptr;
  std::mutex* seen_mutex = nullptr;

  void Begin() {
    enqueue.done = [](Request*, void* self) { static_cast<Client*>(self)->Take(); };
    lease.done = [](Request*, void* self) { static_cast<Client*>(self)->Settle(); };
    complete.done = [](Request*, void* self) { static_cast<Client*>(self)->Next(); };
    enqueue.context = lease.context = complete.context = this;
    enqueue.queue = "q";
    enqueue.payload = "payload";
    enqueue.space = space;
    lease.queues = {"q"};
    lease.wait = true;
    core->Start(&enqueue);
  }
  void Take() {
    ASSERT_TRUE(enqueue.error.ok()) << enqueue.error.ToString();
    core->Start(&lease);
  }
  void Settle() {
    ASSERT_TRUE(lease.error.ok()) << lease.error.ToString();
    ASSERT_EQ(lease.jobs.size(), 1u);
    {
      std::lock_guard lock(*seen_mutex);
      EXPECT_TRUE(seen->insert(lease.jobs[0].receipt.id.value()).second) << "delivered twice";
    }
    if (together) return CompleteTogether();
    complete.receipt = lease.jobs[0].receipt;
    core->Start(&complete);
  }
  void CompleteTogether() {
    group = std::make_unique<GroupRequest>();
    auto member = std::make_unique<CompleteRequest>();
    member->receipt = lease.jobs[0].receipt;
    group->members.push_back(std::move(member));
    for (const char* key : {"x", "y", "z"}) {
      auto set = std::make_unique<DataSetRequest>();
      set->key = key;
      set->value = std::to_string(lease.jobs[0].receipt.id.value());
      group->members.push_back(std::move(set));
    }
    auto get = std::make_unique<DataGetRequest>();
    get->keys = {"x", "y", "z"};
    group->members.push_back(std::move(get));
    group->done = [](Request* request, void* self) {
      auto* const done = static_cast<GroupRequest*>(request);
      ASSERT_TRUE(done->error.ok()) << done->error.ToString();
      const auto& values = static_cast<DataGetRequest*>(done->members.back().get())->values;
      EXPECT_EQ(values[0], values[1]);
      EXPECT_EQ(values[0], values[2]);
      static_cast<Client*>(self)->Next();
    };
    group->context = this;
    core->Start(group.get());
  }
  void Next() {
    ASSERT_TRUE(complete.error.ok()) << complete.error.ToString();
    if (--rounds > 0) {
      core->Start(&enqueue);
    } else if (left->fetch_sub(1) == 1) {
      all_done();
    }
  }
};

class Threads : public ::testing::TestWithParam<std::tuple<int, Durability>> {};

TEST_P(Threads, ClientsOnAllCoresFinishAndNothingIsLeft) {
  const auto [cores, durability] = GetParam();
  TemporaryDirectory directory;
  EngineOptions options;
  options.path = directory.data();
  options.cores = static_cast<uint16_t>(cores);
  options.durability = durability;
  options.sync_interval = Milliseconds(5);
  options.memory = uint64_t{64} << 20;
  auto opened = Engine::Open(options);
  ASSERT_TRUE(opened.ok()) << opened.error().ToString();
  Engine* const engine = opened->get();

  constexpr int kClients = 8;
  constexpr int kRounds = 60;
  std::vector<std::unique_ptr<CoreThread>> threads;
  std::vector<std::unique_ptr<Client>> clients;
  std::atomic<int> left{cores * kClients};
  std::set<uint64_t> seen;
  std::mutex seen_mutex;
  for (uint16_t i = 0; i < cores; ++i)
    threads.push_back(std::make_unique<CoreThread>(engine->core(CoreId(i))));
  for (uint16_t i = 0; i < cores; ++i) {
    for (int k = 0; k < kClients; ++k) {
      auto client = std::make_unique<Client>();
      client->core = engine->core(CoreId(i));
      client->rounds = kRounds;
      client->left = &left;
      client->seen = &seen;
      client->seen_mutex = &seen_mutex;
      client->together = k % 2 == 1;
      client->space = k % 3 == 0 ? "" : "s" + std::to_string(k);
      client->all_done = [&threads] {
        for (auto& thread : threads) thread->Ring();
      };
      clients.push_back(std::move(client));
    }
  }
  for (uint16_t i = 0; i < cores; ++i) {
    threads[i]->Start(
        [&clients, i](Core*) {
          for (int k = 0; k < kClients; ++k)
            clients[static_cast<size_t>(i) * kClients + static_cast<size_t>(k)]->Begin();
        },
        [&left] { return left.load() == 0; });
  }
  for (auto& thread : threads) thread->Join();
  EXPECT_EQ(seen.size(), static_cast<size_t>(cores * kClients * kRounds));
  QueueCounts counts;
  ASSERT_TRUE(engine->Queue("q", &counts));
  EXPECT_EQ(counts.completed, cores * kClients * kRounds);
  EXPECT_EQ(counts.ready + counts.scheduled + counts.leased + counts.bytes, 0);
  EXPECT_TRUE(engine->Close().ok());
}

INSTANTIATE_TEST_SUITE_P(CoresAndModes, Threads,
                         ::testing::Combine(::testing::Values(1, 2, 4),
                                            ::testing::Values(Durability::kSync,
                                                              Durability::kInterval,
                                                              Durability::kOs)));

TEST(SharedAdaptiveLimit, IsOneForAllThreads) {
  SharedAdaptiveLimit shared({1, 1000}, MonoTime(0));
  constexpr int kThreads = 4;
  constexpr int kWindows = 50;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&shared] {
      for (uint32_t i = 0; i < kWindows * AdaptiveLimit::kWindowMin; ++i) {
        shared.Update([](AdaptiveLimit* limit) {
          limit->Started(limit->limit());
          return limit->Succeeded(MonoTime(1), MonoTime(2));
        });
        EXPECT_GE(shared.limit(), 1u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // A window is as long as the limit is high, so above 100 the rises are rarer than one in 100 ends.
  const uint32_t ends = kThreads * kWindows * AdaptiveLimit::kWindowMin;
  uint32_t expected = 1;
  for (uint32_t left = ends; left >= std::max(expected, AdaptiveLimit::kWindowMin); ++expected)
    left -= std::max(expected, AdaptiveLimit::kWindowMin);
  EXPECT_EQ(shared.limit(), expected);
  EXPECT_EQ(shared.Copy().limit(), expected);
}

}  // namespace
}  // namespace vestq
