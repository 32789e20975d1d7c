// How far a long sub-command is, on stderr when that is a terminal: one line, written over twice a
// second. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vestq {

class Progress {
 public:
  explicit Progress(std::string name);
  // Ends the line: what is printed next begins at the left.
  ~Progress() { End(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // "vestq NAME: COUNT jobs WHAT".
  void Show(uint64_t count, std::string_view what);
  void End();

 private:
  const std::string name_;
  const bool terminal_;
  bool shown_ = false;
  int64_t next_ms_ = 0;
};

}  // namespace vestq
