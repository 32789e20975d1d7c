#include "engine/request_check.h"

#include <algorithm>

#include "engine/group_request.h"
#include "engine/handling_request.h"
#include "engine/kv_request.h"
#include "engine/purge_request.h"
#include "engine/schedule_request.h"
#include "engine/space_request.h"
#include "engine/watch_request.h"
#include "lease/backoff.h"
#include "lease/duration_text.h"

namespace vestq {
namespace {

Error OutOfRange(std::string_view what, const std::string& value, const std::string& least,
                 const std::string& most) {
  return Error(ErrorCode::kRange, std::string(what)
                                      .append(" ")
                                      .append(value)
                                      .append(" is outside ")
                                      .append(least)
                                      .append(" to ")
                                      .append(most));
}

Error CheckNumber(std::string_view what, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return Error::Ok();
  return OutOfRange(what, std::to_string(value), std::to_string(least), std::to_string(most));
}

Error CheckSpan(std::string_view what, Duration value, Duration least, Duration most) {
  if (value >= least && value <= most) return Error::Ok();
  return OutOfRange(what, DurationToText(value), DurationToText(least), DurationToText(most));
}

// 0: not given.
Error CheckLease(std::string_view what, Duration value) {
  if (value == Duration(0)) return Error::Ok();
  return CheckSpan(what, value, limits::kLeaseMin, limits::kLeaseMax);
}

Error CheckDelay(Duration value) {
  return CheckSpan("DELAY", value, Duration(0), limits::kDelayMax);
}

Error CheckAt(WallTime at) {
  if (at >= WallTime(0) && at.ms() <= limits::kKeyTimeMsMax) return Error::Ok();
  return OutOfRange("AT", std::to_string(at.ms()), "0", std::to_string(limits::kKeyTimeMsMax));
}

Error CheckId(JobId id) { return CheckNumber("job id", id.value(), 1, limits::kJobIdMax); }

Error CheckSize(std::string_view what, size_t size, uint64_t most) {
  if (size <= most) return Error::Ok();
  return Error(ErrorCode::kTooBig, std::string(what) + " of " + std::to_string(size) +
                                       " bytes is more than " + std::to_string(most));
}

// REQUIRES: not empty.
Error CheckBackoff(std::string_view what, std::string_view encoded) {
  const Result<Duration> first = BackoffDelay(encoded, 1, 0);
  if (first.ok()) return Error::Ok();
  return Error(ErrorCode::kSyntax, std::string(what).append(": ").append(first.error().text()));
}

Error CheckName(std::string_view what, std::string_view name, size_t most) {
  VESTQ_RETURN_IF_ERROR(CheckBytes(what, name.size(), 1, most));
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] < 0x21 || name[i] > 0x7e) {
      return Error(ErrorCode::kSyntax, std::string(what) + " " + Quote(name) +
                                           ": only ASCII 0x21 to 0x7e may stand in it; byte " +
                                           std::to_string(i) + " is another");
    }
  }
  return Error::Ok();
}

// --- Jobs ---

// What few jobs have.
Error CheckExtras(const EnqueueRequest& job) {
  if (job.unique_key.empty() && (job.unique_replace || job.unique_window != Duration(0)))
    return Error(ErrorCode::kSyntax, "FOR and REPLACE belong to UNIQUE, which is missing");
  VESTQ_RETURN_IF_ERROR(
      CheckBytes("UNIQUE: a key", job.unique_key.size(), 0, limits::kUniqueKeyBytes));
  VESTQ_RETURN_IF_ERROR(CheckSpan("FOR", job.unique_window, Duration(0), limits::kDelayMax));
  VESTQ_RETURN_IF_ERROR(CheckBytes("TYPE: a name", job.type.size(), 0, limits::kTypeBytes));
  VESTQ_RETURN_IF_ERROR(CheckNumber("number of AFTER ids", job.after.size(), 0, limits::kAfterMax));
  VESTQ_RETURN_IF_ERROR(
      CheckNumber("number of HEADER pairs", job.headers.size(), 0, limits::kHeadersMax));
  size_t bytes = 0;
  for (const auto& [name, value] : job.headers) bytes += name.size() + value.size();
  if (bytes <= limits::kHeadersBytes) return Error::Ok();
  return Error(ErrorCode::kRange, "HEADER: names and values of " + std::to_string(bytes) +
                                      " bytes are more than " +
                                      std::to_string(limits::kHeadersBytes));
}

