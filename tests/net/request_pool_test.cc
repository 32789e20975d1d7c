// What is kept for reuse is bounded, whatever clients sent.
#include "net/request_pool.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace vestq {
namespace {

TEST(RequestPool, KeepsLittleOfAGreatGroup) {
  RequestPool pool;
  auto* const group = pool.Take<GroupRequest>();
  for (int i = 0; i < 3000; ++i) {
    auto* const job = pool.Take<EnqueueRequest>();
    job->payload.assign(12 << 10, 'x');
    group->members.emplace_back(job);
  }
  pool.Put(group);
  EXPECT_EQ(pool.taken(), 0u);
  // An empty string counts the few bytes that it has in itself.
  EXPECT_LE(pool.kept_bytes(), RequestPool::kKeptBytesAll + 3000 * sizeof(std::string));
  EXPECT_GT(pool.kept_bytes(), RequestPool::kKeptBytesAll / 2) << "but something";
  // As new, each of them, and the count goes down to nothing.
  std::vector<EnqueueRequest*> all;
  for (int i = 0; i < 3000; ++i) {
    all.push_back(pool.Take<EnqueueRequest>());
    EXPECT_EQ(all.back()->payload, "");
  }
  EXPECT_EQ(pool.kept_bytes(), 0u);
  for (EnqueueRequest* const job : all) pool.Put(job);
  EXPECT_EQ(pool.taken(), 0u);
}

TEST(RequestPool, ShortPayloadsStay) {
  RequestPool pool;
  std::vector<EnqueueRequest*> jobs;
  for (int i = 0; i < 1000; ++i) {
    jobs.push_back(pool.Take<EnqueueRequest>());
    jobs.back()->payload.assign(256, 'x');
  }
  for (EnqueueRequest* const job : jobs) pool.Put(job);
  EnqueueRequest* const next = pool.Take<EnqueueRequest>();
  EXPECT_GE(next->payload.capacity(), 256u) << "no allocation for the next";
  pool.Put(next);
}

}  // namespace
}  // namespace vestq
