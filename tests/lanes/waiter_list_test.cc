#include "lanes/waiter_list.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace vestq {
namespace {

struct Waiter : WaiterLink {
  explicit Waiter(int n) : number(n) {}
  int number;
};

TEST(WaiterList, LongestWaitFirst) {
  WaiterList<Waiter> list;
  Waiter a(1), b(2), c(3);
  EXPECT_EQ(list.Front(), nullptr);
  EXPECT_EQ(list.PopFront(), nullptr);
  list.Add(&a, 10);
  list.Add(&b, 20);
  list.Add(&c, 30);
  EXPECT_EQ(list.size(), 3u);
  EXPECT_EQ(list.PopFront(), &a);
  EXPECT_FALSE(a.waiting());
  EXPECT_EQ(list.PopFront(), &b);
  EXPECT_EQ(list.PopFront(), &c);
  EXPECT_TRUE(list.empty());
}

TEST(WaiterList, RegisteringAgainKeepsItsPlace) {
  WaiterList<Waiter> list;
  Waiter a(1), b(2), c(3), d(4);
  list.Add(&a, 10);
  list.Add(&b, 20);
  list.Add(&c, 30);
  list.Remove(&b);
  list.Add(&d, 40);
  list.Add(&b, 20);
  Waiter* first = list.PopFront();
  EXPECT_EQ(first, &a);
  list.Add(first, first->order());  // woken in vain
  std::vector<int> order;
  for (Waiter* w = list.Front(); w != nullptr; w = list.Next(w)) order.push_back(w->number);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4}));
  while (!list.empty()) list.PopFront();
}

TEST(WaiterList, EqualOrdersAreFirstInFirstOut) {
  WaiterList<Waiter> list;
  Waiter a(1), b(2);
  list.Add(&a, 5);
  list.Add(&b, 5);
  EXPECT_EQ(list.PopFront(), &a);
  EXPECT_EQ(list.PopFront(), &b);
}

TEST(WaiterListDeathTest, MisuseIsABug) {
  WaiterList<Waiter> list;
  Waiter a(1);
  EXPECT_DEATH(list.Remove(&a), "WAIT-2");
  EXPECT_DEATH(
      {
        list.Add(&a, 1);
        list.Add(&a, 1);
      },
      "WAIT-2");
}

TEST(WaiterList, AgreesWithAMap) {
  WaiterList<Waiter> list;
  std::vector<std::unique_ptr<Waiter>> waiters;
  for (int i = 0; i < 200; ++i) waiters.push_back(std::make_unique<Waiter>(i));
  std::map<uint64_t, Waiter*> model;
  std::mt19937_64 random(9);
  uint64_t next_order = 1;
  for (int step = 0; step < 100'000; ++step) {
    Waiter* waiter = waiters[random() % waiters.size()].get();
    if (waiter->waiting()) {
      if (random() % 2) {
        list.Remove(waiter);
        model.erase(waiter->order());
      } else {
        Waiter* front = list.PopFront();
        ASSERT_EQ(front, model.begin()->second);
        model.erase(model.begin());
      }
    } else {
      // Its old place, or a new wait.
      const uint64_t order = waiter->order() != 0 && random() % 2 ? waiter->order() : next_order++;
      list.Add(waiter, order);
      model[order] = waiter;
    }
    ASSERT_EQ(list.size(), model.size());
    ASSERT_EQ(list.Front(), model.empty() ? nullptr : model.begin()->second);
  }
  while (!list.empty()) list.PopFront();
}

}  // namespace
}  // namespace vestq
