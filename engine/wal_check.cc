// Includes RocksDB's headers (the file system).
#include "engine/wal_check.h"

#include <zstd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "engine/durable_file.h"
#include "engine/wal_reader.h"
#include "engine/wal_vouch.h"

namespace vestq {
namespace {

constexpr unsigned char kCompressionZstd = 7;  // include/rocksdb/compression_type.h
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";
constexpr size_t kInflateBytes = 32768;
constexpr uint64_t kHeaderBytes = 7;  // of a record in a log that is not recycled; ours are not

// A log's zstd stream. Each record is a frame of its own, possibly over several fragments.
class Inflater {
 public:
  Inflater() : context_(ZSTD_createDCtx()) { CHECK(context_ != nullptr); }
  void Reset() { ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only); }
  // Appends what the fragment inflates to; false when it is not zstd.
  bool Append(std::string_view fragment, std::string* out) {
    ZSTD_inBuffer in{fragment.data(), fragment.size(), 0};
    for (;;) {
      const size_t before = out->size();
      out->resize(before + kInflateBytes);
      ZSTD_outBuffer to{out->data() + before, kInflateBytes, 0};
      const size_t left = ZSTD_decompressStream(context_.get(), &to, &in);
      out->resize(before + to.pos);
      if (ZSTD_isError(left)) return false;
      if (in.pos == in.size && to.pos < kInflateBytes) return true;
    }
  }

 private:
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context_;
};

// Walks the logs in order and fills the verdict.
class Checker {
 public:
  Checker(rocksdb::FileSystem* fs, const std::string& directory, const WalBounds& bounds)
      : fs_(fs), directory_(directory), bounds_(bounds) {
    Vouch(bounds.tables);
  }

  Error Walk(uint64_t log);
  WalVerdict Finish(std::vector<uint64_t> logs);

 private:
  // The record being put together.
  struct Assembly {
    bool open = false;
    uint64_t offset = 0;
    std::string bytes;
  };

  Error Fragment(const WalFragment& fragment);
  Error SetCompression(const WalFragment& fragment);
  bool Inflate(const WalFragment& fragment, bool begins);
  void Record(uint64_t end);
  void Follow(uint64_t offset, const WalRecordHead& head);
  void Break(uint64_t offset, std::string what);
  void Vouch(Sequence sequence) { verdict_.vouched = std::max(verdict_.vouched, sequence); }

