// The reader of logs against logs that RocksDB wrote: everything legal is whole.
#include "engine/wal_check.h"

#include <gtest/gtest.h>

#include "engine/durable_file.h"
#include "engine/wal_crc.h"
#include "engine/wal_reader.h"
#include "engine/wal_vouch.h"
#include "rocksdb/db.h"
#include "tests/store/wal_world.h"

namespace vestq {
namespace {

using Kind = WalVerdict::Kind;

rocksdb::FileSystem* Fs() { return rocksdb::FileSystem::Default().get(); }

WalVerdict Check(const std::string& directory, WalBounds bounds = {}) {
  const Result<std::vector<uint64_t>> logs = ListLogs(Fs(), directory);
  EXPECT_TRUE(logs.ok());
  const Result<WalVerdict> verdict = CheckLogs(Fs(), directory, *logs, bounds);
  EXPECT_TRUE(verdict.ok()) << verdict.error().ToString();
  return *verdict;
}

TEST(WalCrc, KnownAnswers) {
  EXPECT_EQ(ExtendCrc32c(0, ""), 0u);
  EXPECT_EQ(ExtendCrc32c(0, "123456789"), 0xe3069283u);
  EXPECT_EQ(ExtendCrc32c(0, std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(ExtendCrc32c(ExtendCrc32c(0, "1234"), "56789"), 0xe3069283u);
}

TEST(WalVouch, HeadsReadBackAlsoFromABeginning) {
  Batch batch;
  std::string vouch;
  AppendVouch(Sequence(812), &vouch);
  batch.LogData(vouch);
  std::string resume;
  AppendResume(Sequence(900), &resume);
  batch.LogData(resume);
  batch.LogData("vq?unknown");
  batch.Put(Family::kRows, "k", "v");
  const std::string rep = batch.rep();
  auto head = ParseRecordHead(rep);
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->count, 1u);
  EXPECT_EQ(head->vouched, Sequence(812));
  EXPECT_EQ(head->resumes_after, Sequence(900));
  for (size_t n = 0; n < rep.size(); ++n) {
    head = ParseRecordHead(rep.substr(0, n));
    EXPECT_EQ(head.has_value(), n >= 12);
    if (head && head->vouched) {
      EXPECT_EQ(head->vouched, Sequence(812));
    }
  }
}

class RawDb {
 public:
  explicit RawDb(const std::string& path, rocksdb::Options options = {})
      : path_(path), options_(options) {
    options_.create_if_missing = true;
    options_.avoid_flush_during_recovery = true;
    Open();
  }
  void Open() {
    rocksdb::DB* raw = nullptr;
    const auto s = rocksdb::DB::Open(options_, path_, &raw);
    ASSERT_TRUE(s.ok()) << s.ToString();
    db_.reset(raw);
  }
  void Close() { db_.reset(); }
  void Put(const std::string& key, size_t bytes) {
    ASSERT_TRUE(db_->Put({}, key, WalWorld::Value(key, bytes)).ok());
  }
  rocksdb::DB* db() { return db_.get(); }

 private:
  const std::string path_;
  rocksdb::Options options_;
  std::unique_ptr<rocksdb::DB> db_;
};

class WalCheck : public ::testing::TestWithParam<rocksdb::CompressionType> {
 protected:
  rocksdb::Options Options() const {
    rocksdb::Options options;
    options.wal_compression = GetParam();
    return options;
  }
  TempDir dir_;
};

TEST_P(WalCheck, RecordsOfEverySizeAreWhole) {
  RawDb db(dir_.Path("db"), Options());
  uint64_t sequence = 0;
  // Around the block's end, where headers do not fit, and over several blocks.
  for (size_t bytes :
       {size_t{0}, size_t{1}, size_t{32'700}, size_t{32'768}, size_t{65'536}, size_t{300'000}}) {
    for (size_t extra = 0; extra < 20; ++extra, ++sequence)
      db.Put("k" + std::to_string(sequence), bytes + extra);
  }
  for (int i = 0; i < 3000; ++i, ++sequence)
    db.Put("s" + std::to_string(i), 20 + static_cast<size_t>(i) % 7);
  db.Close();
  const WalVerdict verdict = Check(dir_.Path("db"));
  EXPECT_EQ(verdict.kind, Kind::kWhole) << verdict.first_break.what;
  EXPECT_EQ(verdict.last_good, Sequence(sequence));
  EXPECT_EQ(verdict.records, sequence);
}

TEST_P(WalCheck, ReopenedMemtableOnlyLogsFollowOnAndEmptyOnesAreLegal) {
  RawDb db(dir_.Path("db"), Options());
  for (int round = 0; round < 4; ++round) {
    if (round != 2) db.Put("k" + std::to_string(round), 1000);
    rocksdb::WriteBatch nothing;  // a record of count 0
    nothing.PutLogData("blob");
    ASSERT_TRUE(db.db()->Write({}, &nothing).ok());
    db.Close();
    db.Open();
  }
  db.Close();
  const WalVerdict verdict = Check(dir_.Path("db"));
  EXPECT_EQ(verdict.kind, Kind::kWhole) << verdict.first_break.what;
  EXPECT_EQ(verdict.last_good, Sequence(3));
  EXPECT_GE(verdict.logs.size(), 4u);
}

TEST_P(WalCheck, APreallocatedZeroTailIsTheEnd) {
  RawDb db(dir_.Path("db"), Options());
  for (int i = 0; i < 10; ++i) db.Put("k" + std::to_string(i), 500);
  db.Close();
  const std::string log = FilesEndingWith(dir_.Path("db"), ".log").back();
  const std::string bytes = ReadFile(log);
  for (const size_t zeros : {1, 6, 7, 11, 4096, 100'000}) {
    WriteFile(log, bytes + std::string(zeros, '\0'));
    const WalVerdict verdict = Check(dir_.Path("db"));
    EXPECT_EQ(verdict.kind, Kind::kWhole) << zeros;
    EXPECT_EQ(verdict.last_good, Sequence(10));
  }
  WriteFile(log, bytes + std::string(5000, '\0') + "x");
  const WalVerdict verdict = Check(dir_.Path("db"));
  EXPECT_EQ(verdict.kind, Kind::kTornTail);
  EXPECT_EQ(verdict.last_good, Sequence(10));
  EXPECT_EQ(verdict.first_break.offset, bytes.size());
  EXPECT_EQ(verdict.bytes_beyond, 5001u);
}

TEST_P(WalCheck, AMissingLogInTheMiddleIsAGap) {
  RawDb db(dir_.Path("db"), Options());
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 5; ++i) db.Put(std::to_string(round) + std::to_string(i), 100);
    db.Close();
    if (round < 2) db.Open();
  }
  const auto logs = FilesEndingWith(dir_.Path("db"), ".log");
  ASSERT_EQ(logs.size(), 3u);
  std::filesystem::remove(logs[1]);
  const WalVerdict verdict = Check(dir_.Path("db"), {});
  EXPECT_EQ(verdict.kind, Kind::kTornTail);  // nobody vouches
  EXPECT_EQ(verdict.last_good, Sequence(5));
  EXPECT_NE(verdict.first_break.what.find("sequence gap 5 -> 11"), std::string::npos)
      << verdict.first_break.what;
  EXPECT_EQ(Check(dir_.Path("db"), {0, Sequence(7), false}).kind, Kind::kLoss);
  EXPECT_EQ(Check(dir_.Path("db"), {0, Sequence(0), true}).kind, Kind::kLoss);
  EXPECT_EQ(Check(dir_.Path("db"), {0, Sequence(5), false}).kind, Kind::kTornTail);

  const uint64_t last = ListLogs(Fs(), dir_.Path("db"))->back();
  EXPECT_EQ(Check(dir_.Path("db"), {last, Sequence(0), false}).kind, Kind::kTornTail);
  EXPECT_EQ(Check(dir_.Path("db"), {last + 1, Sequence(0), false}).kind, Kind::kLoss);
  // The logs may begin anywhere; but they do not end before what table files hold.
  std::filesystem::remove(logs[0]);
  EXPECT_EQ(Check(dir_.Path("db"), {0, Sequence(3), false}).kind, Kind::kWhole);
  EXPECT_EQ(Check(dir_.Path("db"), {0, Sequence(16), false}).kind, Kind::kLoss);
  // A log that is named and not there.
  const Result<WalVerdict> named = CheckLogs(Fs(), dir_.Path("db"), {999}, {});
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(named->first_break.what, "the log is missing");
}

TEST_P(WalCheck, AResumeNoteExplainsAGap) {
  RawDb db(dir_.Path("db"), Options());
  for (int i = 0; i < 5; ++i) db.Put("a" + std::to_string(i), 100);
  db.Close();
  const std::string first = FilesEndingWith(dir_.Path("db"), ".log").back();
  db.Open();
  for (int i = 0; i < 5; ++i) db.Put("b" + std::to_string(i), 100);
  std::string resume;
  AppendResume(Sequence(3), &resume);
  rocksdb::WriteBatch note;
  note.PutLogData(resume);
  ASSERT_TRUE(db.db()->Write({}, &note).ok());
  db.Put("c", 100);
  db.Close();
  EXPECT_EQ(Check(dir_.Path("db")).kind, Kind::kWhole);  // a note without a gap is harmless
  EXPECT_EQ(Check(dir_.Path("db")).last_good, Sequence(11));
}

TEST_P(WalCheck, RecycledLogsEndWhereTheOldRecordsBegin) {
  rocksdb::Options options = Options();
  options.recycle_log_file_num = 2;
  options.avoid_flush_during_recovery = false;
  RawDb db(dir_.Path("db"), options);
  int key = 0;
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 100; ++i) db.Put("k" + std::to_string(key++), 1000);
    ASSERT_TRUE(db.db()->Flush({}).ok());
  }
  for (int i = 0; i < 10; ++i) db.Put("k" + std::to_string(key++), 1000);
  const std::string log = FilesEndingWith(dir_.Path("db"), ".log").back();
  // Alive, so that the recycled file is as a crash leaves it.
  const std::string number = std::filesystem::path(log).stem();
  const Result<WalVerdict> verdict = CheckLogs(Fs(), dir_.Path("db"), {std::stoull(number)}, {});
  ASSERT_TRUE(verdict.ok());
  EXPECT_GT(std::filesystem::file_size(log), 60'000u);  // old records lie behind
  EXPECT_EQ(verdict->kind, Kind::kWhole) << verdict->first_break.what;
  EXPECT_EQ(verdict->last_good, Sequence(static_cast<uint64_t>(key)));
  EXPECT_EQ(verdict->records, 10u);
}

INSTANTIATE_TEST_SUITE_P(Compression, WalCheck,
                         ::testing::Values(rocksdb::kNoCompression, rocksdb::kZSTD),
                         [](const auto& test) {
                           return test.param == rocksdb::kZSTD ? "zstd" : "plain";
                         });

TEST(WalReader, GoesOnBehindAFlippedLength) {
  TempDir dir;
  RawDb db(dir.Path("db"));
  for (int i = 0; i < 10; ++i) db.Put("k" + std::to_string(i), 100);
  db.Close();
  const std::string log = FilesEndingWith(dir.Path("db"), ".log").back();
  std::string bytes = ReadFile(log);
  bytes[5] = 0x7f;  // the first record claims to be longer than the file
  WriteFile(log, bytes);
  auto reader = WalFragmentReader::Open(Fs(), log, 4);
  ASSERT_TRUE(reader.ok());
  WalFragment fragment;
  ASSERT_EQ(*(*reader)->Next(&fragment), WalStep::kBad);
  EXPECT_EQ((*reader)->bad_offset(), 0u);
  int good = 0;
  while (*(*reader)->Next(&fragment) == WalStep::kFragment) ++good;
  EXPECT_EQ(good, 9);
}

}  // namespace
}  // namespace vestq
