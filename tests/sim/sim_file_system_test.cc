// The simulated disk and file system by themselves: what is durable, what a crash leaves, faults,
// capacity.
#include "tests/sim/sim_file_system.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "rocksdb/env.h"

namespace vestq {
namespace {

using rocksdb::FSDirectory;
using rocksdb::FSRandomAccessFile;
using rocksdb::FSWritableFile;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

class SimFileSystemTest : public testing::Test {
 protected:
  SimFileSystemTest() { fs_->MakeDirectories("/d"); }

  std::unique_ptr<FSWritableFile> Create(const std::string& path) {
    std::unique_ptr<FSWritableFile> file;
    EXPECT_TRUE(fs_->NewWritableFile(path, {}, &file, nullptr).ok());
    return file;
  }
  IOStatus Append(FSWritableFile& file, const std::string& data) {
    return file.Append(data, IOOptions(), nullptr);
  }
  IOStatus Sync(FSWritableFile& file) { return file.Sync(IOOptions(), nullptr); }
  void SyncDirectory(const std::string& path) {
    std::unique_ptr<FSDirectory> directory;
    ASSERT_TRUE(fs_->NewDirectory(path, IOOptions(), &directory, nullptr).ok());
    ASSERT_TRUE(
        directory->FsyncWithDirOptions(IOOptions(), nullptr, rocksdb::DirFsyncOptions()).ok());
    ASSERT_TRUE(directory->Close(IOOptions(), nullptr).ok());
  }
  bool Exists(const std::string& path) { return fs_->FileExists(path, IOOptions(), nullptr).ok(); }
  void CrashAndRestart(CrashMode mode = CrashMode::kLoseUnsynced) {
    fs_->Crash(random_, mode);
    fs_->Restart();
  }

