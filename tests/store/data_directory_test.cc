// What a data directory is, and what is refused.
#include "engine/data_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "tests/store/store_test_util.h"

namespace vestq {
namespace {

std::set<std::string> Names(const std::string& path) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    names.insert(entry.path().filename());
  return names;
}

Error OpenError(const StoreOptions& options) {
  const Result<std::unique_ptr<Store>> store = Store::Open(options);
  return store.ok() ? Error::Ok() : store.error();
}

TEST(DataDirectory, FormatFileHasGoldenBytes) {
  EXPECT_EQ(EncodeFormat(1),
            "vestq data directory, format 1\n"
            "lanes 16\n"
            "This directory belongs to vestq. Do not change or remove files in it by hand.\n");
  TempDir dir;
  ASSERT_NE(OpenOrDie(TestOptions(dir.Path("data"))), nullptr);
  EXPECT_EQ(ReadFile(dir.Path("data/VESTQ")), EncodeFormat(1));
}

TEST(DataDirectory, FormatReadsBackAndRejectsGarbage) {
  EXPECT_EQ(*DecodeFormat(EncodeFormat(77)), 77u);
  for (const std::string bad :
       {"", "vestq", "vestq data directory, format ", "vestq data directory, format \n",
        "vestq data directory, format 1", "vestq data directory, format x\n",
        "vestq data directory, format 0\n", "vestq data directory, format 99999999999999999999\n",
        "vestq data directory, format 1 \n"}) {
    const Result<uint32_t> version = DecodeFormat(bad);
    ASSERT_FALSE(version.ok()) << bad;
    EXPECT_EQ(version.error().code(), ErrorCode::kCorruption);
  }
}

TEST(DataDirectory, CleanMarkHasGoldenBytesAndRejectsEveryCut) {
  const CleanMark mark{Sequence(812), {{7, 0}, {12, 3456}}};
  const std::string bytes = EncodeCleanMark(mark);
  EXPECT_EQ(bytes, "clean shutdown at sequence 812\nlog 7 of 0 bytes\nlog 12 of 3456 bytes\nend\n");
  EXPECT_EQ(*DecodeCleanMark(bytes), mark);
  for (size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(DecodeCleanMark(bytes.substr(0, n)).ok()) << n;
  EXPECT_FALSE(DecodeCleanMark(bytes + "x").ok());
}

TEST(DataDirectory, ForeignDirectoryIsRefusedAndUntouched) {
  TempDir dir;
  std::filesystem::create_directory(dir.Path("data"));
  WriteFile(dir.Path("data/photo.jpg"), "x");
  const auto before = Names(dir.Path("data"));
  const Error error = OpenError(TestOptions(dir.Path("data")));
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_NE(error.text().find("photo.jpg"), std::string::npos) << error.text();
  EXPECT_NE(error.text().find(dir.Path("data")), std::string::npos);
  EXPECT_EQ(Names(dir.Path("data")), before);
}

TEST(DataDirectory, ADirectoryWithOnlyLostAndFoundIsEmpty) {
  TempDir dir;
  std::filesystem::create_directories(dir.Path("data/lost+found"));
  EXPECT_NE(OpenOrDie(TestOptions(dir.Path("data"))), nullptr);
}

TEST(DataDirectory, AnInterruptedCreationIsFinished) {
  TempDir dir;
  std::filesystem::create_directory(dir.Path("data"));
  WriteFile(dir.Path("data/VESTQ.tmp"), "vestq da");
  WriteFile(dir.Path("data/VESTQ.lock"), "");
  EXPECT_NE(OpenOrDie(TestOptions(dir.Path("data"))), nullptr);
  std::filesystem::create_directory(dir.Path("second"));
  WriteFile(dir.Path("second/VESTQ"), EncodeFormat(1));
  EXPECT_NE(OpenOrDie(TestOptions(dir.Path("second"))), nullptr);
}

TEST(DataDirectory, NewerFormatIsRefusedNamingBothVersions) {
  TempDir dir;
  { ASSERT_NE(OpenOrDie(TestOptions(dir.Path("data"))), nullptr); }
  WriteFile(dir.Path("data/VESTQ"), EncodeFormat(9));
  const Error error = OpenError(TestOptions(dir.Path("data")));
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_NE(error.text().find("format 9"), std::string::npos) << error.text();
  EXPECT_NE(error.text().find("up to 1"), std::string::npos) << error.text();
}

TEST(DataDirectory, DamagedFormatFileIsCorruption) {
  TempDir dir;
  { ASSERT_NE(OpenOrDie(TestOptions(dir.Path("data"))), nullptr); }
  WriteFile(dir.Path("data/VESTQ"), "vestq dada\n");
  EXPECT_EQ(OpenError(TestOptions(dir.Path("data"))).code(), ErrorCode::kCorruption);
}

TEST(DataDirectory, DataWithoutCurrentIsCorruption) {
  TempDir dir;
  { ASSERT_NE(OpenOrDie(TestOptions(dir.Path("data"))), nullptr); }
  std::filesystem::remove(dir.Path("data/CURRENT"));
  const Error error = OpenError(TestOptions(dir.Path("data")));
  EXPECT_EQ(error.code(), ErrorCode::kCorruption);
  EXPECT_NE(error.text().find("CURRENT"), std::string::npos) << error.text();
}

TEST(DataDirectory, SecondOpeningInTheSameProcessIsBusy) {
  TempDir dir;
  const auto store = OpenOrDie(TestOptions(dir.Path("data")));
  ASSERT_NE(store, nullptr);
  for (int i = 0; i < 2; ++i) {  // the refusal must not release the lock
    const Error error = OpenError(TestOptions(dir.Path("data")));
    EXPECT_EQ(error.code(), ErrorCode::kBusy);
    EXPECT_NE(error.text().find(dir.Path("data")), std::string::npos) << error.text();
  }
  StoreOptions check = TestOptions(dir.Path("data"));
  check.read_only = true;
  EXPECT_EQ(OpenError(check).code(), ErrorCode::kBusy);
}

TEST(DataDirectory, AnotherProcessIsBusyAndItsKillLeavesNoStaleLock) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends a forked process that starts threads";
#endif
  TempDir dir;
  { ASSERT_NE(OpenOrDie(TestOptions(dir.Path("data"))), nullptr); }
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto store = Store::Open(TestOptions(dir.Path("data")));
    const char ok = store.ok() ? 'y' : 'n';
    if (write(ready[1], &ok, 1) != 1) _exit(2);
    for (;;) pause();
  }
  char ok = 0;
  ASSERT_EQ(read(ready[0], &ok, 1), 1);
  EXPECT_EQ(ok, 'y');
  const Error error = OpenError(TestOptions(dir.Path("data")));
  EXPECT_EQ(error.code(), ErrorCode::kBusy);
  EXPECT_NE(error.text().find("in use"), std::string::npos) << error.text();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_NE(OpenOrDie(TestOptions(dir.Path("data"))), nullptr);
  close(ready[0]);
  close(ready[1]);
}

