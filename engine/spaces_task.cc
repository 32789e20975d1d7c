#include "engine/spaces_task.h"

#include <algorithm>
#include <memory>

#include "engine/store.h"
#include "keycodec/space_records.h"

namespace vestq {

Error SpacesTask::Run(const Store& store) {
  for (uint16_t lane = 0; lane < lanes; ++lane) {
    for (const keycodec::Order order : {keycodec::Order::kPriority, keycodec::Order::kTime}) {
      sources_.push_back({LaneId(lane), order, only});
      if (!only) VESTQ_RETURN_IF_ERROR(FirstBehind(store, &sources_.back(), after_space));
    }
  }
  if (only) {
    SpacesRequest::Row& row = spaces[*only];
    for (const Source& source : sources_) VESTQ_RETURN_IF_ERROR(CountJobs(store, source, &row));
    return ReadOptions(store, *only, &row);
  }
  std::string prefix, from;
  keycodec::AppendQueueRowsPrefix(keycodec::QueueRows::kSpaceOptions, queue, &prefix);
  // The least key behind the cursor's: a space's bytes are the rest of its key.
  from = after_space ? keycodec::SpaceOptionsKey(queue, *after_space) + '\0' : prefix;
  const auto rows = store.NewIterator(Family::kRows, from, keycodec::PrefixSuccessor(prefix));
  rows->Seek(from);
  for (;;) {
    std::optional<std::string> least;
    if (rows->Valid()) {
      Result<keycodec::SpaceRowKey> key = keycodec::DecodeSpaceOptionsKey(rows->key());
      if (!key.ok()) return key.error();
      least = std::move(key->space);
    }
    const std::optional<std::string> of_row = least;
    for (const Source& source : sources_) {
      if (source.next && (!least || *source.next < *least)) least = source.next;
    }
    if (!least) break;
    if (spaces.size() == max_spaces) {
      more = true;
      break;
    }
    SpacesRequest::Row& row = spaces[*least];
    for (Source& source : sources_) {
      if (source.next != least) continue;
      VESTQ_RETURN_IF_ERROR(CountJobs(store, source, &row));
      VESTQ_RETURN_IF_ERROR(FirstBehind(store, &source, least));
    }
    if (of_row == least) {
      const Result<keycodec::SpaceValue> value = keycodec::DecodeSpaceValue(rows->value());
      if (!value.ok()) return value.error();
      row.own = *value;
      rows->Next();
    }
  }
  return rows->error();
}

// The bounds of each seek are those of its own range: what other lanes and ranges have had is not stepped
// over.
Error SpacesTask::FirstBehind(const Store& store, Source* source,
                              const std::optional<std::string>& behind) {
  std::string prefix;
  keycodec::AppendLifePrefix(source->lane, queue, incarnation, &prefix);
  prefix.push_back(static_cast<char>(source->order));
  std::string from = prefix;
  if (behind) {
    std::string zone;
    keycodec::AppendZonePrefix(source->lane, queue, incarnation, source->order, *behind, &zone);
    from = keycodec::PrefixSuccessor(zone);
  }
  const auto it = store.NewIterator(Family::kVesting, from, keycodec::PrefixSuccessor(prefix));
  it->Seek(from);
  source->next.reset();
  if (!it->Valid()) return it->error();
  Result<keycodec::ReadyKey> key = keycodec::DecodeReadyKey(it->key());
  if (!key.ok()) return key.error();
  source->next = std::move(key->zone.space);
  return Error::Ok();
}

Error SpacesTask::CountJobs(const Store& store, const Source& source, SpacesRequest::Row* row) {
  std::string zone;
  keycodec::AppendZonePrefix(source.lane, queue, incarnation, source.order, *source.next, &zone);
  const auto it = store.NewIterator(Family::kVesting, zone, keycodec::PrefixSuccessor(zone));
  for (it->Seek(zone); it->Valid(); it->Next()) {
    if (row->ready >= max_jobs) {
      row->exact = false;
      return Error::Ok();
    }
    const Result<keycodec::ReadyKey> key = keycodec::DecodeReadyKey(it->key());
    if (!key.ok()) return key.error();
    const MonoTime since(key->rank.time_ms);
    row->oldest = std::min(row->oldest.value_or(since), since);
    ++row->ready;
  }
  return it->error();
}

Error SpacesTask::ReadOptions(const Store& store, const std::string& space,
                              SpacesRequest::Row* row) {
  std::string bytes;
  const Error got = store.Get(Family::kRows, keycodec::SpaceOptionsKey(queue, space), &bytes);
  if (!got.ok()) return got.code() == ErrorCode::kNotFound ? Error::Ok() : got;
  const Result<keycodec::SpaceValue> value = keycodec::DecodeSpaceValue(bytes);
  if (!value.ok()) return value.error();
  row->own = *value;
  return Error::Ok();
}

}  // namespace vestq
