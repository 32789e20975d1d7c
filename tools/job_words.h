// The options of a job on the command line, as ENQUEUE and SCHEDULE SET take them: `enqueue` and
// `schedule set` have the same ones, under the same names. One thread; pure but for AddTo.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/time.h"
#include "tools/command_line.h"

namespace vestq {

class JobWords {
 public:
  // What a schedule's jobs have: all but those that say when one is to run, and those of a single
  // job (REPLACE, AFTER, WAIT).
  enum class Of : uint8_t { kJob, kSchedule };
  void AddTo(Command command, Of of);

  // What the server would refuse or misread, told before it is asked. Errors: kSyntax, naming the
  // option.
  [[nodiscard]] Error Check();
  // The words behind the payload. The views live as long as this. REQUIRES: Check() was fine.
  void Append(std::vector<std::string_view>* words) const;

  bool replace() const { return replace_; }
  // How long the server may wait for room; 0: not at all.
  Duration wait() const;

 private:
  // Option words of ENQUEUE and what was given for them.
  std::vector<std::pair<std::string, std::string>> values_;
  bool replace_ = false;
  std::vector<std::string> headers_;  // NAME=VALUE
  std::string header_count_;
  std::vector<std::string> after_;  // ids
  std::string after_count_;
};

}  // namespace vestq
