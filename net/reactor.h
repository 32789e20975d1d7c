// One core's loop: network events, the engine's core, replies. A thread of its own runs it; every
// other function is for that thread unless it says otherwise.
//
// A turn: wait for the network (one entry into the kernel, which also takes the sends of the turn
// before); give the events to the sessions, which start requests; Core::Turn; let the sessions that
// something happened to parse on and hand over their replies. It sleeps only behind
// Core::PrepareSleep (CORE-3).
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/core.h"
#include "net/poller.h"
#include "net/request_pool.h"
#include "net/server_shared.h"

namespace vestq {

class Session;

class Reactor final : public PollHandler {
 public:
  Reactor(ServerShared* shared, Core* core);
  ~Reactor() override;

  // --- From any thread ---
  // Starts the thread; `listen_fd` is -1 on all but the accepting one. Returns when the poller
  // stands, or its error; then the thread has ended.
  Error Start(IoKind io, int listen_fd);
  // Takes over an accepted socket.
  void Adopt(int fd);
  void KillClient(uint64_t id);
  void UnblockClient(uint64_t id, bool error);
  // Ends within `grace` (and the time the engine needs for what is under way). Join waits for the
  // end.
  void Stop(Duration grace);
  void Join();
  ReactorStats& stats() { return stats_; }

  // --- For sessions ---
  ServerShared& shared() { return *shared_; }
  Core& core() { return *core_; }
  RequestPool& pool() { return pool_; }
  Poller& poller() { return *poller_; }
  const SessionLimits& limits() const { return shared_->options.limits; }
  int64_t now_ms() const { return now_ms_; }  // monotonic, read once a turn
  void MarkDirty(Session* session);
  void Destroy(Session* session);
  // Gives back a lease that no client has heard of.
  void Undo(const Receipt& receipt);
  size_t input_held = 0;  // by all sessions
  size_t output_held = 0;
  size_t charge_held = 0;  // of requests under way
  // What a leased job's payload may take, as seen: rises at once, falls slowly; at first the greatest.
  size_t job_bytes() const { return job_bytes_; }
  void SeeJobBytes(size_t bytes);

  // PollHandler
  void OnAccept(int fd) override;
  void OnAcceptError(int error) override;
  void OnData(PollConn* conn, std::string_view bytes) override;
  void OnEnd(PollConn* conn, int error) override;
  void OnSent(PollConn* conn, size_t bytes, int error) override;
  void OnClosed(PollConn* conn) override;

 private:
  struct Note {
    enum class Kind : uint8_t { kAdopt, kKill, kUnblock, kStop } kind;
    int fd = -1;
    uint64_t client = 0;
    bool error = false;
    Duration grace;
  };

  void Post(const Note& note);
  void Run(IoKind io, int listen_fd);
  void TakeNotes();
  void TakeNote(const Note& note);
  void AddSession(int fd);
  Session* FindSession(uint64_t client);
  void ServiceDirty();
  void Sweep();
  void EvictInput();
  void StopTurn();
  bool NothingLeft() const;
  bool Finished();
  int64_t NextTimeout(bool more) const;
  static int64_t NowMs();

  ServerShared* const shared_;
  Core* const core_;
  std::thread thread_;
  std::promise<Error> ready_;  // the poller stands, or why not
  ReactorStats stats_;

  // The thread's.
  std::unique_ptr<Poller> poller_;
  RequestPool pool_;
  std::vector<Session*> sessions_;
  std::vector<Session*> dirty_;
  std::vector<Session*> servicing_;
  size_t job_bytes_;
  int64_t now_ms_ = 0;
  int64_t next_sweep_ms_ = 0;
  int64_t accept_again_ms_ = 0;  // 0: accepting
  int listen_fd_ = -1;           // the server's; -1 on all but the accepting one
  int spare_fd_ = -1;  // given up to take and close a connection when descriptors have run out
  bool stopping_ = false;
  bool counted_finished_ = false;
  int64_t stop_at_ms_ = 0;

  // Other threads leave notes here: rare (a new connection, CLIENT KILL), so a mutex.
  std::mutex notes_mutex_;
  std::vector<Note> notes_;
  std::atomic<bool> has_notes_{false};
};

}  // namespace vestq
