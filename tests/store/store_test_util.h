// What the store's tests share: a directory that goes away, options, and a batch in one line.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "engine/store.h"

namespace vestq {

class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "vestq-store-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline StoreOptions TestOptions(const std::string& path) {
  StoreOptions options;
  options.path = path;
  options.memory = uint64_t{64} << 20;
  return options;
}

inline std::unique_ptr<Store> OpenOrDie(const StoreOptions& options) {
  Result<std::unique_ptr<Store>> store = Store::Open(options);
  EXPECT_TRUE(store.ok()) << store.error().ToString();
  return store.ok() ? std::move(*store) : nullptr;
}

inline void WriteOrDie(Store* store, Batch* batch) {
  const Result<Store::WriteOutcome> outcome = store->Write(batch->rep());
  ASSERT_TRUE(outcome.ok()) << outcome.error().ToString();
  ASSERT_EQ(*outcome, Store::WriteOutcome::kWritten);
  batch->Clear();
}

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline std::vector<std::string> FilesEndingWith(const std::string& directory,
                                                const std::string& suffix) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().string().ends_with(suffix)) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace vestq
