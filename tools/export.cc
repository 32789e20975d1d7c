// `vestq export`: the jobs of a running daemon as lines on stdout. Looks only; takes and changes none.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/call.h"
#include "tools/commands.h"
#include "tools/exit_status.h"
#include "tools/job_line.h"
#include "tools/json.h"
#include "tools/progress.h"

namespace vestq {
namespace {

// In this order, a job that moves on while its queue is paused comes once more rather than not at all:
// leases end, and what is scheduled vests.
constexpr const char* kStates[] = {"leased", "scheduled", "ready", "dead"};

struct Options : CallOptions {
  std::vector<std::string> queues;
  std::string space;
  bool space_set = false;
  std::vector<std::string> states = {"leased", "scheduled", "ready"};
  std::string format = "json";
  int64_t version = kTupleVersion;
  CommandOption version_option;
  bool skip_bad = false;
};

std::string Counted(uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

class Exporter {
 public:
  Exporter(const Options& options, Client* client) : o_(options), client_(client) {}

  Error Run() {
    const Error error = o_.queues.empty() ? AllQueues() : NamedQueues();
    progress_.End();
    PrintSummary();
    return error;
  }

 private:
  Error NamedQueues() {
    for (const std::string& queue : o_.queues) VESTQ_RETURN_IF_ERROR(Queue(queue));
    return Error::Ok();
  }

  Error AllQueues() {
    std::string cursor = "0";
    do {
      const Result<ReplyPtr> page = client_->Call({"QUEUES", "CURSOR", cursor});
      if (!page.ok()) return page.error();
      if ((*page)->elements != 2)
        return Error(ErrorCode::kUnsupported, "QUEUES gave another answer");
      const redisReply& names = *(*page)->element[1];
      for (size_t i = 0; i < names.elements; ++i) {
        // One that has gone since the page was made is no queue any more.
        const Error error = Queue(ReplyText(*names.element[i]));
        if (!error.ok() && !error.text().starts_with("NOTFOUND")) return error;
      }
      cursor = ReplyText(*(*page)->element[0]);
    } while (cursor != "0");
    return Error::Ok();
  }

  Error Queue(const std::string& queue) {
    VESTQ_RETURN_IF_ERROR(CountLeftOut(queue));
    for (const char* state : kStates) {
      if (std::find(o_.states.begin(), o_.states.end(), state) == o_.states.end()) continue;
      VESTQ_RETURN_IF_ERROR(State(queue, state));
    }
    ++queues_;
    return Error::Ok();
  }

  // How many jobs stand in states that are not written, so that nobody takes the file for all there
  // is. Also tells a queue that is not there.
  Error CountLeftOut(const std::string& queue) {
    const Result<ReplyPtr> info = client_->Call({"QUEUE", "INFO", queue});
    if (!info.ok()) return info.error();
    if (o_.space_set) return Error::Ok();
    for (const char* state : {"scheduled", "ready", "leased", "waiting", "dead", "done"}) {
      if (std::find(o_.states.begin(), o_.states.end(), state) != o_.states.end()) continue;
      const redisReply* const count = FindInMap(**info, state);
      if (count != nullptr && count->integer > 0) left_out_[state] += count->integer;
    }
    return Error::Ok();
  }

  Error State(const std::string& queue, const std::string& state) {
    std::string cursor = "0";
    do {
      std::vector<std::string_view> words = {"PEEK", queue,    "STATE", state,    "COUNT",
                                             "1000", "CURSOR", cursor,  "PAYLOAD"};
      if (o_.space_set) words.insert(words.end(), {"SPACE", o_.space});
      const Result<ReplyPtr> page = client_->Call(words);
      if (!page.ok()) return page.error();
      if ((*page)->type != REDIS_REPLY_ARRAY || (*page)->elements != 2)
        return Error(ErrorCode::kUnsupported, "PEEK gave another answer than [cursor, [jobs]]");
      const redisReply& jobs = *(*page)->element[1];
      for (size_t i = 0; i < jobs.elements; ++i) VESTQ_RETURN_IF_ERROR(Job(*jobs.element[i]));
      VESTQ_RETURN_IF_ERROR(FlushOutput());
      progress_.Show(exported_, "exported");
      cursor = ReplyText(*(*page)->element[0]);
    } while (cursor != "0");
    return Error::Ok();
  }

  Error Job(const redisReply& job) {
    std::string line;
    if (o_.format == "json") {
      line = JsonLine(job);
    } else {
      Result<std::string> pair = FdbLine(job, o_.version);
      if (!pair.ok()) return Bad(job, pair.error());
      line = std::move(*pair);
    }
    line.push_back('\n');
    std::fwrite(line.data(), 1, line.size(), stdout);
    ++exported_;
    return Error::Ok();
  }

  Error Bad(const redisReply& job, const Error& why) {
    const redisReply* const id = FindInMap(job, "id");
    const std::string text = "job " + (id == nullptr ? "" : ReplyText(*id)) + ": " + why.text();
    if (!o_.skip_bad)
      return Error(ErrorCode::kUnsupported, text + " (--skip-bad goes on without it)");
    progress_.End();
    fmt::print(stderr, "vestq export: {}; skipped\n", text);
    ++skipped_;
    return Error::Ok();
  }

  // On stderr: stdout has the jobs.
  void PrintSummary() const {
    if (o_.json) {
      nlohmann::ordered_json left = nlohmann::ordered_json::object();
      for (const auto& [state, count] : left_out_) left[state] = count;
      const nlohmann::ordered_json out = {
          {"exported", exported_}, {"queues", queues_}, {"skipped", skipped_}, {"left_out", left}};
      fmt::print(stderr, "{}\n", out.dump());
      return;
    }
    std::string more;
    if (skipped_ > 0) more += ", " + std::to_string(skipped_) + " skipped";
    for (const auto& [state, count] : left_out_)
      more += ", " + std::to_string(count) + " " + state + " left out";
    fmt::print(stderr, "vestq export: {} of {}{}\n", Counted(exported_, "job"),
               Counted(queues_, "queue"), more);
  }

  const Options& o_;
  Client* const client_;
  Progress progress_{"export"};
  uint64_t exported_ = 0;
  uint64_t skipped_ = 0;
  uint64_t queues_ = 0;
  std::map<std::string, int64_t> left_out_;
};

constexpr char kHelp[] =
    "Examples:\n"
    "  vestq export > jobs.jsonl                           ready, scheduled and leased jobs of all "
    "queues\n"
    "  vestq export --queue mail --state dead              the dead letters of one, to look at\n"
    "  vestq export --queue gc --format fdb > gc.fdb       key-value pairs for FoundationDB\n"
    "\n"
    "Nothing is leased or changed. A queue that is worked on meanwhile gives each job that stays "
    "in "
    "its\n"
    "state once; for all of them exactly once, pause it (vestq queue pause). The formats, and what "
    "fdb\n"
    "cannot carry: tools/EXPORT.md. The last line of stderr counts, also what was left out.\n"
    "Exit status: 0; 1 the server cannot be reached, there is no such queue, or a job cannot be "
    "carried; 2 usage.";

int Usage(const char* text) {
  fmt::print(stderr, "vestq export: {}\n", text);
  return kExitUsage;
}

int Export(const Options& o) {
  const bool dead = std::find(o.states.begin(), o.states.end(), "dead") != o.states.end();
  if (dead && o.format == "fdb")
    return Usage("--state dead: a dead letter has no vesting time; --format json carries it");
  if (o.version_option.given() && o.format != "fdb")
    return Usage("--tuple-version: --format fdb has one");
  return WithDaemon("export", o, [&](Client* client) { return Exporter(o, client).Run(); });
}

}  // namespace

void AddExport(Command program, Action* action) {
  auto options = std::make_shared<Options>();
  Command command = program.Add("export", "Write the jobs of queues as lines", kHelp);
  command.Value("--queue", &options->queues, "This queue; may be given again. Else all");
  CommandOption space =
      command.Value("--space", &options->space, "Only this space; \"\" is the empty one")
          .MayBeEmpty();
  command
      .Value("--state", &options->states,
             "Jobs of these states, with commas between: leased, scheduled, ready, dead")
      .Commas()
      .OneOf({"leased", "scheduled", "ready", "dead"})
      .ShowDefault();
  command.Value("--format", &options->format, "json, or fdb: pairs for FoundationDB")
      .OneOf({"json", "fdb"})
      .ShowDefault();
  options->version_option =
      command.Value("--tuple-version", &options->version, "fdb: the version in the keys")
          .ShowDefault();
  command.Flag("--skip-bad", &options->skip_bad,
               "Go on without jobs that the format cannot carry, and count them");
  AddCallOptions(command, options.get(), "Print the count as a JSON object");
  command.WhenGiven([options, space, action] {
    options->space_set = space.given();
    *action = [options] { return Export(*options); };
  });
}

}  // namespace vestq
