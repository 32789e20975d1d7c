// What a durable job costs when QuiCK (SIGMOD 2021) is done literally on the same RocksDB: the
// payload is the value of the vesting key, so that a claim and a renewal, each a delete and a put,
// write it again. Prints CPU and bytes written per job, drained at once and with a backlog, so that
// vestq's own numbers have something to be compared with. `--scheme apart` runs the same loop with
// the payload in a key of its own and single-deletes: the key operations of vestq's layout without
// vestq.
//
// One thread writes batch after batch. Each is synced (`--sync-every 1`); a small sync rewrites the
// log's last page, so with `--sync-every 16` the bytes are those of a server that gathers many jobs
// into one sync. A claim looks for its jobs
// with an iterator, as workers of the scheme do, but from a remembered bound (`--scan start` begins
// at the range's start each time, which is the literal thing, and much slower).
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/load/payload.h"
#include "bench/load/server_probe.h"

namespace vestq::bench {
namespace {

struct Options {
  std::string dir;
  std::string scheme = "literal";
  std::string scan = "bound";
  std::string fill = "random";
  std::string block_stat;
  uint64_t jobs = 200'000;
  uint64_t backlog = 0;
  size_t payload_bytes = 1024;
  size_t batch = 16;
  size_t write_buffer_mib = 64;  // RocksDB's own default
  int renewals = 1;
  uint64_t sync_every = 1;
};

constexpr uint64_t kLeaseMs = 30'000;
constexpr char kVesting = 'v';
constexpr char kPayload = 'p';

void AppendBigEndian(uint64_t value, int bytes, std::string* out) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) {
    out->push_back(static_cast<char>(value >> shift));
  }
}

uint64_t ReadBigEndian(const char* from) {
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | static_cast<uint8_t>(from[i]);
  return value;
}

// ("queue", vesting time, priority, id): the scheme's tuple with its constant parts shortened.
std::string VestingKey(uint64_t vests_ms, uint64_t id) {
  std::string key(1, kVesting);
  AppendBigEndian(1, 4, &key);
  AppendBigEndian(vests_ms, 8, &key);
  AppendBigEndian(1024, 4, &key);
  AppendBigEndian(id, 8, &key);
  return key;
}
constexpr size_t kTimeAt = 1 + 4;
constexpr size_t kIdAt = kTimeAt + 8 + 4;

std::string PayloadKey(uint64_t id) {
  std::string key(1, kPayload);
  AppendBigEndian(id, 8, &key);
  return key;
}

struct Claimed {
  uint64_t id = 0;
  uint64_t vests_ms = 0;
  std::string payload;
};

[[noreturn]] void Stop(const std::string& why) {
  std::fprintf(stderr, "literal_scheme: %s\n", why.c_str());
  std::exit(1);
}

class Scheme {
 public:
  explicit Scheme(const Options& options)
      : options_(options),
        apart_(options.scheme == "apart"),
        payload_(options.payload_bytes, '\0') {
    std::filesystem::remove_all(options.dir);
    rocksdb::Options db;
    db.create_if_missing = true;
    db.write_buffer_size = options.write_buffer_mib << 20;
    db.max_write_buffer_number = 4;
    db.min_write_buffer_number_to_merge = apart_ ? 3 : 1;
    db.compression = rocksdb::kNoCompression;
    db.max_background_jobs = 2;
    rocksdb::DB* opened = nullptr;
    Check(rocksdb::DB::Open(db, options.dir, &opened));
    db_.reset(opened);
    if (apart_) {
      // Small moving keys and large still payloads are not to be compacted together.
      Check(db_->CreateColumnFamily(db, "payload", &payloads_));
    }
    write_.sync = options.sync_every == 1;
  }

  ~Scheme() {
    if (payloads_ != nullptr) static_cast<void>(db_->DestroyColumnFamilyHandle(payloads_));
  }
  Scheme(const Scheme&) = delete;
  Scheme& operator=(const Scheme&) = delete;

