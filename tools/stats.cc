// `vestq stats`: the queues of a running daemon, and what INFO says of the daemon itself.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/call.h"
#include "tools/client.h"
#include "tools/commands.h"
#include "tools/json.h"
#include "tools/time_text.h"

namespace vestq {
namespace {

struct Options : CallOptions {
  std::string queue;
};

struct Column {
  const char* title;
  const char* field;  // of QUEUE INFO
};
constexpr Column kColumns[] = {
    {"READY", "ready"},   {"SCHEDULED", "scheduled"}, {"WAITING", "waiting"},
    {"LEASED", "leased"}, {"DEAD", "dead"},           {"WAITERS", "waiters"},
    {"BYTES", "bytes"},   {"ENQUEUED", "enqueued"},   {"COMPLETED", "completed"},
    {"FAILED", "failed"}, {"EXPIRED", "expired"}};

// What INFO says, shown above the table.
constexpr const char* kShown[] = {
    "vestq_version", "uptime_in_seconds", "durability",        "cores",        "lanes",
    "used_memory",   "maxmemory",         "connected_clients", "lease_us_p50", "lease_us_p99"};

using Info = std::vector<std::pair<std::string, std::string>>;

// "key:value" lines; section titles and empty lines are left out.
Info ParseInfo(std::string_view text) {
  Info info;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const size_t colon = line.find(':');
    if (line.empty() || line.front() == '#' || colon == std::string_view::npos) continue;
    info.emplace_back(line.substr(0, colon), line.substr(colon + 1));
  }
  return info;
}

// All queue names, over as many pages as there are.
Result<std::vector<std::string>> QueueNames(Client* client) {
  std::vector<std::string> names;
  std::string cursor;
  do {
    const Result<ReplyPtr> page =
        cursor.empty() ? client->Call({"QUEUES"}) : client->Call({"QUEUES", "CURSOR", cursor});
    if (!page.ok()) return page.error();
    if ((*page)->type != REDIS_REPLY_ARRAY || (*page)->elements != 2 ||
        (*page)->element[1]->type != REDIS_REPLY_ARRAY) {
      return Error(ErrorCode::kUnsupported, "QUEUES gave another answer than [cursor, [queues]]");
    }
    cursor = ReplyText(*(*page)->element[0]);
    const redisReply& list = *(*page)->element[1];
    for (size_t i = 0; i < list.elements; ++i) {
      const redisReply& entry = *list.element[i];
      const redisReply* name = entry.type == REDIS_REPLY_ARRAY ? FindInMap(entry, "name") : &entry;
      if (name != nullptr) names.push_back(ReplyText(*name));
    }
  } while (cursor != "0" && !cursor.empty());
  return names;
}

struct QueueStats {
  std::string name;
  nlohmann::ordered_json fields;  // of QUEUE INFO

  std::string Field(const char* field) const {
    const auto found = fields.find(field);
    if (found == fields.end()) return "-";
    return found->is_string() ? found->get<std::string>() : found->dump();
  }
};

Result<QueueStats> ReadQueue(Client* client, const std::string& name) {
  const Result<ReplyPtr> reply = client->Call({"QUEUE", "INFO", name});
  if (!reply.ok()) return reply.error();
  if ((*reply)->type != REDIS_REPLY_ARRAY)
    return Error(ErrorCode::kNotFound, "there is no queue '" + name + "'");
  return QueueStats{name, JsonOfMap(**reply)};
}

// INFO is text; what is written as a number there is one here. Not a directory that is called 7, nor a run whose
// id has no letter.
nlohmann::ordered_json InfoValue(const std::string& key, const std::string& text) {
  if (key == "path" || key == "run_id") return text;
  const char* const end = text.data() + text.size();
  uint64_t whole = 0;
  if (std::from_chars(text.data(), end, whole).ptr == end && std::to_string(whole) == text)
    return whole;
  double decimal = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, decimal, std::chars_format::fixed);
  if (error == std::errc() && rest == end && text.find('.') != std::string::npos) return decimal;
  return text;
}

