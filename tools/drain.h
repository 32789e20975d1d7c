// What a drained worker leaves, and whether it is to go on: a queue whose jobs are held by a limit looks empty to LEASE.
// Asks over a Link, one question after the other, and blocks nobody. Owned by one thread.
//
// DRAIN-1: jobs that are ready, and that a limit will let start by itself (a rate, slots that are taken now, a pause that
// ends), are waited for. Those that somebody else must release (a pause without end, concurrency 0) are left, and named.
#pragma once

#include <hiredis/hiredis.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/link.h"

namespace vestq {

class DrainCheck {
 public:
  // `space`: only its jobs count.
  DrainCheck(Link* link, std::vector<std::string> queues, std::optional<std::string> space);

  // `done` is called once: true when jobs are ready that will be let start, or when it could not be found out.
  // REQUIRES: the link is up, !asking().
  void Ask(std::function<void(bool go_on)> done);
  bool asking() const { return done_ != nullptr; }

  // By the last answer: a line for each queue that is left with ready jobs, or is not there.
  const std::vector<std::string>& left() const { return left_; }
  // What is waited for, when it goes on: "the queue "q": 4 ready jobs, held by a limit (rate 2/s)".
  const std::string& waits_for() const { return waits_for_; }

 private:
  void AskQueue();
  void OnQueue(const redisReply* reply);
  void AskSpaces(const std::string& cursor);
  void OnSpaces(const redisReply* reply);
  // Of a map of SPACE INFO or SPACES. True when its ready jobs will be let start.
  bool Starts(const redisReply& space);
  void NextQueue();
  void Finish(bool go_on);
  const std::string& queue() const { return queues_[at_]; }

  Link* const link_;
  const std::vector<std::string> queues_;
  const std::optional<std::string> space_;
  std::function<void(bool)> done_;
  size_t at_ = 0;
  int64_t held_ = 0;    // ready jobs of spaces that give none out
  std::string limits_;  // of the queue, for people
  std::vector<std::string> left_;
  std::string waits_for_;
};

}  // namespace vestq
