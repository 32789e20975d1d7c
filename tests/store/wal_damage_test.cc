// Honest power cuts always open and keep what was durable; damage is never silent.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "engine/base/limits.h"
#include "tests/store/wal_world.h"

namespace vestq {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kBlock = 32768;  // of RocksDB's log
// Where a store is opened for each byte of a log's end, what is before it is short.
constexpr size_t kNoBigOnes = SIZE_MAX;

class WalDamage : public ::testing::TestWithParam<bool> {
 protected:
  WalWorld::Shape Shape() const {
    WalWorld::Shape shape;
    shape.compress = GetParam();
    return shape;
  }
};

std::string LastLog(const StoreOptions& options) {
  return FilesEndingWith(options.path, ".log").back();
}

// Bytes from one place of a cut to the next: each costs an opening, which takes far longer with ASan.
#if defined(__SANITIZE_ADDRESS__)
constexpr uint64_t kCutStep = 3;
#else
constexpr uint64_t kCutStep = 1;
#endif

// Opens and demands a prefix of at least `least` groups; returns its length.
int OpenAndCount(const WalWorld& world, const StoreOptions& options, int least,
                 const std::string& what) {
  const Result<std::unique_ptr<Store>> store = Store::Open(options);
  EXPECT_TRUE(store.ok()) << what << ": " << store.error().ToString();
  if (!store.ok()) return -1;
  const int prefix = world.PrefixIn(**store);
  EXPECT_GE(prefix, least) << what;
  return prefix;
}

TEST_P(WalDamage, AKilledProcessLosesNothing) {
  WalWorld world(Shape());
  EXPECT_EQ(OpenAndCount(world, world.Crash(), world.groups(), "kill"), world.groups());
}

TEST_P(WalDamage, CutAtEveryByteOfTheLastUnsyncedGroup) {
  WalWorld::Shape shape = Shape();
  shape.durable_groups = 30;
  shape.unsynced_groups = 0;
  shape.big_every = kNoBigOnes;
  WalWorld world(shape);
  world.WriteGroup(2, 40);
  const StoreOptions whole = world.Crash();
  const uint64_t synced = world.SyncedSize(LastLog(whole));
  const uint64_t end = std::filesystem::file_size(LastLog(whole));
  ASSERT_LT(synced, end);
  for (uint64_t size = synced; size < end; size += kCutStep) {
    const StoreOptions trial = world.Crash();
    std::filesystem::resize_file(LastLog(trial), size);
    EXPECT_EQ(OpenAndCount(world, trial, world.durable_groups(), "cut at " + std::to_string(size)),
              world.durable_groups());
    std::filesystem::remove_all(trial.path);
  }
}

// Unsynced pages reach the disk in any order: zeroes some of those of every log, and perhaps cuts
// the last.
void LosePages(WalWorld* world, const StoreOptions& trial) {
  for (const std::string& log : FilesEndingWith(trial.path, ".log")) {
    const uint64_t synced = world->SyncedSize(log);
    std::string bytes = ReadFile(log);
    for (uint64_t page = synced / kPage * kPage; page < bytes.size(); page += kPage) {
      if (world->random()() % 3 != 0) continue;
      const uint64_t from = std::max(page, synced);
      const uint64_t to = std::min<uint64_t>(page + kPage, bytes.size());
      std::fill(bytes.begin() + static_cast<int64_t>(from),
                bytes.begin() + static_cast<int64_t>(to), '\0');
    }
    if (world->random()() % 4 == 0)
      bytes.resize(synced + world->random()() % (bytes.size() - synced + 1));
    WriteFile(log, bytes);
  }
}

TEST_P(WalDamage, UnsyncedPagesInAnyOrderAreAnHonestCut) {
  WalWorld::Shape shape = Shape();
  shape.durable_groups = 120;
  WalWorld world(shape);
  int torn = 0;
  for (int i = 0; i < 40; ++i) {
    const StoreOptions trial = world.Crash();
    LosePages(&world, trial);
    const int prefix =
        OpenAndCount(world, trial, world.durable_groups(), "trial " + std::to_string(i));
    torn += prefix < world.groups();
    // And once more: what the first opening left is whole.
    EXPECT_EQ(OpenAndCount(world, trial, prefix, "again " + std::to_string(i)), prefix);
    std::filesystem::remove_all(trial.path);
  }
  EXPECT_GT(torn, 20);
}

TEST_P(WalDamage, AfterAnHonestCutTheStoreGoesOnThroughFurtherCuts) {
  WalWorld::Shape shape = Shape();
  shape.durable_groups = 60;
  WalWorld world(shape);
  for (int i = 0; i < 10; ++i) {
    const StoreOptions trial = world.Crash();
    LosePages(&world, trial);
    for (int round = 0; round < 3; ++round) {
      const auto store = OpenOrDie(trial);
      ASSERT_NE(store, nullptr);
      WriteQueue queue(store.get());
      for (int g = 0; g < 20; ++g) {
        Batch batch;
        batch.Put(Family::kRows, "round-" + std::to_string(round) + "-" + std::to_string(g),
                  std::string(500, 'r'));
        queue.Submit(&batch);
        ASSERT_FALSE(queue.Drain());
        ASSERT_TRUE(queue.SyncOnce());
      }
    }
    {
      const auto store = OpenOrDie(trial);
      ASSERT_NE(store, nullptr);
      std::string value;
      for (int round = 0; round < 3; ++round) {
        EXPECT_TRUE(
            store->Get(Family::kRows, "round-" + std::to_string(round) + "-19", &value).ok());
      }
      EXPECT_GE(world.PrefixIn(*store), world.durable_groups());
    }
    std::filesystem::remove_all(trial.path);
  }
}

// Groups until the log's last block has fewer bytes left than a record's header, so that the next one begins with
// padding. The log's size before it.
uint64_t FillUpToAHeader(WalWorld* world, uint64_t left) {
  const auto size = [&] { return world->LogSizes().rbegin()->second; };
  uint64_t before = size();
  world->WriteGroup(1, 2000);
  const uint64_t overhead = size() - before - 2000;
  for (;;) {
    before = size();
    const uint64_t room = kBlock - before % kBlock;
    if (room == left) return before;
    if (room < 4000 + overhead) {
      world->WriteGroup(1, 4000);  // on to the next block
    } else {
      world->WriteGroup(1, std::min<uint64_t>(room - overhead - left, 12'000));
    }
  }
}

// What a record does not fit in is filled with zeros before it. A power cut that takes the record and leaves
// zeros must not make RocksDB complain of the log at every later start.
TEST(WalPadding, OfARecordThatIsGoneIsCutOff) {
  WalWorld::Shape shape;
  shape.durable_groups = 20;
  shape.unsynced_groups = 0;
  shape.big_every = kNoBigOnes;
  for (const uint64_t left : {6, 3}) {
    WalWorld world(shape);
    const uint64_t padding = FillUpToAHeader(&world, left);
    ASSERT_TRUE(world.queue()->SyncOnce());
    const int durable = world.groups();
    world.WriteGroup(2, 40);
    const uint64_t end = std::filesystem::file_size(LastLog(world.Crash()));
    for (uint64_t size = padding; size < end; size += kCutStep) {
      StoreOptions trial = world.Crash();
      const std::string log = LastLog(trial);
      std::filesystem::resize_file(log, size);
      EXPECT_EQ(OpenAndCount(world, trial, durable, "cut at " + std::to_string(size)), durable);
      EXPECT_EQ(std::filesystem::file_size(log), padding) << size;
      std::vector<std::string> lines;
      trial.log = [&lines](std::string_view line) { lines.emplace_back(line); };
      EXPECT_EQ(OpenAndCount(world, trial, durable, "again"), durable);
      EXPECT_EQ(lines, std::vector<std::string>()) << size;
      std::filesystem::remove_all(trial.path);
    }
  }
}

// A store whose job table files are ahead of a log that the rows still need: a closed, synced log.
class FlushedAhead {
 public:
  explicit FlushedAhead(bool compress) {
    options_.path = dir_.Path("data");
    options_.memory = uint64_t{16} << 20;
    options_.compress_wal = compress;
    const auto store = OpenOrDie(options_);
    Batch batch;
    batch.Put(Family::kRows, "first", "pins the first log");
    WriteOrDie(store.get(), &batch);
    for (int i = 0; store->Property("rocksdb.live-sst-files-size") == 0; ++i) {
      batch.Put(Family::kJob, "filler-" + std::to_string(i), WalWorld::Value("filler", 20'000));
      if (store->Write(batch.rep()).ok()) batch.Clear();
    }
    EXPECT_TRUE(store->SyncWal().ok());
  }
  const StoreOptions& options() const { return options_; }
  std::string FirstLog() const { return FilesEndingWith(options_.path, ".log").front(); }

 private:
  TempDir dir_;
  StoreOptions options_;
};

TEST_P(WalDamage, AnyDamageToAClosedLogIsALoss) {
  for (const double where : {0.0, 0.3, 0.999}) {
    const FlushedAhead ahead(GetParam());
    std::string bytes = ReadFile(ahead.FirstLog());
    bytes[static_cast<size_t>(where * static_cast<double>(bytes.size()))] ^= 1;
    WriteFile(ahead.FirstLog(), bytes);
    EXPECT_FALSE(Store::Open(ahead.options()).ok()) << where;
  }
  for (const bool removed : {false, true}) {
    const FlushedAhead ahead(GetParam());
    if (removed) {
      std::filesystem::remove(ahead.FirstLog());
    } else {
      WriteFile(ahead.FirstLog(), std::string(ReadFile(ahead.FirstLog()).size(), '\0'));
    }
    const auto store = Store::Open(ahead.options());
    ASSERT_FALSE(store.ok());
    EXPECT_NE(store.error().text().find("lost acknowledged changes"), std::string::npos)
        << store.error().text();
  }
}

// Then RocksDB goes on behind the table files, and the logs have a gap that is no second loss.
TEST_P(WalDamage, AfterAnAcceptedLossTheGapInTheLogsIsExplained) {
  const FlushedAhead ahead(GetParam());
  StoreOptions options = ahead.options();
  std::string bytes = ReadFile(ahead.FirstLog());
  bytes[bytes.size() / 2] ^= 1;
  WriteFile(ahead.FirstLog(), bytes);
  EXPECT_FALSE(Store::Open(options).ok());
  options.accept_data_loss = true;
  ASSERT_NE(OpenOrDie(options), nullptr);
  options.accept_data_loss = false;
  for (int round = 0; round < 3; ++round) {
    const auto store = OpenOrDie(options);
    ASSERT_NE(store, nullptr) << round;
    WriteQueue queue(store.get());
    for (int i = 0; i < 5; ++i) {
      Batch batch;
      batch.Put(Family::kRows, "k", std::to_string(i));
      queue.Submit(&batch);
      ASSERT_FALSE(queue.Drain());
      ASSERT_TRUE(queue.SyncOnce());
    }
  }
  std::string last = LastLog(options);
  bytes = ReadFile(last);
  bytes[bytes.size() / 4] ^= 1;
  WriteFile(last, bytes);
  EXPECT_FALSE(Store::Open(options).ok());  // damage is still seen behind the gap
}

TEST_P(WalDamage, TheFlagOpensAlsoWithoutAClosedLog) {
  for (const bool removed : {false, true}) {
    const FlushedAhead ahead(GetParam());
    StoreOptions options = ahead.options();
    if (removed) {
      std::filesystem::remove(ahead.FirstLog());
    } else {
      std::filesystem::resize_file(ahead.FirstLog(), 5000);
    }
    EXPECT_FALSE(Store::Open(options).ok());
    options.accept_data_loss = true;
    ASSERT_NE(OpenOrDie(options), nullptr);
    options.accept_data_loss = false;
    ASSERT_NE(OpenOrDie(options), nullptr);
  }
}

TEST_P(WalDamage, TheNewestTornTailsStay) {
  WalWorld::Shape shape = Shape();
  shape.durable_groups = 6;
  shape.unsynced_groups = 0;
  WalWorld world(shape);
  const StoreOptions trial = world.Crash();
  WriteFile(trial.path + "/torn-of-mine", "not ours");
  for (size_t i = 1; i <= limits::kTornFilesKept + 4; ++i) {
    std::string last;
    for (const std::string& log : FilesEndingWith(trial.path, ".log")) last = std::max(last, log);
    const uint64_t offset = ReadFile(last).size();
    WriteFile(last, ReadFile(last) + "garbage");
    ASSERT_NE(OpenOrDie(trial), nullptr);
    size_t tails = 0;
    for (const auto& entry : std::filesystem::directory_iterator(trial.path))
      tails += entry.path().filename().string().starts_with("torn-");
    EXPECT_EQ(tails, std::min(i, limits::kTornFilesKept) + 1);
    const uint64_t number = std::stoull(std::filesystem::path(last).stem());
    EXPECT_EQ(
        ReadFile(trial.path + "/torn-" + std::to_string(number) + "-" + std::to_string(offset)),
        "garbage");
  }
  EXPECT_EQ(ReadFile(trial.path + "/torn-of-mine"), "not ours");
}

// A store that was made has a log at any moment; RocksDB alone would open an empty one.
TEST_P(WalDamage, WithoutAnyLogItIsRefusedByTheNameOfWhatIsMissing) {
  WalWorld::Shape shape = Shape();
  shape.durable_groups = 20;
  WalWorld world(shape);
  StoreOptions trial = world.Crash();
  for (const std::string& log : FilesEndingWith(trial.path, ".log")) std::filesystem::remove(log);
  for (const bool read_only : {false, true}) {
    trial.read_only = read_only;
    const auto refused = Store::Open(trial);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), ErrorCode::kCorruption);
    EXPECT_NE(refused.error().text().find("the file MADE says that the store was made, and no log "
                                          "(*.log) is there"),
              std::string::npos)
        << refused.error().text();
  }
  trial.read_only = false;
  trial.accept_data_loss = true;
  {
    const auto store = OpenOrDie(trial);
    ASSERT_NE(store, nullptr);
    EXPECT_NE(store->report().note.find("LOST"), std::string::npos) << store->report().note;
  }
  trial.accept_data_loss = false;
  EXPECT_NE(OpenOrDie(trial), nullptr);
}

// Pairs that vanish at a flush leave no number in any table file: the live logs begin beyond all of them.
TEST_P(WalDamage, LogsMayBeginFarBehindWhatTableFilesHold) {
  TempDir dir;
  StoreOptions options = TestOptions(dir.Path("data"));
  options.memory = uint64_t{16} << 20;
  options.compress_wal = GetParam();
  for (int round = 0; round < 4; ++round) {
    const auto store = OpenOrDie(options);
    ASSERT_NE(store, nullptr) << round;
    WriteQueue queue(store.get());
    const Sequence start = store->LatestSequence();
    for (int i = 0; i < 500; ++i) {
      Batch batch;
      const std::string key = std::to_string(round) + "-" + std::to_string(i);
      batch.Put(Family::kJob, key, std::string(20'000, 'p'));
      batch.SingleDelete(Family::kJob, key);
      queue.Submit(&batch);
      while (queue.Drain()) std::this_thread::yield();
    }
    ASSERT_TRUE(queue.SyncOnce());
    EXPECT_EQ(store->LatestSequence(), Sequence(start.value() + 1000));
    ASSERT_TRUE(store->CompactAll().ok());
    ASSERT_TRUE(queue.VouchIdle());
    if (round % 2 == 1) {
      ASSERT_TRUE(store->Close().ok());
    }
  }
  EXPECT_TRUE(OpenOrDie(options)->report().clean_shutdown);
}

struct Tally {
  int refused = 0;
  int kept = 0;
  int silent = 0;
};

// Never silent: refused naming the directory, or everything vouched for is there.
void Judge(const WalWorld& world, const StoreOptions& trial, const std::string& what,
           Tally* tally) {
  const Result<std::unique_ptr<Store>> store = Store::Open(trial);
  if (!store.ok()) {
    EXPECT_EQ(store.error().code(), ErrorCode::kCorruption)
        << what << ": " << store.error().ToString();
    EXPECT_NE(store.error().text().find(trial.path), std::string::npos) << store.error().text();
    ++tally->refused;
    return;
  }
  if (world.PrefixIn(**store) >= world.vouched_groups()) {
    ++tally->kept;
  } else {
    ++tally->silent;
    ADD_FAILURE() << "silent loss: " << what << ", " << world.PrefixIn(**store) << " of "
                  << world.vouched_groups();
  }
}

TEST_P(WalDamage, DamageToWhatWasVouchedForIsNeverSilent) {
  Tally tally;
  const char* kinds[] = {"bit flip",   "zeroed page", "cut",
                         "zeroed log", "log removed", "bytes garbled"};
  int trials = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    WalWorld::Shape shape = Shape();
    shape.seed = seed;
    WalWorld world(shape);
    for (int i = 0; i < 60; ++i, ++trials) {
      const StoreOptions trial = world.Crash();
      const std::vector<std::string> logs = FilesEndingWith(trial.path, ".log");
      const std::string& log = logs[world.random()() % logs.size()];
      std::string bytes = ReadFile(log);
      const uint64_t synced = std::min<uint64_t>(world.SyncedSize(log), bytes.size());
      if (synced == 0) continue;
      const uint64_t at = world.random()() % synced;
      const int kind = i % 6;
      if (kind == 0) {
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << world.random()() % 8));
      } else if (kind == 1) {
        const uint64_t page = at / kPage * kPage;
        std::fill(bytes.begin() + static_cast<int64_t>(page),
                  bytes.begin() + static_cast<int64_t>(std::min<uint64_t>(page + kPage, synced)),
                  '\0');
      } else if (kind == 2) {
        // In the last log nothing is behind the cut; that is the loss of a whole synced tail, which
        // no log can tell.
        if (log == logs.back()) continue;
        bytes.resize(at);
      } else if (kind == 3) {
        if (log == logs.back()) continue;
        std::fill(bytes.begin(), bytes.end(), '\0');
      } else if (kind == 5) {
        for (uint64_t j = at; j < std::min<uint64_t>(at + 200, synced); ++j) {
          bytes[j] = static_cast<char>(world.random()());
        }
      }
      if (kind == 4) {
        if (log == logs.back()) continue;
        std::filesystem::remove(log);
      } else {
        WriteFile(log, bytes);
      }
      Judge(world, trial,
            std::string(kinds[kind]) + " at " + std::to_string(at) + " of " + log + " seed " +
                std::to_string(seed),
            &tally);
      std::filesystem::remove_all(trial.path);
    }
  }
  EXPECT_EQ(tally.silent, 0);
  EXPECT_GT(tally.refused, 50);
  RecordProperty("refused", tally.refused);
  RecordProperty("kept", tally.kept);
  std::printf("damage: %d refused, %d kept everything, %d silent\n", tally.refused, tally.kept,
              tally.silent);
}

TEST_P(WalDamage, RefusalChangesNothingAndTheFlagAcceptsTheLoss) {
  WalWorld::Shape shape = Shape();
  shape.durable_groups = 20;
  WalWorld world(shape);
  StoreOptions trial = world.Crash();
  const std::string log = LastLog(trial);
  std::string bytes = ReadFile(log);
  bytes[world.SyncedSize(log) / 2] ^= 1;
  WriteFile(log, bytes);
  const Result<std::unique_ptr<Store>> refused = Store::Open(trial);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("lost acknowledged changes"), std::string::npos)
      << refused.error().text();
  EXPECT_EQ(ReadFile(log), bytes);
  EXPECT_TRUE(FilesEndingWith(trial.path, ".cut").empty());
  trial.read_only = true;
  EXPECT_FALSE(Store::Open(trial).ok());
  EXPECT_EQ(ReadFile(log), bytes);

  trial.read_only = false;
  trial.accept_data_loss = true;
  {
    const auto store = OpenOrDie(trial);
    ASSERT_NE(store, nullptr);
    EXPECT_NE(store->report().note.find("LOST"), std::string::npos) << store->report().note;
    EXPECT_GE(world.PrefixIn(*store), 0);
    EXPECT_LT(world.PrefixIn(*store), world.durable_groups());
  }
  trial.accept_data_loss = false;
  EXPECT_NE(OpenOrDie(trial), nullptr);
}

TEST_P(WalDamage, TheLastGroupBeforeAnIdleTimeIsVouchedFor) {
  WalWorld::Shape shape = Shape();
  shape.durable_groups = 20;
  shape.unsynced_groups = 0;
  WalWorld world(shape);
  const StoreOptions before = world.Crash();
  const std::string log = LastLog(before);
  ASSERT_TRUE(world.queue()->VouchIdle());
  EXPECT_FALSE(world.queue()->VouchIdle());  // once
  const uint64_t last_byte = world.SyncedSize(log) - 1;
  StoreOptions trial = world.Crash();
  EXPECT_EQ(OpenAndCount(world, trial, world.groups(), "undamaged"), world.groups());
  trial = world.Crash();
  std::string bytes = ReadFile(LastLog(trial));
  bytes[last_byte] ^= 4;
  WriteFile(LastLog(trial), bytes);
  EXPECT_FALSE(Store::Open(trial).ok());
}

TEST_P(WalDamage, ACleanShutdownMakesEvenALostTailVisible) {
  TempDir dir;
  StoreOptions options = TestOptions(dir.Path("data"));
  options.compress_wal = GetParam();
  {
    const auto store = OpenOrDie(options);
    ASSERT_NE(store, nullptr);
    EXPECT_TRUE(store->report().created);
    for (int i = 0; i < 10; ++i) {
      Batch batch;
      batch.Put(Family::kRows, "key-" + std::to_string(i), "value");
      WriteOrDie(store.get(), &batch);
    }
    ASSERT_TRUE(store->Close().ok());
    EXPECT_EQ(store->SyncWal().code(), ErrorCode::kShutdown);
    EXPECT_TRUE(store->Close().ok());
  }
  const std::string log = LastLog(options);
  const std::string bytes = ReadFile(log);
  WriteFile(log, bytes.substr(0, bytes.size() / 2));
  EXPECT_FALSE(Store::Open(options).ok());
  WriteFile(log, "");
  EXPECT_FALSE(Store::Open(options).ok());
  std::filesystem::remove(log);
  EXPECT_FALSE(Store::Open(options).ok());
  WriteFile(log, bytes);
  {
    const auto store = OpenOrDie(options);
    ASSERT_NE(store, nullptr);
    EXPECT_TRUE(store->report().clean_shutdown);
    EXPECT_FALSE(store->report().created);
    EXPECT_EQ(store->report().sequence, Sequence(10));
  }
  const auto store = OpenOrDie(options);  // the mark is gone
  ASSERT_NE(store, nullptr);
  EXPECT_FALSE(store->report().clean_shutdown);
}

INSTANTIATE_TEST_SUITE_P(Compression, WalDamage, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "zstd" : "plain"; });

}  // namespace
}  // namespace vestq