Error CheckJob(const EnqueueRequest& job, uint64_t payload_max) {
  VESTQ_RETURN_IF_ERROR(CheckQueueName(job.queue));
  VESTQ_RETURN_IF_ERROR(CheckSpaceName(job.space));
  VESTQ_RETURN_IF_ERROR(CheckSize("a payload", job.payload.size(), payload_max));
  if (job.when == EnqueueRequest::When::kDelay) VESTQ_RETURN_IF_ERROR(CheckDelay(job.delay));
  if (job.when == EnqueueRequest::When::kAt) VESTQ_RETURN_IF_ERROR(CheckAt(job.at));
  if (job.attempts_set)
    VESTQ_RETURN_IF_ERROR(CheckNumber("ATTEMPTS", job.attempts, 0, limits::kAttemptsMax));
  if (!job.backoff.empty()) VESTQ_RETURN_IF_ERROR(CheckBackoff("BACKOFF", job.backoff));
  VESTQ_RETURN_IF_ERROR(CheckLease("LEASE", job.lease));
  VESTQ_RETURN_IF_ERROR(CheckSpan("EXPIRE", job.expire, Duration(0), limits::kDelayMax));
  if (job.keep) VESTQ_RETURN_IF_ERROR(CheckSpan("KEEP", *job.keep, Duration(0), limits::kDelayMax));
  VESTQ_RETURN_IF_ERROR(CheckSpan("WAIT", job.wait, Duration(0), limits::kBlockMax));
  return CheckExtras(job);
}

Error CheckMany(const EnqueueManyRequest& many, uint64_t payload_max) {
  VESTQ_RETURN_IF_ERROR(
      CheckNumber("number of jobs", many.payloads.size(), 1, limits::kEnqueueManyMax));
  if (!many.job.unique_key.empty())
    return Error(ErrorCode::kSyntax, "option UNIQUE is for one job, ENQUEUEMANY has none");
  for (const std::string& payload : many.payloads)
    VESTQ_RETURN_IF_ERROR(CheckSize("a payload", payload.size(), payload_max));
  return CheckJob(many.job, payload_max);
}

Error CheckTake(const LeaseRequest& lease) {
  VESTQ_RETURN_IF_ERROR(
      CheckNumber("number of queues", lease.queues.size(), 1, limits::kQueuesPerLease));
  for (const std::string& queue : lease.queues) VESTQ_RETURN_IF_ERROR(CheckQueueName(queue));
  VESTQ_RETURN_IF_ERROR(CheckNumber("COUNT", lease.count, 1, limits::kLeaseCountMax));
  VESTQ_RETURN_IF_ERROR(CheckSpan("BLOCK", lease.block, Duration(0), limits::kBlockMax));
  VESTQ_RETURN_IF_ERROR(CheckLease("FOR", lease.lease));
  VESTQ_RETURN_IF_ERROR(
      CheckBytes("worker name", lease.worker.size(), 0, limits::kWorkerNameBytes));
  return CheckSpaceName(lease.space);
}

Error CheckFail(const FailRequest& fail) {
  VESTQ_RETURN_IF_ERROR(CheckBytes("reason", fail.reason.size(), 0, limits::kReasonBytes));
  return CheckDelay(fail.delay);
}