  SimRandom random_{1};
  std::shared_ptr<SimFileSystem> fs_ = std::make_shared<SimFileSystem>();
};

TEST_F(SimFileSystemTest, SyncedBytesOfASyncedEntrySurvive) {
  auto file = Create("/d/a");
  ASSERT_TRUE(Append(*file, "kept").ok());
  ASSERT_TRUE(Sync(*file).ok());
  SyncDirectory("/d");
  ASSERT_TRUE(Append(*file, "lost").ok());
  CrashAndRestart();
  EXPECT_EQ(fs_->Content("/d/a"), "kept");
}

TEST_F(SimFileSystemTest, FileWithoutSyncedEntryIsGone) {
  auto file = Create("/d/a");
  ASSERT_TRUE(Append(*file, "x").ok());
  ASSERT_TRUE(Sync(*file).ok());
  CrashAndRestart();
  EXPECT_FALSE(Exists("/d/a"));
}

TEST_F(SimFileSystemTest, DirectoryItselfNeedsItsParentSynced) {
  ASSERT_TRUE(fs_->CreateDir("/e", IOOptions(), nullptr).ok());
  auto file = Create("/e/a");
  ASSERT_TRUE(Sync(*file).ok());
  SyncDirectory("/e");
  CrashAndRestart();
  EXPECT_FALSE(Exists("/e"));
}

TEST_F(SimFileSystemTest, UnsyncedDeleteAndRenameComeBack) {
  fs_->PutFile("/d/a", "a");
  fs_->PutFile("/d/b", "b");
  ASSERT_TRUE(fs_->DeleteFile("/d/a", IOOptions(), nullptr).ok());
  ASSERT_TRUE(fs_->RenameFile("/d/b", "/d/c", IOOptions(), nullptr).ok());
  EXPECT_FALSE(Exists("/d/b"));
  CrashAndRestart();
  EXPECT_EQ(fs_->Content("/d/a"), "a");
  EXPECT_EQ(fs_->Content("/d/b"), "b");
  EXPECT_FALSE(Exists("/d/c"));
}

TEST_F(SimFileSystemTest, RenameOverAFileIsAtomic) {
  std::set<std::string> seen;
  for (int i = 0; i < 50; ++i) {
    fs_->PutFile("/d/CURRENT", "old");
    auto file = Create("/d/tmp");
    ASSERT_TRUE(Append(*file, "new").ok());
    ASSERT_TRUE(Sync(*file).ok());
    ASSERT_TRUE(fs_->RenameFile("/d/tmp", "/d/CURRENT", IOOptions(), nullptr).ok());
    CrashAndRestart(CrashMode::kTorn);
    seen.insert(fs_->Content("/d/CURRENT"));
  }
  EXPECT_EQ(seen, (std::set<std::string>{"old", "new"}));
}

TEST_F(SimFileSystemTest, OverwrittenSyncedBytesComeBack) {
  fs_->PutFile("/d/a", std::string(2000, 'a'));
  std::unique_ptr<rocksdb::FSRandomRWFile> file;
  ASSERT_TRUE(fs_->NewRandomRWFile("/d/a", {}, &file, nullptr).ok());
  ASSERT_TRUE(file->Write(700, std::string(900, 'b'), IOOptions(), nullptr).ok());
  ASSERT_TRUE(fs_->Truncate("/d/a", 100, IOOptions(), nullptr).ok());
  ASSERT_TRUE(file->Write(100, std::string(3000, 'c'), IOOptions(), nullptr).ok());
  CrashAndRestart();
  EXPECT_EQ(fs_->Content("/d/a"), std::string(2000, 'a'));
}

TEST_F(SimFileSystemTest, TornCrashKeepsWhatWasSyncedAndTearsTheRest) {
  const std::string synced(700, 's');
  const std::string unsynced(20'000, 'u');
  bool zeros = false;
  bool shorter = false;
  bool whole = false;
  for (int i = 0; i < 200; ++i) {
    auto file = Create("/d/a");
    ASSERT_TRUE(Append(*file, synced).ok());
    ASSERT_TRUE(Sync(*file).ok());
    SyncDirectory("/d");
    ASSERT_TRUE(Append(*file, unsynced).ok());
    CrashAndRestart(CrashMode::kTorn);
    const std::string after = fs_->Content("/d/a");
    ASSERT_GE(after.size(), synced.size());
    ASSERT_LE(after.size(), synced.size() + unsynced.size());
    ASSERT_EQ(after.substr(0, synced.size()), synced);
    for (const char c : after.substr(synced.size())) ASSERT_TRUE(c == 'u' || c == '\0');
    zeros |= after.find('\0') != std::string::npos;
    shorter |= after.size() < synced.size() + unsynced.size();
    whole |= after == synced + unsynced;
  }
  EXPECT_TRUE(zeros);
  EXPECT_TRUE(shorter);
  EXPECT_TRUE(whole);
}

TEST_F(SimFileSystemTest, FailedSyncIsNeverMadeGoodByAnother) {
  auto file = Create("/d/a");
  SyncDirectory("/d");
  ASSERT_TRUE(Append(*file, "x").ok());
  fs_->Inject({.call = SimCall::kSync});
  EXPECT_TRUE(Sync(*file).IsIOError());
  EXPECT_TRUE(Sync(*file).ok());
  CrashAndRestart();
  EXPECT_EQ(fs_->Content("/d/a"), "");
}

TEST_F(SimFileSystemTest, KillKeepsAllThatWasWritten) {
  auto file = Create("/d/a");
  ASSERT_TRUE(Append(*file, "x").ok());
  fs_->Kill();
  EXPECT_TRUE(Append(*file, "y").IsIOError());
  EXPECT_FALSE(Exists("/d/a"));  // down
  fs_->Restart();
  EXPECT_EQ(fs_->Content("/d/a"), "x");
  EXPECT_TRUE(Append(*file, "y").IsIOError());  // a handle from before
  EXPECT_TRUE(Sync(*file).IsIOError());
  EXPECT_EQ(fs_->Content("/d/a"), "x");
}

TEST_F(SimFileSystemTest, PowerOffHitsTheNthChangingCall) {
  auto file = Create("/d/a");
  fs_->PowerOffAfter(2);
  EXPECT_TRUE(Append(*file, "1").ok());
  EXPECT_TRUE(Append(*file, "2").ok());
  EXPECT_FALSE(fs_->down());
  EXPECT_TRUE(Append(*file, "3").IsIOError());
  EXPECT_TRUE(fs_->down());
}

TEST_F(SimFileSystemTest, FaultsHitTheNthMatchingCall) {
  auto file = Create("/d/a.log");
  auto other = Create("/d/b.sst");
  fs_->Inject(
      {.call = SimCall::kAppend, .nth = 2, .error = SimErrno::kNoSpace, .path_contains = ".log"});
  EXPECT_TRUE(Append(*file, "1").ok());
  EXPECT_TRUE(Append(*other, "1").ok());
  EXPECT_TRUE(Append(*file, "2").IsNoSpace());
  EXPECT_TRUE(Append(*file, "3").ok());
  EXPECT_EQ(fs_->Content("/d/a.log"), "13");
  fs_->Inject({.call = SimCall::kCreate, .persistent = true});
  std::unique_ptr<FSWritableFile> made;
  EXPECT_TRUE(fs_->NewWritableFile("/d/c", {}, &made, nullptr).IsIOError());
  EXPECT_TRUE(fs_->NewWritableFile("/d/c", {}, &made, nullptr).IsIOError());
  fs_->ClearFaults();
  EXPECT_TRUE(fs_->NewWritableFile("/d/c", {}, &made, nullptr).ok());
  fs_->Inject({.call = SimCall::kRename});
  EXPECT_TRUE(fs_->RenameFile("/d/c", "/d/e", IOOptions(), nullptr).IsIOError());
  fs_->Inject({.call = SimCall::kRead});
  std::unique_ptr<FSRandomAccessFile> reader;
  ASSERT_TRUE(fs_->NewRandomAccessFile("/d/a.log", {}, &reader, nullptr).ok());
  char scratch[8];
  Slice result;
  EXPECT_TRUE(reader->Read(0, 8, IOOptions(), &result, scratch, nullptr).IsIOError());
  EXPECT_TRUE(reader->Read(0, 8, IOOptions(), &result, scratch, nullptr).ok());
  EXPECT_EQ(result.ToString(), "13");
  EXPECT_EQ(fs_->stats().faults, 5u);
}

TEST_F(SimFileSystemTest, FullDiskTakesWhatFitsAndRecovers) {
  fs_->SetCapacity(10);
  auto file = Create("/d/a");
  ASSERT_TRUE(Append(*file, "12345678").ok());
  EXPECT_TRUE(Append(*file, "9abc").IsNoSpace());
  EXPECT_EQ(fs_->Content("/d/a"), "123456789a");
  auto other = Create("/d/b");
  EXPECT_TRUE(Append(*other, "x").IsNoSpace());
  ASSERT_TRUE(fs_->DeleteFile("/d/a", IOOptions(), nullptr).ok());
  EXPECT_TRUE(Append(*other, "x").IsNoSpace());  // still open
  ASSERT_TRUE(file->Close(IOOptions(), nullptr).ok());
  EXPECT_TRUE(Append(*other, "x").ok());
  EXPECT_EQ(fs_->disk().used(), 1u);
  fs_->SetCapacity(12);
  uint64_t free = 0;
  ASSERT_TRUE(fs_->GetFreeSpace("/d", IOOptions(), &free, nullptr).ok());
  EXPECT_EQ(free, 11u);
}

TEST_F(SimFileSystemTest, LocksExcludeAndDieWithTheProcess) {
  rocksdb::FileLock* first = nullptr;
  rocksdb::FileLock* second = nullptr;
  ASSERT_TRUE(fs_->LockFile("/d/LOCK", IOOptions(), &first, nullptr).ok());
  EXPECT_TRUE(fs_->LockFile("/d/LOCK", IOOptions(), &second, nullptr).IsIOError());
  EXPECT_EQ(second, nullptr);
  fs_->Kill();
  fs_->Restart();
  ASSERT_TRUE(fs_->LockFile("/d/LOCK", IOOptions(), &second, nullptr).ok());
  ASSERT_TRUE(
      fs_->UnlockFile(first, IOOptions(), nullptr).ok());  // dead: does not release the new one
  EXPECT_TRUE(fs_->LockFile("/d/LOCK", IOOptions(), &first, nullptr).IsIOError());
  ASSERT_TRUE(fs_->UnlockFile(second, IOOptions(), nullptr).ok());
}

TEST_F(SimFileSystemTest, NamesAndAttributes) {
  fs_->PutFile("/d/a", "123");
  ASSERT_TRUE(fs_->LinkFile("/d/a", "/d/b", IOOptions(), nullptr).ok());
  uint64_t links = 0;
  ASSERT_TRUE(fs_->NumFileLinks("/d/a", IOOptions(), &links, nullptr).ok());
  EXPECT_EQ(links, 2u);
  bool same = false;
  ASSERT_TRUE(fs_->AreFilesSame("/d/a", "/d/b", IOOptions(), &same, nullptr).ok());
  EXPECT_TRUE(same);
  std::vector<std::string> children;
  ASSERT_TRUE(fs_->GetChildren("/d//", IOOptions(), &children, nullptr).ok());
  EXPECT_EQ(children, (std::vector<std::string>{"a", "b"}));
  std::vector<rocksdb::FileAttributes> attributes;
  ASSERT_TRUE(fs_->GetChildrenFileAttributes("/d", IOOptions(), &attributes, nullptr).ok());
  ASSERT_EQ(attributes.size(), 2u);
  EXPECT_EQ(attributes[0].size_bytes, 3u);
  EXPECT_TRUE(fs_->FileExists("/d/none", IOOptions(), nullptr).IsNotFound());
  EXPECT_TRUE(fs_->DeleteFile("/d/none", IOOptions(), nullptr).IsPathNotFound());
  EXPECT_TRUE(fs_->DeleteDir("/d", IOOptions(), nullptr).IsIOError());
  EXPECT_TRUE(fs_->CreateDir("/d", IOOptions(), nullptr).IsIOError());
  EXPECT_TRUE(fs_->CreateDirIfMissing("/d", IOOptions(), nullptr).ok());
  bool is_directory = false;
  ASSERT_TRUE(fs_->IsDirectory("/d", IOOptions(), &is_directory, nullptr).ok());
  EXPECT_TRUE(is_directory);
}

TEST_F(SimFileSystemTest, CloneIsIndependentAndCrashesAlike) {
  fs_->PutFile("/d/a", "base");
  auto file = Create("/d/b");
  ASSERT_TRUE(Append(*file, std::string(5000, 'x')).ok());
  ASSERT_TRUE(fs_->LinkFile("/d/a", "/d/c", IOOptions(), nullptr).ok());
  auto copy = fs_->Clone();
  EXPECT_EQ(copy->disk().Fingerprint(), fs_->disk().Fingerprint());
  EXPECT_EQ(copy->disk().used(), fs_->disk().used());
  SimRandom one(7);
  SimRandom two(7);
  fs_->Crash(one, CrashMode::kTorn);
  copy->Crash(two, CrashMode::kTorn);
  EXPECT_EQ(copy->disk().Fingerprint(), fs_->disk().Fingerprint());
  copy->Restart();
  copy->PutFile("/d/only-copy", "");
  EXPECT_EQ(fs_->disk().Lookup("/d/only-copy"), nullptr);
}

TEST_F(SimFileSystemTest, FlippedBitIsSeenAndSurvives) {
  fs_->PutFile("/d/a", "abc");
  fs_->FlipBit("/d/a", 1, 0);
  EXPECT_EQ(fs_->Content("/d/a"), "acc");
  CrashAndRestart();
  EXPECT_EQ(fs_->Content("/d/a"), "acc");
}

// Random calls against a plain model of the synced and the written bytes.
TEST(SimDisk, RandomWritesAgainstAModel) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    SimRandom random(seed);
    SimDisk disk;
    SimNodePtr file;
    ASSERT_EQ(disk.Create("/f", &file), DiskError::kOk);
    disk.SyncDirectory(*disk.Lookup("/"));
    std::string content;
    std::string synced;
    for (int step = 0; step < 60; ++step) {
      const uint64_t kind = random.Below(10);
      if (kind < 6) {
        const uint64_t offset =
            random.Chance(0.5) ? content.size() : random.Below(content.size() + 1000);
        const std::string data(random.Below(1500), static_cast<char>('a' + random.Below(26)));
        ASSERT_EQ(disk.Write(*file, offset, data), DiskError::kOk);
        if (!data.empty() && content.size() < offset + data.size())
          content.resize(offset + data.size(), '\0');
        if (!data.empty()) content.replace(offset, data.size(), data);
      } else if (kind < 8) {
        const uint64_t size = random.Below(content.size() + 500);
        ASSERT_EQ(disk.Truncate(*file, size), DiskError::kOk);
        content.resize(size, '\0');
      } else {
        disk.Sync(*file);
        synced = content;
      }
      ASSERT_EQ(file->content, content);
      ASSERT_EQ(disk.used(), content.size());
    }
    disk.Crash(random, CrashMode::kLoseUnsynced);
    ASSERT_EQ(disk.Lookup("/f")->content, synced);
    ASSERT_EQ(disk.used(), synced.size());
  }
}

TEST(SimRandom, SameSeedSameNumbersAndForksDiffer) {
  SimRandom a(3);
  SimRandom b(3);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(a.Next(), b.Next());
  SimRandom fork = a.Fork();
  EXPECT_NE(fork.Next(), a.Next());
  std::vector<int> hits(7);
  for (int i = 0; i < 7000; ++i) ++hits[a.Below(7)];
  for (const int n : hits) EXPECT_NEAR(n, 1000, 150);
  int chances = 0;
  for (int i = 0; i < 10'000; ++i) chances += a.Chance(0.25) ? 1 : 0;
  EXPECT_NEAR(chances, 2500, 200);
  EXPECT_FALSE(a.Chance(0));
  EXPECT_TRUE(a.Chance(1));
}

}  // namespace
}  // namespace vestq
