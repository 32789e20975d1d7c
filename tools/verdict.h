// What the end of a command of `vestq work` means for its job. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/child.h"

namespace vestq {

// Exit statuses with a meaning of their own; the defaults are those of sysexits.h.
struct ExitRules {
  std::vector<uint32_t> dead = {65};  // EX_DATAERR: no attempt will do, a dead letter at once
  std::vector<uint32_t> again = {
      75};  // EX_TEMPFAIL: again after `again_in`, whatever the back-off says
  std::string again_in = "1m";
};

struct Verdict {
  std::vector<std::string> words;  // COMPLETE or FAIL, to send
  std::string why;                 // of a failure, for the log
};

// REQUIRES: the command has ended. `result`: what it printed is the job's RESULT.
[[nodiscard]] Verdict JudgeEnd(const Child& child, const std::string& receipt, bool result,
                               const ExitRules& rules);

}  // namespace vestq
