#include "tools/worker.h"

#include <spdlog/spdlog.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "engine/base/limits.h"
#include "lease/duration_text.h"
#include "tools/client.h"
#include "tools/exit_status.h"
#include "tools/job_environment.h"
#include "tools/time_text.h"
#include "tools/worker_words.h"

namespace vestq {

using worker_words::IsError;
using worker_words::Views;

namespace {

constexpr Duration kBlock = Seconds(30);  // one waiting LEASE; the next follows at once
// With --drain: while commands run, which may put something into a queue; and while a limit holds.
constexpr Duration kDrainBlock = Milliseconds(250);
constexpr Duration kLimitBlock = Seconds(1);
constexpr int64_t kFullPauseMs = 1000;  // after "max-leased is reached"
constexpr int64_t kLeaseEndMs = 1000;   // for the server to answer the last LEASE when stopping
constexpr int64_t kLeaveMs = 2000;      // for the RELEASEs of a second signal

std::string Field(const redisReply& job, std::string_view name) {
  const redisReply* value = FindInMap(job, name);
  return value == nullptr ? std::string() : ReplyText(*value);
}

int64_t NumberField(const redisReply& job, std::string_view name) {
  const redisReply* value = FindInMap(job, name);
  return value == nullptr ? 0 : value->integer;
}

int64_t Sooner(int64_t a, int64_t b) { return a < 0 ? b : b < 0 ? a : std::min(a, b); }

}  // namespace

Worker::Worker(WorkerOptions options)
    : options_(std::move(options)),
      out_(STDOUT_FILENO),
      err_(STDERR_FILENO),
      leasing_(options_.server, "leasing", options_.patience_ms),
      telling_(options_.server, "renewing", options_.patience_ms),
      drain_(&telling_, options_.queues, options_.space) {
  for (uint32_t i = 0; i < options_.concurrency; ++i) slots_.push_back(std::make_unique<Slot>());
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&set, signal);
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  CHECK(signals_ >= 0, "signalfd");
}

Worker::~Worker() { ::close(signals_); }

int Worker::Run() {
  while (true) {
    const int64_t timeout_ms = OnTime(NowMs());
    if (Done(NowMs())) return status_;
    if (GiveUpIn(NowMs()) == 0) {
      spdlog::error("no connection to {} for {}: giving up; {} jobs are left unanswered",
                    options_.server.ToString(), SpanText(options_.give_up_ms),
                    slots_.size() - FreeSlots() + giving_back_);
      return kExitFailed;
    }
    Turn(timeout_ms);
  }
}

uint32_t Worker::FreeSlots() const {
  return static_cast<uint32_t>(std::count_if(slots_.begin(), slots_.end(), [](const auto& slot) {
    return slot->state == Slot::State::kFree;
  }));
}

int64_t Worker::OnTime(int64_t now_ms) {
  int64_t next = -1;
  for (const auto& slot : slots_) {
    if (slot->state == Slot::State::kFree) continue;
    if (slot->state == Slot::State::kEnded) Tell(slot.get(), now_ms);
    Renew(slot.get(), now_ms);
    if (slot->state == Slot::State::kFree || !telling_.up()) continue;
    if (!slot->renewing && !slot->lost)
      next = Sooner(next, std::max<int64_t>(slot->renew_at_ms - now_ms, 1));
    if (slot->tell_at_ms > now_ms) next = Sooner(next, slot->tell_at_ms - now_ms);
  }
  Lease();
  if (lease_at_ms_ > now_ms) next = Sooner(next, lease_at_ms_ - now_ms);
  if (stopping_ && !leasing_.closed())
    next = Sooner(next, std::max<int64_t>(lease_end_by_ms_ - now_ms, 1));
  if (leaving_) next = Sooner(next, std::max<int64_t>(leave_by_ms_ - now_ms, 1));
  if (!leasing_.closed() && !stopping_) next = Sooner(next, leasing_.Tick(now_ms));
  next = Sooner(next, telling_.Tick(now_ms));
  return Sooner(next, GiveUpIn(now_ms));
}

