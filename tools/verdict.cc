#include "tools/verdict.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "engine/base/limits.h"

namespace vestq {
namespace {

bool Has(const std::vector<uint32_t>& statuses, int status) {
  return status > 0 && std::find(statuses.begin(), statuses.end(), static_cast<uint32_t>(status)) !=
                           statuses.end();
}

}  // namespace

Verdict JudgeEnd(const Child& child, const std::string& receipt, bool result,
                 const ExitRules& rules) {
  const std::string& output = child.output();
  if (child.succeeded() && output.size() > limits::kResultBytes) {
    const std::string why = fmt::format(
        "what it printed is longer than the largest RESULT, {} bytes", limits::kResultBytes);
    return {{"FAIL", receipt, "REASON", why}, why};
  }
  if (child.succeeded()) {
    Verdict verdict{{"COMPLETE", receipt}, ""};
    if (result) verdict.words.insert(verdict.words.end(), {"RESULT", output});
    return verdict;
  }
  Verdict verdict{{"FAIL", receipt, "REASON", child.Reason()}, child.StatusText()};
  if (Has(rules.dead, child.exit_status())) {
    verdict.words.push_back("DEAD");
  } else if (Has(rules.again, child.exit_status())) {
    verdict.words.insert(verdict.words.end(), {"DELAY", rules.again_in});
  }
  return verdict;
}

}  // namespace vestq
