// `vestq workers`: who holds leases.
#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/call.h"
#include "tools/commands.h"
#include "tools/exit_status.h"
#include "tools/json.h"
#include "tools/printable.h"

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
      const redisReply& row = *rows.element[i];
      const auto text = [&row](std::string_view name) {
        const redisReply* const value = FindInMap(row, name);
        return value == nullptr ? std::string() : Printable(ReplyText(*value));
      };
      const redisReply* const oldest = FindInMap(row, "oldest");
      if (o.json) {
        PrintJson(JsonOfMap(row));
      } else {
        PrintRow(text("queue"), text("worker"), text("leases"),
                 oldest == nullptr ? "" : SpanText(oldest->integer));
      }
    }
    const auto others = (*reply)->element[0]->integer;
    if (others > 0 && o.json) PrintJson({{"others", others}});
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
    "At most 1000 rows; the leases of those beyond are counted on stderr, with --json also in a "
    "last object, "
    "{\"others\": n}.\n"
    "OLDEST: since the one of its leases that was granted or last renewed the longest ago; --json: "
    "ms.\n"
    "Exit status: 0; 1 the server cannot be reached or knows no such queue; 2 usage.";

}  // namespace

void AddWorkers(Command program, Action* action) {
  auto options = std::make_shared<WorkersOptions>();
  Command command = program.Add("workers", "Show who holds leases", kHelp);
  command.Value("QUEUE", &options->queue, "Only of this queue");
  AddCallOptions(command, options.get(), "Print a JSON object a line");
  command.WhenGiven([options, action] { *action = [options] { return Show(*options); }; });
}

}  // namespace vestq
