// `vestq waitfor` and `vestq tail`: the end of one job, and what happens to all of them.
#include <spdlog/fmt/chrono.h>
#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/limits.h"
#include "lease/duration_text.h"
#include "tools/call.h"
#include "tools/commands.h"
#include "tools/exit_status.h"
#include "tools/json.h"
#include "tools/printable.h"

namespace vestq {
namespace {

struct WaitForOptions : CallOptions {
  std::string id;
  std::string at_most = "0";
};

// Why a wait ended without an end of the job. An honest daemon says null when the time is over, when it
// closes, and when somebody unblocks the connection.
Error NotEnded(Client* client, const WaitForOptions& o, int* status) {
  const Result<ReplyPtr> alive = client->Call({"PING"});
  if (!alive.ok()) {
    return Error(ErrorCode::kShutdown,
                 "the server at " + o.server + " is closing; job " + o.id + " had not ended");
  }
  const Result<Duration> at_most = ParseDuration(o.at_most);
  if (at_most.ok() && *at_most == Duration(0)) {
    return Error(ErrorCode::kBusy,
                 "the wait was ended by CLIENT UNBLOCK; job " + o.id + " had not ended");
  }
  *status = kExitNotYet;
  return Error(ErrorCode::kBusy, "job " + o.id + " has not ended within " + o.at_most);
}

// A job that is gone says nothing of its end; whether it was there when the wait began is known.
Error Gone(const WaitForOptions& o, bool was_there) {
  if (was_there) {
    return Error(
        ErrorCode::kNotFound,
        "job " + o.id +
            " is gone: done, cancelled, expired or purged, which is not kept; a job with --keep "
            "tells");
  }
  return Error(ErrorCode::kNotFound, "there is no job " + o.id +
                                         ": it was over before and not kept (enqueue --keep), or "
                                         "never was one");
}

int WaitFor(const WaitForOptions& o) {
  int status = kExitFailed;
  const int called = WithDaemon("waitfor", o, [&](Client* client) {
    const Result<ReplyPtr> before = client->Call({"JOB", o.id});
    if (!before.ok()) return before.error();
    const Result<ReplyPtr> reply =
        client->CallWaiting({"WAITFOR", o.id, "BLOCK", o.at_most}, *ParseDuration(o.at_most));
    if (!reply.ok()) return reply.error();
    const redisReply* const state = FindInMap(**reply, "state");
    if (state == nullptr) return NotEnded(client, o, &status);
    if (o.json) {
      nlohmann::ordered_json out = {{"id", o.id}};
      out.update(JsonOfMap(**reply));
      PrintJson(out);
    } else {
      PrintMap(MapOf::kJob, **reply);
    }
    const std::string end = ReplyText(*state);
    if (end == "dead") {
      status = kExitDead;
      return Error(ErrorCode::kBusy, "job " + o.id + " is dead");
    }
    if (end != "gone") return Error::Ok();
    status = kExitGone;
    return Gone(o, (*before)->type == REDIS_REPLY_ARRAY);
  });
  return called == kExitFailed ? status : called;
}

struct TailOptions : CallOptions {
  std::vector<std::string> queues;
};

// "2030-01-31T08:00:00.123Z  failed       mail  4711  attempt 2  worker w1  reason: no".
std::string Line(std::string_view event, const redisReply& map) {
  const auto field = [&map](std::string_view name) {
    const redisReply* const value = FindInMap(map, name);
    return value == nullptr ? std::string() : Printable(ReplyText(*value));
  };
  if (event == "missed") return field("count") + " events were missed here";
  const redisReply* const time = FindInMap(map, "time");
  const int64_t ms = time == nullptr ? 0 : time->integer;
  const std::tm seconds = fmt::gmtime(ms / 1000);
  const std::string count = field("count");  // of many jobs at once
  std::string line = fmt::format("{:%FT%T}.{:03}Z  {:<11}  {}  {}", seconds, ms % 1000, event,
                                 field("queue"), count.empty() ? field("id") : count + " jobs");
  if (const std::string attempt = field("attempt"); !attempt.empty() && attempt != "0")
    line += "  attempt " + attempt;
  if (const std::string worker = field("worker"); !worker.empty()) line += "  worker " + worker;
  if (const std::string reason = field("reason"); !reason.empty()) line += "  reason: " + reason;
  return line;
}

int Tail(const TailOptions& o) {
  return WithDaemon("tail", o, [&o](Client* client) {
    std::vector<std::string_view> words = {"EVENTS"};
    words.insert(words.end(), o.queues.begin(), o.queues.end());
    if (const Result<ReplyPtr> begun = client->Call(words); !begun.ok()) return begun.error();
    // An event stream of a queue that is not there is silent: the name may be misspelt.
    Result<Client> asking = ConnectTo(o);
    for (size_t i = 0; asking.ok() && i < o.queues.size(); ++i) {
      const Result<ReplyPtr> info = asking->Call({"QUEUE", "INFO", o.queues[i]});
      if (info.error().code() == ErrorCode::kNotFound)
        fmt::print(stderr, "vestq tail: there is no queue \"{}\" yet\n", o.queues[i]);
    }
    client->WaitForEver();
    for (;;) {
      const Result<ReplyPtr> reply = client->Next();
      if (!reply.ok()) return reply.error();
      const redisReply& event = **reply;
      if (event.type != REDIS_REPLY_ARRAY || event.elements != 3)
        return Error(ErrorCode::kUnsupported,
                     "the daemon sent what is no event: " + ReplyText(event));
      const std::string name = ReplyText(*event.element[1]);
      if (o.json) {
        nlohmann::ordered_json out = {{"event", name}};
        out.update(JsonOfMap(*event.element[2]));
        PrintJson(out);
      } else {
        fmt::print("{}\n", Line(name, *event.element[2]));
      }
      if (const Error error = FlushOutput(); !error.ok()) return error;
    }
  });
}

constexpr char kWaitForHelp[] =
    "Examples:\n"
    "  vestq waitfor 4711 && echo done\n"
    "  vestq waitfor 4711 --at-most 30s --json | jq -r .result\n"
    "A job that is done is shown with its result (COMPLETE receipt RESULT, vestq work --result) "
    "if it "
    "is kept:\n"
    "enqueue --keep 1h, queue set keep=1h. Of one that is not kept, as of one that was "
    "cancelled, "
    "expired,\n"
    "purged or never there, only that it is gone can be told. With --json a result that is no "
    "UTF-8 stands as base64\n"
    "in result-base64; without it control characters are shown as \\n or \\x1b: a result of "
    "several lines is one.\n"
    "\nExit status: 0 it is done; 4 it is gone; 5 it is dead; 6 it has not ended in time; 1 the "
    "server "
    "cannot\n"
    "be reached, refused or is closing; 2 usage. stderr says which.";

constexpr char kTailHelp[] =
    "Examples:\n"
    "  vestq tail\n"
    "  vestq tail mail sms --json | jq -r 'select(.event == \"dead\") | .id'\n"
    "Control characters are shown as \\n or \\x1b; --json has every byte, as base64 in a field "
    "with "
    "-base64\n"
    "behind its name where they are no UTF-8.\n"
    "One line an event: time, event, queue, id, attempt, worker, reason; how many jobs instead "
    "of an "
    "id when\n"
    "a PURGE or DROP took them at once. When it is read too "
    "slowly a\n"
    "line says how many events were missed.\n"
    "\nExit status: 1 the server cannot be reached or has stopped, stderr says why; 2 usage.";

}  // namespace

void AddWatch(Command program, Action* action) {
  auto wait = std::make_shared<WaitForOptions>();
  Command waitfor =
      program.Add("waitfor", "Wait until a job is done, dead or gone, and show it", kWaitForHelp);
  waitfor.Value("ID", &wait->id, "The job's id, as `vestq enqueue` printed it").Required();
  waitfor.Value("--at-most", &wait->at_most, "How long: 30s, 10m; 0: for ever")
      .Span(Duration(0), limits::kBlockMax)
      .ShowDefault();
  AddCallOptions(waitfor, wait.get(), "Print one JSON object");
  waitfor.WhenGiven([wait, action] { *action = [wait] { return WaitFor(*wait); }; });

  auto listen = std::make_shared<TailOptions>();
  Command tail = program.Add(
      "tail", "Print what happens to jobs, as it happens, until it is stopped", kTailHelp);
  tail.Value("QUEUE", &listen->queues, "Only of these queues");
  AddCallOptions(tail, listen.get(), "Print each event as one JSON object");
  tail.WhenGiven([listen, action] { *action = [listen] { return Tail(*listen); }; });
}

}  // namespace vestq
