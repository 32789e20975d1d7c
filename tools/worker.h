// The loop of `vestq work`: leases jobs, runs a command for each, renews while it runs, and tells
// the server how it went.
//
// One thread, one poll. Two connections: a waiting LEASE holds up what stands behind it, so it has
// one of its own; RENEW, COMPLETE, FAIL and RELEASE go over the other. Cost: about a kilobyte and
// three pipes a running command.
//
// WORK-1: a command runs only while its lease is believed to hold: it is killed, with its process
// group, when a RENEW is
//   answered LEASELOST.
// WORK-2: a job is completed only after its command ended with status 0 and what it printed was
// written, or with `result` as a whole its RESULT. WORK-3: a COMPLETE or FAIL that was sent and not answered (the connection went away) is
// asked again on the next one,
//   until it is answered. LEASELOST then means that it had been carried out, or that the lease
//   ended: which, is not known.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/address.h"
#include "tools/child.h"
#include "tools/drain.h"
#include "tools/line_sink.h"
#include "tools/link.h"
#include "tools/verdict.h"

namespace vestq {

struct WorkerOptions {
  Address server;
  std::vector<std::string> queues;
  std::vector<std::string> command;
  std::string name;
  std::string lease;  // FOR of each LEASE; empty: the job's or the queue's
  uint32_t concurrency = 1;
  std::optional<std::string> space;  // only jobs of this one
  bool result = false;               // what a command prints is its job's RESULT
  int64_t give_up_ms = 0;            // the server has been away so long: leave; 0: never
  int64_t patience_ms = 0;           // a server that is silent for so long is gone; 0: never
  ExitRules exits;
  bool drain = false;    // leave once there is nothing to lease and nothing runs
  bool verbose = false;  // a log line for each start and end
};

class Worker {
 public:
  explicit Worker(WorkerOptions options);
  ~Worker();

  // Jobs since the start, by how they ended for this worker: those whose end the server has answered, those whose
  // lease was over first (also when the command itself ended it), and those given back.
  struct Counts {
    uint64_t completed = 0;
    uint64_t failed = 0;
    uint64_t lost = 0;
    uint64_t released = 0;
  };
  const Counts& counts() const { return counts_; }
  // With `drain`, after Run: what was left in the queues, a line each.
  const std::vector<std::string>& left() const { return drain_.left(); }

  // Until told to stop by SIGTERM or SIGINT (which the caller has blocked, with SIGCHLD). Returns
  // an exit status. Blocks.
  int Run();

 private:
  struct Slot {
    enum class State : uint8_t { kFree, kRunning, kEnded };
    State state = State::kFree;
    uint64_t serial =
        0;  // of the job that is in it, so that a late answer is not taken for the next one's
    std::string id;
    std::string receipt;
    std::string attempt;
    Child child;
    int64_t renew_at_ms = 0;
    bool renewing = false;  // sent, not answered
    bool lost = false;      // the lease is over, the command has been killed
    bool telling = false;   // COMPLETE or FAIL is sent, not answered
    bool unsure = false;    // it was sent before and not answered
    int64_t tell_at_ms = 0;
    uint64_t out_mark = 0;  // output that must be written first (WORK-2)
    uint64_t err_mark = 0;
    Verdict verdict;
  };

  void Lease();
  void OnLeased(const redisReply* reply);
  // Drained: nothing was leased.
  void OnNothing();
  void TakeJob(const redisReply& job);
  void GiveBack(const std::string& id, const std::string& receipt, const char* why);
  void Renew(Slot* slot, int64_t now_ms);
  void OnRenewed(Slot* slot, const redisReply* reply);
  void OnChildren();
  void OnEnded(Slot* slot);
  void Tell(Slot* slot, int64_t now_ms);
  void OnTold(Slot* slot, const redisReply* reply);
  // It was answered with what it did.
  void LogTold(const Slot& slot, const redisReply& reply);
  // Its lease was over before: says how the job stands now, which the server knows.
  void OnOver(const Slot& slot);
  // Whether the result of a completed job was kept: one warning, not one a job.
  void CheckKept(const Slot& slot);
  // A question whose answer is awaited before leaving.
  void Ask(const std::vector<std::string_view>& command,
           std::function<void(const redisReply* reply)> answer);
  void Free(Slot* slot);
  void OnSignal(uint32_t signal);
  void Stop();
  void LeaveNow();
  bool Done(int64_t now_ms);
  // Ms until the server has been away for too long; 0 when it has, -1 while that is no question. Commands
  // that run are waited for: nobody else can tell how they end.
  int64_t GiveUpIn(int64_t now_ms);
  // Does what is due; returns the ms until something else is, -1 for never.
  int64_t OnTime(int64_t now_ms);
  void Turn(int64_t timeout_ms);
  uint32_t FreeSlots() const;

  const WorkerOptions options_;
  LineSink out_;
  LineSink err_;
  std::vector<std::unique_ptr<Slot>> slots_;
  Link leasing_;
  Link telling_;
  int signals_ = -1;
  uint64_t serial_ = 0;
  int64_t lease_at_ms_ = 0;  // not before, after FULL
  bool stopping_ = false;
  bool leaving_ = false;
  int64_t leave_by_ms_ = 0;
  int64_t lease_end_by_ms_ = 0;
  uint32_t giving_back_ = 0;  // RELEASEs sent, not answered
  uint32_t asking_ = 0;       // questions sent, not answered
  bool result_checked_ = false;
  DrainCheck drain_;
  bool drain_waits_ = false;  // jobs are ready that a limit will let start
  bool drain_told_ = false;
  int64_t away_since_ms_ = -1;  // -1: there is a connection
  int status_ = 0;
  Counts counts_;
};

}  // namespace vestq