Error CheckReschedule(const RescheduleRequest& request) {
  VESTQ_RETURN_IF_ERROR(CheckId(request.id));
  return request.at_set ? CheckAt(request.at) : CheckDelay(request.delay);
}

Error CheckPeek(const PeekRequest& peek) {
  VESTQ_RETURN_IF_ERROR(CheckQueueName(peek.queue));
  VESTQ_RETURN_IF_ERROR(CheckSpaceName(peek.space));
  return CheckNumber("COUNT", peek.count, 1, limits::kPeekCountMax);
}

Error CheckRedrive(const RedriveRequest& redrive) {
  VESTQ_RETURN_IF_ERROR(CheckQueueName(redrive.queue));
  if (!redrive.to.empty()) VESTQ_RETURN_IF_ERROR(CheckQueueName(redrive.to));
  VESTQ_RETURN_IF_ERROR(CheckNumber("job id", redrive.id.value(), 0, limits::kJobIdMax));
  VESTQ_RETURN_IF_ERROR(CheckNumber("COUNT", redrive.count, 0, limits::kJobIdMax));
  return CheckNumber("RATE", redrive.rate, 0, limits::kRedriveRateMax);
}

Error CheckPurge(const PurgeRequest& purge) {
  VESTQ_RETURN_IF_ERROR(CheckQueueName(purge.queue));
  VESTQ_RETURN_IF_ERROR(CheckSpaceName(purge.space));
  VESTQ_RETURN_IF_ERROR(CheckNumber("number of ids", purge.ids.size(), 0, limits::kPurgeIds));
  for (const JobId id : purge.ids) VESTQ_RETURN_IF_ERROR(CheckId(id));
  return Error::Ok();
}

// --- Queues, spaces, schedules ---

Error CheckOptional(std::string_view what, const std::optional<Duration>& value, Duration least,
                    Duration most) {
  return value ? CheckSpan(what, *value, least, most) : Error::Ok();
}

template <typename T>
Error CheckOptional(std::string_view what, const std::optional<T>& value, uint64_t least,
                    uint64_t most) {
  return value ? CheckNumber(what, *value, least, most) : Error::Ok();
}

// Jobs in 10^6 seconds, as RATE is stored.
Error CheckRate(std::string_view what, const std::optional<uint64_t>& micro, uint64_t least) {
  return CheckOptional(std::string(what) + " (in millionths of a job a second)", micro, least,
                       limits::kRateMicroMax);
}

