// `vestq peek` and `vestq redrive`: the jobs of a queue by state, and dead letters that live again.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/call.h"
#include "tools/commands.h"
#include "tools/exit_status.h"
#include "tools/json.h"
#include "tools/printable.h"

namespace vestq {
namespace {

// Of --count: no store has as many jobs.
constexpr uint64_t kCountMost = uint64_t{1} << 53;

struct PeekOptions : CallOptions {
  std::string queue;
  std::string state = "ready";
  std::string space;
  bool space_set = false;
  uint64_t count = 100;
  std::string cursor = "0";
  bool all = false;
  bool payload = false;
};

// The last column: what the state is about.
std::string Detail(const redisReply& job) {
  static constexpr const char* kFields[] = {"reason",   "worker",    "vests-in",
                                            "kept-for", "waits-for", "last-error"};
  std::string out;
  for (const char* field : kFields) {
    const redisReply* const value = FindInMap(job, field);
    if (value == nullptr || ReplyText(*value).empty()) continue;
    if (!out.empty()) out += ", ";
    out += std::string(field) + ": " + ValueText(MapOf::kJob, field, *value);
  }
  return out;
}

std::string FieldOf(const redisReply& job, std::string_view field) {
  const redisReply* const value = FindInMap(job, field);
  return value == nullptr ? std::string("-") : Printable(ReplyText(*value));
}

void PrintJobs(const redisReply& jobs, bool json, bool* titled) {
  for (size_t i = 0; i < jobs.elements; ++i) {
    const redisReply& job = *jobs.element[i];
    if (json) {
      PrintJson(JsonOfMap(job));
      continue;
    }
    if (!*titled) {
      fmt::print("{:>16} {:>8} {:>10} {:>10}  {:<12} {}\n", "ID", "ATTEMPT", "PRIORITY", "SIZE",
                 "SPACE", "");
      *titled = true;
    }
    fmt::print("{:>16} {:>8} {:>10} {:>10}  {:<12} {}\n", FieldOf(job, "id"),
               FieldOf(job, "attempt"), FieldOf(job, "priority"), FieldOf(job, "size"),
               FieldOf(job, "space"), Detail(job));
  }
}

// Page after page, until there are as many as asked for.
Error ListJobs(Client* client, const PeekOptions& o) {
  constexpr uint64_t kPage = 500;
  uint64_t left = o.all ? UINT64_MAX : o.count;
  std::string cursor = o.cursor;
  bool titled = false;
  while (left > 0) {
    const std::string count = std::to_string(std::min(left, kPage));
    std::vector<std::string_view> words = {"PEEK",  o.queue, "STATE",  o.state,
                                           "COUNT", count,   "CURSOR", cursor};
    if (o.space_set) words.insert(words.end(), {"SPACE", o.space});
    if (o.payload) words.push_back("PAYLOAD");
    const Result<ReplyPtr> page = client->Call(words);
    if (!page.ok()) return page.error();
    if ((*page)->type != REDIS_REPLY_ARRAY || (*page)->elements != 2)
      return Error(ErrorCode::kUnsupported, "PEEK gave another answer than [cursor, [jobs]]");
    const redisReply& jobs = *(*page)->element[1];
    PrintJobs(jobs, o.json, &titled);
    left -= std::min<uint64_t>(left, jobs.elements);
    cursor = ReplyText(*(*page)->element[0]);
    if (cursor == "0") return Error::Ok();
  }
  if (const Error error = FlushOutput(); !error.ok()) return error;
  fmt::print(stderr,
             "vestq peek: there may be more: --all shows all, --cursor {} goes on from here\n",
             cursor);
  return Error::Ok();
}

int Peek(const PeekOptions& o) {
  return WithDaemon("peek", o, [&](Client* client) { return ListJobs(client, o); });
}

constexpr char kPeekHelp[] =
    "Examples:\n"
    "  vestq peek mail --state dead                    the oldest dead letters, and why they died\n"
    "  vestq peek mail --state scheduled --count 10\n"
    "  vestq peek mail --space acme --all --json       one JSON object a line\n"
    "\n"
    "Without --all it stops after --count jobs; stderr then says how to go on. With --json bytes "
    "that are no UTF-8\n"
    "stand as base64 in a field with -base64 behind its name, as in `vestq export`; without it "
    "control characters\n"
    "are shown as \\n or \\x1b.\n"
    "Jobs come in the order of their keys, see net/PROTOCOL.md; nothing is leased or changed. "
    "While\n"
    "jobs come and go, each one that stays is shown once.\n"
    "Exit status: 0; 1 the server cannot be reached or knows no such queue; 2 usage.";

struct RedriveOptions : CallOptions {
  std::string queue;
  std::string id;
  std::string count;
  bool all = false;
  std::string to;
  std::string rate;
};

Error Redrive(Client* client, const RedriveOptions& o) {
  std::vector<std::string_view> words = {"REDRIVE", o.queue};
  if (!o.id.empty()) words.insert(words.end(), {"ID", o.id});
  if (!o.count.empty()) words.insert(words.end(), {"COUNT", o.count});
  if (o.all) words.push_back("ALL");
  if (!o.to.empty()) words.insert(words.end(), {"TO", o.to});
  // As queue set rate= has it too, the unit may be left out.
  const std::string rate =
      o.rate.find_first_not_of("0123456789") == std::string::npos ? o.rate + "/s" : o.rate;
  if (!o.rate.empty()) words.insert(words.end(), {"RATE", rate});
  // In slices: it may take a while.
  const Result<ReplyPtr> reply = client->CallWaiting(words, Duration(0));
  if (!reply.ok()) return reply.error();
  if (o.json) {
    PrintJson({{"queue", o.queue}, {"redriven", (*reply)->integer}});
  } else {
    fmt::print("{}\n", (*reply)->integer);
  }
  return Error::Ok();
}

constexpr char kRedriveHelp[] =
    "Examples:\n"
    "  vestq redrive mail --id 4711                this one has all its attempts again\n"
    "  vestq redrive mail --count 10               the ten oldest, as a trial\n"
    "  vestq redrive mail --all --rate 50/s        all of them, 50 a second\n"
    "  vestq redrive mail --all --to mail-broken   out of the way, into another queue\n"
    "\n"
    "Prints how many there were. Exit status: 0; 1 the server cannot be reached or refused; 2 "
    "usage.";

}  // namespace

void AddPeek(Command program, Action* action) {
  auto options = std::make_shared<PeekOptions>();
  Command peek = program.Add("peek", "List jobs of a queue by state", kPeekHelp);
  peek.Value("QUEUE", &options->queue, "Queue").Required();
  peek.Value("--state", &options->state,
             "ready, scheduled, waiting (for other jobs), leased, dead or done (kept)")
      .ShowDefault();
  CommandOption space =
      peek.Value("--space", &options->space, "Only this space; \"\" is the empty one").MayBeEmpty();
  CommandOption count = peek.Value("--count", &options->count, "At most so many; --all for all")
                            .Between(1, kCountMost)
                            .ShowDefault();
  peek.Value("--cursor", &options->cursor, "Go on where an earlier one stopped");
  peek.Flag("--all", &options->all, "All there are").Excludes(count);
  AddCallOptions(peek, options.get(), "Print one JSON object a job, a line each");
  peek.Flag("--payload", &options->payload, "Payloads too").Needs("--json");
  peek.WhenGiven([options, space, action] {
    options->space_set = space.given();
    *action = [options] { return Peek(*options); };
  });
}

void AddRedrive(Command program, Action* action) {
  auto options = std::make_shared<RedriveOptions>();
  Command redrive =
      program.Add("redrive", "Make dead letters jobs again, with all their attempts", kRedriveHelp);
  redrive.Value("QUEUE", &options->queue, "Queue").Required();
  Command which = redrive.AddOneOf("Which");
  which.Value("--id", &options->id, "This one");
  which.Value("--count", &options->count, "So many, the oldest first");
  which.Flag("--all", &options->all, "All that are dead now");
  redrive.Value("--to", &options->to, "Move them to this queue");
  redrive.Value("--rate", &options->rate, "So many a second: 50/s; else all at once");
  AddCallOptions(redrive, options.get(), "Print one JSON object");
  redrive.WhenGiven([options, action] {
    *action = [options] {
      return WithDaemon("redrive", *options,
                        [&](Client* client) { return Redrive(client, *options); });
    };
  });
}

}  // namespace vestq
