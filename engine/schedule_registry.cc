#include "engine/schedule_registry.h"

#include "engine/base/check.h"
#include "engine/base/limits.h"
#include "keycodec/keys.h"

namespace vestq {

LaneId LaneOfSchedule(std::string_view name, const keycodec::ScheduleValue& schedule,
                      uint16_t lanes) {
  if (!schedule.space.empty()) return keycodec::LaneOfSpace(schedule.queue, schedule.space, lanes);
  if (!schedule.unique_key.empty())
    return keycodec::LaneOfSpace(schedule.queue, schedule.unique_key, lanes);
  return keycodec::LaneOfSpace("", name, lanes);
}

std::optional<ScheduleRegistry::Place> ScheduleRegistry::Find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto it = places_.find(name);
  if (it == places_.end()) return std::nullopt;
  return it->second;
}

std::optional<ScheduleRegistry::Place> ScheduleRegistry::Claim(std::string_view name, LaneId lane) {
  const std::lock_guard lock(mutex_);
  auto it = places_.find(name);
  if (it == places_.end()) {
    if (places_.size() >= limits::kSchedulesMax) return std::nullopt;
    it = places_.emplace(std::string(name), Place{lane, std::nullopt, false}).first;
  }
  return it->second;
}

void ScheduleRegistry::SetStored(std::string_view name, LaneId lane) {
  const std::lock_guard lock(mutex_);
  Place& place = places_[std::string(name)];
  if (!place.exists) ++stored_;
  place = Place{lane, std::nullopt, true};
}

void ScheduleRegistry::SetDeleted(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto it = places_.find(name);
  CHECK(it != places_.end() && it->second.exists, "SCHED-1: only a stored schedule is deleted");
  it->second.exists = false;
  --stored_;
}

void ScheduleRegistry::Forget(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto it = places_.find(name);
  if (it != places_.end() && !it->second.exists && !it->second.moving_to) places_.erase(it);
}

void ScheduleRegistry::BeginMove(std::string_view name, LaneId to) {
  const std::lock_guard lock(mutex_);
  const auto it = places_.find(name);
  CHECK(it != places_.end() && !it->second.moving_to, "SCHED-1: its owner lets go once");
  it->second.moving_to = to;
}

void ScheduleRegistry::EndMove(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto it = places_.find(name);
  CHECK(it != places_.end() && it->second.moving_to, "SCHED-1: what was let go is taken over");
  it->second.lane = *it->second.moving_to;
  it->second.moving_to.reset();
}

size_t ScheduleRegistry::size() const {
  const std::lock_guard lock(mutex_);
  return stored_;
}

}  // namespace vestq
