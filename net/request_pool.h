// Requests and the slots that keep the order of a connection's replies, kept for reuse with the
// capacity of their strings, so that a command costs no allocation in the steady state. One pool a
// reactor, used on its thread only. Keeps at most kKept of a kind, no string above kKeptBytes, and of
// what clients may make long (payloads, results, reasons) kKeptBytesAll in all: a group of thousands of
// jobs would else stay in memory when it is answered.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/group_request.h"
#include "engine/handling_request.h"
#include "engine/kv_request.h"
#include "engine/request.h"
#include "engine/space_request.h"
#include "engine/watch_request.h"

namespace vestq {

class Session;

// A CompleteRequest that may be one of a COMPLETEMANY.
struct PooledComplete final : CompleteRequest {
  uint32_t index = 0;
};

// What a COMPLETEMANY has to remember: it is started in slices, so that a long one costs 24 bytes a
// receipt.
struct CompleteGroup {
  std::vector<Receipt> receipts;
  std::vector<uint8_t> completed;
  size_t started = 0;
  size_t finished = 0;
  Error error;  // the first other than a lost lease: the answer to the whole command
};

// A command that has been started and not yet been answered; the slots of a session form a list in
// command order.
struct Slot {
  Session* session = nullptr;
  Request* request = nullptr;  // nullptr with a group
  Slot* next = nullptr;
  std::unique_ptr<CompleteGroup> group;
  size_t charge = 0;  // bytes its reply may take, as estimated
  bool done = false;
  bool silent = false;           // CLIENT REPLY OFF or SKIP
  bool unblocked_error = false;  // CLIENT UNBLOCK id ERROR
};

// Its reply carries payloads.
inline bool IsHeavy(const Request& request) {
  return request.kind == RequestKind::kLease || request.kind == RequestKind::kDataGet ||
         request.kind == RequestKind::kDataRange || request.kind == RequestKind::kPeek ||
         request.kind == RequestKind::kJob || request.kind == RequestKind::kGroup ||
         request.kind == RequestKind::kWaitFor;
}

class RequestPool {
 public:
  static constexpr size_t kKept = 4096;
  static constexpr size_t kKeptBytes = 16 << 10;
  static constexpr size_t kKeptBytesAll = 4 << 20;

  RequestPool() = default;
  RequestPool(const RequestPool&) = delete;
  RequestPool& operator=(const RequestPool&) = delete;

  // As new. Kept for reuse are EnqueueRequest, LeaseRequest, RenewRequest, PooledComplete,
  // FailRequest, ReleaseRequest, CancelRequest and JobRequest; the kinds of rare commands are not.
  template <typename T>
  T* Take() {
    ++taken_;
    // A request that is derived from one of those is another type.
    if constexpr (requires {
                    { FreeOf(static_cast<T*>(nullptr)) } -> std::same_as<Free<T>&>;
                  }) {
      auto& free = FreeOf(static_cast<T*>(nullptr));
      if (free.empty()) return new T();
      T* request = free.back().release();
      free.pop_back();
      if (std::string* const text = LongText(request)) kept_bytes_ -= text->capacity();
      return request;
    } else {
      return new T();
    }
  }
  // REQUIRES: taken from here, and not under way. A group's members are put back with it.
  void Put(Request* request);

  Slot* TakeSlot();
  void PutSlot(Slot* slot);

  // Requests taken and not put back.
  size_t taken() const { return taken_; }
  size_t kept_bytes() const { return kept_bytes_; }

 private:
  template <typename T>
  using Free = std::vector<std::unique_ptr<T>>;

  Free<EnqueueRequest>& FreeOf(EnqueueRequest*) { return enqueue_; }
  Free<LeaseRequest>& FreeOf(LeaseRequest*) { return lease_; }
  Free<RenewRequest>& FreeOf(RenewRequest*) { return renew_; }
  Free<PooledComplete>& FreeOf(PooledComplete*) { return complete_; }
  Free<FailRequest>& FreeOf(FailRequest*) { return fail_; }
  Free<ReleaseRequest>& FreeOf(ReleaseRequest*) { return release_; }
  Free<CancelRequest>& FreeOf(CancelRequest*) { return cancel_; }
  Free<JobRequest>& FreeOf(JobRequest*) { return job_; }
  template <typename T>
  void Keep(Request* request);
  // The string of a request that a client may make long; those of others hold little.
  static std::string* LongText(EnqueueRequest* r) { return &r->payload; }
  static std::string* LongText(PooledComplete* r) { return &r->result; }
  static std::string* LongText(FailRequest* r) { return &r->reason; }
  static std::string* LongText(JobRequest* r) { return &r->payload; }
  static std::string* LongText(Request*) { return nullptr; }

  size_t taken_ = 0;
  size_t kept_bytes_ = 0;  // of the strings of LongText that are kept
  Free<EnqueueRequest> enqueue_;
  Free<LeaseRequest> lease_;
  Free<RenewRequest> renew_;
  Free<PooledComplete> complete_;
  Free<FailRequest> fail_;
  Free<ReleaseRequest> release_;
  Free<CancelRequest> cancel_;
  Free<JobRequest> job_;
  Free<Slot> slots_;
};

}  // namespace vestq