  void Enqueue(uint64_t count) {
    rocksdb::WriteBatch batch;
    ++now_ms_;
    for (uint64_t i = 0; i < count; ++i, ++next_id_) {
      const Fill fill = options_.fill == "half" ? Fill::kHalf : Fill::kRandom;
      MakePayload(PayloadName{1, next_id_}, fill, payload_.size(), payload_.data());
      Put(&batch, now_ms_, next_id_, payload_);
      if (apart_) Check(batch.Put(payloads_, PayloadKey(next_id_), payload_));
    }
    Write(&batch);
  }

  // Claim, renew, complete: what a worker does to up to `count` jobs. The number it found.
  uint64_t Work(uint64_t count) {
    ++now_ms_;
    std::vector<Claimed> jobs = Find(count);
    Move(&jobs, kLeaseMs);
    for (int i = 0; i < options_.renewals; ++i) {
      ++now_ms_;
      Move(&jobs, kLeaseMs);
    }
    rocksdb::WriteBatch batch;
    for (const Claimed& job : jobs) {
      Erase(&batch, job.vests_ms, job.id);
      if (apart_) Check(batch.SingleDelete(payloads_, PayloadKey(job.id)));
    }
    Write(&batch);
    done_ += jobs.size();
    return jobs.size();
  }

  // Background work that is due is part of the cost.
  void Settle() { Check(db_->WaitForCompact(rocksdb::WaitForCompactOptions())); }
  uint64_t done() const { return done_; }

 private:
  static void Check(const rocksdb::Status& status) {
    if (!status.ok()) Stop(status.ToString());
  }

  void Write(rocksdb::WriteBatch* batch) {
    Check(db_->Write(write_, batch));
    ++writes_;
    const uint64_t every = options_.sync_every;
    if (every > 1 && writes_ % every == 0) Check(db_->SyncWAL());
  }

  void Put(rocksdb::WriteBatch* batch, uint64_t vests_ms, uint64_t id, const std::string& payload) {
    Check(batch->Put(VestingKey(vests_ms, id),
                     apart_ ? rocksdb::Slice("\1", 1) : rocksdb::Slice(payload)));
  }
  void Erase(rocksdb::WriteBatch* batch, uint64_t vests_ms, uint64_t id) {
    const std::string key = VestingKey(vests_ms, id);
    Check(apart_ ? batch->SingleDelete(key) : batch->Delete(key));
  }

  void Move(std::vector<Claimed>* jobs, uint64_t lease_ms) {
    rocksdb::WriteBatch batch;
    for (Claimed& job : *jobs) {
      Erase(&batch, job.vests_ms, job.id);
      job.vests_ms = now_ms_ + lease_ms;
      Put(&batch, job.vests_ms, job.id, job.payload);
    }
    Write(&batch);
  }

  std::vector<Claimed> Find(uint64_t count) {
    const std::string upper = VestingKey(now_ms_ + 1, 0);
    const rocksdb::Slice upper_slice(upper);
    rocksdb::ReadOptions read;
    read.iterate_upper_bound = &upper_slice;
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(read));
    std::vector<Claimed> jobs;
    for (it->Seek(bound_.empty() ? VestingKey(0, 0) : bound_); it->Valid() && jobs.size() < count;
         it->Next()) {
      const rocksdb::Slice key = it->key();
      Claimed& job = jobs.emplace_back();
      job.vests_ms = ReadBigEndian(key.data() + kTimeAt);
      job.id = ReadBigEndian(key.data() + kIdAt);
      job.payload = it->value().ToString();
      if (options_.scan == "bound") bound_ = key.ToString();
    }
    Check(it->status());
    for (Claimed& job : jobs) {
      if (apart_)
        Check(db_->Get(rocksdb::ReadOptions(), payloads_, PayloadKey(job.id), &job.payload));
      const auto name = CheckPayload(job.payload);
      if (!name || name->number != job.id) Stop("a payload is not what was put");
      if (!ledger_.Take(*name)) Stop("a job was found twice");
    }
    return jobs;
  }

  const Options& options_;
  const bool apart_;
  std::string payload_;
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::ColumnFamilyHandle* payloads_ = nullptr;  // of `apart`
  rocksdb::WriteOptions write_;
  Ledger ledger_;
  std::string bound_;
  uint64_t now_ms_ = 1'000'000;
  uint64_t next_id_ = 0;
  uint64_t done_ = 0;
  uint64_t writes_ = 0;
};

