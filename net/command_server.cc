// Commands on the server: INFO in Redis's form, COMMAND, TIME, SHUTDOWN.
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "net/command.h"
#include "net/reactor.h"
#include "net/session.h"
#include "net/words.h"

namespace vestq::handlers {
namespace {

using words::EqualsIgnoreCase;

// What clients that look at it take for a Redis with HELLO, CLIENT SETINFO and COMMAND DOCS.
constexpr std::string_view kRedisVersion = "7.0.0";

class InfoText {
 public:
  void Section(std::string_view name) {
    if (!text_.empty()) text_ += "\r\n";
    text_.append("# ").append(name).append("\r\n");
  }
  void Line(std::string_view key, std::string_view value) {
    text_.append(key).append(":").append(value).append("\r\n");
  }
  void Line(std::string_view key, uint64_t value) { Line(key, std::to_string(value)); }
  void Line(std::string_view key, double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value);
    Line(key, std::string_view(text));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

int64_t WallMs() {
  timespec ts{};
  clock_gettime(CLOCK_REALTIME, &ts);
  return ts.tv_sec * 1000 + ts.tv_nsec / 1'000'000;
}

uint64_t ResidentBytes() {
  unsigned long size = 0, resident = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "re"); file != nullptr) {
    if (std::fscanf(file, "%lu %lu", &size, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t Sum(const ServerShared& shared, std::atomic<uint64_t> ReactorStats::*counter) {
  uint64_t sum = 0;
  for (const auto& reactor : shared.reactors)
    sum += (reactor->stats().*counter).load(std::memory_order_relaxed);
  return sum;
}

void ServerSection(const ServerShared& shared, const EngineInfo&, InfoText* t) {
  const int64_t uptime = (WallMs() - shared.started_ms) / 1000;
  t->Line("redis_version", kRedisVersion);
  t->Line("redis_mode", "standalone");
  t->Line("vestq_version", shared.options.version);
  t->Line("os", "Linux");
  t->Line("arch_bits", uint64_t{64});
  t->Line("multiplexing_api", shared.io_name);
  t->Line("process_id", static_cast<uint64_t>(getpid()));
  t->Line("run_id", shared.run_id);
  t->Line("tcp_port", uint64_t{shared.port});
  t->Line("uptime_in_seconds", static_cast<uint64_t>(uptime < 0 ? 0 : uptime));
  t->Line("io_threads", static_cast<uint64_t>(shared.reactors.size()));
}

void ClientsSection(const ServerShared& shared, const EngineInfo&, InfoText* t) {
  uint64_t blocked = 0;
  const auto clients = shared.clients.All();
  for (const auto& record : clients) blocked += record->blocked.load(std::memory_order_relaxed);
  t->Line("connected_clients", static_cast<uint64_t>(clients.size()));
  t->Line("maxclients", static_cast<uint64_t>(shared.options.connections_max));
  t->Line("blocked_clients", blocked);
}

void MemorySection(const ServerShared&, const EngineInfo& info, InfoText* t) {
  const uint64_t resident = ResidentBytes();
  t->Line("used_memory", resident);
  t->Line("used_memory_rss", resident);
  t->Line("maxmemory", info.memory);
  t->Line("maxmemory_policy", "noeviction");
}

void PersistenceSection(const ServerShared&, const EngineInfo&, InfoText* t) {
  t->Line("loading", uint64_t{0});
  t->Line("async_loading", uint64_t{0});
}

void StatsSection(const ServerShared& shared, const EngineInfo&, InfoText* t) {
  t->Line("total_connections_received",
          shared.connections_accepted.load(std::memory_order_relaxed));
  t->Line("rejected_connections", shared.connections_rejected.load(std::memory_order_relaxed));
  t->Line("total_commands_processed", Sum(shared, &ReactorStats::commands));
  t->Line("total_error_replies", Sum(shared, &ReactorStats::errors));
  t->Line("total_net_input_bytes", Sum(shared, &ReactorStats::input_bytes));
  t->Line("total_net_output_bytes", Sum(shared, &ReactorStats::output_bytes));
  t->Line("closed_for_a_limit", Sum(shared, &ReactorStats::closed_slow));
  t->Line("leases_undone", Sum(shared, &ReactorStats::leases_undone));
  t->Line("reactor_turns", Sum(shared, &ReactorStats::turns));
}

std::string_view DurabilityName(Durability durability) {
  switch (durability) {
    case Durability::kSync: return "sync";
    case Durability::kInterval: return "interval";
    case Durability::kOs: return "os";
  }
  return "";
}

void VestqSection(const ServerShared& shared, const EngineInfo& info, InfoText* t) {
  t->Line("path", info.path);
  t->Line("cores", uint64_t{info.cores});
  t->Line("lanes", uint64_t{info.lanes});
  t->Line("memory", info.memory);
  t->Line("max_payload", static_cast<uint64_t>(shared.options.limits.payload_max));
  t->Line("durability", DurabilityName(info.durability));
  t->Line("epoch", uint64_t{info.epoch});
  t->Line("engine_time_ms", std::to_string(info.engine_time.ms()));
  t->Line("wall_time_ms", std::to_string(info.wall_time.ms()));
  t->Line("jobs_ready", info.jobs_ready);
  t->Line("jobs_scheduled", info.jobs_scheduled);
  t->Line("jobs_waiting", info.jobs_waiting);
  t->Line("jobs_leased", info.jobs_leased);
  t->Line("jobs_dead", info.jobs_dead);
  t->Line("queues", info.queues);
  t->Line("schedules", info.schedules);
  t->Line("waiters", info.waiters);
  t->Line("leases_served", info.leases_served);
  t->Line("lease_us_p50", info.lease_us_p50);
  t->Line("lease_us_p99", info.lease_us_p99);
  t->Line("tickets_submitted", info.tickets_submitted);
  t->Line("tickets_written", info.tickets_written);
  t->Line("tickets_durable", info.tickets_durable);
  t->Line("syncs", info.syncs);
  t->Line("cold_reads", info.cold_reads);
  t->Line("created", uint64_t{info.open.created});
  t->Line("clean_shutdown", uint64_t{info.open.clean_shutdown});
  t->Line("recovered_sequence", uint64_t{info.open.sequence.value()});
  t->Line("failed", uint64_t{shared.engine->failed()});
}

struct InfoSection {
  std::string_view name;
  std::string_view title;
  void (*write)(const ServerShared&, const EngineInfo&, InfoText*);
};
constexpr InfoSection kSections[] = {
    {"server", "Server", ServerSection}, {"clients", "Clients", ClientsSection},
    {"memory", "Memory", MemorySection}, {"persistence", "Persistence", PersistenceSection},
    {"stats", "Stats", StatsSection},    {"vestq", "Vestq", VestqSection},
};

bool Wanted(const InfoSection& section, Args args) {
  if (args.size() == 1) return true;
  for (std::string_view word : args.subspan(1)) {
    if (EqualsIgnoreCase(word, section.name) || EqualsIgnoreCase(word, "all") ||
        EqualsIgnoreCase(word, "default") || EqualsIgnoreCase(word, "everything")) {
      return true;
    }
  }
  return false;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return lower;
}

// Redis's description of a command. It has no keys (0, 0, 0), so that key prefixes and cluster
// routing leave it alone.
void WriteCommand(const CommandSpec& spec, RespWriter* w) {
  std::vector<std::string_view> flags;
  flags.push_back(spec.is(kCommandWrite) ? "write" : "readonly");
  if (spec.is(kCommandBlocking)) flags.push_back("blocking");
  if (spec.is(kCommandAdmin)) flags.push_back("admin");
  w->Array(10);
  w->Bulk(Lower(spec.name));
  w->Int(spec.arity);
  w->Set(flags.size());
  for (std::string_view flag : flags) w->Simple(flag);
  w->Int(0);
  w->Int(0);
  w->Int(0);
  w->Set(0);    // ACL categories
  w->Array(0);  // tips
  w->Array(0);  // key specifications
  w->Array(0);  // sub-commands
}

void WriteDocs(const CommandSpec& spec, RespWriter* w) {
  w->Bulk(Lower(spec.name));
  w->Map(3);
  w->Bulk("summary");
  w->Bulk(spec.summary);
  w->Bulk("since");
  w->Bulk("0.1.0");
  w->Bulk("group");
  w->Bulk(spec.group);
}

void Docs(Session& session, Args names) {
  std::vector<const CommandSpec*> found;
  if (names.empty()) {
    for (const CommandSpec& spec : Commands()) found.push_back(&spec);
  }
  for (std::string_view name : names) {
    if (const CommandSpec* spec = FindCommand(name)) found.push_back(spec);
  }
  RespWriter w = session.writer();
  w.Map(found.size());
  for (const CommandSpec* spec : found) WriteDocs(*spec, &w);
}

void Details(Session& session, Args names) {
  RespWriter w = session.writer();
  if (names.empty()) {
    w.Array(Commands().size());
    for (const CommandSpec& spec : Commands()) WriteCommand(spec, &w);
    return;
  }
  w.Array(names.size());
  for (std::string_view name : names) {
    if (const CommandSpec* spec = FindCommand(name)) {
      WriteCommand(*spec, &w);
    } else {
      w.NullArray();
    }
  }
}

}  // namespace

void Command(Session& session, Args args) {
  if (args.size() == 1) return Details(session, {});
  RespWriter w = session.writer();
  if (EqualsIgnoreCase(args[1], "COUNT")) {
    if (args.size() != 2) return session.Fail("ERR", WrongArity("command|count"));
    return w.Int(static_cast<int64_t>(Commands().size()));
  }
  if (EqualsIgnoreCase(args[1], "DOCS")) return Docs(session, args.subspan(2));
  if (EqualsIgnoreCase(args[1], "INFO")) return Details(session, args.subspan(2));
  if (EqualsIgnoreCase(args[1], "LIST")) {
    if (args.size() != 2) return session.Fail("ERR", "syntax error");
    w.Array(Commands().size());
    for (const CommandSpec& spec : Commands()) w.Bulk(Lower(spec.name));
    return;
  }
  if (Help(session, args)) return;
  session.Fail("ERR", UnknownSubcommand("COMMAND", args[1]));
}

void Info(Session& session, Args args) {
  const ServerShared& shared = session.shared();
  const EngineInfo info = shared.engine->Info();
  InfoText text;
  for (const InfoSection& section : kSections) {
    if (!Wanted(section, args)) continue;
    text.Section(section.title);
    section.write(shared, info, &text);
  }
  session.writer().Verbatim(text.text());
}

void Time(Session& session, Args) {
  timespec ts{};
  clock_gettime(CLOCK_REALTIME, &ts);
  RespWriter w = session.writer();
  w.Array(2);
  w.BulkNumber(static_cast<uint64_t>(ts.tv_sec));
  w.BulkNumber(static_cast<uint64_t>(ts.tv_nsec / 1000));
}

void Shutdown(Session& session, Args) {
  const auto& on_shutdown = session.shared().options.on_shutdown;
  if (!on_shutdown) return session.Fail("ERR", "this server cannot be shut down by a client");
  session.writer().Simple("OK");
  session.CloseAfterReplies();
  on_shutdown();
}

}  // namespace vestq::handlers
