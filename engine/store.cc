// Includes RocksDB's headers.
#include "engine/store.h"

#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "engine/base/check.h"
#include "engine/data_directory.h"
#include "engine/store_open.h"
#include "engine/store_status.h"
#include "engine/wal_vouch.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/version.h"
#include "rocksdb/write_batch.h"

namespace vestq {
namespace {

rocksdb::Slice ToSlice(std::string_view bytes) {
  return rocksdb::Slice(bytes.data(), bytes.size());
}
std::string_view ToView(const rocksdb::Slice& slice) {
  return std::string_view(slice.data(), slice.size());
}

class RocksIterator : public StoreIterator {
 public:
  RocksIterator(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, std::string_view lower,
                std::string_view upper)
      : lower_(lower), upper_(upper), lower_slice_(lower_), upper_slice_(upper_) {
    rocksdb::ReadOptions options;
    if (!lower_.empty()) options.iterate_lower_bound = &lower_slice_;
    if (!upper_.empty()) options.iterate_upper_bound = &upper_slice_;
    iterator_.reset(db->NewIterator(options, family));
  }
  bool Valid() const override { return iterator_->Valid(); }
  void Seek(std::string_view key) override { iterator_->Seek(ToSlice(key)); }
  void Next() override { iterator_->Next(); }
  std::string_view key() const override { return ToView(iterator_->key()); }
  std::string_view value() const override { return ToView(iterator_->value()); }
  Error error() const override { return FromStatus(iterator_->status(), "cannot read the store"); }

 private:
  const std::string lower_;
  const std::string upper_;
  const rocksdb::Slice lower_slice_;
  const rocksdb::Slice upper_slice_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

// For a store that has failed or been closed.
class FailedIterator : public StoreIterator {
 public:
  explicit FailedIterator(Error error) : error_(std::move(error)) {}
  bool Valid() const override { return false; }
  void Seek(std::string_view) override {}
  void Next() override {}
  std::string_view key() const override { return {}; }
  std::string_view value() const override { return {}; }
  Error error() const override { return error_; }

 private:
  const Error error_;
};

// Until nothing of the family is in memory only. Not by a flush that waits: RocksDB 9.10 may take a
// request for done that came while another flush was being picked (min_write_buffer_number_to_merge above
// 1 makes it skip what is left), and then waits for ever. Asked again, it goes on.
Error FlushFamily(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* handle) {
  constexpr int kPauseMicros = 2000;
  for (;;) {
    uint64_t in_memory = 0;
    for (const std::string& name : {rocksdb::DB::Properties::kNumEntriesActiveMemTable,
                                    rocksdb::DB::Properties::kNumImmutableMemTable}) {
      uint64_t value = 0;
      if (db->GetIntProperty(handle, name, &value)) in_memory += value;
    }
    if (in_memory == 0) return Error::Ok();
    rocksdb::FlushOptions options;
    options.wait = false;
    options.allow_write_stall = true;
    const rocksdb::Status s = db->Flush(options, handle);
    if (!s.ok() && !s.IsTryAgain()) return FromStatus(s, "cannot flush the store");
    db->GetEnv()->SleepForMicroseconds(kPauseMicros);
  }
}

}  // namespace

struct Store::Impl {
  // Constant after construction.
  StoreOptions options;
  std::unique_ptr<DataDirectory> directory;
  std::unique_ptr<OpenDatabase> open;

  std::atomic<bool> writing{false};
  std::atomic<bool> syncing{false};
  std::atomic<bool> failed{false};
  mutable std::mutex mutex;  // guards `failure`, which any thread may find; never on a good path
  Error failure;