Error CheckQueueSet(const QueueSetRequest& request) {
  const QueueOptions& set = request.set;
  VESTQ_RETURN_IF_ERROR(CheckQueueName(request.queue));
  VESTQ_RETURN_IF_ERROR(CheckSpan("FOR", request.pause_for, Duration(0), limits::kDelayMax));
  VESTQ_RETURN_IF_ERROR(CheckOptional("lease", set.lease, limits::kLeaseMin, limits::kLeaseMax));
  VESTQ_RETURN_IF_ERROR(CheckOptional("attempts", set.attempts, 0, limits::kAttemptsMax));
  if (set.backoff && !set.backoff->empty())
    VESTQ_RETURN_IF_ERROR(CheckBackoff("backoff", *set.backoff));
  VESTQ_RETURN_IF_ERROR(CheckOptional("keep", set.keep, Duration(0), limits::kDelayMax));
  VESTQ_RETURN_IF_ERROR(CheckOptional("dead-keep", set.dead_keep, Duration(0), limits::kDelayMax));
  VESTQ_RETURN_IF_ERROR(CheckOptional("dead-max", set.dead_max, 0, limits::kDeadMaxMost));
  VESTQ_RETURN_IF_ERROR(CheckOptional("concurrency", set.concurrency, 0, limits::kConcurrencyMax));
  VESTQ_RETURN_IF_ERROR(
      CheckOptional("space-concurrency", set.space_concurrency, 0, limits::kConcurrencyMax));
  VESTQ_RETURN_IF_ERROR(CheckRate("rate", set.rate_micro, 1));
  VESTQ_RETURN_IF_ERROR(CheckOptional("burst", set.burst, 1, limits::kBurstMax));
  VESTQ_RETURN_IF_ERROR(CheckRate("space-rate", set.space_rate_micro, 1));
  VESTQ_RETURN_IF_ERROR(CheckOptional("space-burst", set.space_burst, 1, limits::kBurstMax));
  VESTQ_RETURN_IF_ERROR(
      CheckOptional("space-weight", set.space_weight, 1, limits::kSpaceWeightMax));
  VESTQ_RETURN_IF_ERROR(
      CheckOptional("ageing", set.ageing, limits::kAgeingMin, limits::kAgeingMax));
  VESTQ_RETURN_IF_ERROR(CheckOptional("max-jobs", set.max_jobs, 0, limits::kMaxJobsMost));
  VESTQ_RETURN_IF_ERROR(CheckOptional("max-bytes", set.max_bytes, 0, limits::kMaxBytesMost));
  if (!set.adaptive) return Error::Ok();
  VESTQ_RETURN_IF_ERROR(CheckNumber("adaptive min", set.adaptive->min, 1, limits::kConcurrencyMax));
  VESTQ_RETURN_IF_ERROR(CheckNumber("adaptive max", set.adaptive->max, 1, limits::kConcurrencyMax));
  if (set.adaptive->min <= set.adaptive->max) return Error::Ok();
  const std::string bounds =
      std::to_string(set.adaptive->min) + ":" + std::to_string(set.adaptive->max);
  return Error(ErrorCode::kRange, "adaptive " + Quote(bounds) + ": min is above max");
}

Error CheckSpaceSet(const SpaceSetRequest& request) {
  const keycodec::SpaceValue& set = request.set;
  VESTQ_RETURN_IF_ERROR(CheckQueueName(request.queue));
  VESTQ_RETURN_IF_ERROR(CheckSpaceName(request.space));
  VESTQ_RETURN_IF_ERROR(CheckSpan("FOR", request.pause_for, Duration(0), limits::kDelayMax));
  if (set.concurrency != keycodec::kSlotsUnlimited)
    VESTQ_RETURN_IF_ERROR(
        CheckOptional("concurrency", set.concurrency, 0, limits::kConcurrencyMax));
  VESTQ_RETURN_IF_ERROR(CheckRate("rate", set.rate_micro, 0));  // 0: none
  VESTQ_RETURN_IF_ERROR(CheckOptional("burst", set.burst, 1, limits::kBurstMax));
  return CheckOptional("weight", set.weight, 1, limits::kSpaceWeightMax);
}

Error CheckSpaces(const SpacesRequest& request) {
  VESTQ_RETURN_IF_ERROR(CheckQueueName(request.queue));
  VESTQ_RETURN_IF_ERROR(CheckSpaceName(request.space));
  return CheckNumber("COUNT", request.count, 1, limits::kSpacesCountMax);
}

Error CheckSchedule(const ScheduleRequest& request, uint64_t payload_max) {
  if (request.op == ScheduleOp::kList)
    return CheckNumber("COUNT", request.count, 1, limits::kScheduleListMax);
  VESTQ_RETURN_IF_ERROR(CheckScheduleName(request.name));
  if (request.op != ScheduleOp::kSet) return Error::Ok();
  const EnqueueRequest& job = request.job;
  const bool later = job.when != EnqueueRequest::When::kNow || job.wait > Duration(0);
  if (later || job.unique_replace || !job.after.empty()) {
    return Error(ErrorCode::kSyntax,
                 "options DELAY, AT, REPLACE, AFTER and WAIT do not go with SCHEDULE SET");
  }
  if (request.timing.kind == keycodec::ScheduleKind::kEvery) {
    VESTQ_RETURN_IF_ERROR(
        CheckSpan("EVERY", request.timing.every, limits::kEveryMin, limits::kEveryMax));
  }
  return CheckJob(job, payload_max);
}