void PrintAllJson(const Info& info, const std::vector<QueueStats>& queues) {
  nlohmann::ordered_json server = nlohmann::ordered_json::object();
  for (const auto& [key, value] : info) server[key] = InfoValue(key, value);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const QueueStats& queue : queues) {
    list.push_back(queue.fields);
  }
  PrintJson({{"server", std::move(server)}, {"queues", std::move(list)}});
}

// Empty when it is not paused.
std::string PauseText(const QueueStats& queue) {
  const auto paused = queue.fields.find("paused");
  if (paused == queue.fields.end() || *paused == 0) return "";
  const int64_t ms = paused->get<int64_t>();
  return ms < 0 ? "until resumed" : "for " + SpanText(ms);
}

void PrintTable(const std::vector<QueueStats>& queues) {
  size_t width = 5;
  for (const QueueStats& queue : queues) width = std::max(width, queue.name.size());
  fmt::print("{:<{}}", "QUEUE", width);
  for (const Column& column : kColumns) fmt::print(" {:>10}", column.title);
  const bool any_paused = std::any_of(queues.begin(), queues.end(),
                                      [](const QueueStats& q) { return !PauseText(q).empty(); });
  fmt::print("{}\n", any_paused ? "  PAUSED" : "");
  for (const QueueStats& queue : queues) {
    fmt::print("{:<{}}", queue.name, width);
    for (const Column& column : kColumns) fmt::print(" {:>10}", queue.Field(column.field));
    const std::string pause = PauseText(queue);
    fmt::print("{}{}\n", pause.empty() ? "" : "  ", pause);
  }
}

// Bytes and seconds as people read them.
std::string InfoText(const std::pair<std::string, std::string>& entry) {
  const auto& [key, text] = entry;
  uint64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc())
    return text;
  if (key == "uptime_in_seconds") return SpanText(static_cast<int64_t>(number) * 1000);
  if (key == "used_memory" || key == "maxmemory") {
    return fmt::format("{:.1f}MiB", static_cast<double>(number) / (1 << 20));
  }
  return text;
}

void PrintText(const Options& options, const Info& info, const std::vector<QueueStats>& queues) {
  if (options.queue.empty()) {
    for (const char* const key : kShown) {
      const auto found = std::find_if(info.begin(), info.end(),
                                      [key](const auto& entry) { return entry.first == key; });
      if (found != info.end()) fmt::print("{:<18} {}\n", key, InfoText(*found));
    }
    fmt::print("\n");
  }
  PrintTable(queues);
}

Error Stats(Client* client, const Options& options) {
  const Result<ReplyPtr> info = client->Call({"INFO"});
  if (!info.ok()) return info.error();
  Result<std::vector<std::string>> names =
      options.queue.empty() ? QueueNames(client) : std::vector<std::string>{options.queue};
  if (!names.ok()) return names.error();
  std::vector<QueueStats> queues;
  for (const std::string& name : *names) {
    Result<QueueStats> queue = ReadQueue(client, name);
    if (queue.ok()) {
      queues.push_back(std::move(*queue));
    } else if (!options.queue.empty()) {  // one of a list may have vanished meanwhile
      return queue.error();
    }
  }
  if (options.json) {
    PrintAllJson(ParseInfo(ReplyText(**info)), queues);
  } else {
    PrintText(options, ParseInfo(ReplyText(**info)), queues);
  }
  return Error::Ok();
}

constexpr char kHelp[] =
    "Examples:\n"
    "  vestq stats\n"
    "  vestq stats mail --json\n"
    "\n"
    "A paused queue, which gives no jobs out, has PAUSED behind its line. Counts by state are "
    "exact; ENQUEUED and what follows it count since the queue was made.\n"
    "Exit status: 0; 1 the server cannot be reached or knows no such queue; 2 usage.";

}  // namespace

void AddStats(Command program, Action* action) {
  auto options = std::make_shared<Options>();
  Command stats = program.Add("stats", "Show the queues of a running daemon", kHelp);
  stats.Value("QUEUE", &options->queue, "Only this queue");
  AddCallOptions(stats, options.get(), "Print one JSON object: server, queues");
  stats.WhenGiven([options, action] {
    *action = [options] {
      return WithDaemon("stats", *options, [&](Client* client) { return Stats(client, *options); });
    };
  });
}

}  // namespace vestq
