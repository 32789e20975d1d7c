// Linked into test programs that are not labelled `threads` (cmake/vestq.cmake): starting a thread there ends the program,
// because ThreadSanitizer would not see it.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>

extern "C" int pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) {
  std::fputs(
      "this test program starts a thread: give it the label `threads` (vestq_test in CMake)\n",
      stderr);
  std::abort();
}
