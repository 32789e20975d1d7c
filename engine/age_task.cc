#include "engine/age_task.h"

#include <algorithm>
#include <memory>
#include <string>

#include "engine/base/limits.h"
#include "engine/store.h"
#include "keycodec/keys.h"

namespace vestq {
namespace {

size_t BandOf(uint32_t priority) {
  if (priority < limits::kPriorityDefault) return 0;
  return priority == limits::kPriorityDefault ? 1 : 2;
}

}  // namespace

Error AgeTask::Run(const Store& store) {
  for (uint16_t i = 0; i < lanes && whole; ++i) VESTQ_RETURN_IF_ERROR(RunLane(store, LaneId(i)));
  return Error::Ok();
}

Error AgeTask::RunLane(const Store& store, LaneId lane) {
  std::string prefix, next;
  keycodec::AppendLifePrefix(lane, queue, incarnation, &prefix);
  auto it = store.NewIterator(Family::kVesting, prefix, keycodec::PrefixSuccessor(prefix));
  it->Seek(prefix);
  while (it->Valid()) {
    if (++seeks_ > max_seeks) {
      whole = false;
      break;
    }
    const Result<keycodec::ReadyKey> key = keycodec::DecodeReadyKey(it->key());
    if (!key.ok()) return key.error();
    const keycodec::Zone& zone = key->zone;
    if (zone.incarnation != incarnation) {
      const Result<size_t> length = keycodec::ZonePrefixLength(it->key());
      if (!length.ok()) return length.error();
      next = keycodec::PrefixSuccessor(it->key().substr(0, *length));
      it->Seek(next);
      continue;
    }
    std::optional<int64_t>& oldest = oldest_ms[BandOf(key->rank.priority)];
    oldest = std::min(oldest.value_or(key->rank.time_ms), key->rank.time_ms);
    if (zone.order == keycodec::Order::kTime) {
      // By time the bands are mixed: the next of the same zone may be of another one.
      it->Next();
      continue;
    }
    // The first of a priority is its oldest; on to the next priority, or the next zone.
    const bool last = key->rank.priority == UINT32_MAX;
    if (last) {
      const Result<size_t> length = keycodec::ZonePrefixLength(it->key());
      if (!length.ok()) return length.error();
      next = keycodec::PrefixSuccessor(it->key().substr(0, *length));
    } else {
      next.clear();
      keycodec::AppendReadyKey(lane, queue, zone.incarnation, zone.order, zone.space,
                               {key->rank.priority + 1, 0, JobId(0)}, &next);
    }
    it->Seek(next);
  }
  return it->error();
}

}  // namespace vestq
