#include "tools/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "engine/base/limits.h"
#include "tools/printable.h"

extern char** environ;

namespace vestq {
namespace {

// A line longer than this is passed on in pieces.
constexpr size_t kLongLine = size_t{64} << 10;
// Taken from an output at a time; and, at most, of what a command that ended had left in its pipe.
constexpr size_t kTurnBytes = size_t{256} << 10;
constexpr size_t kLeftBytes = size_t{4} << 20;

void CloseFd(int* fd) {
  if (*fd >= 0) ::close(*fd);
  *fd = -1;
}

// In the child between fork and exec: only calls that are safe there.
[[noreturn]] void Exec(const std::array<int, 3>& fds, char* const* argv, char* const* envp,
                       pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  for (int i = 0; i < 3; ++i) ::dup2(fds[static_cast<size_t>(i)], i);
  std::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvpe(argv[0], argv, envp);
  const char* const why = std::strerror(errno);
  for (const char* text :
       {"vestq: cannot run ", static_cast<const char*>(argv[0]), ": ", why, "\n"}) {
    if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
  }
  ::_exit(127);
}

}  // namespace

Child::~Child() {
  if (running()) {
    Kill(SIGKILL);
    while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
  }
  CloseAll();
}

Error Child::Start(const std::vector<std::string>& command,
                   const std::vector<std::string>& variables, std::string payload,
                   bool keep_output) {
  CHECK(!running());
  std::array<std::array<int, 2>, 3> pipes{{{-1, -1}, {-1, -1}, {-1, -1}}};
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (const std::string& variable : variables) envp.push_back(const_cast<char*>(variable.c_str()));
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, "VESTQ_", 6) != 0) envp.push_back(*variable);
  }
  envp.push_back(nullptr);

  bool piped = true;
  for (auto& pipe : pipes) piped = piped && ::pipe2(pipe.data(), O_CLOEXEC) == 0;
  const pid_t parent = ::getpid();
  const pid_t pid = piped ? ::fork() : -1;
  if (pid == 0) Exec({pipes[0][0], pipes[1][1], pipes[2][1]}, argv.data(), envp.data(), parent);
  const int error = errno;
  CloseFd(&pipes[0][0]);
  CloseFd(&pipes[1][1]);
  CloseFd(&pipes[2][1]);
  if (pid < 0) {
    CloseFd(&pipes[0][1]);
    CloseFd(&pipes[1][0]);
    CloseFd(&pipes[2][0]);
    return Error(ErrorCode::kIo, std::string("cannot start a process: ") + std::strerror(error));
  }
  ::setpgid(pid, pid);  // here too, so that a Kill right now finds the group
  pid_ = pid;
  stdin_ = pipes[0][1];
  out_.fd = pipes[1][0];
  err_.fd = pipes[2][0];
  for (const int fd : {stdin_, out_.fd, err_.fd}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
  payload_ = std::move(payload);
  fed_ = 0;
  tail_.clear();
  keep_output_ = keep_output;
  output_.clear();
  Feed();
  return Error::Ok();
}

void Child::AddPoll(const LineSink& out, const LineSink& err, std::vector<pollfd>* entries) const {
  entries->push_back({stdin_, POLLOUT, 0});
  entries->push_back({out.full() && !keep_output_ ? -1 : out_.fd, POLLIN, 0});
  entries->push_back({err.full() ? -1 : err_.fd, POLLIN, 0});
}

void Child::OnEvents(const pollfd* entries, LineSink* out, LineSink* err) {
  if (entries[0].revents != 0) Feed();
  if (entries[1].revents != 0) DrainOut(kTurnBytes, out);
  if (entries[2].revents != 0) Drain(&err_, kTurnBytes, err, &tail_);
}

void Child::Feed() {
  while (stdin_ >= 0 && fed_ < payload_.size()) {
    const ssize_t n = ::write(stdin_, payload_.data() + fed_, payload_.size() - fed_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) break;  // EPIPE: it does not want the rest
    fed_ += static_cast<size_t>(n);
  }
  CloseFd(&stdin_);
  payload_ = std::string();
}

void Child::Drain(Output* output, size_t at_most, LineSink* sink, std::string* tail) {
  char buffer[16384];
  for (size_t taken = 0; output->fd >= 0 && taken < at_most;) {
    const ssize_t n = ::read(output->fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      CloseFd(&output->fd);
      return;
    }
    const std::string_view text(buffer, static_cast<size_t>(n));
    taken += text.size();
    if (sink == nullptr) {
      if (tail->size() <= limits::kResultBytes) tail->append(text);
      continue;
    }
    if (tail != nullptr) {
      tail->append(text);
      tail->erase(0, tail->size() - Tail(*tail, limits::kReasonBytes).size());
    }
    output->partial.append(text);
    const size_t newline = output->partial.rfind('\n');
    if (newline != std::string::npos) {
      sink->Take(std::string_view(output->partial).substr(0, newline + 1));
      output->partial.erase(0, newline + 1);
    }
    if (output->partial.size() > kLongLine) EndPartial(output, sink);
  }
}

void Child::DrainOut(size_t at_most, LineSink* sink) {
  if (keep_output_) return Drain(&out_, at_most, nullptr, &output_);
  Drain(&out_, at_most, sink, nullptr);
}

void Child::EndPartial(Output* output, LineSink* sink) {
  if (output->partial.empty()) return;
  output->partial.push_back('\n');
  sink->Take(output->partial);
  output->partial.clear();
}

bool Child::Reap(LineSink* out, LineSink* err) {
  pid_t reaped = 0;
  while ((reaped = ::waitpid(pid_, &status_, WNOHANG)) < 0 && errno == EINTR) {
  }
  if (reaped != pid_) return false;
  pid_ = -1;
  // What it wrote is in the pipes. A process that it left behind may hold them open: nobody waits
  // for that one.
  DrainOut(kLeftBytes, out);
  Drain(&err_, kLeftBytes, err, &tail_);
  EndPartial(&out_, out);
  EndPartial(&err_, err);
  CloseAll();
  return true;
}

void Child::Kill(int signal) const {
  if (running()) ::kill(-pid_, signal);
}

bool Child::succeeded() const { return WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }

int Child::exit_status() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1; }

std::string Child::StatusText() const {
  if (WIFEXITED(status_)) return "exit status " + std::to_string(WEXITSTATUS(status_));
  const int signal = WTERMSIG(status_);
  return "killed by signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
}

std::string Child::Reason() const {
  std::string_view tail = tail_;
  while (!tail.empty() && (tail.back() == '\n' || tail.back() == '\r')) tail.remove_suffix(1);
  const std::string status = StatusText();
  if (tail.empty()) return status;
  const size_t room = limits::kReasonBytes - status.size() - 3;
  // The rest of a character that stood across the cut is no UTF-8 any more.
  return std::string(Tail(tail, room)) + " (" + status + ")";
}

void Child::CloseAll() {
  CloseFd(&stdin_);
  CloseFd(&out_.fd);
  CloseFd(&err_.fd);
  out_.partial.clear();
  err_.partial.clear();
  payload_ = std::string();
}

}  // namespace vestq
