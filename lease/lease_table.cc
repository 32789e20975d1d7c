#include "lease/lease_table.h"

#include <algorithm>
#include <utility>

#include "engine/base/limits.h"

namespace vestq {

static_assert(sizeof(Lease) == 136, "the cost of a lease stands in the header and in limits.h");

namespace {
constexpr unsigned kFirstSlotBits = 6;

// At most 3/4 of the slots are taken.
bool Fits(size_t leases, unsigned slot_bits) { return leases * 4 <= (size_t{1} << slot_bits) * 3; }

// Grows by a quarter instead of the library's doubling: the slack counts in the cost of a lease.
template <typename T>
void GrowFor(size_t size, std::vector<T>* vector) {
  if (size <= vector->capacity()) return;
  vector->reserve(std::max(size, vector->capacity() + vector->capacity() / 4 + 64));
}
}  // namespace

void LeaseTable::Reserve(size_t leases) {
  unsigned bits = std::max(slot_bits_, kFirstSlotBits);
  while (!Fits(leases, bits)) ++bits;
  if (bits != slot_bits_) Rehash(bits);
  GrowFor(leases, &heap_);
}

size_t LeaseTable::FindSlot(JobId id) const {
  const uint64_t hash = HashOf(id);
  const size_t mask = slots_.size() - 1;
  for (size_t slot = HomeOf(hash);; slot = (slot + 1) & mask) {
    const uint32_t entry = slots_[slot];
    if (entry == 0) return slot;
    if ((entry & ~kNodeMask) == TagOf(hash) && At((entry & kNodeMask) - 1)->id == id) return slot;
  }
}

void LeaseTable::Rehash(unsigned slot_bits) {
  slot_bits_ = slot_bits;
  slots_.assign(size_t{1} << slot_bits, 0);
  const size_t mask = slots_.size() - 1;
  for (const Place& place : heap_) {
    const uint64_t hash = HashOf(At(place.node)->id);
    size_t slot = HomeOf(hash);
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = TagOf(hash) | (place.node + 1);
  }
}

// Closes the gap: what stands behind it and does not belong behind it moves forward, so that no
// search ends too early and no tombstones pile up.
void LeaseTable::EraseSlot(size_t slot) {
  const size_t mask = slots_.size() - 1;
  size_t gap = slot;
  for (size_t at = (gap + 1) & mask; slots_[at] != 0; at = (at + 1) & mask) {
    const size_t home = HomeOf(HashOf(At((slots_[at] & kNodeMask) - 1)->id));
    if (((at - home) & mask) < ((at - gap) & mask)) continue;
    slots_[gap] = slots_[at];
    gap = at;
  }
  slots_[gap] = 0;
}

uint32_t LeaseTable::TakeNode() {
  if (free_node_ != kNoNode) {
    const uint32_t node = free_node_;
    free_node_ = At(node)->heap_index_;
    return node;
  }
  CHECK(nodes_made_ < kNodeMask, "limits: more leases than a slot can name; max-leased is below");
  if (nodes_made_ % kChunk == 0) chunks_.push_back(std::make_unique<Chunk>());
  return nodes_made_++;
}

void LeaseTable::SiftUp(size_t index, Place place) {
  while (index > 0) {
    const size_t parent = (index - 1) / kArity;
    if (heap_[parent].deadline_ms <= place.deadline_ms) break;
    Put(index, heap_[parent]);
    index = parent;
  }
  Put(index, place);
}

void LeaseTable::SiftDown(size_t index, Place place) {
  for (;;) {
    const size_t first = index * kArity + 1;
    if (first >= heap_.size()) break;
    const size_t last = std::min(first + kArity, heap_.size());
    size_t least = first;
    for (size_t child = first + 1; child < last; ++child) {
      if (heap_[child].deadline_ms < heap_[least].deadline_ms) least = child;
    }
    if (place.deadline_ms <= heap_[least].deadline_ms) break;
    Put(index, heap_[least]);
    index = least;
  }
  Put(index, place);
}

Lease* LeaseTable::Insert(const Lease& lease) {
  CHECK(lease.stored_deadline_ms >= lease.deadline.ms(), "LEASE-4: stored before exact");
  if (!Fits(heap_.size() + 1, slot_bits_) || slots_.empty()) {
    Rehash(std::max(slot_bits_ + 1, kFirstSlotBits));
  }
  const size_t slot = FindSlot(lease.id);
  CHECK(slots_[slot] == 0, "LEASE-1: the job is leased already");
  const uint32_t node = TakeNode();
  Lease* taken = At(node);
  *taken = lease;
  taken->space = texts_.Add(lease.space);
  taken->worker = texts_.Add(lease.worker);
  slots_[slot] = TagOf(HashOf(lease.id)) | (node + 1);
  GrowFor(heap_.size() + 1, &heap_);
  heap_.push_back(Place{});
  SiftUp(heap_.size() - 1, Place{lease.deadline.ms(), node});
  return taken;
}

Lease* LeaseTable::FindById(JobId id) {
  if (heap_.empty()) return nullptr;
  const uint32_t entry = slots_[FindSlot(id)];
  return entry == 0 ? nullptr : At((entry & kNodeMask) - 1);
}

Renewal LeaseTable::Renew(Lease* lease, MonoTime now, Duration length) {
  CHECK(length > Duration() && length <= limits::kLeaseMax);
  CHECK(!lease->ending, "LEASE-3: a lease that is over is not renewed");
  const Place place = {(now + length).ms(), heap_[lease->heap_index_].node};
  DCHECK(At(place.node) == lease);
  const bool later = place.deadline_ms >= lease->deadline.ms();
  const bool same_length = std::exchange(lease->granted, length) == length;
  lease->deadline = MonoTime(place.deadline_ms);
  if (later) {
    SiftDown(lease->heap_index_, place);
  } else {
    SiftUp(lease->heap_index_, place);
  }
  Renewal renewal;
  // Another length is stored at once: a renewal without one goes by it, after a crash too.
  renewal.covered = lease->stored_deadline_ms == kLeaseNotStored ||
                    (same_length && lease->stored_deadline_ms >= place.deadline_ms);
  if (renewal.covered) return renewal;
  renewal.stored_before_ms = lease->stored_deadline_ms;
  // As much again: of renewals at a steady pace at most every second one writes. Within
  // 2 kLeaseMax of now, since length is within kLeaseMax.
  renewal.stored_after_ms =
      std::max(place.deadline_ms, std::min((now + length + length).ms(), limits::kKeyTimeMsMax));
  lease->stored_deadline_ms = renewal.stored_after_ms;
  return renewal;
}

void LeaseTable::Suspend(Lease* lease) {
  lease->ending = true;
  SiftDown(lease->heap_index_, Place{MonoTime::Max().ms(), heap_[lease->heap_index_].node});
}

void LeaseTable::Resume(Lease* lease, MonoTime when) {
  CHECK(lease->ending, "LEASE-3: only an ending lease expires apart from its deadline");
  const Place place = {when.ms(), heap_[lease->heap_index_].node};
  if (place.deadline_ms <= heap_[lease->heap_index_].deadline_ms) {
    SiftUp(lease->heap_index_, place);
  } else {
    SiftDown(lease->heap_index_, place);
  }
}

void LeaseTable::Restore(Lease* lease) {
  Resume(lease, lease->deadline);
  lease->ending = false;
}

void LeaseTable::Erase(Lease* lease) {
  const size_t slot = FindSlot(lease->id);
  CHECK(slots_[slot] != 0, "LEASE-1: not a lease of this table");
  const uint32_t node = (slots_[slot] & kNodeMask) - 1;
  EraseSlot(slot);
  const size_t index = lease->heap_index_;
  const Place last = heap_.back();
  heap_.pop_back();
  if (index < heap_.size()) {
    if (last.deadline_ms < heap_[index].deadline_ms) {
      SiftUp(index, last);
    } else {
      SiftDown(index, last);
    }
  }
  texts_.Drop(lease->space);
  texts_.Drop(lease->worker);
  *lease = Lease();
  lease->heap_index_ = free_node_;
  free_node_ = node;
}

size_t LeaseTable::memory_bytes() const {
  return chunks_.size() * sizeof(Chunk) + chunks_.capacity() * sizeof(chunks_[0]) +
         heap_.capacity() * sizeof(Place) + slots_.capacity() * sizeof(uint32_t) +
         texts_.memory_bytes();
}

void LeaseTable::CheckInvariants() const {
  size_t taken = 0;
  for (const uint32_t entry : slots_) taken += entry != 0;
  CHECK(taken == heap_.size(), "LEASE-1");
  size_t free = 0;
  for (uint32_t node = free_node_; node != kNoNode; node = At(node)->heap_index_) ++free;
  CHECK(heap_.size() + free == nodes_made_);
  for (size_t i = 0; i < heap_.size(); ++i) {
    const Lease* lease = At(heap_[i].node);
    CHECK(lease->heap_index_ == i);
    CHECK(lease->ending || lease->deadline.ms() == heap_[i].deadline_ms, "LEASE-3");
    CHECK(lease->stored_deadline_ms >= lease->deadline.ms(), "LEASE-4");
    CHECK(i == 0 || heap_[(i - 1) / kArity].deadline_ms <= heap_[i].deadline_ms);
    CHECK(FindById(lease->id) == lease, "LEASE-1");
  }
}

}  // namespace vestq
