// The simulation's application data, outside of groups and inside: SET with its conditions, DEL, MGET, RANGE.
// A key is written or read by one request at a time, so what it may hold is known; after a crash it may hold
// what was there or what was being written.
//
//   SIM-25  a key holds what was acknowledged last, across any crash, and conditions go by it
#include <algorithm>

#include "tests/sim/simulation.h"
#include "tests/sim/simulation_model.h"

namespace vestq {
namespace {
constexpr size_t kKeys = 8;
constexpr char kPrefix[] = "data-";
}  // namespace

bool Simulation::StartData(Pending* pending) {
  if (data_.empty()) {
    for (size_t i = 0; i < kKeys; ++i) data_[kPrefix + std::to_string(i)].may = {std::nullopt};
  }
  std::vector<std::string> idle;
  for (const auto& [key, data] : data_)
    if (!data.busy) idle.push_back(key);
  if (idle.empty()) return false;
  const uint64_t dice = random_.Below(4);
  std::vector<std::string> keys;
  if (dice == 3) {
    keys = idle;
  } else {
    for (size_t n = dice == 0 ? 1 : 1 + random_.Below(3); n > 0 && !idle.empty(); --n) {
      const auto at = static_cast<ptrdiff_t>(random_.Below(idle.size()));
      keys.push_back(idle[static_cast<size_t>(at)]);
      idle.erase(idle.begin() + at);
    }
  }
  for (const std::string& key : keys) data_[key].busy = true;
  pending->op = Op::kData;
  pending->data_keys = keys;
  switch (dice) {
    case 0: pending->request = AnySet(keys[0], &pending->data_after); break;
    case 1: {
      auto request = std::make_unique<DataDeleteRequest>();
      request->keys = keys;
      pending->data_after = {std::nullopt};
      pending->request = std::move(request);
      break;
    }
    case 2: {
      auto request = std::make_unique<DataGetRequest>();
      request->keys = keys;
      pending->request = std::move(request);
      break;
    }
    default: {
      auto request = std::make_unique<DataRangeRequest>();
      request->prefix = kPrefix;
      request->count = 1 + static_cast<uint32_t>(random_.Below(kKeys + 1));
      if (random_.Chance(0.3)) request->after = random_.Pick(keys);
      pending->request = std::move(request);
    }
  }
  return true;
}

std::unique_ptr<Request> Simulation::AnySet(const std::string& key, DataValues* after) {
  auto request = std::make_unique<DataSetRequest>();
  request->key = key;
  request->value = "value " + std::to_string(++events_);
  if (random_.Chance(0.3)) {
    request->when = DataSetRequest::When::kAbsent;
  } else if (random_.Chance(0.4)) {
    request->when = DataSetRequest::When::kEqual;
    request->expected = data_[key].may.rbegin()->value_or("never there");
  }
  *after = {request->value};
  if (request->when != DataSetRequest::When::kAlways)
    after->insert(data_[key].may.begin(), data_[key].may.end());
  return request;
}

namespace {

bool Holds(const DataSetRequest& request, const std::optional<std::string>& value) {
  switch (request.when) {
    case DataSetRequest::When::kAlways: return true;
    case DataSetRequest::When::kAbsent: return !value;
    case DataSetRequest::When::kEqual: return value == request.expected;
  }
  return true;
}

}  // namespace

void Simulation::AnsweredData(const Pending& pending) {
  const Request& request = *pending.request;
  for (const std::string& key : pending.data_keys) data_[key].busy = false;
  if (!request.error.ok())
    return Broken("SIM-25: an operation on data failed: " + request.error.ToString());
  switch (request.kind) {
    case RequestKind::kDataSet: return AnsweredSet(static_cast<const DataSetRequest&>(request));
    case RequestKind::kDataDelete: {
      const auto& gone = static_cast<const DataDeleteRequest&>(request);
      uint64_t least = 0, most = 0;
      for (const std::string& key : pending.data_keys) {
        auto& may = data_[key].may;
        least += !may.contains(std::nullopt);
        most += may.size() > 1 || !may.contains(std::nullopt);
        may = {std::nullopt};
        NoteData(key, "DEL of " + std::to_string(pending.data_keys.size()) + " answered " +
                          std::to_string(gone.deleted));
      }
      if (gone.deleted < least || gone.deleted > most)
        BrokenData(pending.data_keys[0], "and those with it: there were " + std::to_string(least) +
                                             " .. " + std::to_string(most));
      return;
    }
    case RequestKind::kDataGet: {
      const auto& got = static_cast<const DataGetRequest&>(request);
      for (size_t i = 0; i < got.values.size(); ++i) SawData(pending.data_keys[i], got.values[i]);
      return;
    }
    default: return AnsweredRange(pending);
  }
}

void Simulation::AnsweredSet(const DataSetRequest& request) {
  auto& may = data_[request.key].may;
  const auto fits = [&](const std::optional<std::string>& value) {
    return Holds(request, value) == request.stored;
  };
  std::erase_if(may, [&](const auto& value) { return !fits(value); });
  NoteData(request.key, request.stored ? "SET " + request.value : "SET answered no");
  if (may.empty()) return BrokenData(request.key, "was set, or not, against the condition");
  if (request.stored) may = {request.value};
}

void Simulation::SawData(const std::string& key, const std::optional<std::string>& value) {
  auto& may = data_[key].may;
  NoteData(key, "read " + value.value_or("nothing"));
  if (!may.contains(value)) return BrokenData(key, "holds what it should not");
  may = {value};
}

// Of the keys that nobody else writes meanwhile.
void Simulation::AnsweredRange(const Pending& pending) {
  const auto& range = static_cast<const DataRangeRequest&>(*pending.request);
  if (range.entries.size() > range.count ||
      !std::is_sorted(range.entries.begin(), range.entries.end()))
    return Broken("SIM-25: RANGE gives too many keys, or not in their order");
  const std::map<std::string, std::string> entries(range.entries.begin(), range.entries.end());
  for (const std::string& key : pending.data_keys) {
    if (range.after && key <= *range.after) continue;
    const auto found = entries.find(key);
    if (found != entries.end()) {
      SawData(key, found->second);
    } else if (!range.more || (!entries.empty() && key < entries.rbegin()->first)) {
      SawData(key, std::nullopt);
    }
  }
}

// Nobody will hear of it; nothing of it comes later.
void Simulation::CutData(const Pending& pending, ModelGroup* group) {
  for (const std::string& key : pending.data_keys) {
    ModelData& data = data_[key];
    data.busy = false;
    NoteData(key, "cut off");
    if (pending.data_after.empty()) continue;
    if (group != nullptr) group->data.push_back({key, data.may, pending.data_after});
    data.may.insert(pending.data_after.begin(), pending.data_after.end());
  }
}

void Simulation::NoteData(const std::string& key, const std::string& what) {
  data_[key].history.push_back("t=" + std::to_string(world_->clock().boottime_ms) + " boot " +
                               std::to_string(world_->clock().boot) + ": " + what);
}

void Simulation::BrokenData(const std::string& key, const std::string& sentence) {
  std::string text = "SIM-25: " + key + " " + sentence + "\nits history:";
  for (const std::string& line : data_[key].history) text += "\n  " + line;
  Broken(text);
}

}  // namespace vestq
