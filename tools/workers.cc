// `vestq workers`: who holds leases.
#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/call.h"
#include "tools/commands.h"
#include "tools/exit_status.h"
#include "tools/json.h"

namespace vestq {
namespace {

struct WorkersOptions : CallOptions {
  std::string queue;
};

void PrintRow(const std::string& queue, const std::string& worker, const std::string& leases,
              const std::string& oldest) {
  fmt::print("{:<24} {:<32} {:>8} {:>10}\n", queue, worker, leases, oldest);
}

int Show(const WorkersOptions& o) {
  return WithDaemon("workers", o, [&o](Client* client) {
    std::vector<std::string_view> words = {"WORKERS"};
    if (!o.queue.empty()) words.push_back(o.queue);
    const Result<ReplyPtr> reply = client->Call(words);
    if (!reply.ok()) return reply.error();
    if (!o.json) PrintRow("QUEUE", "WORKER", "LEASES", "OLDEST");
    const redisReply& rows = *(*reply)->element[1];
    for (size_t i = 0; i < rows.elements; ++i) {
      const nlohmann::ordered_json row = JsonOfMap(*rows.element[i]);
      if (o.json) {
        PrintJson(row);
      } else {
        PrintRow(row["queue"].get<std::string>(), row["worker"].get<std::string>(),
                 row["leases"].dump(), row["oldest"].dump());
      }
    }
    const auto others = (*reply)->element[0]->integer;
    if (others > 0)
      fmt::print(stderr, "vestq workers: {} more leases of others; name a queue\n", others);
    return Error::Ok();
  });
}

constexpr char kHelp[] =
    "Examples:\n"
    "  vestq workers\n"
    "  vestq workers mail --json\n"
    "\n"
    "OLDEST: ms since one of its leases was granted or last renewed the longest ago.\n"
    "Exit status: 0; 1 the server cannot be reached or knows no such queue; 2 usage.";

}  // namespace

void AddWorkers(CLI::App* app, Action* action) {
  auto options = std::make_shared<WorkersOptions>();
  CLI::App* const command = app->add_subcommand("workers", "Show who holds leases");
  command->footer(kHelp);
  command->add_option("QUEUE", options->queue, "Only of this queue");
  AddCallOptions(command, options.get(), "Print a JSON object a line");
  command->callback([options, action] { *action = [options] { return Show(*options); }; });
}

}  // namespace vestq
