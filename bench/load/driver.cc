#include "bench/load/driver.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "bench/load/resp.h"

namespace vestq::bench {
namespace {

// The measured time is stretched, up to so many times, until so many rounds of all connections
// ended.
constexpr uint64_t kWavesMin = 4;
constexpr double kStretchMax = 8;
constexpr uint64_t kStallNs = 30'000'000'000;

double Seconds(uint64_t ns) { return static_cast<double>(ns) / 1e9; }

std::string Printable(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += c >= 0x20 && c < 0x7f ? c : '.';
  return text;
}

}  // namespace

Driver::Driver(Plan plan, const Dialect& dialect, const ServerProbe& probe)
    : plan_(std::move(plan)), dialect_(dialect), probe_(probe), rounds_left_(plan_.count) {
  payload_.resize(std::max(plan_.payload_bytes, kPayloadBytesMin));
}

std::string Driver::Run(uint16_t port, Report* report) {
  report_ = report;
  std::string error = Connect(port);
  if (error.empty()) {
    now_ns_ = begin_ns_ = tenth_ns_ = NowNs();
    if (plan_.warmup_s <= 0) OpenWindow();
    for (Worker& worker : workers_) {
      BeginRound(&worker);
      error = FlushOut(&worker);
      if (!error.empty()) break;
    }
  }
  if (error.empty()) error = Loop();
  if (error.empty()) error = FinalChecks();
  if (epoll_ >= 0) close(epoll_);
  return error;
}

std::string Driver::Connect(uint16_t port) {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) return std::string("epoll_create1: ") + std::strerror(errno);
  for (size_t i = 0; i < plan_.connections; ++i) {
    Worker& worker = workers_.emplace_back();
    worker.index = i;
    if (!worker.connection.Open(port)) return std::string("connect: ") + std::strerror(errno);
    std::string answer;
    if (i == 0 && plan_.put) {
      for (const std::string& request : dialect_.Preparation()) {
        if (!worker.connection.Exchange(request, 0, &answer)) return "closed while preparing";
        if (answer.starts_with("-") && !answer.starts_with("-BUSYGROUP")) return Printable(answer);
      }
    }
    std::string greeting;
    std::string expected;
    dialect_.AppendGreeting(&greeting, &expected);
    if (!worker.connection.Exchange(greeting, expected.size(), &answer)) return "closed at once";
    if (answer != expected) return "greeting answered by " + Printable(answer);
    if (!worker.connection.SetNonBlocking()) return "fcntl failed";
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &worker;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, worker.connection.fd(), &event) != 0) {
      return std::string("epoll_ctl: ") + std::strerror(errno);
    }
  }
  return "";
}

std::string Driver::Loop() {
  std::vector<epoll_event> events(std::max<size_t>(workers_.size(), 1));
  uint64_t progress_ns = NowNs();
  uint64_t progress_ended = ended_;
  while (busy_ > 0) {
    const int ready = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 1000);
    if (ready < 0 && errno != EINTR) return std::string("epoll_wait: ") + std::strerror(errno);
    now_ns_ = NowNs();
    if (!in_window_ && window_ns_ == 0 && Seconds(now_ns_ - begin_ns_) >= plan_.warmup_s) {
      OpenWindow();
    }
    if (in_window_ && TimeIsUp()) {
      CloseWindow();
      stopping_ = true;
    }
    for (int i = 0; i < ready; ++i) {
      const epoll_event& event = events[static_cast<size_t>(i)];
      std::string error = Serve(static_cast<Worker*>(event.data.ptr), event.events);
      if (!error.empty()) return error;
    }
    if (ended_ != progress_ended || ready > 0) {
      progress_ended = ended_;
      progress_ns = now_ns_;
    } else if (now_ns_ - progress_ns > kStallNs) {
      return "no answer for 30 s with " + std::to_string(busy_) + " connections waiting";
    }
  }
  if (in_window_) CloseWindow();
  return "";
}

