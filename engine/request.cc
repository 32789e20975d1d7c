#include "engine/request.h"

#include <charconv>

#include "engine/handling_request.h"
#include "engine/watch_request.h"

namespace vestq {
namespace {

// Appends decimal digits.
template <typename Number>
void AppendDecimal(Number value, std::string* out) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value);
  out->append(digits, end.ptr);
}

// Takes a number off the front: digits without sign or leading zeros, within Number.
template <typename Number>
bool TakeDecimal(std::string_view* text, Number* value) {
  if (text->empty() || text->front() < '0' || text->front() > '9') return false;
  if (text->size() > 1 && (*text)[0] == '0' && (*text)[1] >= '0' && (*text)[1] <= '9') return false;
  const auto end = std::from_chars(text->data(), text->data() + text->size(), *value);
  if (end.ec != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(end.ptr - text->data()));
  return true;
}

bool TakeDot(std::string_view* text) {
  if (text->empty() || text->front() != '.') return false;
  text->remove_prefix(1);
  return true;
}

}  // namespace

std::string Receipt::ToString() const {
  std::string out;
  out.reserve(40);
  AppendDecimal(id.value(), &out);
  out.push_back('.');
  AppendDecimal(fence.epoch, &out);
  out.push_back('.');
  AppendDecimal(fence.claim, &out);
  return out;
}

Result<Receipt> Receipt::Parse(std::string_view text) {
  Receipt receipt;
  uint64_t id = 0;
  std::string_view rest = text;
  if (!TakeDecimal(&rest, &id) || !TakeDot(&rest) || !TakeDecimal(&rest, &receipt.fence.epoch) ||
      !TakeDot(&rest) || !TakeDecimal(&rest, &receipt.fence.claim) || !rest.empty() || id == 0 ||
      id > limits::kJobIdMax) {
    return Error(ErrorCode::kSyntax, "a receipt looks like 4711.3.12, as LEASE gave it");
  }
  receipt.id = JobId(id);
  return receipt;
}

const EnqueueRequest* JobOf(const Request& request) {
  if (request.kind == RequestKind::kEnqueue) return static_cast<const EnqueueRequest*>(&request);
  if (request.kind != RequestKind::kEnqueueMany) return nullptr;
  return &static_cast<const EnqueueManyRequest&>(request).job;
}

bool MayWait(const Request& request) {
  if (request.kind == RequestKind::kLease) return static_cast<const LeaseRequest&>(request).wait;
  if (request.kind == RequestKind::kWaitFor)
    return static_cast<const WaitForRequest&>(request).wait;
  if (const EnqueueRequest* const job = JobOf(request)) return job->wait > Duration(0);
  return request.kind == RequestKind::kEvents;
}

size_t VariableBytes(const JobRequest& job) {
  size_t bytes = job.space.size() + job.last_error.size() + job.reason.size() + job.payload.size() +
                 job.type.size() + job.checkpoint.size() + job.result.size() +
                 job.own.backoff.size() + job.own.unique_key.size();
  for (const auto& [name, value] : job.headers) bytes += 32 + name.size() + value.size();
  return bytes;
}

}  // namespace vestq
