// Which life of a queue keys belong to: the number its name stands for, and the one incarnation of each
// kind of key that lives. PURGE raises incarnations, QUEUE DROP gives the name another number; either is
// one small write, and what stood there before is void from then on, erased later in slices
// (engine/core_erase.cc).
//
// LIFE-1: a key is written with the incarnation that its kind has at that moment, so of each kind one
// incarnation lives and all below are void. Whether a job lives is told by where it stands, never by the
// incarnation in its header. LIFE-2: the queue's row says it first; each core follows (`switches`) in a
// turn of its own, so a crash in between leaves nothing to repair: a start begins with the row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/base/ids.h"
#include "keycodec/queue_records.h"

namespace vestq {

enum class KeyKind : uint8_t { kReady, kScheduled, kWaiting, kDead, kDone };
inline constexpr size_t kKeyKinds = 5;
inline constexpr std::array<keycodec::Counter, kKeyKinds> kCounterOfKind = {
    keycodec::Counter::kReady, keycodec::Counter::kScheduled, keycodec::Counter::kWaiting,
    keycodec::Counter::kDead, keycodec::Counter::kDone};

// A set of kinds.
using KeyKinds = uint8_t;
constexpr KeyKinds Only(KeyKind kind) {
  return static_cast<KeyKinds>(1u << static_cast<int>(kind));
}
constexpr bool Has(KeyKinds kinds, KeyKind kind) { return (kinds & Only(kind)) != 0; }
inline constexpr KeyKinds kAllKinds = (1u << kKeyKinds) - 1;
// What PURGE takes when it is given no state.
inline constexpr KeyKinds kUnfinishedKinds =
    Only(KeyKind::kReady) | Only(KeyKind::kScheduled) | Only(KeyKind::kWaiting);

struct QueueLife {
  uint64_t version = 0;  // of this run: another one is another life
  QueueId number;
  Incarnation newest{1};
  std::array<Incarnation, kKeyKinds> living{Incarnation(1), Incarnation(1), Incarnation(1),
                                            Incarnation(1), Incarnation(1)};

  Incarnation operator[](KeyKind kind) const { return living[static_cast<size_t>(kind)]; }
  Incarnation& operator[](KeyKind kind) { return living[static_cast<size_t>(kind)]; }
  // Something of it was purged, ever.
  bool purged() const { return newest != Incarnation(1); }
};

// A purge's bound is 0 where there never was one.
inline QueueLife LifeOf(const keycodec::QueueValue& value) {
  QueueLife life;
  life.number = value.queue;
  life.newest = value.incarnation;
  const auto set = [&life](KeyKind kind, Incarnation bound) {
    if (bound != Incarnation(0)) life[kind] = bound;
  };
  set(KeyKind::kReady, value.living.ready);
  set(KeyKind::kScheduled, value.living.scheduled);
  set(KeyKind::kWaiting, value.living.waiting);
  set(KeyKind::kDead, value.living.dead);
  set(KeyKind::kDone, value.living.done);
  return life;
}

inline keycodec::PurgeBounds BoundsOf(const QueueLife& life) {
  const auto bound = [&life](KeyKind kind) {
    return life[kind] == Incarnation(1) ? Incarnation(0) : life[kind];
  };
  return {bound(KeyKind::kReady), bound(KeyKind::kScheduled), bound(KeyKind::kWaiting),
          bound(KeyKind::kDead), bound(KeyKind::kDone)};
}

}  // namespace vestq
