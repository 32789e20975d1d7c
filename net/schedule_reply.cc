#include "net/schedule_reply.h"

#include <string>
#include <string_view>

#include "lease/backoff.h"

namespace vestq {
namespace {

using keycodec::Missed;
using keycodec::ScheduleKind;
using keycodec::ScheduleValue;

std::string_view MissedName(Missed missed) {
  switch (missed) {
    case Missed::kOnce: return "once";
    case Missed::kSkip: return "skip";
    case Missed::kAll: return "all";
  }
  return "once";
}

// Fields of a map, counted before they are written: their number leads.
class Fields {
 public:
  explicit Fields(RespWriter* writer) : w_(writer) {}

  void Text(std::string_view name, std::string_view value) {
    if (Name(name)) w_->Bulk(value);
  }
  void Number(std::string_view name, int64_t value) {
    if (Name(name)) w_->Int(value);
  }
  void Time(std::string_view name, int64_t ms) {
    if (!Name(name)) return;
    if (ms == 0) {
      w_->Null();
    } else {
      w_->Int(ms);
    }
  }
  void Headers(const keycodec::UserHeaders& headers) {
    if (!Name("headers")) return;
    w_->Array(2 * headers.size());
    for (const auto& [name, value] : headers) {
      w_->Bulk(name);
      w_->Bulk(value);
    }
  }
  void StartWriting() {
    writing_ = true;
    w_->Map(count_);
  }

 private:
  bool Name(std::string_view name) {
    ++count_;
    if (writing_) w_->Bulk(name);
    return writing_;
  }

  RespWriter* const w_;
  bool writing_ = false;
  size_t count_ = 0;
};

void AddFields(const ScheduleInfo& info, bool payload, Fields* f) {
  const ScheduleValue& s = info.value;
  f->Text("name", info.name);
  f->Text("queue", s.queue);
  f->Text("space", s.space);
  if (s.kind == ScheduleKind::kCron) {
    f->Text("cron", s.cron);
    f->Text("tz", s.zone.empty() ? "UTC" : s.zone);
  } else {
    f->Number("every", s.every_ms);
  }
  f->Text("missed", MissedName(s.missed));
  f->Text("state", s.paused ? "paused" : "active");
  f->Time("next", s.next_ms);
  f->Time("last", s.last_ms);
  f->Number("fired", static_cast<int64_t>(s.fired));
  f->Number("skipped", static_cast<int64_t>(s.skipped));
  f->Number("passed-over", static_cast<int64_t>(s.missed_count));
  f->Number("created", s.created_wall_ms);
  f->Number("priority", s.priority);
  if (s.attempts_set) f->Number("attempts", s.attempts);
  if (!s.backoff.empty()) f->Text("backoff", BackoffToText(s.backoff));
  if (s.lease_ms != 0) f->Number("lease", s.lease_ms);
  if (!s.unique_key.empty()) f->Text("unique", s.unique_key);
  if (s.unique_ms != 0) f->Number("unique-for", s.unique_ms);
  if (s.expire_ms != 0) f->Number("expire", s.expire_ms);
  if (s.keep_ms) f->Number("keep", *s.keep_ms);
  if (!s.type.empty()) f->Text("type", s.type);
  if (!s.user_headers.empty()) f->Headers(s.user_headers);
  f->Number("size", static_cast<int64_t>(info.payload_bytes));
  if (payload) f->Text("payload", s.payload);
}

void WriteInfo(const ScheduleInfo& info, bool payload, RespWriter* w) {
  Fields counted(w);
  AddFields(info, payload, &counted);
  Fields written = counted;
  written.StartWriting();
  AddFields(info, payload, &written);
}

void WriteRun(const EnqueueRequest& job, RespWriter* w) {
  if (job.unique_key.empty()) return w->BulkNumber(job.id.value());
  w->Array(3);
  w->BulkNumber(job.id.value());
  w->Int(job.added ? 1 : 0);
  w->Bulk(job.added ? std::string_view("new") : JobStateName(job.holder_state));
}

}  // namespace

void WriteScheduleReply(const ScheduleRequest& request, RespWriter* w) {
  switch (request.op) {
    case ScheduleOp::kSet:
    case ScheduleOp::kPause:
    case ScheduleOp::kResume: return w->Simple("OK");
    case ScheduleOp::kDelete: return w->Int(request.found ? 1 : 0);
    case ScheduleOp::kRun: return WriteRun(request.job, w);
    case ScheduleOp::kGet:
      if (!request.found) return w->NullArray();
      return WriteInfo(request.schedules[0], true, w);
    case ScheduleOp::kList:
      w->Array(2);
      w->Bulk(request.more ? ":" + request.schedules.back().name : std::string("0"));
      w->Array(request.schedules.size());
      for (const ScheduleInfo& info : request.schedules) WriteInfo(info, false, w);
      return;
  }
}

size_t ScheduleReplyBytes(const ScheduleRequest& request) {
  constexpr size_t kInfoBytes = 1024;
  size_t bytes = 64;
  for (const ScheduleInfo& info : request.schedules) {
    const ScheduleValue& s = info.value;
    bytes += kInfoBytes + s.payload.size() + s.cron.size() + s.unique_key.size() + s.space.size();
    for (const auto& [name, value] : s.user_headers) bytes += 32 + name.size() + value.size();
  }
  return bytes;
}

}  // namespace vestq