int64_t Worker::GiveUpIn(int64_t now_ms) {
  if (telling_.up()) away_since_ms_ = -1;
  if (telling_.up() || options_.give_up_ms == 0) return -1;
  if (away_since_ms_ < 0) away_since_ms_ = now_ms;
  const bool runs = std::any_of(slots_.begin(), slots_.end(),
                                [](const auto& slot) { return slot->child.running(); });
  return runs ? -1 : std::max<int64_t>(0, away_since_ms_ + options_.give_up_ms - now_ms);
}

void Worker::Turn(int64_t timeout_ms) {
  std::vector<pollfd> entries = {
      {signals_, POLLIN, 0}, leasing_.Poll(), telling_.Poll(), out_.Poll(), err_.Poll()};
  const size_t fixed = entries.size();
  for (const auto& slot : slots_) {
    if (slot->child.running()) slot->child.AddPoll(out_, err_, &entries);
  }
  if (::poll(entries.data(), entries.size(),
             static_cast<int>(std::min<int64_t>(timeout_ms, 60'000))) < 0) {
    CHECK(errno == EINTR || errno == ENOMEM, "poll");
    return;
  }
  if (entries[3].revents != 0) out_.OnWritable();
  if (entries[4].revents != 0) err_.OnWritable();
  if (out_.broken() && status_ == kExitOk) {
    spdlog::error("stdout is closed: what the commands print goes nowhere, stopping");
    status_ = kExitFailed;
    Stop();
  }
  size_t at = fixed;
  for (const auto& slot : slots_) {
    if (!slot->child.running()) continue;
    slot->child.OnEvents(&entries[at], &out_, &err_);
    at += 3;
  }
  telling_.OnEvents(entries[2].revents);
  leasing_.OnEvents(entries[1].revents);
  if (entries[0].revents != 0) {
    signalfd_siginfo info{};
    bool children = false;
    while (::read(signals_, &info, sizeof info) == sizeof info) {
      children = children || info.ssi_signo == SIGCHLD;
      if (info.ssi_signo != SIGCHLD) OnSignal(info.ssi_signo);
    }
    if (children) OnChildren();
  }
}

void Worker::Lease() {
  const uint32_t free = FreeSlots();
  if (stopping_ || !leasing_.up() || leasing_.waiting() || free == 0 || out_.full() ||
      err_.full() || drain_.asking())
    return;
  if (NowMs() < lease_at_ms_) return;
  if (!telling_.up()) return;  // a job that could not be renewed is better left to others
  std::vector<std::string> command = {"LEASE"};
  command.insert(command.end(), options_.queues.begin(), options_.queues.end());
  command.insert(command.end(), {"COUNT", std::to_string(std::min(free, limits::kLeaseCountMax))});
  if (options_.space) command.insert(command.end(), {"SPACE", *options_.space});
  Duration block = kBlock;
  if (options_.drain)
    block = free < slots_.size() ? kDrainBlock : drain_waits_ ? kLimitBlock : Duration(0);
  const std::string block_text = DurationToText(block);
  if (block != Duration(0)) command.insert(command.end(), {"BLOCK", block_text});
  if (!options_.lease.empty()) command.insert(command.end(), {"FOR", options_.lease});
  if (!options_.name.empty()) command.insert(command.end(), {"WORKER", options_.name});
  leasing_.Send(
      Views(command), [this](const redisReply* reply) { OnLeased(reply); }, block.ms());
}

void Worker::OnLeased(const redisReply* reply) {
  if (reply == nullptr) return;  // a lease whose reply was lost ends by itself
  if (reply->type == REDIS_REPLY_ARRAY) {
    for (size_t i = 0; i < reply->elements; ++i) TakeJob(*reply->element[i]);
    return;
  }
  if (reply->type == REDIS_REPLY_NIL) return OnNothing();
  if (IsError(reply, "FULL") || IsError(reply, "SHUTDOWN") || IsError(reply, "NOTDURABLE")) {
    spdlog::warn("LEASE: {}", ReplyText(*reply));
    lease_at_ms_ = NowMs() + kFullPauseMs;
    return;
  }
  spdlog::error("LEASE: {}", ReplyText(*reply));
  status_ = kExitFailed;
  Stop();
}

void Worker::OnNothing() {
  // What runs may still put something into a queue.
  if (!options_.drain || stopping_ || FreeSlots() < slots_.size()) return;
  if (!telling_.up()) return;
  drain_.Ask([this](bool go_on) {
    drain_waits_ = go_on;
    if (!go_on) return Stop();
    if (drain_told_ || drain_.waits_for().empty()) return;
    drain_told_ = true;
    spdlog::info("{}: waiting for them", drain_.waits_for());
  });
}

void Worker::TakeJob(const redisReply& job) {
  const std::string id = Field(job, "id");
  const std::string receipt = Field(job, "receipt");
  const auto free = std::find_if(slots_.begin(), slots_.end(), [](const auto& slot) {
    return slot->state == Slot::State::kFree;
  });
  if (stopping_ || free == slots_.end()) return GiveBack(id, receipt, "stopping");
  Slot* const slot = free->get();
  slot->serial = ++serial_;
  slot->id = id;
  slot->receipt = receipt;
  slot->attempt = Field(job, "attempt");
  const Error error =
      slot->child.Start(options_.command, JobEnvironment(job, options_.server.ToString()),
                        Field(job, "payload"), options_.result);
  if (!error.ok()) {
    lease_at_ms_ = NowMs() + kFullPauseMs;
    return GiveBack(id, receipt, error.text().c_str());
  }
  slot->state = Slot::State::kRunning;
  slot->renew_at_ms = worker_words::RenewAt(NowMs(), NumberField(job, "lease-left"));
  if (options_.verbose) spdlog::info("job {} attempt {}: started", id, slot->attempt);
}

void Worker::GiveBack(const std::string& id, const std::string& receipt, const char* why) {
  if (!telling_.up()) {
    spdlog::warn("job {}: {}, not given back: no connection; it is ready again when its lease ends",
                 id, why);
    return;
  }
  ++giving_back_;
  telling_.Send({"RELEASE", receipt}, [this, id, why = std::string(why)](const redisReply* reply) {
    --giving_back_;
    if (reply == nullptr || reply->type == REDIS_REPLY_ERROR) {
      spdlog::warn("job {}: {}, not given back: {}", id, why,
                   reply == nullptr ? "the connection went away" : ReplyText(*reply));
    } else {
      ++counts_.released;
      spdlog::info("job {}: given back ({})", id, why);
    }
  });
}

void Worker::OnSignal(uint32_t signal) {
  if (stopping_) return LeaveNow();
  const size_t busy = slots_.size() - FreeSlots();
  spdlog::info("{}: no more jobs are leased{}", signal == SIGINT ? "SIGINT" : "SIGTERM",
               busy == 0 ? "" : fmt::format(", finishing {}; again to give them back", busy));
  Stop();
}

void Worker::Stop() {
  if (stopping_) return;
  stopping_ = true;
  lease_end_by_ms_ = NowMs() + kLeaseEndMs;
  leasing_.HalfClose();
}

void Worker::LeaveNow() {
  if (leaving_) return;
  leaving_ = true;
  leave_by_ms_ = NowMs() + kLeaveMs;
  for (const auto& slot : slots_) {
    if (slot->state != Slot::State::kRunning || slot->lost) continue;
    slot->child.Kill(SIGKILL);
    GiveBack(slot->id, slot->receipt, "told to leave, its command is killed");
  }
}

bool Worker::Done(int64_t now_ms) {
  if (!stopping_) return false;
  if (!leasing_.closed() && now_ms >= lease_end_by_ms_) leasing_.Close();
  const bool idle = FreeSlots() == slots_.size() && giving_back_ == 0 && asking_ == 0;
  const bool written = out_.Poll().fd < 0 && err_.Poll().fd < 0;
  if (leasing_.closed() && idle && written) return true;
  if (!leaving_ || now_ms < leave_by_ms_) return false;
  spdlog::warn(
      "leaving {} jobs unanswered; those not completed are ready again when their leases end",
      slots_.size() - FreeSlots() + giving_back_);
  status_ = kExitFailed;
  return true;
}

}  // namespace vestq
