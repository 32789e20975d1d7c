// `vestq import`: lines that `vestq export` wrote, or that were dumped from FoundationDB, become jobs of
// a running daemon.
#include <fcntl.h>
#include <poll.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/limits.h"
#include "net/words.h"
#include "tools/call.h"
#include "tools/commands.h"
#include "tools/exit_status.h"
#include "tools/job_line.h"
#include "tools/json.h"
#include "tools/progress.h"

namespace vestq {
namespace {

// Commands sent and not answered, at most: enough to keep the server's syncs full.
constexpr size_t kWindowCommands = 1024;
constexpr size_t kWindowBytes = size_t{4} << 20;
// A line of the largest payload, of control characters alone: six characters each; and some for its other fields.
constexpr size_t kLineBytes = size_t{400} << 20;

struct Options : CallOptions {
  std::string file = "-";
  std::string format = "json";
  int64_t version = kTupleVersion;
  std::string window = "1d";
  bool skip_bad = false;
  bool redrive = false;
};

// Lines of a file descriptor, each once, with their numbers. Blocks in Next only.
class Lines {
 public:
  explicit Lines(int fd) : fd_(fd) {}

  // The next line without its end; false at the end of the input or after an error (error()). The
  // view lives until the next call.
  bool Next(std::string_view* line) {
    size_t end = 0, from = taken_;
    while ((end = buffer_.find('\n', from)) == std::string::npos) {
      buffer_.erase(0, std::exchange(taken_, 0));
      from = buffer_.size();
      if (from > kLineBytes) {
        error_ =
            Error(ErrorCode::kTooBig, "line " + std::to_string(number_ + 1) + " is longer than " +
                                          std::to_string(kLineBytes) + " bytes");
        return false;
      }
      if (Read()) continue;
      if (!error_.ok() || buffer_.empty()) return false;
      end = buffer_.size();
      break;
    }
    *line = std::string_view(buffer_).substr(taken_, end - taken_);
    taken_ = std::min(buffer_.size(), end + 1);
    ++number_;
    return true;
  }
  // Whether Next would not wait for the input.
  bool Ready() const {
    if (buffer_.find('\n', taken_) != std::string::npos) return true;
    pollfd entry{fd_, POLLIN, 0};
    return ::poll(&entry, 1, 0) != 0;
  }
  uint64_t number() const { return number_; }
  const Error& error() const { return error_; }

 private:
  // Appends what is there; false at the end and after an error.
  bool Read() {
    char bytes[65536];
    ssize_t n = 0;
    while ((n = ::read(fd_, bytes, sizeof bytes)) < 0 && errno == EINTR) {
    }
    if (n < 0) error_ = Error(ErrorCode::kIo, std::string("cannot read: ") + std::strerror(errno));
    if (n > 0) buffer_.append(bytes, static_cast<size_t>(n));
    return n > 0;
  }

  const int fd_;
  std::string buffer_;
  size_t taken_ = 0;  // of the buffer, by the last line
  uint64_t number_ = 0;
  Error error_;
};

class Importer {
 public:
  Importer(const Options& options, int fd, Client* client)
      : o_(options), lines_(fd), client_(client) {
    if (o_.window != "0") window_ = o_.window;
  }

  Error Run() {
    std::string_view line;
    for (;;) {
      // Nothing to read right now: what was read is worth more answered than waiting for company.
      if (!lines_.Ready()) Receive(0, 0);
      if (!error_.ok() || !lines_.Next(&line)) break;
      if (!line.empty()) Line(line);
      Receive(kWindowCommands, kWindowBytes);
      progress_.Show(imported_ + there_ + held_, "imported");
    }
    if (error_.ok()) error_ = lines_.error();
    Receive(0, 0);
    progress_.End();
    PrintSummary();
    if (error_.ok()) return error_;
    return Error(error_.code(), error_.text() + "; stopped there" + Advice());
  }

 private:
  struct Sent {
    uint64_t line;
    size_t bytes;
    bool has_unique;
  };

  void Line(std::string_view text) {
    Result<IncomingJob> job = o_.format == "json" ? JobOfJsonLine(text, lines_.number(), o_.redrive)
                                                  : JobOfFdbLine(text, o_.version);
    if (job.ok() && job->payload.size() > limits::kPayloadHardMax) {
      job = Error(ErrorCode::kTooBig, "a payload of " + std::to_string(job->payload.size()) +
                                          " bytes is more than " +
                                          std::to_string(limits::kPayloadHardMax));
    }
    if (!job.ok()) return Bad(lines_.number(), job.error().text());
    EnqueueWords words;
    MakeEnqueueWords(*job, window_, &words);
    client_->Append(words.words);
    sent_.push_back({lines_.number(), job->payload.size(), job->has_unique});
    bytes_ += job->payload.size();
  }

  // Takes replies until no more than so many commands and bytes are unanswered: half of the window,
  // once it is full.
  void Receive(size_t commands, size_t bytes) {
    if (sent_.size() <= commands && bytes_ <= bytes) return;
    while (!cut_ && !sent_.empty() && (sent_.size() > commands / 2 || bytes_ > bytes / 2)) {
      const Result<ReplyPtr> reply = client_->Next();
      if (!reply.ok()) {
        cut_ = true;
        error_ = Error(ErrorCode::kIo, reply.error().text() + "; lines " +
                                           std::to_string(sent_.front().line) + " to " +
                                           std::to_string(sent_.back().line) +
                                           " were sent and may or may not be imported");
        return;
      }
      const Sent sent = sent_.front();
      sent_.pop_front();
      bytes_ -= sent.bytes;
      Answer(sent, **reply);
    }
  }

