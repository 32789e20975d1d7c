// `vestq enqueue`: puts one job, or one for each line of stdin, into a queue.
#include <poll.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/limits.h"
#include "tools/call.h"
#include "tools/client.h"
#include "tools/commands.h"
#include "tools/exit_status.h"
#include "tools/job_words.h"
#include "tools/json.h"
#include "tools/payload.h"
#include "tools/printable.h"

namespace vestq {
namespace {

// Commands sent and not answered, at most: enough to keep the server's syncs full, little to be
// unsure of after a cut.
constexpr size_t kWindowCommands = 1024;
constexpr size_t kWindowBytes = size_t{4} << 20;

struct Options : CallOptions {
  std::string queue;
  PayloadOptions payload;
  bool lines = false;
  bool together = false;
  JobWords words;
};

// With --unique the reply says whether the job is new, or which one holds the key and its state. With --replace a
// holder that is scheduled or ready has this payload now.
void PrintId(const redisReply& reply, const Options& options) {
  const bool json = options.json;
  if (reply.type == REDIS_REPLY_ARRAY && reply.elements == 3) {
    const std::string id = ReplyText(*reply.element[0]);
    const bool added = reply.element[1]->integer == 1;
    const std::string state = ReplyText(*reply.element[2]);
    const bool replaced = options.words.replace() && (state == "scheduled" || state == "ready");
    if (json) {
      nlohmann::ordered_json out = {{"id", id}, {"added", added}, {"state", state}};
      if (options.words.replace()) out["replaced"] = replaced;
      PrintJson(out);
    } else {
      fmt::print("{}{}{}\n", id, added ? "" : " " + state, replaced ? " replaced" : "");
    }
    return;
  }
  const std::string id = ReplyText(reply);
  if (json) {
    PrintJson({{"id", id}});
  } else {
    fmt::print("{}\n", id);
  }
}

std::vector<std::string_view> WordsFor(const Options& options, std::string_view payload) {
  std::vector<std::string_view> command = {"ENQUEUE", options.queue, payload};
  options.words.Append(&command);
  return command;
}

// A full queue is waited for as long as --wait says.
Result<ReplyPtr> Ask(Client* client, const Options& options,
                     const std::vector<std::string_view>& command) {
  const Duration wait = options.words.wait();
  return wait == Duration(0) ? client->Call(command) : client->CallWaiting(command, wait);
}

int EnqueueOne(const Options& options) {
  const Result<std::string> payload = ReadPayload(options.payload, limits::kPayloadHardMax);
  if (!payload.ok()) return Complain("enqueue", payload.error());
  return WithDaemon("enqueue", options, [&](Client* client) {
    const Result<ReplyPtr> reply = Ask(client, options, WordsFor(options, *payload));
    if (!reply.ok()) return reply.error();
    PrintId(**reply, options);
    return Error::Ok();
  });
}

// One ENQUEUEMANY of all lines of stdin: all of them or none.
int EnqueueTogether(const Options& options) {
  PayloadOptions all;
  all.from_stdin = true;
  const Result<std::string> input = ReadPayload(all, limits::kPayloadHardMax);
  if (!input.ok()) return Complain("enqueue", input.error());
  std::vector<std::string_view> lines;
  for (std::string_view rest = *input; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    lines.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (lines.empty()) return kExitOk;
  return WithDaemon("enqueue", options, [&](Client* client) {
    const std::string count = std::to_string(lines.size());
    std::vector<std::string_view> command = {"ENQUEUEMANY", options.queue, count};
    command.insert(command.end(), lines.begin(), lines.end());
    options.words.Append(&command);
    const Result<ReplyPtr> reply = Ask(client, options, command);
    if (!reply.ok()) return reply.error();
    for (size_t i = 0; i < (*reply)->elements; ++i) PrintId(*(*reply)->element[i], options);
    return Error::Ok();
  });
}

// One job a line of stdin, many on the way at once. Ids are printed in the order of the lines.
class LineSender {
 public:
  LineSender(const Options& options, Client* client) : options_(options), client_(client) {}

  int Run() {
    std::string input;
    bool more = true;
    while (more && !cut_) {
      // Nothing to read right now: what was read is worth more sent, and its ids printed, than
      // waiting for company.
      if (!Readable()) {
        Receive(0, 0);
        TellRefused();
      }
      more = Read(&input);
      size_t begin = 0;
      for (size_t end = 0; !cut_ && (end = input.find('\n', begin)) != std::string::npos;
           begin = end + 1) {
        Send(std::string_view(input).substr(begin, end - begin));
      }
      input.erase(0, begin);
      if (!more && !cut_ && !input.empty()) Send(input);
    }
    Receive(0, 0);
    TellRefused();
    return cut_ || unread_ || refused_ > 0 || std::ferror(stdout) != 0 ? kExitFailed : kExitOk;
  }

 private:
  static bool Readable() {
    pollfd entry{STDIN_FILENO, POLLIN, 0};
    return ::poll(&entry, 1, 0) != 0;
  }

  // Appends what is there; false at the end.
  bool Read(std::string* input) {
    char buffer[65536];
    ssize_t n = 0;
    while ((n = ::read(STDIN_FILENO, buffer, sizeof buffer)) < 0 && errno == EINTR) {
    }
    if (n < 0) {
      unread_ = true;
      fmt::print(stderr, "vestq enqueue: cannot read stdin: {}\n", std::strerror(errno));
    }
    if (n > 0) input->append(buffer, static_cast<size_t>(n));
    if (input->size() <= limits::kPayloadHardMax) return n > 0;
    unread_ = true;
    fmt::print(
        stderr,
        "vestq enqueue: line {} is longer than the largest payload, {} bytes; stopping there\n",
        sent_ + 1, limits::kPayloadHardMax);
    input->clear();
    return false;
  }

  void Send(std::string_view payload) {
    client_->Append(WordsFor(options_, payload));
    ++sent_;
    sizes_.push_back(payload.size());
    bytes_ += payload.size();
    if (sent_ - answered_ >= kWindowCommands || bytes_ >= kWindowBytes)
      Receive(kWindowCommands / 2, kWindowBytes / 2);
  }

  // Takes replies until no more than so many commands and bytes are unanswered, and prints what
  // they say.
  void Receive(size_t commands, size_t bytes) {
    TakeReplies(commands, bytes);
    std::fflush(stdout);
  }

  void TakeReplies(size_t commands, size_t bytes) {
    while (!cut_ && sent_ > answered_ && (sent_ - answered_ > commands || bytes_ > bytes)) {
      const Result<ReplyPtr> reply = client_->Next();
      if (!reply.ok()) {
        cut_ = true;
        fmt::print(stderr,
                   "vestq enqueue: {}; {} lines are answered, lines {} to {} were sent and may or "
                   "may not be enqueued\n",
                   reply.error().text(), answered_, answered_ + 1, sent_);
        return;
      }
      bytes_ -= sizes_[answered_ - sizes_begin_];
      if (++answered_ - sizes_begin_ >= kWindowCommands) Forget();
      if ((*reply)->type == REDIS_REPLY_ERROR) {
        Refused(ReplyText(**reply));
      } else {
        PrintId(**reply, options_);
      }
    }
  }

  // Lines that are refused for the same reason, one behind the other, are told once.
  void Refused(const std::string& why) {
    ++refused_;
    if (why == why_ && answered_ == why_to_ + 1) {
      why_to_ = answered_;
      return;
    }
    TellRefused();
    why_ = why;
    why_from_ = why_to_ = answered_;
  }

  void TellRefused() {
    if (why_.empty()) return;
    const std::string lines = why_from_ == why_to_
                                  ? fmt::format("line {}", why_from_)
                                  : fmt::format("lines {} to {}", why_from_, why_to_);
    fmt::print(stderr, "vestq enqueue: {}: {}\n", lines, Printable(why_));
    why_.clear();
  }

  void Forget() {
    sizes_.erase(sizes_.begin(), sizes_.begin() + static_cast<ptrdiff_t>(answered_ - sizes_begin_));
    sizes_begin_ = answered_;
  }

  const Options& options_;
  Client* const client_;
  uint64_t sent_ = 0;
  uint64_t answered_ = 0;
  uint64_t refused_ = 0;
  std::string why_;  // of lines why_from_ to why_to_, not told yet
  uint64_t why_from_ = 0;
  uint64_t why_to_ = 0;
  std::vector<size_t> sizes_;  // payload sizes from line sizes_begin_ on
  uint64_t sizes_begin_ = 0;
  size_t bytes_ = 0;
  bool cut_ = false;
  bool unread_ = false;
};

int Enqueue(Options* o) {
  Options& options = *o;
  const int sources = options.payload.sources() + int{options.lines};
  if (sources != 1) {
    return ComplainUsage("enqueue", fmt::format("give one of PAYLOAD, --stdin, --file or --lines; "
                                                "there {} {}",
                                                sources == 0 ? "is" : "are",
                                                sources == 0 ? "none" : std::to_string(sources)));
  }
  if (const Error wrong = options.words.Check(); !wrong.ok()) return Complain("enqueue", wrong);
  if (!options.lines) return EnqueueOne(options);
  if (options.together) return EnqueueTogether(options);
  Result<Client> client = ConnectTo(options);
  if (!client.ok()) return Complain("enqueue", client.error());
  if (options.words.wait() != Duration(0)) {  // each line may wait, one behind the other
    if (const Error silent = client->Call({"PING"}).error(); !silent.ok())
      return Complain("enqueue", silent);
    client->WaitForEver();
  }
  return LineSender(options, &*client).Run();
}

constexpr char kExamples[] =
    "Examples:\n"
    "  vestq enqueue mail \"to: ann@example.com\"\n"
    "  vestq enqueue mail --file letter.eml --space customer-7 --attempts 5 --backoff exp:5s:1h\n"
    "  vestq enqueue report --unique monthly --for 20d june      prints ID STATE if that key is "
    "held\n"
    "  vestq enqueue index --unique doc-7 --replace --delay 5s v3   prints ID STATE replaced if "
    "the job "
    "that holds\n"
    "                                                            it waits, and is this one now\n"
    "  vestq enqueue report --at 2030-01-01T06:00:00Z yearly\n"
    "  vestq enqueue bill --after 4711,4712 \"customer 7\"        waits until both are complete\n"
    "  vestq enqueue bill --wait 5m \"customer 8\"              if the queue is full, until there "
    "is room\n"
    "  vestq enqueue steps --lines --together < steps.txt         all lines or none\n"
    "  find /srv/photos -name '*.jpg' | vestq enqueue thumbnails --lines --priority 2000\n"
    "\n"
    "Prints the job's id once the job is durable. A payload that begins with a dash stands after "
    "`--`.\n"
    "Exit status: 0 every job is enqueued; 1 the server refused one or went away (stderr says "
    "which lines); 2 usage.";

}  // namespace

void AddEnqueue(Command program, Action* action) {
  auto options = std::make_shared<Options>();
  Command command =
      program.Add("enqueue", "Put a job, or one for each line of stdin, into a queue", kExamples);
  command.Value("QUEUE", &options->queue, "Queue: 1-200 printable ASCII characters without a space")
      .Required();
  AddPayloadOptions(command, &options->payload, "What the job carries", "The payload");
  command.Flag("--lines", &options->lines,
               "One job for each line of stdin, pipelined; prints an id a line");
  command
      .Flag("--together", &options->together,
            "With --lines: all of them or none, also across a power cut; at most 1000")
      .Needs("--lines");
  options->words.AddTo(command, JobWords::Of::kJob);
  AddCallOptions(command, options.get(), "Print {\"id\": \"...\"} a line");
  command.WhenGiven([options, action] { *action = [options] { return Enqueue(options.get()); }; });
}

}  // namespace vestq
