// A sorted sequence in a ring buffer: the store inside lanes/ready_window.h.
//
// Ready jobs come mostly at the end and go mostly at the front; both are O(1) and allocate nothing
// while the buffer is large enough. In between, the shorter side moves. The buffer doubles when it
// is full and goes back when a large one becomes empty, so that ten thousand quiet zones hold
// nothing. Owned by one core's thread. Internal to lanes.
//
// T is default-constructible and movable, and RankOf(const T&) gives its keycodec::ReadyRank.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "keycodec/keys.h"

namespace vestq {

template <typename T>
class RankedRing {
 public:
  explicit RankedRing(keycodec::Order order) : order_(order) {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t slots() const { return slots_.size(); }  // how many it holds before it grows
  T& operator[](size_t i) { return slots_[Slot(i)]; }
  const T& operator[](size_t i) const { return slots_[Slot(i)]; }
  const T& back() const { return (*this)[size_ - 1]; }

  bool Less(const keycodec::ReadyRank& a, const keycodec::ReadyRank& b) const {
    return keycodec::ReadyRankLess(order_, a, b);
  }

  // Where the first item stands whose rank is not less than `rank`; size() when there is none.
  size_t LowerBound(const keycodec::ReadyRank& rank) const {
    if (empty() || Less(RankOf(back()), rank)) return size_;
    size_t low = 0;
    for (size_t high = size_ - 1; low < high;) {
      const size_t middle = (low + high) / 2;
      if (Less(RankOf((*this)[middle]), rank)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  // Whether the item at `i`, found by LowerBound(rank), has just that rank.
  bool Matches(size_t i, const keycodec::ReadyRank& rank) const {
    return i < size_ && RankOf((*this)[i]) == rank;
  }

  // REQUIRES: the order stays.
  void Insert(size_t i, T&& item) {
    DCHECK(i == 0 || Less(RankOf((*this)[i - 1]), RankOf(item)));
    DCHECK(i == size_ || Less(RankOf(item), RankOf((*this)[i])));
    if (size_ == slots_.size()) Grow();
    ++size_;
    if (2 * i < size_) {
      head_ = (head_ + slots_.size() - 1) & (slots_.size() - 1);
      for (size_t k = 0; k < i; ++k) (*this)[k] = std::move((*this)[k + 1]);
    } else {
      for (size_t k = size_ - 1; k > i; --k) (*this)[k] = std::move((*this)[k - 1]);
    }
    (*this)[i] = std::move(item);
  }
  void PushBack(T&& item) { Insert(size_, std::move(item)); }

  T Erase(size_t i) {
    DCHECK(i < size_);
    T item = std::move((*this)[i]);
    if (2 * i < size_) {
      for (size_t k = i; k > 0; --k) (*this)[k] = std::move((*this)[k - 1]);
      (*this)[0] = T();
      head_ = (head_ + 1) & (slots_.size() - 1);
    } else {
      for (size_t k = i; k + 1 < size_; ++k) (*this)[k] = std::move((*this)[k + 1]);
      (*this)[size_ - 1] = T();
    }
    if (--size_ == 0 && slots_.size() > kKeptSlots) Clear();
    return item;
  }
  T PopFront() { return Erase(0); }
  T PopBack() { return Erase(size_ - 1); }

  void Clear() {
    std::vector<T>().swap(slots_);
    head_ = 0;
    size_ = 0;
  }

  size_t memory_bytes() const { return slots_.capacity() * sizeof(T); }

 private:
  static constexpr size_t kFirstSlots = 2;
  static constexpr size_t kKeptSlots = 64;  // an empty ring keeps up to so many

  size_t Slot(size_t i) const { return (head_ + i) & (slots_.size() - 1); }

  void Grow() {
    std::vector<T> larger(slots_.empty() ? kFirstSlots : 2 * slots_.size());
    for (size_t i = 0; i < size_; ++i) larger[i] = std::move((*this)[i]);
    slots_.swap(larger);
    head_ = 0;
  }

  const keycodec::Order order_;
  std::vector<T> slots_;  // a power of two, or none
  size_t head_ = 0;
  size_t size_ = 0;
};

}  // namespace vestq
