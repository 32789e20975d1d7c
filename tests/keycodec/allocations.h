// Counts what the program allocates, so that "allocates nothing" and "allocates no more than the
// input" are tests. Replaces the global operator new of the test program; one thread only.
#pragma once

#include <cstddef>

namespace vestq::keycodec::testing {

struct Allocations {
  size_t count = 0;
  size_t largest = 0;
};
// Since the last ResetAllocations.
Allocations CountedAllocations();
void ResetAllocations();

}  // namespace vestq::keycodec::testing