TEST(DataDirectory, OneClearMessageForEachWrongPath) {
  TempDir dir;
  WriteFile(dir.Path("file"), "x");
  Error error = OpenError(TestOptions(dir.Path("file")));
  EXPECT_EQ(error.code(), ErrorCode::kIo);
  EXPECT_NE(error.text().find("is a file"), std::string::npos) << error.text();

  error = OpenError(TestOptions(dir.Path("no/such/parent")));
  EXPECT_EQ(error.code(), ErrorCode::kIo);
  EXPECT_NE(error.text().find("does not exist"), std::string::npos) << error.text();

  StoreOptions options = TestOptions(dir.Path("absent"));
  options.create_if_missing = false;
  EXPECT_EQ(OpenError(options).code(), ErrorCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(dir.Path("absent")));
  std::filesystem::create_directory(dir.Path("empty"));
  options.path = dir.Path("empty");
  EXPECT_EQ(OpenError(options).code(), ErrorCode::kNotFound);
  EXPECT_TRUE(Names(dir.Path("empty")).empty());
}

TEST(DataDirectory, UnwritableDirectoryIsRefusedByName) {
  TempDir dir;
  std::filesystem::create_directory(dir.Path("data"));
  ASSERT_EQ(chmod(dir.Path("data").c_str(), 0555), 0);
  ASSERT_EQ(chmod(std::filesystem::path(dir.Path("data")).parent_path().c_str(), 0755), 0);
  // Root may write anywhere: the child gives that up.
  const pid_t child = fork();
  if (child == 0) {
    if (getuid() == 0 && setuid(65534) != 0) _exit(3);
    const Error error = OpenError(TestOptions(dir.Path("data")));
    const bool good = error.code() == ErrorCode::kIo &&
                      error.text().find(dir.Path("data")) != std::string::npos &&
                      error.text().find("cannot write") != std::string::npos;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(Names(dir.Path("data")).empty());
}

}  // namespace
}  // namespace vestq
