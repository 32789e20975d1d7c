// Who waits for a job of one queue on one core: an intrusive list, the longest wait first.
//
// A waiter brings its own links (derive from WaiterLink; one that waits for several queues has one
// link each) and an order number, given once when it began to wait: the smaller has waited longer.
// So a waiter that was woken in vain and registers again takes its old place. Add is O(1) for the
// newest and for the longest waiter, otherwise it walks back from the newest; all else is O(1);
// nothing allocates. Owned by the core's thread.
//
// WAIT-1: Front has the smallest order number of all in the list.
// WAIT-2: a link stands in at most one list, and leaves it before it dies (CHECK).
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/check.h"

namespace vestq {

template <typename Waiter>
class WaiterList;

class WaiterLink {
 public:
  WaiterLink() = default;
  ~WaiterLink() { CHECK(!waiting(), "WAIT-2: a waiter dies while it stands in a list"); }
  WaiterLink(const WaiterLink&) = delete;
  WaiterLink& operator=(const WaiterLink&) = delete;

  bool waiting() const { return next_ != nullptr; }
  uint64_t order() const { return order_; }

 private:
  template <typename Waiter>
  friend class WaiterList;

  // Both null outside a list; the list's own end closes the circle.
  WaiterLink* previous_ = nullptr;
  WaiterLink* next_ = nullptr;
  uint64_t order_ = 0;
};

template <typename Waiter>
class WaiterList {
 public:
  WaiterList() { end_.previous_ = end_.next_ = &end_; }
  ~WaiterList() {
    CHECK(empty(), "WAIT-2: a list dies while waiters stand in it");
    end_.previous_ = end_.next_ = nullptr;
  }
  WaiterList(const WaiterList&) = delete;
  WaiterList& operator=(const WaiterList&) = delete;

  bool empty() const { return end_.next_ == &end_; }
  size_t size() const { return size_; }

  // REQUIRES: `waiter` stands in no list.
  void Add(Waiter* waiter, uint64_t order) {
    WaiterLink* link = waiter;
    CHECK(!link->waiting(), "WAIT-2: the waiter stands in a list already");
    link->order_ = order;
    WaiterLink* after = end_.previous_;
    if (!empty() && order < end_.next_->order_) after = &end_;  // the longest waiter comes back
    while (after != &end_ && order < after->order_) after = after->previous_;
    link->previous_ = after;
    link->next_ = after->next_;
    link->next_->previous_ = link;
    after->next_ = link;
    ++size_;
  }

  // REQUIRES: `waiter` stands in this list.
  void Remove(Waiter* waiter) {
    WaiterLink* link = waiter;
    CHECK(link->waiting(), "WAIT-2: the waiter stands in no list");
    link->previous_->next_ = link->next_;
    link->next_->previous_ = link->previous_;
    link->previous_ = link->next_ = nullptr;
    --size_;
  }

  // The one that has waited longest; null when nobody waits.
  Waiter* Front() { return empty() ? nullptr : static_cast<Waiter*>(end_.next_); }
  Waiter* PopFront() {
    Waiter* waiter = Front();
    if (waiter != nullptr) Remove(waiter);
    return waiter;
  }
  // The next one, null after the last. REQUIRES: `waiter` stands in this list.
  Waiter* Next(Waiter* waiter) {
    WaiterLink* link = static_cast<WaiterLink*>(waiter)->next_;
    return link == &end_ ? nullptr : static_cast<Waiter*>(link);
  }

 private:
  WaiterLink end_;
  size_t size_ = 0;
};

}  // namespace vestq
