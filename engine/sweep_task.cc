#include "engine/sweep_task.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/store.h"
#include "engine/zone_tasks.h"

namespace vestq {
namespace {

// Jobs that come along. Of a space with a name one: it is one job's turn, and mostly it has no more. The
// empty space's lanes are compared, so each has some.
constexpr size_t kNamedJobs = 1;
constexpr size_t kUnnamedJobs = 64;

// Takes in the jobs of the zone whose first key the iterator stands at, and leaves it at the first key
// behind those, of this zone or another.
template <typename Iterator>
Error TakeZone(Iterator* it, size_t max_jobs, SweepTask::Found* zone) {
  const Result<size_t> length = keycodec::ZonePrefixLength(it->key());
  if (!length.ok()) return length.error();
  const std::string prefix(it->key().substr(0, *length));
  for (; it->Valid() && it->key().starts_with(prefix); it->Next()) {
    if (zone->jobs.size() == max_jobs) return Error::Ok();
    const Result<keycodec::ReadyKey> key = keycodec::DecodeReadyKey(it->key());
    if (!key.ok()) return key.error();
    const Result<keycodec::ReadyValue> value = keycodec::DecodeReadyValue(it->value());
    if (!value.ok()) return value.error();
    ReadyJob& job = zone->jobs.emplace_back();
    job.rank = key->rank;
    job.flags = value->flags;
    job.attempt = value->attempt;
  }
  zone->all = true;
  return Error::Ok();
}

}  // namespace

// Sets *named when the lane has jobs of named spaces: where it has none, one seek tells.
Error SweepTask::ReadUnnamed(const Store& store, uint32_t lane, bool* named) {
  std::string life;
  keycodec::AppendLifePrefix(lanes[lane], queue, incarnation, &life);
  auto it = store.NewIterator(Family::kVesting, life, keycodec::PrefixSuccessor(life));
  it->Seek(life);
  for (const keycodec::Order order : {keycodec::Order::kPriority, keycodec::Order::kTime}) {
    std::string prefix;
    keycodec::AppendZonePrefix(lanes[lane], queue, incarnation, order, {}, &prefix);
    if (it->Valid() && it->key() < prefix) {  // of the order before
      *named = true;
      it->Seek(prefix);
    }
    if (!it->Valid() || !it->key().starts_with(prefix)) continue;
    Found& zone = found.emplace_back();
    zone.place = {lane, order, {}};
    VESTQ_RETURN_IF_ERROR(TakeZone(it.get(), kUnnamedJobs, &zone));
    if (!zone.all) it->Seek(keycodec::PrefixSuccessor(prefix));
  }
  *named |= it->Valid();
  return it->error();
}

// Sets `next` when the lane has more than is wanted.
Error SweepTask::ReadNamed(const Store& store, uint32_t lane, const ZonePlace* start) {
  std::string life, first;
  keycodec::AppendLifePrefix(lanes[lane], queue, incarnation, &life);
  first = life;
  if (start != nullptr) {
    first.clear();
    keycodec::AppendZonePrefix(lanes[lane], queue, incarnation, start->order, start->space, &first);
  }
  auto it = store.NewIterator(Family::kVesting, first, keycodec::PrefixSuccessor(life));
  it->Seek(first);
  while (it->Valid()) {
    Result<keycodec::ReadyKey> key = keycodec::DecodeReadyKey(it->key());
    if (!key.ok()) return key.error();
    const Result<size_t> length = keycodec::ZonePrefixLength(it->key());
    if (!length.ok()) return length.error();
    const std::string beyond = keycodec::PrefixSuccessor(it->key().substr(0, *length));
    if (key->zone.space.empty()) {
      it->Seek(beyond);
      continue;
    }
    ZonePlace place{lane, key->zone.order, std::move(key->zone.space)};
    if (max_zones == 0) {
      next = std::move(place);
      break;
    }
    --max_zones;
    Found& zone = found.emplace_back();
    zone.place = std::move(place);
    VESTQ_RETURN_IF_ERROR(TakeZone(it.get(), kNamedJobs, &zone));
    if (!zone.all) it->Seek(beyond);
  }
  return it->error();
}

Error SweepTask::Run(const Store& store) {
  std::vector<char> named(lanes.size(), unnamed ? 0 : 1);
  for (uint32_t lane = 0; unnamed && lane < lanes.size(); ++lane) {
    bool any = false;
    VESTQ_RETURN_IF_ERROR(ReadUnnamed(store, lane, &any));
    named[lane] = any;
  }
  for (uint32_t lane = from.lane; lane < lanes.size() && !next; ++lane) {
    if (!named[lane]) continue;
    VESTQ_RETURN_IF_ERROR(ReadNamed(store, lane, lane == from.lane ? &from : nullptr));
  }
  // Later than the keys: a job that was cancelled in between has no record, and its owner knows.
  for (size_t begin = 0; begin < found.size() && max_bytes > 0;) {
    // Zones of one lane together; their jobs are told apart by their number.
    size_t end = begin;
    std::vector<ReadyJob> jobs;
    for (; end < found.size() && found[end].place.lane == found[begin].place.lane; ++end) {
      jobs.insert(jobs.end(), found[end].jobs.begin(), found[end].jobs.end());
    }
    VESTQ_RETURN_IF_ERROR(
        ReadRecords(store, lanes[found[begin].place.lane], max_bytes, Missing::kIsLeftOut, &jobs));
    auto job = jobs.begin();
    for (; begin < end; ++begin) {
      for (ReadyJob& place : found[begin].jobs) {
        place = std::move(*job++);
        const uint64_t bytes = BytesOf(place);
        max_bytes -= bytes < max_bytes ? bytes : max_bytes;
      }
    }
  }
  return Error::Ok();
}

}  // namespace vestq
