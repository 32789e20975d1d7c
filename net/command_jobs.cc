// Commands on jobs: arguments become one request of the engine.
#include <charconv>

#include "engine/base/limits.h"
#include "net/command.h"
#include "net/command_words.h"
#include "net/job_options.h"
#include "net/options.h"
#include "net/session.h"
#include "net/words.h"

namespace vestq::handlers {
namespace {

Error FillEnqueue(Args args, EnqueueRequest* r) {
  OptionReader options("ENQUEUE", job_options::kSpecs, args.subspan(3));
  while (options.Next()) VESTQ_RETURN_IF_ERROR(job_options::Apply(options.option(), options, r));
  VESTQ_RETURN_IF_ERROR(job_options::Check(options));
  r->queue.assign(args[1]);
  r->payload.assign(args[2]);
  return Error::Ok();
}

// One payload for each job; what follows them holds for all.
Error FillEnqueueMany(Args args, EnqueueManyRequest* r) {
  size_t count = 0;
  VESTQ_WORD(count, words::ParseNumber("number of jobs", args[2], 1, limits::kEnqueueManyMax),
             static_cast<size_t>);
  if (args.size() - 3 < count) {
    return Error(ErrorCode::kSyntax, "ENQUEUEMANY of " + std::to_string(count) + " jobs needs " +
                                         std::to_string(count) + " payloads, there are " +
                                         std::to_string(args.size() - 3));
  }
  OptionReader options("ENQUEUEMANY", job_options::kSpecs, args.subspan(3 + count));
  while (options.Next()) {
    VESTQ_RETURN_IF_ERROR(job_options::Apply(options.option(), options, &r->job));
  }
  VESTQ_RETURN_IF_ERROR(job_options::Check(options));
  r->job.queue.assign(args[1]);
  r->payloads.assign(args.begin() + 3, args.begin() + 3 + static_cast<ptrdiff_t>(count));
  return Error::Ok();
}

namespace lease_options {
enum : size_t { kCount, kBlock, kFor, kWorker, kSpace };
constexpr OptionSpec kSpecs[] = {{"COUNT"}, {"BLOCK"}, {"FOR"}, {"WORKER"}, {"SPACE"}};
}  // namespace lease_options

Error LeaseOption(size_t option, std::string_view value, LeaseRequest* r) {
  using namespace lease_options;
  switch (option) {
    case kCount:
      VESTQ_WORD(r->count, words::ParseNumber("COUNT", value, 1, limits::kLeaseCountMax),
                 static_cast<uint32_t>);
      break;
    case kBlock:
      VESTQ_WORD(r->block, words::ParseDuration("BLOCK", value, Duration(0), limits::kBlockMax),
                 Duration);
      r->wait = true;
      break;
    case kFor: VESTQ_WORD(r->lease, ParseLease("FOR", value), Duration); break;
    case kWorker: r->worker.assign(value); break;
    case kSpace:
      r->space.assign(value);
      r->one_space = true;
      break;
    default: break;
  }
  return Error::Ok();
}

Error FillLease(Args args, LeaseRequest* r) {
  // A word of an option after the first queue ends the list.
  size_t end = 2;
  while (end < args.size() && OptionReader::Find(lease_options::kSpecs, args[end]) < 0) ++end;
  const size_t queues = end - 1;
  OptionReader options("LEASE (queues stand before options)", lease_options::kSpecs,
                       args.subspan(end));
  while (options.Next()) VESTQ_RETURN_IF_ERROR(LeaseOption(options.option(), options.value(), r));
  if (!options.error().ok()) return options.error();
  r->queues.resize(queues);
  for (size_t i = 0; i < queues; ++i) r->queues[i].assign(args[i + 1]);
  return Error::Ok();
}

Error FillReceipt(Args args, Receipt* receipt) {
  Result<Receipt> parsed = Receipt::Parse(args[1]);
  if (!parsed.ok()) return parsed.error();
  *receipt = *parsed;
  return Error::Ok();
}

constexpr OptionSpec kRenewOptions[] = {{"FOR"}};

Error FillRenew(Args args, RenewRequest* r) {
  VESTQ_RETURN_IF_ERROR(FillReceipt(args, &r->receipt));
  OptionReader options("RENEW", kRenewOptions, args.subspan(2));
  while (options.Next()) VESTQ_WORD(r->lease, ParseLease("FOR", options.value()), Duration);
  return options.error();
}

Error FillCheckpoint(Args args, CheckpointRequest* r) {
  VESTQ_RETURN_IF_ERROR(FillReceipt(args, &r->receipt));
  OptionReader options("CHECKPOINT", kRenewOptions, args.subspan(3));
  while (options.Next()) VESTQ_WORD(r->lease, ParseLease("FOR", options.value()), Duration);
  r->checkpoint.assign(args[2]);
  return options.error();
}

constexpr OptionSpec kCompleteOptions[] = {{"RESULT"}};

Error FillComplete(Args args, CompleteRequest* r) {
  VESTQ_RETURN_IF_ERROR(FillReceipt(args, &r->receipt));
  if (args.size() == 2) return Error::Ok();
  OptionReader options("COMPLETE", kCompleteOptions, args.subspan(2));
  while (options.Next()) r->result.assign(options.value());
  return options.error();
}

namespace fail_options {
enum : size_t { kReason, kDelay, kDead };
constexpr OptionSpec kSpecs[] = {
    {"REASON"}, {"DELAY", true, true, 1u << kDead}, {"DEAD", false, true, 1u << kDelay}};
}  // namespace fail_options

Error FillFail(Args args, FailRequest* r) {
  VESTQ_RETURN_IF_ERROR(FillReceipt(args, &r->receipt));
  OptionReader options("FAIL", fail_options::kSpecs, args.subspan(2));
  while (options.Next()) {
    switch (options.option()) {
      case fail_options::kReason: r->reason.assign(options.value()); break;
      case fail_options::kDelay:
        VESTQ_WORD(r->delay, ParseDelay(options.value()), Duration);
        r->delay_set = true;
        break;
      case fail_options::kDead: r->to_dead = true; break;
      default: break;
    }
  }
  return options.error();
}

constexpr OptionSpec kReleaseOptions[] = {{"DELAY"}, {"PRIORITY"}};

Error FillRelease(Args args, ReleaseRequest* r) {
  VESTQ_RETURN_IF_ERROR(FillReceipt(args, &r->receipt));
  OptionReader options("RELEASE", kReleaseOptions, args.subspan(2));
  while (options.Next()) {
    if (options.option() == 0) {
      VESTQ_WORD(r->delay, ParseDelay(options.value()), Duration);
    } else {
      VESTQ_WORD(r->priority, words::ParseNumber("PRIORITY", options.value(), 0, kPriorityMax),
                 static_cast<uint32_t>);
      r->priority_set = true;
    }
  }
  return options.error();
}

Error FillCancel(Args args, CancelRequest* r) {
  if (args.size() > 2) return Error(ErrorCode::kSyntax, WrongArity("CANCEL"));
  VESTQ_WORD(r->id, ParseJobId(args[1]), JobId);
  return Error::Ok();
}

constexpr OptionSpec kJobOptions[] = {{"PAYLOAD", false}};

Error FillJob(Args args, JobRequest* r) {
  VESTQ_WORD(r->id, ParseJobId(args[1]), JobId);
  OptionReader options("JOB", kJobOptions, args.subspan(2));
  while (options.Next()) r->want_payload = true;
  return options.error();
}

}  // namespace

void Enqueue(Session& session, Args args) {
  SubmitFilled<EnqueueRequest>(session, args, FillEnqueue);
}
void EnqueueMany(Session& session, Args args) {
  SubmitFilled<EnqueueManyRequest>(session, args, FillEnqueueMany);
}
void Lease(Session& session, Args args) { SubmitFilled<LeaseRequest>(session, args, FillLease); }
void Renew(Session& session, Args args) { SubmitFilled<RenewRequest>(session, args, FillRenew); }
void Checkpoint(Session& session, Args args) {
  SubmitFilled<CheckpointRequest>(session, args, FillCheckpoint);
}
void Fail(Session& session, Args args) { SubmitFilled<FailRequest>(session, args, FillFail); }
void Release(Session& session, Args args) {
  SubmitFilled<ReleaseRequest>(session, args, FillRelease);
}
void Cancel(Session& session, Args args) { SubmitFilled<CancelRequest>(session, args, FillCancel); }
void Job(Session& session, Args args) { SubmitFilled<JobRequest>(session, args, FillJob); }

void Complete(Session& session, Args args) {
  PooledComplete* request = session.pool().Take<PooledComplete>();
  const Error error = FillComplete(args, request);
  if (error.ok()) return session.Submit(request);
  session.pool().Put(request);
  session.Fail(error);
}

void CompleteMany(Session& session, Args args) {
  auto group = std::make_unique<CompleteGroup>();
  group->receipts.reserve(args.size() - 1);
  for (std::string_view text : args.subspan(1)) {
    Result<Receipt> receipt = Receipt::Parse(text);
    if (!receipt.ok()) return session.Fail(receipt.error());
    group->receipts.push_back(*receipt);
  }
  session.SubmitGroup(std::move(group));
}

}  // namespace vestq::handlers
