// `vestq enqueue`: puts one job, or one for each line of stdin, into a queue.
#include <poll.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/limits.h"
#include "tools/address.h"
#include "tools/call.h"
#include "tools/client.h"
#include "tools/commands.h"
#include "tools/exit_status.h"
#include "tools/job_words.h"
#include "tools/payload.h"

namespace vestq {
namespace {

// Commands sent and not answered, at most: enough to keep the server's syncs full, little to be
// unsure of after a cut.
constexpr size_t kWindowCommands = 1024;
constexpr size_t kWindowBytes = size_t{4} << 20;

struct Options {
  std::string queue;
  PayloadOptions payload;
  bool lines = false;
  bool json = false;
  std::string server = kDefaultServer;
  JobWords words;
};

int Usage(const std::string& text) {
  fmt::print(stderr, "vestq enqueue: {}\n", text);
  return kExitUsage;
}

// With --unique the reply says whether the job is new, or which one holds the key and its state.
void PrintId(const redisReply& reply, bool json) {
  if (reply.type == REDIS_REPLY_ARRAY && reply.elements == 3) {
    const std::string id = ReplyText(*reply.element[0]);
    const bool added = reply.element[1]->integer == 1;
    const std::string state = ReplyText(*reply.element[2]);
    if (json) {
      fmt::print("{}\n", nlohmann::json{{"id", id}, {"added", added}, {"state", state}}.dump());
    } else {
      fmt::print("{}\n", added ? id : id + " " + state);
    }
    return;
  }
  const std::string id = ReplyText(reply);
  if (json) {
    fmt::print("{}\n", nlohmann::json{{"id", id}}.dump());
  } else {
    fmt::print("{}\n", id);
  }
}

std::vector<std::string_view> Command(const Options& options, std::string_view payload) {
  std::vector<std::string_view> command = {"ENQUEUE", options.queue, payload};
  options.words.Append(&command);
  return command;
}

int EnqueueOne(const Options& options) {
  const Result<std::string> payload = ReadPayload(options.payload, limits::kPayloadHardMax);
  if (!payload.ok()) {
    fmt::print(stderr, "vestq enqueue: {}\n", payload.error().text());
    return kExitFailed;
  }
  const Result<Address> address = ParseAddress(options.server);
  Result<Client> client = Client::Connect(*address);
  Result<ReplyPtr> reply = client.ok() ? client->Call(Command(options, *payload)) : client.error();
  if (!reply.ok()) {
    fmt::print(stderr, "vestq enqueue: {}\n", reply.error().text());
    return kExitFailed;
  }
  PrintId(**reply, options.json);
  return std::fflush(stdout) == 0 ? kExitOk : kExitFailed;
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
      if (!Readable()) Receive(0, 0);
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
    client_->Append(Command(options_, payload));
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
        ++refused_;
        fmt::print(stderr, "vestq enqueue: line {}: {}\n", answered_, ReplyText(**reply));
      } else {
        PrintId(**reply, options_.json);
      }
    }
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
  std::vector<size_t> sizes_;  // payload sizes from line sizes_begin_ on
  uint64_t sizes_begin_ = 0;
  size_t bytes_ = 0;
  bool cut_ = false;
  bool unread_ = false;
};

int Enqueue(Options* o) {
  Options& options = *o;
  if (options.payload.sources() + int{options.lines} != 1)
    return Usage("give one of PAYLOAD, --stdin, --file or --lines");
  if (const Error wrong = options.words.Check(); !wrong.ok()) return Usage(wrong.text());
  const Result<Address> address = ParseAddress(options.server);
  if (!address.ok()) return Usage("--server: " + address.error().text());
  if (!options.lines) return EnqueueOne(options);
  Result<Client> client = Client::Connect(*address);
  if (!client.ok()) {
    fmt::print(stderr, "vestq enqueue: {}\n", client.error().text());
    return kExitFailed;
  }
  return LineSender(options, &*client).Run();
}

constexpr char kExamples[] =
    "Examples:\n"
    "  vestq enqueue mail \"to: ann@example.com\"\n"
    "  vestq enqueue mail --file letter.eml --space customer-7 --attempts 5 --backoff exp:5s:1h\n"
    "  vestq enqueue report --unique monthly --for 20d june      prints ID STATE if that key is "
    "held\n"
    "  vestq enqueue report --at 2030-01-01T06:00:00Z yearly\n"
    "  vestq enqueue bill --after 4711,4712 \"customer 7\"        waits until both are complete\n"
    "  find /srv/photos -name '*.jpg' | vestq enqueue thumbnails --lines --priority 2000\n"
    "\n"
    "Prints the job's id once the job is durable. A payload that begins with a dash stands after "
    "`--`.\n"
    "Exit status: 0 every job is enqueued; 1 the server refused one or went away (stderr says "
    "which lines); 2 usage.";

}  // namespace

void AddEnqueue(CLI::App* app, Action* action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app->add_subcommand("enqueue", "Put a job, or one for each line of stdin, into a queue");
  command->footer(kExamples);
  command
      ->add_option("QUEUE", options->queue,
                   "Queue: 1-200 printable ASCII characters without a space")
      ->required();
  AddPayloadOptions(command, &options->payload, "What the job carries", "The payload");
  command->add_flag("--lines", options->lines,
                    "One job for each line of stdin, pipelined; prints an id a line");
  options->words.AddTo(command, JobWords::Of::kJob);
  AddServerOption(command, &options->server);
  command->add_flag("--json", options->json, "Print {\"id\": \"...\"} a line");
  command->callback([options, action] { *action = [options] { return Enqueue(options.get()); }; });
}

}  // namespace vestq
