// A time zone of the system's zone data (Debian's tzdata): which offset from UTC holds from when to when.
//
// Found once by name and then kept by value; a copy is one pointer. The data is read once a process, by the library
// `date`: the list of names at the first Find (some milliseconds), a zone's transitions when that zone is found. It is
// the one thing in this folder that reads files, and it reads them in Find only. An updated tzdata is seen at the next
// start.
//
// Any thread may call anything at any time: the library initialises its data under its own locks and never changes it
// afterwards.
//
// ZONE-1: a zone is found under exactly its name, case included, or refused. UTC is never put in place of another.
//
// Limit: Debian's zone data lists transitions up to 2037; later instants take the last offset listed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/result.h"

namespace date {
class time_zone;
}  // namespace date

namespace vestq {

class TimeZone {
 public:
  // UTC. Needs no zone data.
  TimeZone() = default;

  // The zone called `name`; "UTC" needs no zone data. Errors (kSyntax), each with the name: no such zone, an empty
  // name, a name above limits::kZoneNameBytes, no zone data on this machine. Reads files at the first call for a zone.
  [[nodiscard]] static Result<TimeZone> Find(std::string_view name);

  // A span [begin_s, end_s) of Unix seconds in which local time is UTC + offset_s. The first and the last of a zone
  // begin and end about 32,000 years away.
  struct Span {
    int64_t begin_s = 0;
    int64_t end_s = 0;
    int64_t offset_s = 0;
  };
  // The span that `unix_s` lies in: a binary search, some hundred nanoseconds.
  [[nodiscard]] Span At(int64_t unix_s) const;

 private:
  explicit TimeZone(const date::time_zone* zone) : zone_(zone) {}

  const date::time_zone* zone_ = nullptr;  // the library's, for the process's life; null: UTC
};

}  // namespace vestq
