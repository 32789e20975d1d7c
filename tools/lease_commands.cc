// `vestq lease`, `renew`, `complete`, `fail`, `release`: the life of a lease by hand, for a worker that is a script.
// `vestq work` does all of it by itself.
#include <spdlog/fmt/fmt.h>

#include <cstdio>
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
#include "tools/payload.h"
#include "tools/time_text.h"

namespace vestq {
namespace {

using Words = std::vector<std::string_view>;

constexpr char kExitText[] =
    "\nExit status: 0; 1 the server cannot be reached or refused (LEASELOST: the job is someone "
    "else's), stderr says\n"
    "why; 2 usage.";

struct LeaseOptions : CallOptions {
  std::vector<std::string> queues;
  std::string count;
  std::string block;
  std::string lease;
  std::string worker;
  std::string space;
  CommandOption space_option;
};

int Lease(const LeaseOptions& o) {
  size_t leased = 0;
  const int status = WithDaemon("lease", o, [&](Client* client) {
    Words words = {"LEASE"};
    words.insert(words.end(), o.queues.begin(), o.queues.end());
    // One option always stands there, so that no queue is taken for it.
    words.insert(words.end(), {"COUNT", o.count});
    if (!o.block.empty()) words.insert(words.end(), {"BLOCK", o.block});
    if (!o.lease.empty()) words.insert(words.end(), {"FOR", o.lease});
    if (!o.worker.empty()) words.insert(words.end(), {"WORKER", o.worker});
    if (o.space_option.given()) words.insert(words.end(), {"SPACE", o.space});
    const Result<Duration> block = ParseDuration(o.block.empty() ? "0" : o.block);
    const Result<ReplyPtr> reply =
        o.block.empty() ? client->Call(words) : client->CallWaiting(words, *block);
    if (!reply.ok()) return reply.error();
    leased = (*reply)->type == REDIS_REPLY_ARRAY ? (*reply)->elements : 0;
    for (size_t i = 0; i < leased; ++i) {
      const redisReply& job = *(*reply)->element[i];
      if (o.json) {
        PrintJson(JsonOfMap(job));
      } else {
        fmt::print("{}", i == 0 ? "" : "\n");
        PrintMap(MapOf::kJob, job);
      }
    }
    return Error::Ok();
  });
  return status == kExitOk && leased == 0 ? kExitNotYet : status;
}

constexpr char kLeaseHelp[] =
    "Examples:\n"
    "  vestq lease mail\n"
    "  vestq lease urgent mail --count 10 --block 30s --for 2m --json    one JSON object a job\n"
    "  while job=$(vestq lease mail --block 1h --json); do\n"
    "    echo \"$job\" | jq -r .payload | ./send-mail && vestq complete \"$(echo \"$job\" | jq -r "
    ".receipt)\"\n"
    "  done\n"
    "\n"
    "The lease does not end with this program: end it with complete, fail or release, or let it "
    "run out.\n"
    "With --json bytes that are no UTF-8 stand as base64 in a field with -base64 behind its name; "
    "without it control\n"
    "characters are shown as \\n or \\x1b.\n"
    "\n"
    "Exit status: 0 leased; 6 there was none in the time given, and nothing is printed; 1 the "
    "server cannot be\n"
    "reached or refused, stderr says why; 2 usage.";

struct ReceiptOptions : CallOptions {
  std::string receipt;
  std::vector<std::string> receipts;  // complete: one or more
  std::string lease;
  std::string reason;
  std::string delay;
  std::string priority;
  bool dead = false;
  PayloadOptions result;
  CommandOption result_option;
};

// One command whose answer needs no words but those.
int Tell(std::string_view name, const ReceiptOptions& o, const Words& words, const char* done) {
  return WithDaemon(name, o, [&](Client* client) {
    const Result<ReplyPtr> reply = client->Call(words);
    if (!reply.ok()) return reply.error();
    if (o.json) {
      PrintJson({{"receipt", words[1]}, {done, true}});
    } else {
      fmt::print("{} {}\n", words[1], done);
    }
    return Error::Ok();
  });
}

int Renew(const ReceiptOptions& o) {
  return WithDaemon("renew", o, [&](Client* client) {
    Words words = {"RENEW", o.receipt};
    if (!o.lease.empty()) words.insert(words.end(), {"FOR", o.lease});
    const Result<ReplyPtr> reply = client->Call(words);
    if (!reply.ok()) return reply.error();
    if (o.json) {
      PrintJson({{"receipt", o.receipt}, {"lease-left", (*reply)->integer}});
    } else {
      fmt::print("{} renewed for {}\n", o.receipt, SpanText((*reply)->integer));
    }
    return Error::Ok();
  });
}

int CompleteMany(const ReceiptOptions& o) {
  return WithDaemon("complete", o, [&](Client* client) {
    Words words = {"COMPLETEMANY"};
    words.insert(words.end(), o.receipts.begin(), o.receipts.end());
    const Result<ReplyPtr> reply = client->Call(words);
    if (!reply.ok()) return reply.error();
    size_t lost = 0;
    for (size_t i = 0; i < (*reply)->elements; ++i) {
      const bool completed = (*reply)->element[i]->integer == 1;
      lost += completed ? 0 : 1;
      if (o.json) {
        PrintJson({{"receipt", o.receipts[i]}, {"completed", completed}});
      } else {
        fmt::print("{} {}\n", o.receipts[i], completed ? "completed" : "lease lost");
      }
    }
    if (lost == 0) return Error::Ok();
    return Error(ErrorCode::kLeaseLost,
                 fmt::format("LEASELOST {} of {} leases were over", lost, o.receipts.size()));
  });
}

int Complete(const ReceiptOptions& o) {
  const int results = o.result.sources() + int{o.result_option.given()};
  if (results > 1 || (results > 0 && o.receipts.size() > 1))
    return ComplainUsage("complete", "one result, of one receipt: --result, --stdin or --file");
  if (o.receipts.size() > 1) return CompleteMany(o);
  Words words = {"COMPLETE", o.receipts[0]};
  Result<std::string> result = o.result.text;
  if (results > 0) {
    result = ReadPayload(o.result, limits::kResultBytes);
    if (!result.ok()) return Complain("complete", result.error());
    words.insert(words.end(), {"RESULT", *result});
  }
  return Tell("complete", o, words, "completed");
}

int Fail(const ReceiptOptions& o) {
  return WithDaemon("fail", o, [&](Client* client) {
    Words words = {"FAIL", o.receipt};
    if (!o.reason.empty()) words.insert(words.end(), {"REASON", o.reason});
    if (!o.delay.empty()) words.insert(words.end(), {"DELAY", o.delay});
    if (o.dead) words.push_back("DEAD");
    const Result<ReplyPtr> reply = client->Call(words);
    if (!reply.ok()) return reply.error();
    const bool dead = ReplyText(*(*reply)->element[0]) == "dead";
    const int64_t ms = (*reply)->element[1]->integer;
    if (o.json) {
      nlohmann::ordered_json out = {{"receipt", o.receipt}, {"failed", true}, {"dead", dead}};
      if (!dead) out["retry-in"] = ms;
      PrintJson(out);
    } else {
      fmt::print("{} failed, {}\n", o.receipt, dead ? "dead" : "again in " + SpanText(ms));
    }
    return Error::Ok();
  });
}

int Release(const ReceiptOptions& o) {
  Words words = {"RELEASE", o.receipt};
  if (!o.delay.empty()) words.insert(words.end(), {"DELAY", o.delay});
  if (!o.priority.empty()) words.insert(words.end(), {"PRIORITY", o.priority});
  return Tell("release", o, words, "released");
}

Command AddOne(Command program, const char* name, const char* about, const std::string& examples,
               const std::shared_ptr<ReceiptOptions>& options, Action* action,
               int (*act)(const ReceiptOptions&)) {
  Command command = program.Add(name, about, "Examples:\n" + examples + kExitText);
  AddCallOptions(command, options.get(), "Print one JSON object a receipt, spans in ms");
  command.WhenGiven([options, action, act] { *action = [options, act] { return act(*options); }; });
  return command;
}

void AddReceipts(Command program, Action* action) {
  auto options = [] { return std::make_shared<ReceiptOptions>(); };
  const auto one = [](Command command, ReceiptOptions* o) {
    command.Value("RECEIPT", &o->receipt, "Of the lease, as `vestq lease` printed it").Required();
  };
  auto renewed = options();
  Command renew = AddOne(program, "renew", "Make a lease last longer",
                         "  vestq renew 4711.3.1\n"
                         "  vestq renew 4711.3.1 --for 10m\n",
                         renewed, action, Renew);
  one(renew, renewed.get());
  renew.Value("--for", &renewed->lease, "So long from now; else as long as it was granted for")
      .Span(limits::kLeaseMin, limits::kLeaseMax);

  auto done = options();
  Command complete =
      AddOne(program, "complete", "Say that leased jobs are done",
             "  vestq complete 4711.3.1\n"
             "  vestq complete 4711.3.1 --result \"42\"      kept with a job that has KEEP\n"
             "  vestq complete 4711.3.1 4712.3.1           each for itself\n",
             done, action, Complete);
  complete.Value("RECEIPT", &done->receipts, "Of the leases").Required();
  done->result_option =
      complete.Value("--result", &done->result.text, "The job's result").MayBeEmpty();
  complete.Flag("--stdin", &done->result.from_stdin, "The result is all of stdin, any bytes");
  complete.Value("--file", &done->result.file, "The result is the content of this file");

  auto failed = options();
  Command fail = AddOne(program, "fail", "Say that a leased job failed: it is tried again, or dead",
                        "  vestq fail 4711.3.1 --reason \"no such host\"\n"
                        "  vestq fail 4711.3.1 --delay 10m     instead of its back-off\n"
                        "  vestq fail 4711.3.1 --dead          no more attempts\n",
                        failed, action, Fail);
  one(fail, failed.get());
  fail.Value("--reason", &failed->reason, "Why, up to 4 KiB").MayBeEmpty();
  CommandOption delay = fail.Value("--delay", &failed->delay, "Again after this long: 30s, 10m")
                            .Span(Duration(0), limits::kDelayMax);
  fail.Flag("--dead", &failed->dead, "A dead letter at once").Excludes(delay);

  auto released = options();
  Command release = AddOne(program, "release", "Give a leased job back, its attempt not used",
                           "  vestq release 4711.3.1\n"
                           "  vestq release 4711.3.1 --delay 1m --priority 10\n",
                           released, action, Release);
  one(release, released.get());
  release.Value("--delay", &released->delay, "Ready again after this long; else at once")
      .Span(Duration(0), limits::kDelayMax);
  release.Value("--priority", &released->priority, "0 (most urgent) to 4294967295; else its own");
}

}  // namespace

void AddLease(Command program, Action* action) {
  auto options = std::make_shared<LeaseOptions>();
  options->count = "1";
  Command lease =
      program.Add("lease", "Take ready jobs by hand; prints them with their receipts", kLeaseHelp);
  lease.Value("QUEUE", &options->queues, "Queues, served in this order").Required();
  lease.Value("--count", &options->count, "At most so many, up to 1000")
      .Between(1, limits::kLeaseCountMax)
      .ShowDefault();
  lease.Value("--block", &options->block, "Wait for the first one this long: 30s; 0: for ever")
      .Span(Duration(0), limits::kBlockMax);
  lease.Value("--for", &options->lease, "How long the lease lasts: 100ms to 7d (the job's)")
      .Span(limits::kLeaseMin, limits::kLeaseMax);
  lease.Value("--worker", &options->worker, "Name shown beside the jobs").MayBeEmpty();
  options->space_option =
      lease.Value("--space", &options->space, "Only jobs of this space; \"\" is the empty one")
          .MayBeEmpty();
  AddCallOptions(lease, options.get(), "Print one JSON object a job, a line each");
  lease.WhenGiven([options, action] { *action = [options] { return Lease(*options); }; });
  AddReceipts(program, action);
}

}  // namespace vestq
