// The store-wide counter behind job ids. Cores take blocks; the end of a block is submitted to the
// store before its first id can be used (ID-1), so no id is ever given twice, across any crash. A
// crash skips what a block had left.
//
// The mutex: one acquisition in limits::kIdBlock ids.
#pragma once

#include <cstdint>
#include <mutex>

#include "engine/base/ids.h"
#include "engine/base/limits.h"
#include "engine/batch.h"
#include "engine/write_queue.h"
#include "keycodec/keys.h"
#include "keycodec/records.h"

namespace vestq {

class IdAllocator {
 public:
  // `next`: the stored bound; ids n below it may have been given.
  IdAllocator(WriteQueue* writes, uint64_t next) : writes_(writes), next_(next) {}

  struct Block {
    uint64_t next = 0;  // first unused n
    uint64_t end = 0;
  };
  // A fresh block. Any thread; does not block on the disk.
  Block Take() {
    std::lock_guard lock(mutex_);
    Block block{next_, next_ + limits::kIdBlock};
    next_ = block.end;
    Batch batch;
    batch.Put(Family::kRows, keycodec::SettingKey("ids"), keycodec::EncodeNumber(next_));
    writes_->Submit(&batch);
    return block;
  }
  // Ids n at or above this were never given.
  uint64_t bound() const {
    std::lock_guard lock(mutex_);
    return next_;
  }

 private:
  WriteQueue* const writes_;
  mutable std::mutex mutex_;
  uint64_t next_;
};

}  // namespace vestq
