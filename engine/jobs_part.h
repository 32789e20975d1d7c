// What one core does to some of its jobs for a command that is about many: a request of the engine's
// own, sent to the owner of the jobs by the core where the command started. Internal to engine/.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/queue_life.h"
#include "engine/request.h"
#include "keycodec/records.h"

namespace vestq {

struct QueueRecord;

struct JobsPart : Request {
  JobsPart() : Request(RequestKind::kJobsPart) {
    done = [](Request* request, void*) {
      // Moved out: it may bring the part's end.
      const auto then = std::move(static_cast<JobsPart*>(request)->finished);
      then();
    };
  }

  enum class Work : uint8_t {
    kDescribe,
    kRedrive,
    kDrop,      // dead letters whose time is over
    kKeep,      // a queue has dead letters that its keeper must look at: `from_queue`
    kForget,    // that keeper has found none: tell it of the next
    kNote,      // a job has been put into SCHEDULED of `note_lane`: look there
    kHandover,  // word about edges between jobs: `word`, whose row is `word_key` (core_links.cc)
    kSwitch,    // `from_queue` has another life: switch to it
    kErase,     // every core has switched: erase what is void of `from_queue`, or of `number`
    kRemove,    // jobs of PURGE
    kRemoveLeases,   // leased ones, all that match
    kRemoveWindows,  // open windows of unique keys of `space`
    kCount,          // begin to count what stands in `from_queue` (core_backlog.cc)
    kVanish,         // `from_queue` is about to vanish: say so behind what was done
    kVanished,       // it has
  };
  Work work = Work::kDescribe;
  CoreId owner;
  std::vector<JobId> ids;          // all of lanes of `owner`
  std::function<void()> finished;  // at the origin, when all of it is as durable as promised

  // kDescribe. Outputs: jobs[i] is ids[i]; null from where the payloads became too many.
  bool want_payload = false;
  uint64_t max_bytes = 0;  // of payloads; at least one job is described
  std::vector<std::unique_ptr<JobRequest>> jobs;

  // kRedrive. Outputs: redriven; with one id also why not (error).
  QueueRecord* from_queue = nullptr;
  QueueRecord* to_queue = nullptr;
  std::vector<int64_t> vest_ms;  // of each; 0: at once
  bool explain = false;
  uint64_t redriven = 0;

  // kDrop.
  std::vector<std::string> keys;  // of the dead letters of `ids`

  // kSwitch, kErase. Outputs of kSwitch: removed_by.
  KeyKinds kinds = 0;
  QueueId number;  // that a dropped queue had; 0: it was purged
  std::array<int64_t, kKeyKinds> removed_by{};

  // kRemove, kRemoveLeases: jobs of `from_queue` in that state (kGone: in any but done), enqueued until
  // then. Outputs: removed, also of kSwitch.
  JobState state = JobState::kGone;
  bool one_space = false;
  std::string space;
  int64_t until_ms = 0;
  int64_t removed = 0;

  // kNote.
  LaneId note_lane;
  keycodec::Clock note_clock = keycodec::Clock::kEngine;
  int64_t note_ms = 0;

  // kHandover.
  keycodec::HandoverValue word;
  std::string word_key;
  // kSubscribe: what its owner has found; of those that are gone also why.
  std::vector<JobId> complete;
  std::vector<std::pair<JobId, std::string>> gone;
};

}  // namespace vestq