// --- The application's data, groups ---

Error CheckKey(std::string_view key, size_t least) {
  return CheckBytes("a key", key.size(), least, limits::kDataKeyBytes);
}

Error CheckKeys(const std::vector<std::string>& keys) {
  VESTQ_RETURN_IF_ERROR(CheckNumber("number of keys", keys.size(), 1, limits::kDataKeysMax));
  for (const std::string& key : keys) VESTQ_RETURN_IF_ERROR(CheckKey(key, 1));
  return Error::Ok();
}

Error CheckRange(const DataRangeRequest& range) {
  VESTQ_RETURN_IF_ERROR(CheckKey(range.prefix, 0));
  return CheckNumber("COUNT", range.count, 1, limits::kRangeCountMax);
}

Error CheckSet(const DataSetRequest& set, uint64_t payload_max) {
  VESTQ_RETURN_IF_ERROR(CheckKey(set.key, 1));
  return CheckSize("a value", set.value.size(), payload_max);
}

bool AllowedInGroup(RequestKind kind) {
  switch (kind) {
    case RequestKind::kEnqueue:
    case RequestKind::kEnqueueMany:
    case RequestKind::kComplete:
    case RequestKind::kCompleteMany:
    case RequestKind::kFail:
    case RequestKind::kRelease:
    case RequestKind::kRenew:
    case RequestKind::kCheckpoint:
    case RequestKind::kCancel:
    case RequestKind::kDataSet:
    case RequestKind::kDataGet:
    case RequestKind::kDataDelete:
    case RequestKind::kDataRange: return true;
    default: return false;
  }
}

Error CheckGroup(GroupRequest* group, uint64_t payload_max) {
  group->failed = GroupRequest::kNone;
  VESTQ_RETURN_IF_ERROR(CheckNumber("number of commands of a group", group->members.size(), 0,
                                    limits::kGroupCommandsMax));
  for (size_t i = 0; i < group->members.size(); ++i) {
    Request* const member = group->members[i].get();
    Error error = AllowedInGroup(member->kind)
                      ? CheckRequest(member, payload_max)
                      : Error(ErrorCode::kSyntax, "not allowed in a group");
    if (error.ok() && MayWait(*member)) {
      error = Error(ErrorCode::kSyntax,
                    "WAIT is not possible in a group: all of it or nothing, at once");
    }
    if (error.ok()) continue;
    group->failed = i;
    return error;
  }
  return Error::Ok();
}

}  // namespace

