#include "lanes/rate_limit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/check.h"

namespace vestq {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
// 73 years: beside engine times of this and the next century, nothing overflows.
constexpr int64_t kToleranceMostNs = std::numeric_limits<int64_t>::max() / 4;
constexpr uint64_t kMicro = 1'000'000;

Error NotARate(std::string_view field) {
  return Error(ErrorCode::kSyntax,
               std::string(field).append(
                   " must be a number of jobs a second, with at most six decimals: 10, 0.5, 20/s"));
}

int64_t CeilToMs(int64_t ns) { return ns <= 0 ? ns / kNsPerMs : (ns - 1) / kNsPerMs + 1; }

}  // namespace

Result<uint64_t> ParseRate(std::string_view text, std::string_view field) {
  if (text.ends_with("/s")) text.remove_suffix(2);
  if (text.size() > 1 && text[0] == '0' && text[1] != '.') return NotARate(field);
  uint64_t micro = 0;
  uint64_t place = kMicro;  // of the digit before; decimals divide it
  bool point = false, whole = false, decimals = false, over = false;
  for (const char c : text) {
    if (c == '.' && !point && whole) {
      point = true;
    } else if (c < '0' || c > '9' || (point && place == 1)) {
      return NotARate(field);
    } else if (point) {
      decimals = true;
      place /= 10;
      micro += static_cast<uint64_t>(c - '0') * place;
    } else {
      whole = true;
      micro = micro * 10 + static_cast<uint64_t>(c - '0') * kMicro;
      over |= micro > limits::kRateMicroMax;
      if (over) micro = 0;  // only the form still matters
    }
  }
  if (!whole || point != decimals) return NotARate(field);
  if (over || micro == 0 || micro > limits::kRateMicroMax) {
    return Error(ErrorCode::kRange,
                 std::string(field).append(" must be from 0.000001 to 1000000 jobs a second"));
  }
  return micro;
}

std::string RateToText(uint64_t rate_micro) {
  std::string text = std::to_string(rate_micro / kMicro);
  if (const uint64_t rest = rate_micro % kMicro; rest != 0) {
    std::string decimals = std::to_string(kMicro + rest);
    decimals[0] = '.';
    decimals.erase(decimals.find_last_not_of('0') + 1);
    text += decimals;
  }
  return text + "/s";
}

RateLimit::RateLimit(uint64_t rate_micro, uint32_t burst) : burst_(burst) {
  CHECK(rate_micro >= 1 && rate_micro <= limits::kRateMicroMax);
  CHECK(burst >= 1 && burst <= limits::kBurstMax);
  constexpr uint64_t kMicroNs = kMicro * 1'000'000'000;
  interval_ns_ = static_cast<int64_t>((kMicroNs - 1) / rate_micro + 1);
  tolerance_ns_ = interval_ns_ > kToleranceMostNs / burst ? kToleranceMostNs
                                                          : interval_ns_ * (int64_t{burst} - 1);
}

void RateState::Start(const RateLimit& limit, MonoTime now) {
  CHECK(limit.limited() && MayStart(limit, now), "RATE-1");
  arrival_ns_ = std::max(arrival_ns_, NsOf(now)) + limit.interval_ns();
}

MonoTime RateState::DueAt(const RateLimit& limit, MonoTime now) const {
  DCHECK(limit.limited());
  return std::max(now, MonoTime(CeilToMs(arrival_ns_ - limit.tolerance_ns())));
}

void RateState::Change(const RateLimit& from, const RateLimit& to, MonoTime now) {
  if (from == to) return;
  const int64_t debt_ns = from.limited() ? arrival_ns_ - NsOf(now) : 0;
  if (!to.limited() || debt_ns <= 0) {
    arrival_ns_ = 0;
    return;
  }
  // Whole jobs are carried over exactly, the rest of one to the strict side.
  const int64_t jobs = debt_ns / from.interval_ns();
  const double rest = static_cast<double>(debt_ns % from.interval_ns()) *
                      static_cast<double>(to.interval_ns()) /
                      static_cast<double>(from.interval_ns());
  int64_t debt = to.full_debt_ns();
  if (jobs < int64_t{to.burst()} && jobs <= kToleranceMostNs / to.interval_ns()) {
    const int64_t carried = jobs * to.interval_ns() + static_cast<int64_t>(std::ceil(rest)) + 1;
    debt = std::min(debt, carried);
  }
  arrival_ns_ = NsOf(now) + debt;
}

MonoTime RateState::ToStore() const { return MonoTime(CeilToMs(arrival_ns_)); }

RateState RateState::Restored(const RateLimit& limit, MonoTime stored, MonoTime now) {
  const RateState most = Exhausted(limit, now);
  if (stored.ms() > most.arrival_ns() / kNsPerMs) return most;
  return RateState(NsOf(stored));
}

void SharedRateState::Change(const RateLimit& from, const RateLimit& to, MonoTime now) {
  int64_t seen = arrival_ns_.load(std::memory_order_acquire);
  for (;;) {
    RateState state(seen);
    state.Change(from, to, now);
    if (arrival_ns_.compare_exchange_weak(seen, state.arrival_ns(), std::memory_order_acq_rel,
                                          std::memory_order_acquire)) {
      return;
    }
  }
}

bool SharedRateState::TryStart(const RateLimit& limit, MonoTime now) {
  int64_t seen = arrival_ns_.load(std::memory_order_acquire);
  for (;;) {
    RateState state(seen);
    if (!state.MayStart(limit, now)) return false;
    state.Start(limit, now);
    if (arrival_ns_.compare_exchange_weak(seen, state.arrival_ns(), std::memory_order_acq_rel,
                                          std::memory_order_acquire)) {
      return true;
    }
  }
}

}  // namespace vestq