bool Driver::TimeIsUp() const {
  if (plan_.seconds <= 0) return false;
  const double open_s = Seconds(now_ns_ - window_ns_);
  if (open_s < plan_.seconds) return false;
  // A slow server may not have ended one round of all connections yet.
  const uint64_t waves = kWavesMin * plan_.connections * plan_.depth;
  return report_->jobs >= waves || open_s >= kStretchMax * plan_.seconds;
}

std::string Driver::Serve(Worker* worker, uint32_t events) {
  if ((events & EPOLLOUT) != 0) {
    std::string error = FlushOut(worker);
    if (!error.empty()) return error;
  }
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return "";
  if (worker->connection.Read() == Connection::Io::kClosed) {
    return "the server closed a connection";
  }
  std::string error = ReadAnswers(worker);
  return error.empty() ? FlushOut(worker) : error;
}

std::string Driver::ReadAnswers(Worker* worker) {
  now_ns_ = NowNs();
  while (worker->answered < worker->awaiting.size()) {
    const Answer answer = dialect_.Parse(worker->phase, worker->connection.Pending());
    if (answer.kind == Answer::Kind::kIncomplete) return "";
    if (answer.kind == Answer::Kind::kWrong) {
      return std::string(kOpNames[static_cast<size_t>(worker->phase)]) + " answered by " +
             Printable(answer.error);
    }
    std::string error = OnAnswer(worker, answer);
    if (!error.empty()) return error;
    worker->connection.Consume(answer.consumed);
    if (++worker->answered == worker->awaiting.size()) EndPhase(worker);
  }
  if (!worker->connection.Pending().empty()) return "an answer too many";
  return "";
}

std::string Driver::OnAnswer(Worker* worker, const Answer& answer) {
  Slot& slot = worker->slots[worker->awaiting[worker->answered]];
  if (in_window_) {
    report_->operations[static_cast<size_t>(worker->phase)].Record(now_ns_ - worker->sent_ns);
  }
  switch (worker->phase) {
    case Op::kPut:
      ++report_->puts;
      if (!plan_.take) CountJob(slot.started_ns);
      return "";
    case Op::kTake: {
      if (answer.kind == Answer::Kind::kEmpty) {
        ++report_->empty_takes;
        return "";
      }
      const std::optional<PayloadName> name = CheckPayload(answer.payload);
      if (!name) return "a payload is not what was put: " + Printable(answer.payload.substr(0, 64));
      if (!ledger_.Take(*name)) {
        return "job " + std::to_string(name->number) + " of run " + std::to_string(name->run) +
               " was taken twice";
      }
      ++report_->takes;
      slot.taken = true;
      slot.receipt.assign(answer.receipt);
      return "";
    }
    case Op::kComplete: CountJob(slot.started_ns); return "";
  }
  return "";
}

void Driver::CountJob(uint64_t started_ns) {
  ++ended_;
  if (in_window_) {
    ++report_->jobs;
    report_->lifecycle.Record(now_ns_ - started_ns);
  }
  if (plan_.count >= 10 && ended_ % (plan_.count / 10) == 0 && report_->tenths.size() < 10) {
    const double took = Seconds(now_ns_ - tenth_ns_);
    report_->tenths.push_back(static_cast<double>(plan_.count / 10) / std::max(took, 1e-9));
    tenth_ns_ = now_ns_;
  }
}

void Driver::BeginRound(Worker* worker) {
  size_t jobs = plan_.depth;
  if (plan_.count > 0) jobs = static_cast<size_t>(std::min<uint64_t>(jobs, rounds_left_));
  if (stopping_) jobs = 0;
  const bool was_idle = worker->idle;
  worker->idle = jobs == 0;
  if (was_idle && !worker->idle) ++busy_;
  if (!was_idle && worker->idle) --busy_;
  worker->awaiting.clear();
  worker->answered = 0;
  if (worker->idle) return;
  if (plan_.count > 0) rounds_left_ -= jobs;
  worker->slots.resize(jobs);
  for (Slot& slot : worker->slots) slot.taken = false;
  SendPhase(worker, plan_.put ? Op::kPut : Op::kTake);
}

