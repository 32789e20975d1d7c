// Assertions. CHECK is always on: a failing CHECK is a bug of ours, never of the input, the disk or the peer, and
// ends the process with the file, the line and the invariant's id. DCHECK is for checks that cost more than O(1)
// and vanishes with NDEBUG. Thread-safe; neither allocates.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace vestq::internal {
[[noreturn]] inline void CheckFailed(const char* file, int line, const char* what) {
  std::fprintf(stderr, "vestq: CHECK failed at %s:%d: %s\n", file, line, what);
  std::fflush(stderr);
  std::abort();
}
}  // namespace vestq::internal

// CHECK(condition) or CHECK(condition, "LEASE-3: why").
#define VESTQ_CHECK_1(condition)      \
  (__builtin_expect(!!(condition), 1) \
       ? (void)0                      \
       : ::vestq::internal::CheckFailed(__FILE__, __LINE__, #condition))
#define VESTQ_CHECK_2(condition, why) \
  (__builtin_expect(!!(condition), 1) \
       ? (void)0                      \
       : ::vestq::internal::CheckFailed(__FILE__, __LINE__, #condition " [" why "]"))
#define VESTQ_CHECK_PICK(_1, _2, name, ...) name
#define CHECK(...) VESTQ_CHECK_PICK(__VA_ARGS__, VESTQ_CHECK_2, VESTQ_CHECK_1, )(__VA_ARGS__)

#ifdef NDEBUG
#define DCHECK(...) ((void)0)
#else
#define DCHECK(...) CHECK(__VA_ARGS__)
#endif
