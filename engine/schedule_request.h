// Operations on schedules, as requests (engine/request.h says how requests travel).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/request.h"
#include "keycodec/schedule_records.h"

namespace vestq {

// A schedule as it stands. In a list the payload is left out.
struct ScheduleInfo {
  std::string name;
  keycodec::ScheduleValue value;
  uint64_t payload_bytes = 0;
};

enum class ScheduleOp : uint8_t { kSet, kGet, kList, kDelete, kPause, kResume, kRun };

// SCHEDULE SET, GET, LIST, DEL, PAUSE, RESUME, RUN.
//
//   kSet     `timing` and `job` in. A schedule of that name keeps its phase, next slot and state where its timing is the
//            same, and its counts always. kSyntax, kRange (an expression or a zone, by name), kFull (kSchedulesMax)
//   kGet     found; `schedules` holds it
//   kList    `schedules`: up to `count` of them, about a megabyte, behind the name `after`, in byte order; `more`
//   kDelete  found
//   kPause   kNotFound. No slot comes until kResume; those that pass are not missed
//   kResume  kNotFound
//   kRun     a job now, whatever the time and the state: job.id, and as an ENQUEUE with its unique key job.added and
//            job.holder_state. kNotFound, and what ENQUEUE answers. No count changes
struct ScheduleRequest : Request {
  ScheduleRequest() : Request(RequestKind::kSchedule) {}
  ScheduleOp op = ScheduleOp::kGet;
  std::string name;

  // kSet. Of `job`: queue, space, payload and options; it vests at once and replaces none.
  struct Timing {
    keycodec::ScheduleKind kind = keycodec::ScheduleKind::kCron;
    std::string cron;
    std::string zone;  // empty: UTC
    Duration every;
    keycodec::Missed missed = keycodec::Missed::kOnce;
  } timing;
  EnqueueRequest job;

  // kList.
  std::string after;
  size_t count = 0;

  bool found = false;
  bool more = false;
  std::vector<ScheduleInfo> schedules;

  // The engine's.
  bool moving = false;  // carries the schedule to its new owner
};

}  // namespace vestq
