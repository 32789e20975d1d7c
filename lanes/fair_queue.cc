#include "lanes/fair_queue.h"

#include <algorithm>

namespace vestq {

FairQueue::Handle FairQueue::Add(void* owner, uint32_t weight) {
  CHECK(weight >= 1);
  uint32_t index = free_flow_;
  if (index == kIdle) {
    index = static_cast<uint32_t>(flows_.size());
    CHECK(index != kIdle);
    flows_.emplace_back();
  } else {
    free_flow_ = flows_[index].next_free;
  }
  Flow& added = flows_[index];
  added = Flow();
  added.owner = owner;
  added.weight = weight;
  return Handle(index);
}

void FairQueue::Remove(Handle handle) {
  Deactivate(handle);
  Flow& removed = flow(handle);
  removed = Flow();
  removed.next_free = free_flow_;
  free_flow_ = handle.value();
}

void FairQueue::SetWeight(Handle handle, uint32_t weight) {
  CHECK(weight >= 1);
  Flow& changed = flow(handle);
  changed.weight = weight;
  changed.remainder = 0;
}

void FairQueue::SiftUp(size_t index, const Place& place) {
  while (index > 0) {
    const size_t parent = (index - 1) / 2;
    if (!(place < heap_[parent])) break;
    Put(index, heap_[parent]);
    index = parent;
  }
  Put(index, place);
}

void FairQueue::SiftDown(size_t index, const Place& place) {
  for (;;) {
    size_t child = 2 * index + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1] < heap_[child]) ++child;
    if (!(heap_[child] < place)) break;
    Put(index, heap_[child]);
    index = child;
  }
  Put(index, place);
}

void FairQueue::Activate(Handle handle) {
  if (!active(handle)) Enter(handle, ++arrivals_);
}

void FairQueue::Reactivate(Handle handle) {
  if (!active(handle)) Enter(handle, --returns_);
}

void FairQueue::Enter(Handle handle, uint64_t arrival) {
  Flow& activated = flow(handle);
  activated.tag = std::max(activated.tag, virtual_time_);
  heap_.emplace_back();
  SiftUp(heap_.size() - 1, Place{activated.tag, arrival, handle.value()});
}

void FairQueue::Deactivate(Handle handle) {
  const uint32_t index = flow(handle).heap_index;
  if (index == kIdle) return;
  flow(handle).heap_index = kIdle;
  const Place last = heap_.back();
  heap_.pop_back();
  if (index == heap_.size()) return;
  if (index > 0 && last < heap_[(index - 1) / 2]) {
    SiftUp(index, last);
  } else {
    SiftDown(index, last);
  }
}

void FairQueue::Charge(Handle handle, uint32_t cost) {
  Flow& charged = flow(handle);
  // Normally the top itself is served; one served out of turn does not carry the others along.
  const uint64_t started = heap_.empty() ? charged.tag : std::min(charged.tag, TopTag());
  virtual_time_ = std::max(virtual_time_, std::min(started, held_time_));
  const uint64_t work = cost * kRound + charged.remainder;
  charged.tag += work / charged.weight;
  charged.remainder = static_cast<uint32_t>(work % charged.weight);
  if (charged.heap_index == kIdle) return;
  SiftDown(charged.heap_index, Place{charged.tag, ++arrivals_, handle.value()});
}

void FairQueue::CheckInvariants() const {
  for (size_t i = 0; i < heap_.size(); ++i) {
    CHECK(flows_[heap_[i].flow].heap_index == i && flows_[heap_[i].flow].tag == heap_[i].tag);
    CHECK(heap_[i].tag >= virtual_time_, "FAIR-2");
    CHECK(i == 0 || !(heap_[i] < heap_[(i - 1) / 2]));
  }
}

}  // namespace vestq
