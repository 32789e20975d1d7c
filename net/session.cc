// A session's input: bytes, commands, requests. Its output stands in session_output.cc.
#include "net/session.h"

#include <algorithm>
#include <utility>

#include "engine/schedule_request.h"
#include "engine/watch_request.h"
#include "net/reactor.h"
#include "net/replies.h"

namespace vestq {
namespace {

constexpr size_t kKeptInput = 16 << 10;
constexpr size_t kGroupSlice = 1000;            // receipts of a COMPLETEMANY under way at a time
constexpr size_t kChargeMax = size_t{4} << 20;  // bytes of payloads under way for one connection
constexpr size_t kHeavyMax = 32;  // replies with payloads under way, whatever their size will be

RespLimits LimitsOf(const SessionLimits& limits) {
  RespLimits resp;
  resp.bulk_max = limits.payload_max;
  resp.bulk_hard_max = limits::kPayloadHardMax;
  resp.command_max = limits.payload_max + (size_t{4} << 20);
  return resp;
}

}  // namespace

Session::Session(Reactor* reactor, std::shared_ptr<ClientRecord> record)
    : reactor_(reactor),
      core_(&reactor->core()),
      record_(std::move(record)),
      opened_ms_(reactor->now_ms()),
      parser_(LimitsOf(reactor->limits())) {}

Session::~Session() {
  DropMulti();
  CHECK(head_ == nullptr && state_ == State::kClosed && event_streams_ == 0, "SESSION-4");
}

ServerShared& Session::shared() { return reactor_->shared(); }
RequestPool& Session::pool() { return reactor_->pool(); }

void Session::set_resp3(bool on) {
  resp3_ = on;
  record_->resp.store(on ? 3 : 2, std::memory_order_relaxed);
}

// --- Bytes ---

std::string_view Session::Input() const {
  return in_.empty() ? borrowed_ : std::string_view(in_).substr(in_at_);
}

void Session::Consume(size_t bytes) {
  if (in_.empty()) {
    borrowed_.remove_prefix(bytes);
  } else {
    in_at_ += bytes;
  }
}

void Session::OnData(std::string_view bytes) {
  record_->input_bytes.store(record_->input_bytes.load(std::memory_order_relaxed) + bytes.size(),
                             std::memory_order_relaxed);
  ReactorStats::Add(reactor_->stats().input_bytes, bytes.size());
  reactor_->MarkDirty(this);
  if (state_ != State::kOpen || dropped_) return;
  said_something_ = true;
  command_bytes_ += bytes.size();
  if (in_.empty()) {
    borrowed_ = bytes;
    Pump();
    KeepBorrowed();
  } else {
    in_.append(bytes);
    Pump();
  }
}

// What was not parsed moves from the poller's buffer into ours.
void Session::KeepBorrowed() {
  if (!borrowed_.empty() && state_ == State::kOpen) in_.assign(borrowed_);
  borrowed_ = {};
  in_at_ = 0;
}

void Session::OnEnd(int error) {
  reactor_->MarkDirty(this);
  peer_ended_ = true;
  if (error != 0) return Abort();
  if (state_ == State::kLingering) return CloseNow();
  if (state_ != State::kOpen) return;
  StopListening();
  // A client that has gone gets no job (and a half-closed one that waits cannot be told from it).
  if (blocking_ > 0) {
    core_->DropStream(&stream_);
    dropped_ = true;
    AbandonWaits();
  }
}

// --- Commands ---

// A request that has begun to wait: what is behind it stays bytes until it ends.
bool Session::HeadWaits() const {
  if (blocking_ == 0 || head_->request == nullptr || head_->done) return false;
  if (head_->request->kind == RequestKind::kLease)
    return static_cast<const LeaseRequest*>(head_->request)->waiting;
  if (const EnqueueRequest* const job = JobOf(*head_->request))
    return job->waiting.load(std::memory_order_relaxed);
  return MayWait(*head_->request);
}

bool Session::MayParse() {
  if (state_ != State::kOpen || dropped_ || group_ != nullptr || HeadWaits()) return false;
  if (slots_ > 0 && (until_idle_ || deferred_)) return false;
  until_idle_ = false;
  if (deferred_) {
    WriteDeferred();
    if (state_ != State::kOpen) return false;
  }
  const SessionLimits& limits = reactor_->limits();
  const size_t unsent = Unsent();
  if (slots_ >= limits.pipeline || heavy_ >= kHeavyMax || unsent > limits.output_soft) return false;
  if (slots_ > 0 && (charge_ > kChargeMax || reactor_->charge_held > limits.output_total))
    return false;
  return unsent == 0 || reactor_->output_held <= limits.output_total;
}

void Session::Pump() {
  starved_ = false;
  while (MayParse()) {
    const std::string_view input = Input();
    size_t consumed = 0;
    switch (parser_.Parse(input, &consumed)) {
      case RespParser::Status::kNeedMore:
        Consume(consumed);
        starved_ = true;
        if (parser_.inside() && command_began_ms_ == 0) command_began_ms_ = reactor_->now_ms();
        return;
      case RespParser::Status::kCommand:
        command_began_ms_ = 0;
        command_bytes_ = 0;
        if (Dispatch(parser_.args())) Consume(consumed);
        break;
      case RespParser::Status::kEmpty: Consume(consumed); break;
      case RespParser::Status::kTooBig:
        command_began_ms_ = 0;
        command_bytes_ = 0;
        Consume(consumed);
        if (multi_ != nullptr) ++multi_->commands;
        BreakMulti("too big");
        Defer("TOOBIG", parser_.error(), false);
        break;
      case RespParser::Status::kError: ProtocolError(parser_.error()); return;
      case RespParser::Status::kForeign: Abort(); return;
    }
  }
}

// False: not yet; the command stays in the input.
bool Session::Dispatch(Args args) {
  const CommandSpec* spec = FindCommand(args[0]);
  const bool arity =
      spec != nullptr && (spec->arity >= 0 ? args.size() == static_cast<size_t>(spec->arity)
                                           : args.size() >= static_cast<size_t>(-spec->arity));
  if (arity && !spec->is(kCommandJob) && slots_ > 0) {
    until_idle_ = true;
    return false;
  }
  ReactorStats::Add(reactor_->stats().commands, 1);
  silent_ = reply_mode_ != ReplyMode::kOn;
  if (reply_mode_ == ReplyMode::kSkipNext) reply_mode_ = ReplyMode::kOn;
  if (spec == nullptr) {
    command_ = "unknown";
    if (multi_ != nullptr) ++multi_->commands;
    Fail("ERR", UnknownCommand(args));
    return true;
  }
  record_->last_command.store(spec->name, std::memory_order_relaxed);
  record_->last_ms.store(reactor_->now_ms(), std::memory_order_relaxed);
  record_->commands.store(record_->commands.load(std::memory_order_relaxed) + 1,
                          std::memory_order_relaxed);
  command_ = spec->name;
  if (multi_ != nullptr) ++multi_->commands;
  if (!arity) {
    Fail("ERR", WrongArity(spec->name));
    return true;
  }
  if (multi_ != nullptr && !spec->is(kCommandGroup) && !spec->is(kCommandControl)) {
    Fail("ERR", std::string(spec->name) + " is not allowed between MULTI and EXEC");
    return true;
  }
  if (events_ != nullptr && !resp3_ && !spec->is(kCommandListening)) {
    Fail("ERR", "Can't execute '" + std::string(args[0].substr(0, 16)) +
                    "': only EVENTS / PING / QUIT / RESET are allowed in this context");
    return true;
  }
  const size_t before = out_.size();
  spec->handler(*this, args);
  if (silent_ && !spec->is(kCommandJob)) out_.resize(before);
  return true;
}

void Session::Fail(const Error& error) { Fail(ErrorCodeName(error.code()), error.text()); }

void Session::Fail(std::string_view code, std::string_view text) {
  ReactorStats::Add(reactor_->stats().errors, 1);
  BreakMulti(command_);
  if (slots_ > 0) return Defer(std::string(code), std::string(text), false);
  if (!silent_) writer().Error(code, text);
}

void Session::Defer(std::string code, std::string text, bool close) {
  deferred_ = true;
  deferred_close_ = close;
  deferred_silent_ = silent_ && !close;
  deferred_code_ = std::move(code);
  deferred_text_ = std::move(text);
}

void Session::WriteDeferred() {
  deferred_ = false;
  if (!deferred_silent_) writer().Error(deferred_code_, deferred_text_);
  if (deferred_close_) CloseAfterReplies();
}

void Session::ProtocolError(const std::string& text) {
  Defer("ERR", text, true);
  if (slots_ == 0) WriteDeferred();
}

// --- Requests ---

size_t Session::Charge(const Request& request) const {
  switch (request.kind) {
    case RequestKind::kEnqueue: {
      const auto& enqueue = static_cast<const EnqueueRequest&>(request);
      return enqueue.payload.size() + HeaderBytes(enqueue.headers);
    }
    case RequestKind::kPeek: {
      const auto& peek = static_cast<const PeekRequest&>(request);
      return peek.want_payload
                 ? std::min(peek.count * reactor_->job_bytes(), limits::kLeaseReplyBytes)
                 : 0;
    }
    case RequestKind::kEnqueueMany: {
      size_t bytes = 0;
      for (const auto& p : static_cast<const EnqueueManyRequest&>(request).payloads)
        bytes += sizeof(p) + p.size();
      return bytes;
    }
    case RequestKind::kLease:
      return std::min(static_cast<const LeaseRequest&>(request).count * reactor_->job_bytes(),
                      limits::kLeaseReplyBytes);
    case RequestKind::kWaitFor:
    case RequestKind::kJob: return reactor_->job_bytes();
    case RequestKind::kComplete: return static_cast<const CompleteRequest&>(request).result.size();
    case RequestKind::kRenew:
    case RequestKind::kFail:
    case RequestKind::kRelease:
    case RequestKind::kCancel:
    case RequestKind::kRevoke:
    case RequestKind::kPromote:
    case RequestKind::kReschedule:
    case RequestKind::kWorkers:
    case RequestKind::kRedrive:
    case RequestKind::kPurge:
    case RequestKind::kJobsPart:
    case RequestKind::kGroup:  // ExecMulti knows it
    case RequestKind::kQueueInfo:
    case RequestKind::kEvents:
    case RequestKind::kSpaceProbe:
    case RequestKind::kSpaceSet:
    case RequestKind::kQueueSet: return 0;
    case RequestKind::kSpaces:
      return static_cast<const SpacesRequest&>(request).count * kSpaceReplyBytes;
    case RequestKind::kCompleteMany:
      return static_cast<const CompleteManyRequest&>(request).receipts.size() * sizeof(Receipt);
    case RequestKind::kDataSet: {
      const auto& set = static_cast<const DataSetRequest&>(request);
      return set.value.size() + set.expected.size();
    }
    case RequestKind::kDataDelete: {
      size_t bytes = 0;
      for (const std::string& key : static_cast<const DataDeleteRequest&>(request).keys)
        bytes += key.size();
      return bytes;
    }
    case RequestKind::kDataGet:
    case RequestKind::kDataRange: return limits::kDataReplyBytes;
    case RequestKind::kSchedule:
      return static_cast<const ScheduleRequest&>(request).op == ScheduleOp::kSet
                 ? static_cast<const ScheduleRequest&>(request).job.payload.size()
                 : reactor_->job_bytes();
    case RequestKind::kCheckpoint:
      return static_cast<const CheckpointRequest&>(request).checkpoint.size();
  }
  return 0;
}

void Session::Append(Slot* slot) {
  slot->session = this;
  slot->silent = silent_;
  (head_ == nullptr ? head_ : tail_->next) = slot;
  tail_ = slot;
  ++slots_;
}

void Session::SetBlocking(int change) {
  blocking_ = static_cast<size_t>(static_cast<int>(blocking_) + change);
  record_->blocked.store(blocking_ > 0, std::memory_order_relaxed);
}

namespace {

void NoLongerWaits(Request* request) {
  if (request->kind == RequestKind::kLease) static_cast<LeaseRequest*>(request)->wait = false;
  if (request->kind == RequestKind::kWaitFor) static_cast<WaitForRequest*>(request)->wait = false;
  if (const EnqueueRequest* const job = JobOf(*request))
    const_cast<EnqueueRequest*>(job)->wait = Duration(0);
}

}  // namespace

void Session::Submit(Request* request) {
  if (multi_ != nullptr) return QueueMember(request);
  Slot* slot = pool().TakeSlot();
  slot->request = request;
  slot->charge = Charge(*request);
  charge_ += slot->charge;
  Append(slot);
  if (IsHeavy(*request)) ++heavy_;
  if (peer_ended_) NoLongerWaits(request);
  if (MayWait(*request)) SetBlocking(+1);
  request->done = Done;
  request->context = slot;
  request->stream = &stream_;
  core_->Start(request);
}

void Session::SubmitGroup(std::unique_ptr<CompleteGroup> group) {
  if (multi_ != nullptr) {
    auto* const many = pool().Take<CompleteManyRequest>();
    many->receipts = std::move(group->receipts);
    return QueueMember(many);
  }
  Slot* slot = pool().TakeSlot();
  group->completed.resize(group->receipts.size());
  slot->group = std::move(group);
  slot->charge = slot->group->receipts.size() * sizeof(Receipt);
  charge_ += slot->charge;
  Append(slot);
  group_ = slot;
  StartGroup(slot);
}

void Session::StartGroup(Slot* slot) {
  CompleteGroup& group = *slot->group;
  while (!dropped_ && group.started < group.receipts.size() &&
         group.started - group.finished < kGroupSlice) {
    PooledComplete* request = pool().Take<PooledComplete>();
    request->index = static_cast<uint32_t>(group.started);
    request->receipt = group.receipts[group.started++];
    request->done = Done;
    request->context = slot;
    request->stream = &stream_;
    core_->Start(request);
  }
  const bool all = dropped_ || group.started == group.receipts.size();
  if (all && group_ == slot) group_ = nullptr;
}

void Session::Done(Request* request, void* context) {
  Slot* slot = static_cast<Slot*>(context);
  slot->session->OnDone(slot, request);
}

void Session::OnDone(Slot* slot, Request* request) {
  if (slot->group != nullptr) {
    CompleteGroup& group = *slot->group;
    const Error& error = request->error;
    group.completed[static_cast<PooledComplete*>(request)->index] = error.ok() ? 1 : 0;
    if (!error.ok() && error.code() != ErrorCode::kLeaseLost && group.error.ok())
      group.error = error;
    pool().Put(request);
    ++group.finished;
    StartGroup(slot);
    if (group.finished < group.started) return;
  }
  slot->done = true;
  if (slot == head_) Drain();
}

void Session::AbandonWaits() {
  for (Slot* slot = head_; slot != nullptr; slot = slot->next) {
    if (slot->request != nullptr && !slot->done && MayWait(*slot->request))
      core_->Abandon(slot->request);
  }
}

void Session::Unblock(bool error) {
  if (head_ == nullptr || head_->done || head_->request == nullptr || !MayWait(*head_->request))
    return;
  head_->unblocked_error = error;
  core_->Abandon(head_->request);
}

// --- Accounts ---

void Session::SettleReading() {
  if (fd < 0 || state_ >= State::kClosing) return;
  const bool full =
      state_ == State::kOpen && !starved_ && Input().size() > reactor_->limits().read_ahead;
  reactor_->poller().SetReading(this, !full);
}

void Session::SettleAccounts() {
  if (in_at_ == in_.size() || state_ >= State::kDraining) {
    in_at_ = 0;
    if (in_.capacity() > kKeptInput) {
      std::string().swap(in_);
    } else {
      in_.clear();
    }
    parser_.Shrink();
  } else if (in_at_ > in_.size() / 2) {
    in_.erase(0, in_at_);
    in_at_ = 0;
  }
  const size_t in = in_.capacity();
  const size_t out = Unsent();
  const size_t charge =
      HeadWaits() ? 0 : charge_;  // which may last: the others must not wait for it
  reactor_->input_held += in - accounted_in_;
  reactor_->output_held += out - accounted_out_;
  reactor_->charge_held += charge - accounted_charge_;
  accounted_in_ = in;
  accounted_out_ = out;
  accounted_charge_ = charge;
}

}  // namespace vestq
