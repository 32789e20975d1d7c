#include "tests/sim/world.h"

#include "engine/base/check.h"
#include "engine/check.h"

namespace vestq {
namespace {
constexpr char kPath[] = "/sim/data";
void MarkDone(Request*, void* context) { *static_cast<bool*>(context) = true; }
}  // namespace

World::World(const WorldOptions& options)
    : options_(options), random_(options.seed), fs_(std::make_shared<SimFileSystem>()) {
  fs_->MakeDirectories("/sim");
  env_ = std::make_unique<SimEnv>(fs_, options.seed);
}

World::~World() {
  if (engine_ != nullptr) {
    fs_->Kill();  // no orderly end: a test that wants one calls Close
    Drop();
  }
}

Error World::TryOpen() {
  CHECK(engine_ == nullptr);
  EngineOptions options;
  options.path = kPath;
  options.cores = options_.cores;
  options.lanes = options_.lanes;
  options.memory = options_.memory;
  options.space_memory = options_.space_memory;
  options.durability = options_.durability;
  options.max_leased = options_.max_leased;
  options.clock = &clock_;
  options.seed = options_.seed;
  options.manual = true;
  options.env = env_.get();
  options.statistics = options_.statistics;
  options.log = [this](std::string_view line) { log_.emplace_back(line); };
  options.observe_write = [this](const std::string& rep) {
    bytes_written_ += rep.size();
    // RocksDB's batch: 8 bytes of sequence number, 4 of count, little-endian.
    for (size_t i = 0; i < 4; ++i)
      records_written_ += uint64_t{static_cast<uint8_t>(rep[8 + i])} << (8 * i);
    if (!discipline_known_ || !discipline_breach_.empty()) return;
    if (const Error error = discipline_.Check(rep); !error.ok()) discipline_breach_ = error.text();
  };
  Result<std::unique_ptr<Engine>> opened = Engine::Open(options);
  if (!opened.ok()) return opened.error();
  engine_ = std::move(*opened);
  if (options_.plant_answer_before_sync) engine_->PlantAnswerBeforeSync();
  return Error::Ok();
}

void World::Open() {
  const Error error = TryOpen();
  if (!error.ok()) std::fprintf(stderr, "open: %s\n", error.ToString().c_str());
  CHECK(error.ok());
}

Error World::Close() {
  Settle();
  const Error error = engine_->Close();
  engine_.reset();
  env_->RunAll(random_);
  return error;
}

void World::Drop() {
  discipline_known_ = false;
  engine_.reset();
  while (env_->RunOldest()) {
  }
  fs_->Restart();
}

void World::Kill() {
  fs_->Kill();
  Drop();
}

void World::PowerCut(CrashMode mode) {
  fs_->Crash(random_, mode);
  Drop();
}

void World::Boot(Duration down) {
  ++clock_.boot;
  clock_.boottime_ms = 500;
  clock_.wall_ms += down.ms();
}

void World::Advance(Duration time) {
  clock_.boottime_ms += time.ms();
  clock_.wall_ms += time.ms();
  env_->clock().Advance(static_cast<uint64_t>(time.ms()) * 1000);
}

bool World::Step() {
  const size_t kinds = options_.cores + size_t{4};
  const size_t first = static_cast<size_t>(random_.Below(kinds));
  for (size_t i = 0; i < kinds; ++i) {
    const size_t kind = (first + i) % kinds;
    bool did = false;
    if (kind < options_.cores) {
      Core* const c = core(static_cast<uint16_t>(kind));
      if (!c->PrepareSleep()) {
        c->Turn();
        did = true;
      } else {
        c->EndSleep();
        did = c->UntilDue() == Duration(0) && (c->Turn(), true);
      }
    } else if (kind == options_.cores) {
      did = engine_->WriteDrain();
    } else if (kind == size_t{options_.cores} + 1) {
      did = engine_->SyncOnce();
    } else if (kind == size_t{options_.cores} + 2) {
      did = engine_->RunRead();
    } else {
      did = env_->RunOne(random_);
    }
    if (did) return true;
  }
  return false;
}

void World::Settle() {
  int idle = 0;  // a message sent in one round is found in the next
  for (int rounds = 0; rounds < 100'000; ++rounds) {
    bool any = false;
    for (uint16_t i = 0; i < options_.cores; ++i) any |= core(i)->Turn();
    for (uint16_t i = 0; i < options_.cores; ++i) {
      any |= !core(i)->PrepareSleep();
      core(i)->EndSleep();
    }
    any |= engine_->WriteDrain();
    any |= engine_->SyncOnce();
    any |= engine_->RunRead();
    any |= env_->RunOldest();
    idle = any ? 0 : idle + 1;
    if (idle == 2) return;
  }
  CHECK(false, "the engine never comes to rest");
}

void World::Start(Request* request, bool* done, uint16_t i, Stream* stream) {
  *done = false;
  request->done = MarkDone;
  request->context = done;
  request->stream = stream;
  core(i)->Start(request);
}

void World::Run(Request* request, uint16_t i) {
  bool done = false;
  Start(request, &done, i);
  Settle();
  CHECK(done, "the request is done when the engine is at rest");
}

JobId World::Enqueue(const std::string& queue, const std::string& payload, const std::string& space,
                     uint16_t i) {
  EnqueueRequest request;
  request.queue = queue;
  request.payload = payload;
  request.space = space;
  Run(&request, i);
  CHECK(request.error.ok());
  return request.id;
}

std::vector<LeasedJob> World::Lease(const std::string& queue, uint32_t count, Duration lease,
                                    uint16_t i) {
  LeaseRequest request;
  request.queues = {queue};
  request.count = count;
  request.lease = lease;
  Run(&request, i);
  CHECK(request.error.ok());
  return std::move(request.jobs);
}

Error World::Complete(const Receipt& receipt, uint16_t i) {
  CompleteRequest request;
  request.receipt = receipt;
  Run(&request, i);
  return request.error;
}

QueueCounts World::Counts(const std::string& queue) {
  QueueCounts counts;
  engine_->Queue(queue, &counts);
  return counts;
}

JobState World::State(JobId id) {
  JobRequest request;
  request.id = id;
  Run(&request);
  CHECK(request.error.ok());
  return request.state;
}

std::vector<std::string> World::Violations() {
  CHECK(Close().ok());
  std::vector<std::string> out = CheckOffline();
  Open();
  return out;
}

std::vector<std::string> World::CheckOffline() {
  CHECK(engine_ == nullptr);
  StoreOptions options;
  options.path = kPath;
  options.memory = options_.memory;
  options.env = env_.get();
  options.read_only = true;
  std::vector<std::string> out;
  {
    Result<std::unique_ptr<Store>> store = Store::Open(options);
    if (!store.ok()) {
      out.push_back("cannot be opened for the check: " + store.error().ToString());
    } else {
      const Result<CheckReport> report = CheckStore(store->get());
      if (!report.ok()) {
        out.push_back("cannot be checked: " + report.error().ToString());
      } else {
        discipline_.Clear();
        for (const Family family : {Family::kVesting, Family::kJob}) {
          auto it = (*store)->NewIterator(family, "", "");
          for (it->Seek(""); it->Valid(); it->Next()) discipline_.Insert(family, it->key());
        }
        discipline_known_ = true;
        last_report_ = *report;
        for (const auto& violation : report->violations) {
          out.push_back(violation.invariant + ": " + violation.text);
        }
      }
    }
  }
  while (env_->RunOldest()) {
  }
  return out;
}

}  // namespace vestq
