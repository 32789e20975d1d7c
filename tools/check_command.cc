// `vestq check`: verifies the invariants of a store that no daemon has open.
#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/base/limits.h"
#include "engine/check.h"
#include "engine/store.h"
#include "tools/commands.h"
#include "tools/exit_status.h"

namespace vestq {
namespace {

struct Options {
  std::string directory;
  bool json = false;
};

// Names and spaces come from the store and may hold any byte.
std::string ToJson(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void PrintJson(const CheckReport& report) {
  nlohmann::json violations = nlohmann::json::array();
  for (const CheckReport::Violation& violation : report.violations) {
    violations.push_back({{"invariant", violation.invariant}, {"text", violation.text}});
  }
  fmt::print("{}\n", ToJson({{"ok", report.ok()},
                             {"lanes", report.lanes},
                             {"queues", report.queues},
                             {"ready", report.ready},
                             {"scheduled", report.scheduled},
                             {"waiting", report.waiting},
                             {"leased", report.leased},
                             {"dead", report.dead},
                             {"edges", report.edges},
                             {"unique_keys", report.unique_keys},
                             {"timers", report.timers},
                             {"payload_bytes", report.payload_bytes},
                             {"void_keys", report.void_keys},
                             {"violations_by_invariant", report.violations_by_invariant},
                             {"violations", violations}}));
}

void PrintText(const CheckReport& report) {
  fmt::print(
      "{} queues in {} lanes: {} ready, {} scheduled, {} waiting, {} leased, {} dead; {} bytes of "
      "payload\n",
      report.queues, report.lanes, report.ready, report.scheduled, report.waiting, report.leased,
      report.dead, report.payload_bytes);
  if (report.void_keys > 0) {
    fmt::print("{} keys and records of dropped or purged queues wait to be erased\n",
               report.void_keys);
  }
  uint64_t total = 0;
  for (const auto& [invariant, count] : report.violations_by_invariant) total += count;
  for (const CheckReport::Violation& violation : report.violations) {
    fmt::print("{}: {}\n", violation.invariant, violation.text);
  }
  if (total > report.violations.size())
    fmt::print("... and {} more\n", total - report.violations.size());
  if (report.ok()) {
    fmt::print("every invariant holds\n");
  } else {
    fmt::print("{} violations\n", total);
  }
}

int Check(const Options& options) {
  StoreOptions store_options;
  store_options.path = options.directory;
  store_options.memory = limits::kMemoryDefault;
  store_options.create_if_missing = false;
  store_options.read_only = true;
  const Result<std::unique_ptr<Store>> store = Store::Open(store_options);
  if (!store.ok()) {
    fmt::print(stderr, "vestq check: {}\n", store.error().text());
    return kExitFailed;
  }
  const Result<CheckReport> report = CheckStore(store->get());
  if (!report.ok()) {
    fmt::print(stderr, "vestq check: {}: {}\n", options.directory, report.error().text());
    return kExitFailed;
  }
  if (options.json) {
    PrintJson(*report);
  } else {
    PrintText(*report);
  }
  return std::fflush(stdout) == 0 && report->ok() ? kExitOk : kExitFailed;
}

constexpr char kHelp[] =
    "Reads the whole store once and changes nothing; the daemon must not be running on it. Memory "
    "stays below 112 MiB\n"
    "beside the store's own at any backlog. Prints counts, and each violation with the id that the "
    "invariant has in\n"
    "ARCHITECTURE.md.\n"
    "\n"
    "Example:\n"
    "  vestq check ./vestq-data\n"
    "\n"
    "Exit status: 0 every invariant holds; 1 one does not, or the store cannot be opened or read; "
    "2 usage.";

}  // namespace

void AddCheck(Command program, Action* action) {
  auto options = std::make_shared<Options>();
  Command check =
      program.Add("check", "Verify the invariants of a store that no daemon has open", kHelp);
  check.Value("DIR", &options->directory, "Data directory").Required();
  check.Flag("--json", &options->json, "Print one JSON object");
  check.WhenGiven([options, action] { *action = [options] { return Check(*options); }; });
}

}  // namespace vestq