Error CheckRequest(Request* request, uint64_t payload_max) {
  switch (request->kind) {
    case RequestKind::kEnqueue:
      return CheckJob(static_cast<const EnqueueRequest&>(*request), payload_max);
    case RequestKind::kEnqueueMany:
      return CheckMany(static_cast<const EnqueueManyRequest&>(*request), payload_max);
    case RequestKind::kLease: return CheckTake(static_cast<const LeaseRequest&>(*request));
    case RequestKind::kRenew:
      return CheckLease("FOR", static_cast<const RenewRequest&>(*request).lease);
    case RequestKind::kCheckpoint: {
      const auto& checkpoint = static_cast<const CheckpointRequest&>(*request);
      VESTQ_RETURN_IF_ERROR(
          CheckSize("a checkpoint", checkpoint.checkpoint.size(), limits::kCheckpointBytes));
      return CheckLease("FOR", checkpoint.lease);
    }
    case RequestKind::kComplete:
      return CheckSize("a result", static_cast<const CompleteRequest&>(*request).result.size(),
                       limits::kResultBytes);
    case RequestKind::kFail: return CheckFail(static_cast<const FailRequest&>(*request));
    case RequestKind::kRelease:
      return CheckDelay(static_cast<const ReleaseRequest&>(*request).delay);
    case RequestKind::kCancel: return CheckId(static_cast<const CancelRequest&>(*request).id);
    case RequestKind::kRevoke: return CheckId(static_cast<const RevokeRequest&>(*request).id);
    case RequestKind::kPromote: return CheckId(static_cast<const PromoteRequest&>(*request).id);
    case RequestKind::kJob: return CheckId(static_cast<const JobRequest&>(*request).id);
    case RequestKind::kWaitFor: {
      const auto& wait = static_cast<const WaitForRequest&>(*request);
      VESTQ_RETURN_IF_ERROR(CheckId(wait.id));
      return CheckSpan("BLOCK", wait.block, Duration(0), limits::kBlockMax);
    }
    case RequestKind::kReschedule:
      return CheckReschedule(static_cast<const RescheduleRequest&>(*request));
    case RequestKind::kWorkers: {
      const auto& workers = static_cast<const WorkersRequest&>(*request);
      return workers.queue.empty() ? Error::Ok() : CheckQueueName(workers.queue);
    }
    case RequestKind::kPeek: return CheckPeek(static_cast<const PeekRequest&>(*request));
    case RequestKind::kRedrive: return CheckRedrive(static_cast<const RedriveRequest&>(*request));
    case RequestKind::kPurge: return CheckPurge(static_cast<const PurgeRequest&>(*request));
    case RequestKind::kQueueSet:
      return CheckQueueSet(static_cast<const QueueSetRequest&>(*request));
    case RequestKind::kQueueInfo:
      return CheckQueueName(static_cast<const QueueInfoRequest&>(*request).queue);
    case RequestKind::kSpaceSet:
      return CheckSpaceSet(static_cast<const SpaceSetRequest&>(*request));
    case RequestKind::kSpaces: return CheckSpaces(static_cast<const SpacesRequest&>(*request));
    case RequestKind::kSchedule:
      return CheckSchedule(static_cast<const ScheduleRequest&>(*request), payload_max);
    case RequestKind::kDataSet:
      return CheckSet(static_cast<const DataSetRequest&>(*request), payload_max);
    case RequestKind::kDataDelete:
      return CheckKeys(static_cast<const DataDeleteRequest&>(*request).keys);
    case RequestKind::kDataGet: return CheckKeys(static_cast<const DataGetRequest&>(*request).keys);
    case RequestKind::kDataRange: return CheckRange(static_cast<const DataRangeRequest&>(*request));
    case RequestKind::kGroup: return CheckGroup(static_cast<GroupRequest*>(request), payload_max);
    case RequestKind::kCompleteMany:
    case RequestKind::kEvents:
    case RequestKind::kJobsPart:
    case RequestKind::kSpaceProbe: return Error::Ok();
  }
  return Error::Ok();
}

Error CheckBytes(std::string_view what, size_t size, size_t least, size_t most) {
  if (size >= least && size <= most) return Error::Ok();
  return OutOfRange(std::string(what) + " of", std::to_string(size) + " bytes",
                    std::to_string(least), std::to_string(most));
}

Error CheckQueueName(std::string_view name) {
  return CheckName("queue name", name, limits::kQueueNameBytes);
}

Error CheckSpaceName(std::string_view space) {
  return CheckBytes("space", space.size(), 0, limits::kSpaceBytes);
}

Error CheckScheduleName(std::string_view name) {
  return CheckName("schedule name", name, limits::kScheduleNameBytes);
}

std::string Quote(std::string_view text) {
  constexpr size_t kShown = 64;
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "'";
  for (char c : text.substr(0, kShown)) {
    if (c >= 0x20 && c < 0x7f) {
      out.push_back(c);
    } else {
      const unsigned char byte = static_cast<unsigned char>(c);
      out.append("\\x");
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    }
  }
  return out.append(text.size() > kShown ? "...'" : "'");
}

}  // namespace vestq
