// The load: some connections, each with up to `depth` jobs in flight, in rounds. A round of a
// connection sends all its puts in one go, waits for all answers, sends the takes, waits, sends the
// completes, waits. A mode leaves phases out: fill only puts, drain only takes and completes. One
// thread runs everything over epoll (level-triggered); it is a closed loop, so a slow server is
// asked less, and a latency says what a client of this loop saw.
//
// Checked, or the run fails: every answer is the expected one; every payload is whole; no job is
// taken twice; after a lifecycle run on an empty queue every job put was taken, and the queue then
// answers that it is empty.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "bench/load/connection.h"
#include "bench/load/dialect.h"
#include "bench/load/histogram.h"
#include "bench/load/payload.h"
#include "bench/load/server_probe.h"

namespace vestq::bench {

struct Plan {
  bool put = true;
  bool take = true;  // and complete
  size_t connections = 50;
  size_t depth = 1;
  size_t payload_bytes = 256;
  Fill fill = Fill::kRandom;
  uint32_t run = 1;
  uint32_t delay_s = 0;
  double warmup_s = 0;
  double seconds = 0;    // measured time; 0: until `count`
  uint64_t count = 0;    // lifecycles (or puts, or takes) in all; 0: until `seconds`
  bool backlog = false;  // other jobs are waiting: what is taken need not be what was put
};

struct Report {
  double elapsed_s = 0;  // of the measured window
  uint64_t jobs = 0;     // lifecycles (or puts, or takes) that ended within it
  uint64_t puts = 0;     // over the whole run
  uint64_t takes = 0;
  uint64_t empty_takes = 0;  // a take that found nothing although jobs were there, and was repeated
  Histogram operations[kOps];
  Histogram lifecycle;
  std::vector<double> tenths;  // jobs/s of each tenth of `count`
  ServerUse before, after;
  double own_cpu = 0;  // share of one core this program used during the window
};

class Driver {
 public:
  Driver(Plan plan, const Dialect& dialect, const ServerProbe& probe);
  // Connects, runs the plan, fills the report. The empty string, or what went wrong.
  std::string Run(uint16_t port, Report* report);

 private:
  struct Slot {
    uint64_t started_ns = 0;
    bool taken = false;
    std::string receipt;
  };
  struct Worker {
    Connection connection;
    size_t index = 0;
    Op phase = Op::kPut;
    std::vector<Slot> slots;       // of this round
    std::vector<size_t> awaiting;  // slots of the answers to come, in order
    size_t answered = 0;
    uint64_t sent_ns = 0;
    bool wants_write = false;
    bool idle = true;
  };

  std::string Connect(uint16_t port);
  std::string Loop();
  bool TimeIsUp() const;
  std::string Serve(Worker* worker, uint32_t events);
  std::string ReadAnswers(Worker* worker);
  std::string OnAnswer(Worker* worker, const Answer& answer);
  // Begins the next round; the worker becomes idle when there is nothing left to do.
  void BeginRound(Worker* worker);
  // All answers of a phase are there.
  void EndPhase(Worker* worker);
  void SendPhase(Worker* worker, Op phase);
  std::string FlushOut(Worker* worker);
  void CountJob(uint64_t started_ns);
  void OpenWindow();
  void CloseWindow();
  std::string FinalChecks();

  const Plan plan_;
  const Dialect& dialect_;
  const ServerProbe& probe_;
  std::deque<Worker> workers_;
  int epoll_ = -1;
  Ledger ledger_;
  Report* report_ = nullptr;
  uint64_t now_ns_ = 0;
  uint64_t begin_ns_ = 0;
  uint64_t window_ns_ = 0;   // when the window opened
  uint64_t own_cpu_ns_ = 0;  // at that moment
  bool in_window_ = false;
  bool stopping_ = false;  // no new rounds
  uint64_t next_number_ = 0;
  uint64_t rounds_left_ = 0;  // jobs not yet begun, with a count
  uint64_t ended_ = 0;        // jobs ended, over the whole run
  uint64_t tenth_ns_ = 0;
  size_t busy_ = 0;
  std::string payload_;
};

}  // namespace vestq::bench
