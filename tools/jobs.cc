// `vestq job`, `cancel`, `promote`, `reschedule`, `revoke`: jobs by their ids.
#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/limits.h"
#include "tools/call.h"
#include "tools/commands.h"
#include "tools/exit_status.h"
#include "tools/json.h"
#include "tools/units.h"

namespace vestq {
namespace {

constexpr char kExitText[] =
    "\nExit status: 0; 1 the server cannot be reached, or refused one of them (the others are "
    "done), "
    "stderr says why;\n"
    "2 usage.";

struct JobOptions : CallOptions {
  std::vector<std::string> ids;
  bool payload = false;
  bool only_payload = false;
  std::string delay;
  std::string at;
  std::string priority;
};

// `act` for each id, over one connection. What goes wrong with one of them is told, and the others are done; then
// the exit status is that of a failure.
int Each(std::string_view name, const JobOptions& o,
         const std::function<Error(Client* client, const std::string& id)>& act) {
  int status = kExitOk;
  const int called = WithDaemon(name, o, [&](Client* client) {
    for (const std::string& id : o.ids) {
      const Error error = act(client, id);
      if (error.ok()) continue;
      if (id == o.ids.back() || error.code() == ErrorCode::kIo) return error;
      status = Complain(name, error);
    }
    return Error::Ok();
  });
  return called == kExitOk ? status : called;
}

// What `cancel` and `revoke` answer: 1, or 0 when there was nothing to do, which is a failure here.
Error Report(const JobOptions& options, const std::string& id, const redisReply& reply,
             const char* what, const std::string& why_not) {
  const bool done = reply.type != REDIS_REPLY_INTEGER || reply.integer != 0;
  if (!done) return Error(ErrorCode::kNotFound, why_not);
  if (options.json) {
    PrintJson({{"id", id}, {what, true}});
  } else {
    fmt::print("{} {}\n", id, what);
  }
  return Error::Ok();
}

Error ShowJob(Client* client, const JobOptions& o, const std::string& id) {
  std::vector<std::string_view> words = {"JOB", id};
  if (o.payload || o.only_payload) words.push_back("PAYLOAD");
  const Result<ReplyPtr> reply = client->Call(words);
  if (!reply.ok()) return reply.error();
  if ((*reply)->type != REDIS_REPLY_ARRAY) {
    return Error(ErrorCode::kNotFound,
                 "there is no job " + id + "; one that is done is gone, unless it is kept");
  }
  if (o.only_payload) {
    const redisReply* const payload = FindInMap(**reply, "payload");
    if (payload == nullptr)
      return Error(ErrorCode::kNotFound, "job " + id + " has no payload any more");
    std::fwrite(payload->str, 1, payload->len, stdout);
    return Error::Ok();
  }
  if (o.json) {
    nlohmann::ordered_json out = {{"id", id}};
    out.update(JsonOfMap(**reply));
    PrintJson(out);
    return Error::Ok();
  }
  if (o.ids.size() > 1) fmt::print("{}id      {}\n", id == o.ids.front() ? "" : "\n", id);
  PrintMap(MapOf::kJob, **reply);
  return Error::Ok();
}

int Job(const JobOptions& o) {
  return Each("job", o,
              [&o](Client* client, const std::string& id) { return ShowJob(client, o, id); });
}

int Cancel(const JobOptions& o) {
  return Each("cancel", o, [&o](Client* client, const std::string& id) {
    const Result<ReplyPtr> reply = client->Call({"CANCEL", id});
    if (!reply.ok()) return reply.error();
    return Report(o, id, **reply, "cancelled", "there is no unfinished or dead job " + id);
  });
}

int Revoke(const JobOptions& o) {
  return Each("revoke", o, [&o](Client* client, const std::string& id) {
    const Result<ReplyPtr> reply = client->Call({"REVOKE", id});
    if (!reply.ok()) return reply.error();
    return Report(o, id, **reply, "revoked", "job " + id + " is not leased, or there is none");
  });
}

int Promote(const JobOptions& o) {
  return Each("promote", o, [&o](Client* client, const std::string& id) {
    const Result<ReplyPtr> reply = client->Call({"PROMOTE", id});
    if (!reply.ok()) return reply.error();
    return Report(o, id, **reply, "promoted", "");
  });
}

int Reschedule(const JobOptions& o) {
  if (const Error wrong = CheckMoment("--at", o.at); !wrong.ok())
    return Complain("reschedule", wrong);
  return Each("reschedule", o, [&o](Client* client, const std::string& id) {
    std::vector<std::string_view> words = {"RESCHEDULE", id};
    if (!o.delay.empty()) words.insert(words.end(), {"DELAY", o.delay});
    if (!o.at.empty()) words.insert(words.end(), {"AT", o.at});
    if (!o.priority.empty()) words.insert(words.end(), {"PRIORITY", o.priority});
    const Result<ReplyPtr> reply = client->Call(words);
    if (!reply.ok()) return reply.error();
    return Report(o, id, **reply, "rescheduled", "");
  });
}

Command Add(Command program, const char* name, const char* about, const std::string& examples,
            const std::shared_ptr<JobOptions>& options, Action* action,
            int (*act)(const JobOptions&)) {
  Command command = program.Add(name, about, "Examples:\n" + examples + kExitText);
  command.Value("ID", &options->ids, "Ids of jobs, as `vestq enqueue` printed them").Required();
  AddCallOptions(command, options.get(), "Print one JSON object a job, a line each");
  command.WhenGiven([options, action, act] { *action = [options, act] { return act(*options); }; });
  return command;
}

}  // namespace

void AddJobs(Command program, Action* action) {
  auto options = [] { return std::make_shared<JobOptions>(); };
  auto job = options();
  Command show =
      Add(program, "job", "Show a job: its state, attempts, last error",
          "  vestq job 4711\n"
          "  vestq job 4711 --payload --json\n"
          "  vestq job 4711 --only-payload > payload.bin\n"
          "\n"
          "With --json bytes that are no UTF-8 stand as base64 in a field with -base64 behind "
          "its name;\n"
          "without it control characters are shown as \\n or \\x1b.\n",
          job, action, Job);
  CommandOption with = show.Flag("--payload", &job->payload, "Show the payload too");
  show.Flag("--only-payload", &job->only_payload,
            "Print the payload's bytes as they are and nothing else")
      .Excludes(with);
  Add(program, "cancel", "Remove a job in any state; a lease of it is void at once",
      "  vestq cancel 4711\n"
      "  vestq peek mail --state dead --json | jq -r .id | xargs vestq cancel\n",
      options(), action, Cancel);
  Add(program, "promote", "Make a scheduled job ready now",
      "  vestq promote 4711        its retry need not wait for the back-off\n", options(), action,
      Promote);
  auto moved = options();
  Command reschedule = Add(program, "reschedule", "Give a scheduled or ready job another time",
                           "  vestq reschedule 4711 --delay 2h\n"
                           "  vestq reschedule 4711 --at 2030-01-31T08:00:00Z --priority 10\n",
                           moved, action, Reschedule);
  Command when = reschedule.AddOneOf("When");
  when.Value("--delay", &moved->delay, "That long from now: 30s, 10m; 0: at once")
      .Span(Duration(0), limits::kDelayMax);
  when.Value("--at", &moved->at, "At that time of the wall clock: RFC 3339 or Unix ms");
  reschedule.Value("--priority", &moved->priority,
                   "0 (most urgent) to 4294967295; its own if left out");
  Add(program, "revoke", "End a job's lease as its expiry would: the attempt is used",
      "  vestq revoke 4711         the worker hangs; another one is to have it\n", options(),
      action, Revoke);
}

}  // namespace vestq