void Driver::EndPhase(Worker* worker) {
  switch (worker->phase) {
    case Op::kPut:
      if (plan_.take) {
        SendPhase(worker, Op::kTake);
      } else {
        BeginRound(worker);
      }
      return;
    case Op::kTake: {
      const bool all = std::all_of(worker->slots.begin(), worker->slots.end(),
                                   [](const Slot& slot) { return slot.taken; });
      SendPhase(worker, all ? Op::kComplete : Op::kTake);
      return;
    }
    case Op::kComplete: BeginRound(worker); return;
  }
}

void Driver::SendPhase(Worker* worker, Op phase) {
  worker->phase = phase;
  worker->sent_ns = now_ns_;
  worker->awaiting.clear();
  worker->answered = 0;
  std::string& out = worker->connection.out();
  const Op first = plan_.put ? Op::kPut : Op::kTake;
  for (size_t i = 0; i < worker->slots.size(); ++i) {
    Slot& slot = worker->slots[i];
    if (phase == Op::kTake && slot.taken) continue;
    if (phase == first) slot.started_ns = now_ns_;
    worker->awaiting.push_back(i);
    switch (phase) {
      case Op::kPut:
        MakePayload(PayloadName{plan_.run, next_number_++}, plan_.fill, payload_.size(),
                    payload_.data());
        // The options were checked against the dialect, so this cannot be refused.
        static_cast<void>(dialect_.AppendPut(payload_, plan_.delay_s, &out));
        break;
      case Op::kTake: dialect_.AppendTake(worker->index, &out); break;
      case Op::kComplete: dialect_.AppendComplete(worker->index, slot.receipt, &out); break;
    }
  }
}

std::string Driver::FlushOut(Worker* worker) {
  const Connection::Io io = worker->connection.Flush();
  if (io == Connection::Io::kClosed) return "the server closed a connection";
  const bool wants_write = io == Connection::Io::kWouldBlock;
  if (wants_write != worker->wants_write) {
    worker->wants_write = wants_write;
    epoll_event event{};
    event.events = wants_write ? EPOLLIN | EPOLLOUT : EPOLLIN;
    event.data.ptr = worker;
    if (epoll_ctl(epoll_, EPOLL_CTL_MOD, worker->connection.fd(), &event) != 0) {
      return std::string("epoll_ctl: ") + std::strerror(errno);
    }
  }
  return "";
}

void Driver::OpenWindow() {
  report_->before = probe_.Read();
  own_cpu_ns_ = OwnCpuNs();
  window_ns_ = now_ns_ = NowNs();
  in_window_ = true;
}

void Driver::CloseWindow() {
  const uint64_t end_ns = NowNs();
  report_->own_cpu = static_cast<double>(OwnCpuNs() - own_cpu_ns_) /
                     static_cast<double>(std::max<uint64_t>(end_ns - window_ns_, 1));
  report_->after = probe_.Read();
  report_->elapsed_s = Seconds(end_ns - window_ns_);
  in_window_ = false;
}

std::string Driver::FinalChecks() {
  if (plan_.put && plan_.take && !plan_.backlog) {
    if (ledger_.Taken(plan_.run) != next_number_) {
      return std::to_string(next_number_) + " jobs put, " +
             std::to_string(ledger_.Taken(plan_.run)) + " of them taken";
    }
    Worker& worker = workers_.front();
    dialect_.AppendTryTake(worker.index, &worker.connection.out());
    const uint64_t give_up_ns = NowNs() + kStallNs;
    while (NowNs() < give_up_ns) {
      if (worker.connection.Flush() == Connection::Io::kClosed) return "closed at the end";
      if (worker.connection.Read() == Connection::Io::kClosed) return "closed at the end";
      const Answer answer = dialect_.Parse(Op::kTake, worker.connection.Pending());
      if (answer.kind == Answer::Kind::kEmpty) return "";
      if (answer.kind != Answer::Kind::kIncomplete) return "the queue is not empty at the end";
      epoll_event event{};
      epoll_wait(epoll_, &event, 1, 100);
    }
    return "no answer to the last take";
  }
  return "";
}

}  // namespace vestq::bench