  rocksdb::FileSystem* const fs_;
  const std::string& directory_;
  const WalBounds bounds_;
  WalVerdict verdict_;
  bool broken_ = false;
  Sequence behind_;    // first key of the first readable record behind the break; 0: none
  Sequence expected_;  // of the next key; 0: no key seen yet
  uint64_t log_ = 0;
  uint64_t good_end_ = 0;  // in this log: behind the last fragment that ended a good record
  bool first_in_log_ = true;
  bool bad_beginning_ = false;
  uint64_t unread_ = 0;  // first log of zeros before any record; 0: none
  std::vector<std::pair<uint64_t, uint64_t>> sizes_;  // log, bytes
  std::unique_ptr<Inflater> inflater_;
  Assembly assembly_;
};

Error Checker::Walk(uint64_t log) {
  log_ = log;
  good_end_ = 0;
  first_in_log_ = true;
  bad_beginning_ = false;
  inflater_.reset();
  assembly_.open = false;
  auto reader = WalFragmentReader::Open(fs_, WalPath(directory_, log), log);
  if (!reader.ok()) {
    if (reader.error().code() != ErrorCode::kNotFound) return reader.error();
    Break(0, "the log is missing");
    return Error::Ok();
  }
  const uint64_t size = (*reader)->size();
  sizes_.emplace_back(log, size);
  for (;;) {
    WalFragment fragment;
    const Result<WalStep> step = (*reader)->Next(&fragment);
    if (!step.ok()) return step.error();
    if (*step == WalStep::kEnd) break;
    if (*step == WalStep::kBad) {
      Break(assembly_.open ? assembly_.offset : (*reader)->bad_offset(), (*reader)->bad_what());
      assembly_.open = false;
      bad_beginning_ = bad_beginning_ || (*reader)->bad_offset() == 0;
      continue;
    }
    VESTQ_RETURN_IF_ERROR(Fragment(fragment));
  }
  if (assembly_.open) {
    Break(assembly_.offset, "record cut short");
    assembly_.open = false;
  }
  if (!broken_ && good_end_ > 0 && size > good_end_ && size - good_end_ < kHeaderBytes)
    verdict_.padded.emplace_back(log, good_end_);
  // Nothing but zeros. Harmless, unless the logs were to begin here (see Follow).
  if (first_in_log_ && size > 0 && expected_.value() == 0 && unread_ == 0) unread_ = log;
  return Error::Ok();
}

Error Checker::Fragment(const WalFragment& fragment) {
  using Part = WalFragment::Part;
  switch (fragment.part) {
    case Part::kTimestamps:
      good_end_ = fragment.end;
      return Error::Ok();  // we write none; harmless
    case Part::kCompression: good_end_ = fragment.end; return SetCompression(fragment);
    case Part::kFull:
    case Part::kFirst: {
      first_in_log_ = false;
      if (assembly_.open) Break(assembly_.offset, "record without an end");
      assembly_.open = true;
      assembly_.offset = fragment.offset;
      assembly_.bytes.clear();
      if (!Inflate(fragment, true)) return Error::Ok();
      // What a record vouches for holds even if the rest of it is lost.
      if (const auto head = ParseRecordHead(assembly_.bytes); head && head->vouched)
        Vouch(*head->vouched);
      if (fragment.part == Part::kFull) Record(fragment.end);
      return Error::Ok();
    }
    case Part::kMiddle:
    case Part::kLast: {
      if (!assembly_.open) {
        Break(fragment.offset, "record without a beginning");
        return Error::Ok();
      }
      if (!Inflate(fragment, false)) return Error::Ok();
      if (fragment.part == Part::kLast) Record(fragment.end);
      return Error::Ok();
    }
  }
  return Error::Ok();
}

Error Checker::SetCompression(const WalFragment& fragment) {
  if (!first_in_log_) {
    Break(fragment.offset, "compression set in the middle");
    return Error::Ok();
  }
  first_in_log_ = false;
  if (fragment.bytes.size() != 4 || fragment.bytes.substr(1) != std::string_view("\0\0\0", 3) ||
      (fragment.bytes[0] != 0 &&
       static_cast<unsigned char>(fragment.bytes[0]) != kCompressionZstd)) {
    return Error(ErrorCode::kUnsupported,
                 "the log " + WalPath(directory_, log_) +
                     " is compressed by a method that this version does not know");
  }
  if (fragment.bytes[0] != 0) inflater_ = std::make_unique<Inflater>();
  return Error::Ok();
}

bool Checker::Inflate(const WalFragment& fragment, bool begins) {
  // A damaged beginning may have been the word that the log is compressed.
  if (!inflater_ && begins && bad_beginning_ && fragment.bytes.starts_with(kZstdMagic)) {
    inflater_ = std::make_unique<Inflater>();
  }
  if (!inflater_) {
    assembly_.bytes.append(fragment.bytes);
    return true;
  }
  if (begins) inflater_->Reset();
  if (inflater_->Append(fragment.bytes, &assembly_.bytes)) return true;
  Break(assembly_.offset, "compressed bytes do not inflate");
  assembly_.open = false;
  return false;
}

void Checker::Record(uint64_t end) {
  assembly_.open = false;
  const auto head = ParseRecordHead(assembly_.bytes);
  if (!head) {
    Break(assembly_.offset, "record too small");
    return;
  }
  Follow(assembly_.offset, *head);
  good_end_ = end;
}

// Sequence contiguity, across files. A record of count 0 holds no key and needs no number of its
// own.
void Checker::Follow(uint64_t offset, const WalRecordHead& head) {
  if (broken_) {
    if (head.count > 0 && behind_.value() == 0) behind_ = head.first;
    return;
  }
  if (head.count > 0 && expected_.value() == 0 && unread_ != 0) {
    broken_ = true;
    verdict_.first_break = WalBreak{unread_, 0, 0, "zeros where the logs should begin"};
    behind_ = head.first;
    return;
  }
  if (head.count == 0) {
    if (head.resumes_after && *head.resumes_after == verdict_.last_good &&
        head.first > verdict_.last_good) {
      expected_ = head.first;
      verdict_.last_good = Sequence(head.first.value() - 1);
    }
    ++verdict_.records;
    return;
  }
  const uint64_t first = head.first.value();
  char what[96];
  if (expected_.value() != 0 && first != expected_.value()) {
    std::snprintf(what, sizeof(what), "sequence gap %llu -> %llu",
                  static_cast<unsigned long long>(expected_.value() - 1),
                  static_cast<unsigned long long>(first));
    Break(offset, what);
    return;
  }
  expected_ = Sequence(first + head.count);
  verdict_.last_good = Sequence(first + head.count - 1);
  ++verdict_.records;
}

void Checker::Break(uint64_t offset, std::string what) {
  if (broken_) return;
  broken_ = true;
  verdict_.first_break = WalBreak{log_, offset, std::min(good_end_, offset), std::move(what)};
}

WalVerdict Checker::Finish(std::vector<uint64_t> logs) {
  using Kind = WalVerdict::Kind;
  verdict_.logs = std::move(logs);
  for (const auto& [log, size] : sizes_) {
    if (!broken_ || log < verdict_.first_break.log_number) continue;
    const uint64_t from = log == verdict_.first_break.log_number ? verdict_.first_break.offset : 0;
    verdict_.bytes_beyond += size - std::min(size, from);
  }
  const uint64_t vouched = verdict_.vouched.value();
  const uint64_t good = verdict_.last_good.value();
  // The live logs hold every number from their first on; so what table files hold cannot be beyond their end.
  if (!broken_ && good != 0 && bounds_.tables.value() > good) {
    Break(0, "the logs end at " + std::to_string(good) + ", table files go on to " +
                 std::to_string(bounds_.tables.value()));
  }
  if (!broken_) return std::move(verdict_);
  // Without a good key it is not known where the lost numbers begin, only that it is before the first key behind the
  // break: a loss for certain when all up to there was vouched for.
  const bool lost_by_vouch =
      good != 0 ? vouched > good : behind_.value() != 0 && vouched + 1 >= behind_.value();
  const bool lost_by_sync = bounds_.clean || verdict_.first_break.log_number < bounds_.synced_below;
  verdict_.kind = lost_by_vouch || lost_by_sync ? Kind::kLoss : Kind::kTornTail;
  return std::move(verdict_);
}

}  // namespace

Result<WalVerdict> CheckLogs(rocksdb::FileSystem* fs, const std::string& directory,
                             const std::vector<uint64_t>& logs, const WalBounds& bounds) {
  Checker checker(fs, directory, bounds);
  for (const uint64_t log : logs) VESTQ_RETURN_IF_ERROR(checker.Walk(log));
  return checker.Finish(logs);
}

}  // namespace vestq
