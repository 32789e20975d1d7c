// A command that runs for one job: its own process group, the payload on its stdin, its stdout and
// stderr taken apart into lines. Owned by one thread; nothing blocks but the fork.
//
// CHILD-1: a command that does not read its stdin, or reads it late, holds up nobody.
// CHILD-2: when the worker is killed the command is too (PR_SET_PDEATHSIG): nobody would renew its
// lease. What the command itself has started is not reached by that.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "tools/line_sink.h"

namespace vestq {

class Child {
 public:
  Child() = default;
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Starts it. `variables` ("NAME=value") are added to this process's environment. Errors: kIo (no
  // process or pipe could be had); a command that cannot be executed exits with 127 and says so on
  // its stderr. `keep_output`: what it writes on stdout goes to output(), not to a sink.
  // REQUIRES: !running().
  Error Start(const std::vector<std::string>& command, const std::vector<std::string>& variables,
              std::string payload, bool keep_output);

  bool running() const { return pid_ > 0; }
  // Adds three entries: stdin, stdout, stderr. Outputs are not polled while their sink is full.
  void AddPoll(const LineSink& out, const LineSink& err, std::vector<pollfd>* entries) const;
  // REQUIRES: `entries` points at the three that AddPoll added.
  void OnEvents(const pollfd* entries, LineSink* out, LineSink* err);

  // True when it has ended: what it had written is taken, its pipes are closed, status() tells how
  // it ended.
  bool Reap(LineSink* out, LineSink* err);
  // To its whole process group.
  void Kill(int signal) const;

  bool succeeded() const;
  // -1 when a signal ended it.
  int exit_status() const;
  // "exit status 3", "killed by signal 9 (Killed)".
  [[nodiscard]] std::string StatusText() const;
  // What it wrote last on stderr, at most limits::kReasonBytes together with how it ended.
  [[nodiscard]] std::string Reason() const;
  // With keep_output: its stdout, byte for byte, up to a little over limits::kResultBytes (the rest
  // is read and dropped).
  const std::string& output() const { return output_; }

 private:
  struct Output {
    int fd = -1;
    std::string partial;  // the line that has no end yet
  };
  void Feed();
  // Takes what is there, about `at_most` bytes of it; closes at the end. To `sink`, keeping the end of
  // it in *tail if there is one; without a sink the beginning of it, in *tail.
  static void Drain(Output* output, size_t at_most, LineSink* sink, std::string* tail);
  // The same of stdout: to its sink, or kept.
  void DrainOut(size_t at_most, LineSink* sink);
  static void EndPartial(Output* output, LineSink* sink);
  void CloseAll();

  pid_t pid_ = -1;
  int status_ = 0;
  int stdin_ = -1;
  std::string payload_;
  size_t fed_ = 0;
  Output out_;
  Output err_;
  std::string tail_;
  bool keep_output_ = false;
  std::string output_;
};

}  // namespace vestq
