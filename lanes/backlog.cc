#include "lanes/backlog.h"

#include <algorithm>

namespace vestq {
namespace {

bool Take(std::atomic<int64_t>* held, int64_t want, int64_t credit, int64_t limit, int64_t* taken) {
  *taken = want > 0 ? std::max<int64_t>(0, want - credit) : 0;
  int64_t seen = held->load(std::memory_order_acquire);
  while (want <= 0 || limit == kNoRoomLimit || seen - credit + want <= limit) {
    if (*taken == 0) return true;
    if (held->compare_exchange_weak(seen, seen + *taken, std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
      return true;
    }
  }
  *taken = 0;
  return false;
}

}  // namespace

bool SharedBacklog::TryTake(const Backlog& want, const Backlog& credit, const BacklogLimits& limits,
                            Backlog* taken) {
  if (!Take(&jobs_, want.jobs, credit.jobs, limits.jobs, &taken->jobs)) {
    taken->bytes = 0;
    return false;
  }
  if (Take(&bytes_, want.bytes, credit.bytes, limits.bytes, &taken->bytes)) return true;
  jobs_.fetch_sub(taken->jobs, std::memory_order_acq_rel);
  taken->jobs = 0;
  return false;
}

void SharedBacklog::Add(const Backlog& difference) {
  if (difference.jobs != 0) jobs_.fetch_add(difference.jobs, std::memory_order_acq_rel);
  if (difference.bytes != 0) bytes_.fetch_add(difference.bytes, std::memory_order_acq_rel);
}

}  // namespace vestq
