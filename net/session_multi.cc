// A session between MULTI and EXEC. Its commands are queued as requests, not as bytes: each is checked when
// it comes, and what is refused makes EXEC refuse the whole.
#include <algorithm>
#include <utility>

#include "engine/request_check.h"
#include "net/reactor.h"
#include "net/replies.h"
#include "net/session.h"

namespace vestq {
namespace {

// Jobs, keys and receipts: what a member makes the engine do.
size_t Items(const Request& member) {
  switch (member.kind) {
    case RequestKind::kEnqueueMany:
      return static_cast<const EnqueueManyRequest&>(member).payloads.size();
    case RequestKind::kCompleteMany:
      return static_cast<const CompleteManyRequest&>(member).receipts.size();
    case RequestKind::kDataGet: return static_cast<const DataGetRequest&>(member).keys.size();
    case RequestKind::kDataDelete: return static_cast<const DataDeleteRequest&>(member).keys.size();
    default: return 1;
  }
}

}  // namespace

size_t Session::GroupMax() const {
  return static_cast<size_t>(std::min<uint64_t>(
      limits::kGroupBytesMax, reactor_->shared().engine->memory() / limits::kMemoryPerGroups));
}

void Session::BeginMulti() {
  multi_ = std::make_unique<Multi>();
  multi_->request = pool().Take<GroupRequest>();
}

void Session::DropMulti() {
  if (multi_ == nullptr) return;
  ReleaseGroup(multi_->bytes);
  pool().Put(multi_->request);
  multi_.reset();
}

void Session::ReleaseGroup(size_t bytes) {
  shared().groups_held.fetch_sub(bytes, std::memory_order_relaxed);
}

// A command was refused: nothing of the group will be carried out, so nothing of it is kept.
void Session::BreakMulti(std::string_view why) {
  if (multi_ == nullptr || !multi_->broken.empty()) return;
  multi_->broken = "command " + std::to_string(multi_->commands) + " (" + std::string(why) + ")";
  ReleaseGroup(std::exchange(multi_->bytes, 0));
  for (auto& member : multi_->request->members) pool().Put(member.release());
  multi_->request->members.clear();
}

// Errors: kRange, kTooBig, kFull, naming the limit.
Error Session::RoomInMulti(size_t bytes) const {
  if (multi_->request->members.size() >= limits::kGroupCommandsMax) {
    return Error(ErrorCode::kRange,
                 "a group has at most " + std::to_string(limits::kGroupCommandsMax) + " commands");
  }
  if (multi_->bytes + bytes > GroupMax()) {
    return Error(ErrorCode::kTooBig, "the commands of a group have at most " +
                                         std::to_string(GroupMax()) + " bytes together, counting " +
                                         std::to_string(limits::kGroupItemBytes) +
                                         " for each job, key and receipt");
  }
  const uint64_t all = reactor_->shared().engine->memory() / limits::kMemoryPerGroups;
  if (reactor_->shared().groups_held.load(std::memory_order_relaxed) + bytes > all) {
    return Error(ErrorCode::kFull, "the groups of all connections hold " + std::to_string(all) +
                                       " bytes, a quarter of the memory");
  }
  return Error::Ok();
}

void Session::QueueMember(Request* request) {
  if (const EnqueueRequest* const job = JobOf(*request);
      job != nullptr && job->wait > Duration(0)) {
    pool().Put(request);
    return Fail(
        "ERR",
        "WAIT is not possible between MULTI and EXEC: all of it is done at once, or nothing");
  }
  const bool reads =
      request->kind == RequestKind::kDataGet || request->kind == RequestKind::kDataRange;
  const size_t bytes = (reads ? 0 : Charge(*request)) + Items(*request) * limits::kGroupItemBytes;
  // What is out of its limits is said now, not at EXEC.
  Error room = multi_->broken.empty()
                   ? CheckRequest(request, reactor_->shared().engine->max_payload())
                   : Error::Ok();
  if (room.ok() && multi_->broken.empty()) room = RoomInMulti(bytes);
  if (!room.ok() || !multi_->broken.empty()) {
    pool().Put(request);
    if (!room.ok()) return Fail(room);
  } else {
    multi_->bytes += bytes;
    shared().groups_held.fetch_add(bytes, std::memory_order_relaxed);
    multi_->request->members.emplace_back(request);
  }
  if (!silent_) writer().Simple("QUEUED");
}

void Session::ExecMulti() {
  if (!multi_->broken.empty()) {
    const std::string broken = multi_->broken;
    DropMulti();
    return Fail("EXECABORT",
                "Transaction discarded because of previous errors: " + broken + " was refused");
  }
  GroupRequest* const request = multi_->request;
  const size_t bytes = multi_->bytes;
  multi_.reset();
  Submit(request);
  tail_->charge = bytes;  // held until it is answered
  charge_ += bytes;
}

}  // namespace vestq
