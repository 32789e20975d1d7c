// The worker's jobs: renewals, the end of a command, and what the server says to it.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "tools/client.h"
#include "tools/time_text.h"
#include "tools/worker.h"
#include "tools/worker_words.h"

namespace vestq {

using worker_words::IsError;
using worker_words::RenewAt;
using worker_words::Views;

namespace {

constexpr int64_t kRenewPauseMs = 1000;  // after an answer that is none
constexpr int64_t kTellAgainMs = 250;    // after an answer that says nothing (NOTDURABLE, SHUTDOWN)

}  // namespace

void Worker::Renew(Slot* slot, int64_t now_ms) {
  if (slot->state == Slot::State::kFree || slot->lost || slot->renewing || slot->telling ||
      !telling_.up() || now_ms < slot->renew_at_ms) {
    return;
  }
  slot->renewing = true;
  telling_.Send({"RENEW", slot->receipt},
                [this, slot, serial = slot->serial](const redisReply* reply) {
                  if (slot->serial == serial && slot->state != Slot::State::kFree)
                    OnRenewed(slot, reply);
                });
}

void Worker::OnRenewed(Slot* slot, const redisReply* reply) {
  slot->renewing = false;
  if (reply == nullptr) return;  // asked again as soon as there is a connection
  if (reply->type == REDIS_REPLY_INTEGER) {
    slot->renew_at_ms = RenewAt(NowMs(), reply->integer);
  } else if (IsError(reply, "LEASELOST") && slot->state == Slot::State::kRunning) {
    spdlog::warn(
        "job {} attempt {}: lease lost (cancelled, revoked, expired, or ended by the command), its "
        "command is killed",
        slot->id, slot->attempt);
    slot->lost = true;
    ++counts_.lost;
    slot->child.Kill(SIGKILL);
  } else {
    if (!IsError(reply, "LEASELOST"))
      spdlog::warn("job {}: RENEW: {}", slot->id, ReplyText(*reply));
    slot->renew_at_ms = NowMs() + kRenewPauseMs;
  }
}

void Worker::OnChildren() {
  for (const auto& slot : slots_) {
    if (slot->child.running() && slot->child.Reap(&out_, &err_)) OnEnded(slot.get());
  }
}

void Worker::OnEnded(Slot* slot) {
  if (slot->lost || leaving_) return Free(slot);
  slot->state = Slot::State::kEnded;
  slot->out_mark = out_.taken();
  slot->err_mark = err_.taken();
  slot->verdict = JudgeEnd(slot->child, slot->receipt, options_.result, options_.exits);
}

void Worker::Tell(Slot* slot, int64_t now_ms) {
  const bool written = (out_.broken() || out_.written() >= slot->out_mark) &&
                       (err_.broken() || err_.written() >= slot->err_mark);
  if (slot->telling || !written || !telling_.up() || now_ms < slot->tell_at_ms) return;
  slot->telling = true;
  telling_.Send(Views(slot->verdict.words),
                [this, slot, serial = slot->serial](const redisReply* reply) {
                  if (slot->serial == serial && slot->state != Slot::State::kFree)
                    OnTold(slot, reply);
                });
}

void Worker::OnTold(Slot* slot, const redisReply* reply) {
  const std::string& what = slot->verdict.words[0];
  slot->telling = false;
  if (reply == nullptr || IsError(reply, "NOTDURABLE")) {
    spdlog::warn("job {} attempt {}: {} unanswered ({}), asking again", slot->id, slot->attempt,
                 what, reply == nullptr ? "the connection went away" : ReplyText(*reply));
    slot->unsure = true;
    slot->tell_at_ms = NowMs() + (reply == nullptr ? 0 : kTellAgainMs);
    return;
  }
  if (IsError(reply, "SHUTDOWN")) {
    slot->tell_at_ms = NowMs() + kTellAgainMs;
    return;
  }
  if (IsError(reply, "TOOBIG") && what == "COMPLETE") {
    const std::string why = "the server does not take its result: " + ReplyText(*reply);
    slot->verdict = {{"FAIL", slot->receipt, "REASON", why}, why};
    return;
  }
  if (IsError(reply, "LEASELOST")) {
    ++counts_.lost;
    OnOver(*slot);
  } else if (reply->type == REDIS_REPLY_ERROR) {
    spdlog::error("job {} attempt {}: {}: {}", slot->id, slot->attempt, what, ReplyText(*reply));
  } else {
    ++(what == "COMPLETE" ? counts_.completed : counts_.failed);
    LogTold(*slot, *reply);
  }
  Free(slot);
}

void Worker::LogTold(const Slot& slot, const redisReply& reply) {
  if (slot.verdict.words[0] == "COMPLETE") {
    if (options_.verbose) spdlog::info("job {} attempt {}: completed", slot.id, slot.attempt);
    if (options_.result && !slot.child.output().empty()) CheckKept(slot);
    return;
  }
  const bool retry = reply.type == REDIS_REPLY_ARRAY && reply.elements == 2 &&
                     ReplyText(*reply.element[0]) == "retry";
  spdlog::warn("job {} attempt {}: failed: {}; {}", slot.id, slot.attempt, slot.verdict.why,
               retry ? "again in " + SpanText(reply.element[1]->integer) : "dead");
}

void Worker::Ask(const std::vector<std::string_view>& command,
                 std::function<void(const redisReply* reply)> answer) {
  if (!telling_.up()) return;
  ++asking_;
  telling_.Send(command, [this, answer = std::move(answer)](const redisReply* reply) {
    --asking_;
    answer(reply);
  });
}

void Worker::OnOver(const Slot& slot) {
  const std::string text =
      fmt::format("job {} attempt {}: its lease was over before {}, {}", slot.id, slot.attempt,
                  slot.verdict.words[0],
                  slot.unsure ? "the unanswered one was carried out, or it was lost"
                              : "ended by the command itself, cancelled, revoked or expired");
  if (!telling_.up()) return spdlog::info("{}", text);
  Ask({"JOB", slot.id}, [text](const redisReply* reply) {
    if (reply == nullptr) return spdlog::info("{}", text);
    const redisReply* const state = FindInMap(*reply, "state");
    spdlog::info("{}; the job is {} now", text,
                 state == nullptr ? "gone (done, or cancelled)" : ReplyText(*state));
  });
}

void Worker::CheckKept(const Slot& slot) {
  if (result_checked_) return;
  result_checked_ = true;
  Ask({"JOB", slot.id}, [id = slot.id](const redisReply* reply) {
    if (reply == nullptr || reply->type != REDIS_REPLY_NIL) return;
    spdlog::warn(
        "job {}: its result is dropped, the job is not kept: enqueue it with --keep, or queue set "
        "keep= (said once)",
        id);
  });
}

void Worker::Free(Slot* slot) {
  slot->state = Slot::State::kFree;
  slot->serial = 0;
  slot->renewing = slot->lost = slot->telling = slot->unsure = false;
  slot->tell_at_ms = 0;
  slot->verdict = Verdict();
}

}  // namespace vestq