int Run(const Options& options) {
  Scheme scheme(options);
  const ServerProbe probe(getpid(), options.block_stat);
  const ServerUse before = probe.Read();
  const uint64_t begin_ns = NowNs();
  if (options.backlog > 0) {
    for (uint64_t put = 0; put < options.backlog; put += options.batch) {
      scheme.Enqueue(std::min<uint64_t>(options.batch, options.backlog - put));
    }
    while (scheme.Work(options.batch) > 0) {
    }
  } else {
    for (uint64_t put = 0; put < options.jobs; put += options.batch) {
      const uint64_t count = std::min<uint64_t>(options.batch, options.jobs - put);
      scheme.Enqueue(count);
      if (scheme.Work(count) != count) Stop("a job was not found");
    }
  }
  const double elapsed_s = static_cast<double>(NowNs() - begin_ns) / 1e9;
  scheme.Settle();
  const ServerUse after = probe.Read();
  const uint64_t wanted = options.backlog > 0 ? options.backlog : options.jobs;
  if (scheme.done() != wanted) Stop("jobs were lost");
  const double jobs = static_cast<double>(wanted);
  const double written = static_cast<double>(after.written_bytes - before.written_bytes) / jobs;
  const nlohmann::json out = {
      {"scheme", options.scheme},
      {"scan", options.scan},
      {"backlog", options.backlog},
      {"jobs", wanted},
      {"payload_bytes", options.payload_bytes},
      {"fill", options.fill},
      {"batch", options.batch},
      {"renewals", options.renewals},
      {"sync_every", options.sync_every},
      {"jobs_per_s", jobs / elapsed_s},
      {"cpu_us_per_job", static_cast<double>(after.cpu_ns - before.cpu_ns) / jobs / 1000},
      {"written_bytes_per_job", written},
      {"written_over_payload", written / static_cast<double>(options.payload_bytes)},
      {"device_bytes_per_job",
       static_cast<double>(after.device_bytes - before.device_bytes) / jobs},
  };
  std::printf("%s\n", out.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace vestq::bench

int main(int argc, char** argv) {
  vestq::bench::Options options;
  CLI::App app("The reference scheme (QuiCK, literally) on RocksDB: cost of a durable job");
  app.add_option("--dir", options.dir, "erased first; on the disk to measure")->required();
  app.add_option("--scheme", options.scheme)->check(CLI::IsMember({"literal", "apart"}));
  app.add_option("--scan", options.scan)->check(CLI::IsMember({"bound", "start"}));
  app.add_option("--fill", options.fill)->check(CLI::IsMember({"random", "half"}));
  app.add_option("--jobs", options.jobs, "drained at once");
  app.add_option("--backlog", options.backlog, "instead: fill so many, then drain them");
  app.add_option("--payload", options.payload_bytes)->check(CLI::Range(16, 1 << 20));
  app.add_option("--batch", options.batch)->check(CLI::Range(1, 10000));
  app.add_option("--renewals", options.renewals, "a job")->check(CLI::Range(0, 100));
  app.add_option("--write-buffer-mib", options.write_buffer_mib)->check(CLI::Range(1, 1024));
  app.add_option("--block-stat", options.block_stat, "sysfs stat file of the block device");
  app.add_option("--sync-every", options.sync_every, "batches; 0 never syncs (CPU alone)");
  CLI11_PARSE(app, argc, argv);
  return vestq::bench::Run(options);
}