  rocksdb::DB* db() const { return open->db.get(); }
  rocksdb::ColumnFamilyHandle* handle(Family family) const {
    return open->families[static_cast<size_t>(family)];
  }
  // STORE-1: the first failure is the answer to everything from then on.
  Error Fail(Error error) {
    const std::lock_guard lock(mutex);
    if (failure.ok()) failure = std::move(error);
    failed.store(true, std::memory_order_release);
    return failure;
  }
  Error State() const {
    if (!failed.load(std::memory_order_acquire)) [[likely]]
      return Error::Ok();
    const std::lock_guard lock(mutex);
    return failure;
  }
};

Store::Store() = default;
Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Store>> Store::Open(const StoreOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  rocksdb::Env* env = options.env != nullptr ? options.env : rocksdb::Env::Default();
  auto directory = DataDirectory::Open(
      env->GetFileSystem().get(),
      {options.path, options.create_if_missing, options.read_only, options.lanes, options.cores});
  if (!directory.ok()) return directory.error();
  impl->directory = std::move(*directory);
  auto open = OpenChecked(*impl->directory, options);
  if (!open.ok()) return open.error();
  impl->open = std::move(*open);
  if (!impl->open->report.note.empty() && options.log) options.log(impl->open->report.note);
  const Sequence log_end = impl->open->log_end;
  const Sequence sequence = impl->open->report.sequence;
  std::unique_ptr<Store> store(new Store(std::move(impl)));
  if (options.read_only) return store;
  VESTQ_RETURN_IF_ERROR(store->impl_->directory->MarkMade());
  VESTQ_RETURN_IF_ERROR(store->impl_->directory->RemoveCleanMark());
  // RocksDB may go on behind a number that the MANIFEST has and the logs do not (their unsynced end
  // was lost); say so in the log, or the next check would take it for a loss.
  if (log_end.value() != 0 && log_end != sequence) {
    std::string resume;
    AppendResume(log_end, &resume);
    Batch batch;
    batch.LogData(resume);
    const Result<WriteOutcome> written = store->Write(batch.rep());
    if (!written.ok()) return written.error();
    if (*written == WriteOutcome::kBusy) {
      return Error(ErrorCode::kBusy,
                   "the store in \"" + options.path + "\" does not take writes while opening");
    }
    VESTQ_RETURN_IF_ERROR(store->SyncWal());
  }
  return store;
}

Store::~Store() {
  // Members go in reverse order: RocksDB first, then the lock.
}

uint16_t Store::lanes() const { return impl_->directory->lanes(); }
const OpenReport& Store::report() const { return impl_->open->report; }

Result<Store::WriteOutcome> Store::Write(std::string* rep) {
  if (Error error = impl_->State(); !error.ok()) return error;
  CHECK(!impl_->options.read_only);
  CHECK(!impl_->writing.exchange(true, std::memory_order_acquire), "WRITE-2: one writer at a time");
  rocksdb::WriteBatch batch(std::move(*rep));
  rocksdb::WriteOptions options;
  options.no_slowdown = true;
  const rocksdb::Status s = impl_->db()->Write(options, &batch);
#if ROCKSDB_MAJOR >= 8
  *rep = batch.Release();
#else  // VESTQ_ROCKSDB=system
  *rep = batch.Data();
#endif
  impl_->writing.store(false, std::memory_order_release);
  if (s.ok()) [[likely]]
    return WriteOutcome::kWritten;
  if (IsStall(s)) return WriteOutcome::kBusy;
  return impl_->Fail(FromStatus(s, "cannot write to the log in \"" + impl_->options.path + "\""));
}

Result<Store::WriteOutcome> Store::Write(const std::string& rep) {
  std::string copy = rep;
  return Write(&copy);
}

Error Store::SyncWal() {
  VESTQ_RETURN_IF_ERROR(impl_->State());
  CHECK(!impl_->syncing.exchange(true, std::memory_order_acquire), "WRITE-3: exactly one syncer");
  const rocksdb::Status s = impl_->db()->SyncWAL();
  impl_->syncing.store(false, std::memory_order_release);
  if (s.ok()) [[likely]]
    return Error::Ok();
  return impl_->Fail(FromStatus(s, "cannot sync the log in \"" + impl_->options.path + "\""));
}

Sequence Store::LatestSequence() const {
  CHECK(impl_->db() != nullptr);
  return Sequence(impl_->db()->GetLatestSequenceNumber());
}

Error Store::Get(Family family, std::string_view key, std::string* value) const {
  VESTQ_RETURN_IF_ERROR(impl_->State());
  const rocksdb::Status s =
      impl_->db()->Get(rocksdb::ReadOptions(), impl_->handle(family), ToSlice(key), value);
  if (s.IsNotFound()) return Error(ErrorCode::kNotFound, "");
  return FromStatus(s, "cannot read the store");
}

Error Store::MultiGet(Family family, const std::vector<std::string>& keys,
                      std::vector<std::string>* values, std::vector<bool>* found) const {
  values->assign(keys.size(), std::string());
  found->assign(keys.size(), false);
  VESTQ_RETURN_IF_ERROR(impl_->State());
  const std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
  std::vector<rocksdb::PinnableSlice> pinned(keys.size());
  std::vector<rocksdb::Status> statuses(keys.size());
  impl_->db()->MultiGet(rocksdb::ReadOptions(), impl_->handle(family), keys.size(), slices.data(),
                        pinned.data(), statuses.data());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (statuses[i].IsNotFound()) continue;
    if (!statuses[i].ok()) return FromStatus(statuses[i], "cannot read the store");
    (*values)[i].assign(pinned[i].data(), pinned[i].size());
    (*found)[i] = true;
  }
  return Error::Ok();
}

std::unique_ptr<StoreIterator> Store::NewIterator(Family family, std::string_view lower,
                                                  std::string_view upper) const {
  if (Error error = impl_->State(); !error.ok())
    return std::make_unique<FailedIterator>(std::move(error));
  return std::make_unique<RocksIterator>(impl_->db(), impl_->handle(family), lower, upper);
}

uint64_t Store::Property(std::string_view name) const {
  if (!impl_->State().ok()) return 0;
  uint64_t sum = 0;
  for (rocksdb::ColumnFamilyHandle* handle : impl_->open->families) {
    uint64_t value = 0;
    if (impl_->db()->GetIntProperty(handle, ToSlice(name), &value)) sum += value;
  }
  return sum;
}

Error Store::CompactAll() {
  VESTQ_RETURN_IF_ERROR(impl_->State());
  for (rocksdb::ColumnFamilyHandle* handle : impl_->open->families) {
    VESTQ_RETURN_IF_ERROR(FlushFamily(impl_->db(), handle));
    rocksdb::CompactRangeOptions options;
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    const rocksdb::Status s = impl_->db()->CompactRange(options, handle, nullptr, nullptr);
    if (!s.ok()) return FromStatus(s, "cannot compact the store");
  }
  return Error::Ok();
}

Error Store::Close() {
  if (impl_->db() == nullptr) return Error::Ok();
  // After a failure nothing is written any more, the mark least of all.
  Error error = impl_->State();
  const bool marks = error.ok() && !impl_->options.read_only;
  if (marks) error = SyncWal();
  const Sequence sequence = LatestSequence();
  // From here on every call but report() fails.
  impl_->Fail(error.ok() ? Error(ErrorCode::kShutdown, "the store is closed") : error).ok();
  const rocksdb::Status s = impl_->open->Close();
  if (error.ok())
    error = FromStatus(s, "cannot close the store in \"" + impl_->options.path + "\"");
  if (error.ok() && marks) {
    const Result<CleanMark> mark = impl_->directory->MakeCleanMark(sequence);
    error = mark.ok() ? impl_->directory->WriteCleanMark(*mark) : mark.error();
  }
  impl_->directory.reset();
  return error;
}

}  // namespace vestq
