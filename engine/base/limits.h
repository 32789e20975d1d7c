// Every limit of vestq, with its reason. Hitting one is an error that names the limit and its value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/time.h"

namespace vestq::limits {

// --- Names (net/PROTOCOL.md, "Words on the wire") ---
inline constexpr size_t kQueueNameBytes = 200;  // beanstalkd's tube limit, so that names cross over
inline constexpr size_t kSpaceBytes = 200;      // part of every READY key
inline constexpr size_t kUniqueKeyBytes = 512;  // part of a row's key; a hash or an address fits
inline constexpr size_t kScheduleNameBytes = 200;  // as a queue's
inline constexpr size_t kWorkerNameBytes = 200;
inline constexpr size_t kReasonBytes = 4096;  // stored in a job row on each failure

// --- Jobs ---
inline constexpr uint64_t kJobIdMax = (uint64_t{1} << 53) - 1;  // exact in a JavaScript number
inline constexpr size_t kPayloadDefaultMax = size_t{1} << 20;
inline constexpr size_t kPayloadHardMax = size_t{64} << 20;  // beyond it a connection closes
inline constexpr uint64_t kMemoryPerPayload = 16;            // payload at most memory / 16
inline constexpr uint32_t kPriorityDefault = 1024;           // beanstalkd's border of "urgent"
inline constexpr uint32_t kAttemptsDefault = 25;
inline constexpr uint32_t kEnqueueManyMax = 1000;  // jobs of one batch, as of one LEASE
inline constexpr size_t kAfterMax =
    10'000;  // edges that one command may make: one batch, 300 KiB of it
inline constexpr uint32_t kAttemptsMax = 1'000'000'000;  // 0 is no limit

inline constexpr size_t kTypeBytes = 200;                  // as a queue's name
inline constexpr size_t kHeadersMax = 64;                  // HEADER pairs of a job
inline constexpr size_t kHeadersBytes = size_t{16} << 10;  // all names and values together
inline constexpr size_t kCheckpointBytes = size_t{64} << 10;
inline constexpr size_t kResultBytes = size_t{1} << 20;

// --- The application's own data ---
inline constexpr size_t kDataKeyBytes = 1024;
inline constexpr size_t kDataKeysMax = 1000;                // of one command
inline constexpr size_t kDataReplyBytes = size_t{8} << 20;  // as a LEASE's
inline constexpr uint32_t kRangeCountDefault = 100;
inline constexpr uint32_t kRangeCountMax = 10'000;

// --- MULTI ---
inline constexpr size_t kGroupCommandsMax = 10'000;
inline constexpr size_t kGroupBytesMax = size_t{64} << 20;  // as a payload; at most memory / 4
// What each job, key and receipt of a group counts beside its bytes: about what it costs inside.
inline constexpr size_t kGroupItemBytes = 256;
inline constexpr uint64_t kMemoryPerGroups = 4;  // all groups that wait for their EXEC: memory / 4

// --- Dead letters ---
inline constexpr Duration kDeadKeepDefault = Days(180);
inline constexpr uint64_t kDeadMaxDefault = 1'000'000;  // of a queue; the oldest is dropped
inline constexpr uint64_t kDeadMaxMost = uint64_t{1} << 48;
inline constexpr uint32_t kRedriveRateMax = 1'000'000;  // a second; faster is all at once

// --- Spans ---
inline constexpr Duration kLeaseDefault = Seconds(30);
inline constexpr Duration kLeaseMin = Milliseconds(100);
inline constexpr Duration kLeaseMax = Days(7);
inline constexpr Duration kDelayMax =
    Days(36'500);  // a century: fits the 48-bit key time from any start
inline constexpr Duration kBlockMax = Days(36'500);
inline constexpr int64_t kKeyTimeMsMax =
    (int64_t{1} << 48) - 1;  // year 10889; six bytes in every key
inline constexpr Duration kBackoffMax = Days(365);
inline constexpr size_t kBackoffListMax = 64;

// --- Schedules ---
inline constexpr size_t kSchedulesMax = 100'000;    // names in memory, some 250 bytes each
inline constexpr uint64_t kScheduleListMax = 1000;  // of a page, as of PEEK
inline constexpr Duration kEveryMin = Milliseconds(100);
inline constexpr Duration kEveryMax = Days(36'500);
inline constexpr size_t kCronBytes = 256;      // a list of every minute has 169
inline constexpr size_t kZoneNameBytes = 100;  // the longest there is has 32

// --- Leasing ---
inline constexpr size_t kQueuesPerLease = 64;
inline constexpr uint32_t kLeaseCountMax = 1000;
inline constexpr size_t kLeaseReplyBytes = size_t{8} << 20;
inline constexpr size_t kMaxLeasedMost = 1'000'000;
// A lease takes about 170 bytes of memory: by default leases take up to a sixth of the budget, at most a third.
inline constexpr uint64_t kMemoryPerLeased = 1024;
inline constexpr uint64_t kMemoryPerLeasedMin = 512;

// --- Sharing a queue ---
inline constexpr uint32_t kSpaceWeightMax =
    1000;  // a share of a thousandth is told apart from none
inline constexpr uint32_t kConcurrencyMax = 1'000'000;  // as many as there can be leases
inline constexpr uint64_t kRateMicroMax =
    1'000'000'000'000;                            // millionths of a job a second: 10^6/s
inline constexpr uint32_t kBurstMax = 1'000'000;  // a second of the greatest rate

// Below, the looks at what has aged would follow one another.
inline constexpr Duration kAgeingMin = Milliseconds(100);
inline constexpr Duration kAgeingMax = Days(365);
inline constexpr size_t kAgedJobs = 256;         // kept in memory a zone and lane, oldest first
inline constexpr size_t kAgedKeysASlice = 4096;  // looked at for them by one read

// Spaces with options of their own, over all queues: about 200 bytes each, so a fifth of the budget.
inline constexpr size_t kSpaceOptionsMax = 1'000'000;
inline constexpr uint64_t kMemoryPerSpaceOptions = 1024;

// --- Back-pressure ---
inline constexpr uint64_t kMaxJobsMost = uint64_t{1} << 48;   // more than a disk holds
inline constexpr uint64_t kMaxBytesMost = uint64_t{1} << 56;  // the same
// ENQUEUEs that wait for room hold their payloads: memory / 16 of them, one of any size in any case.
inline constexpr uint64_t kMemoryPerWaiting = 16;

// --- Looking ---
inline constexpr uint32_t kSpacesCountDefault = 100;
inline constexpr uint32_t kSpacesCountMax = 1000;  // of a page, as of PEEK
inline constexpr uint32_t kPeekCountMax = 1000;    // jobs of a page, as of one LEASE
inline constexpr size_t kPurgeIds = 1000;          // of one PURGE ... ID
inline constexpr size_t kWorkerRows = 1000;  // of WORKERS: a reply of at most about half a MiB
inline constexpr size_t kEventReaders = 64;  // EVENTS: each holds up to 1 MiB

// --- Engine ---
inline constexpr uint16_t kLanesDefault = 16;
inline constexpr uint16_t kLanesMax = 1024;
inline constexpr uint16_t kCoresMax = 64;
inline constexpr uint64_t kMemoryDefault = uint64_t{256} << 20;
inline constexpr uint64_t kMemoryMin = uint64_t{16} << 20;
inline constexpr size_t kIdBlock = 16384;         // ids a core takes at a time
inline constexpr size_t kBatchBytes = 256 << 10;  // a written group grows to about this
inline constexpr size_t kWindowJobs = 1024;       // ready jobs kept in memory a zone and lane
inline constexpr size_t kSliceJobs = 512;         // jobs moved a turn by vesting, expiry and refill
inline constexpr size_t kQueuesMax = 1'000'000;   // interned names in memory
// Tails that the log check cut, for people to look at: what nobody was answered for is not worth a disk.
inline constexpr size_t kTornFilesKept = 8;
inline constexpr uint64_t kTornBytesKept = uint64_t{64} << 20;  // of those of earlier cuts

}  // namespace vestq::limits