  void Answer(const Sent& sent, const redisReply& reply) {
    if (reply.type == REDIS_REPLY_ERROR) {
      const std::string text = ReplyText(reply);
      const bool bad =
          text.starts_with("ERR") || text.starts_with("RANGE") || text.starts_with("TOOBIG");
      if (bad) return Bad(sent.line, text);
      if (error_.ok()) error_ = Error(ErrorCode::kIo, At(sent.line) + text);
    } else if (reply.type == REDIS_REPLY_ARRAY && reply.elements == 3 &&
               reply.element[1]->integer == 0) {
      ++(sent.has_unique ? held_ : there_);
    } else {
      ++imported_;
    }
  }

  // A line that cannot be carried.
  void Bad(uint64_t line, const std::string& why) {
    if (!o_.skip_bad) {
      if (error_.ok()) error_ = Error(ErrorCode::kUnsupported, At(line) + why);
      return;
    }
    progress_.End();
    fmt::print(stderr, "vestq import: {}{}; skipped\n", At(line), why);
    ++skipped_;
  }

  static std::string At(uint64_t line) { return "line " + std::to_string(line) + ": "; }

  std::string Advice() const {
    if (window_.empty()) return "";
    return " (import the file again: what has come within " + window_ + " does not come twice)";
  }

  void PrintSummary() const {
    if (o_.json) {
      PrintJson(
          {{"imported", imported_}, {"there", there_}, {"held", held_}, {"skipped", skipped_}});
      return;
    }
    fmt::print("{} imported", imported_);
    if (there_ > 0) fmt::print(", {} were there already", there_);
    if (held_ > 0) fmt::print(", {} not added, their unique keys are held", held_);
    if (skipped_ > 0) fmt::print(", {} skipped", skipped_);
    fmt::print("\n");
  }

  const Options& o_;
  Lines lines_;
  Client* const client_;
  std::string window_;
  Progress progress_{"import"};
  std::deque<Sent> sent_;
  size_t bytes_ = 0;  // payloads of sent_
  uint64_t imported_ = 0;
  uint64_t there_ = 0;
  uint64_t held_ = 0;  // a key of the job's own: by the same job or by another, nobody knows
  uint64_t skipped_ = 0;
  bool cut_ = false;
  Error error_;
};

constexpr char kHelp[] =
    "Examples:\n"
    "  vestq import jobs.jsonl                      what vestq export wrote\n"
    "  vestq import gc.fdb --format fdb             key-value pairs dumped from FoundationDB\n"
    "  vestq export --server a:7733 | vestq import --server b:7733\n"
    "\n"
    "Begun again after any interruption, with the same file, it adds what is missing: each job has "
    "a "
    "UNIQUE\n"
    "key made of what it was at its source, held while it is unfinished and for --window. A job "
    "with "
    "a key of\n"
    "its own keeps that one. Ids are new; the old one is in the header source-id or fdb-id. The "
    "formats:\n"
    "tools/EXPORT.md. A bad line stops the import, unless --skip-bad.\n"
    "So the same lines imported again on purpose, within --window, are counted as there already "
    "and "
    "add nothing:\n"
    "--window 0 adds them.\n"
    "Exit status: 0; 1 the server cannot be reached or refused, or a line is bad, stderr says "
    "which; 2 usage.";

int Usage(const std::string& text) {
  fmt::print(stderr, "vestq import: {}\n", text);
  return kExitUsage;
}

int Import(const Options& o) {
  if (o.redrive && o.format == "fdb") return Usage("--redrive: there are no dead letters in fdb");
  const int fd = o.file == "-" ? STDIN_FILENO : ::open(o.file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    fmt::print(stderr, "vestq import: cannot open {}: {}\n", o.file, std::strerror(errno));
    return kExitFailed;
  }
  const int status =
      WithDaemon("import", o, [&](Client* client) { return Importer(o, fd, client).Run(); });
  if (fd != STDIN_FILENO) ::close(fd);
  return status;
}

}  // namespace

void AddImport(Command program, Action* action) {
  auto options = std::make_shared<Options>();
  Command command = program.Add("import", "Make jobs of exported lines", kHelp);
  command.Value("FILE", &options->file, "Lines of vestq export; - is stdin").ShowDefault();
  command.Value("--format", &options->format, "json, or fdb: pairs of FoundationDB")
      .OneOf({"json", "fdb"})
      .ShowDefault();
  command.Value("--tuple-version", &options->version, "fdb: the version that the keys must have")
      .ShowDefault();
  command
      .Value("--window", &options->window,
             "How long an import can be begun again without adding jobs twice, also those "
             "done meanwhile; 0: no UNIQUE keys, and no such promise")
      .Span(Duration(0), limits::kDelayMax)
      .ShowDefault();
  command.Flag("--skip-bad", &options->skip_bad,
               "Go on without lines that cannot be carried, and count them");
  command.Flag("--redrive", &options->redrive,
               "json: dead letters too, as jobs with all their attempts");
  AddCallOptions(command, options.get(), "Print the counts as a JSON object");
  command.WhenGiven([options, action] { *action = [options] { return Import(*options); }; });
}

}  // namespace vestq
