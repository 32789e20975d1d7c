// SPACES and SPACE INFO: what single spaces of a queue have. Ready jobs and options are read from the store
// (engine/spaces_task.h), leases are counted in the tables of all cores, one after the other, in slices; so
// nothing is kept for it, and no core holds still.
#include <algorithm>
#include <charconv>
#include <utility>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/space_request.h"
#include "engine/spaces_task.h"

namespace vestq {
namespace {

// Places of the lease table that one turn passes over: about a millisecond.
constexpr uint32_t kLeasesASlice = 4096;

// A colon and the last space of the page, its bytes in hexadecimal: a space may hold any.
std::string CursorOf(std::string_view space) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = ":";
  for (const char c : space) {
    out.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    out.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return out;
}

// False: it is none. "0" begins at the first.
bool ReadCursor(std::string_view cursor, std::optional<std::string>* after) {
  if (cursor == "0") return true;
  if (!cursor.starts_with(':') || cursor.size() % 2 == 0 ||
      cursor.size() > 1 + 2 * limits::kSpaceBytes) {
    return false;
  }
  std::string space;
  for (cursor.remove_prefix(1); !cursor.empty(); cursor.remove_prefix(2)) {
    unsigned byte = 0;
    const auto [end, error] = std::from_chars(cursor.data(), cursor.data() + 2, byte, 16);
    if (error != std::errc() || end != cursor.data() + 2) return false;
    space.push_back(static_cast<char>(byte));
  }
  *after = std::move(space);
  return true;
}

}  // namespace

// `stage` 0: at its origin, nothing is read yet. 1: it goes from core to core.
void Core::Impl::Spaces(SpacesRequest* request) {
  QueueRecord* const record = shared_->queues->Find(request->queue);
  if (record == nullptr || !record->stored.load(std::memory_order_relaxed)) {
    return Refuse(request,
                  Error(ErrorCode::kNotFound, "there is no queue '" + request->queue + "'"));
  }
  if (request->stage == 0) return ReadSpaces(request, record);
  if (CoreId(request->at_core) != id_) return Forward(request, CoreId(request->at_core));
  SpacesSlice(request, record);
}

void Core::Impl::ReadSpaces(SpacesRequest* request, QueueRecord* record) {
  request->spaces.clear();
  request->after.reset();
  request->more = false;
  request->at_core = 0;
  request->at_lease = 0;
  if (!request->one_space && !ReadCursor(request->cursor, &request->after)) {
    return Refuse(request,
                  Error(ErrorCode::kSyntax, "CURSOR: 0 or what the last call gave is expected"));
  }
  CoreQueue* const queue = QueueHere(record);
  SwitchLife(queue);
  auto task = std::make_unique<SpacesTask>();
  task->queue = queue->life.number;
  task->incarnation = queue->life[KeyKind::kReady];
  task->lanes = shared_->lanes;
  task->after_space = request->after;
  if (request->one_space) task->only = request->space;
  task->max_spaces = request->count;
  task->max_jobs = SpacesRequest::kJobsLookedAt / request->count;
  task->after = shared_->writes->submitted();
  SpacesTask* const raw = task.get();
  task->finish = [this, request, raw](ReadTask*) {
    if (!raw->error.ok()) return Refuse(request, raw->error);
    request->ticket = std::max(request->ticket, raw->after);
    request->spaces = std::move(raw->spaces);
    request->more = raw->more;
    request->stage = 1;
    Spaces(request);
  };
  SubmitRead(std::move(task));
}

// Leases of the page's spaces; and of those that have nothing else, as far as they stand on the page.
void Core::Impl::SpacesSlice(SpacesRequest* request, QueueRecord* record) {
  CoreQueue* const queue = QueueHere(record);
  auto& spaces = request->spaces;
  const auto count = [&](const Lease& lease, uint32_t) {
    if (lease.ending || lease.queue != queue->life.number) return;
    const auto it = spaces.find(std::string(lease.space));
    if (it != spaces.end()) {
      ++it->second.leased;
      return;
    }
    if (request->one_space || (request->after && lease.space <= *request->after)) return;
    if (spaces.size() == request->count) {
      request->more = true;
      if (std::prev(spaces.end())->first < lease.space) return;
    }
    ++spaces[std::string(lease.space)].leased;
    // One that makes way comes on the next page: those before it only become more.
    if (spaces.size() > request->count) spaces.erase(std::prev(spaces.end()));
  };
  request->at_lease = leases_.VisitSlice(request->at_lease, kLeasesASlice, count);
  if (request->at_lease != 0) {
    return Later([this, request] { Spaces(request); });
  }
  ShowAdaptive(request, queue);
  if (++request->at_core < shared_->cores) return Forward(request, CoreId(request->at_core));
  now_stale_ = true;
  request->at = now();
  request->options = shared_->queues->Options(*record);
  request->cursor = request->more ? CursorOf(std::prev(spaces.end())->first) : "0";
  Executed(request);
}

}  // namespace vestq
