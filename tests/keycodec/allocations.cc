#include "tests/keycodec/allocations.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace vestq::keycodec::testing {
namespace {
Allocations counted;
}  // namespace

Allocations CountedAllocations() { return counted; }
void ResetAllocations() { counted = Allocations(); }
static void Count(size_t size) {
  ++counted.count;
  counted.largest = std::max(counted.largest, size);
}

}  // namespace vestq::keycodec::testing

void* operator new(size_t size) {
  vestq::keycodec::testing::Count(size);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
