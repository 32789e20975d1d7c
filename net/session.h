// One connection that speaks RESP: bytes become requests of the engine, finished requests become
// replies in the order of their commands.
//
// Belongs to one reactor and is used on its thread only. In the steady state a command costs no
// allocation: requests and slots come from the reactor's pool, arguments are views into the
// received bytes, and all replies of a turn leave with one send.
//
// Invariants:
//  SESSION-1  Replies leave in command order. A command that is not a job operation runs when all
//             before it are answered.
//  SESSION-2  What a client can make us hold is bounded (SessionLimits): parsing stops at the soft
//             limits, reading stops when parsing has, and the hard ones close the connection.
//  SESSION-3  A lease whose reply was not wholly taken by the kernel is given back, its attempt
//             unused.
//  SESSION-4  The object lives until its last request is done and the poller has let go of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core.h"
#include "net/client_registry.h"
#include "net/command.h"
#include "net/poller.h"
#include "net/request_pool.h"
#include "net/resp_parser.h"
#include "net/resp_writer.h"

namespace vestq {

class Reactor;
struct ServerShared;

enum class ReplyMode : uint8_t { kOn, kOff, kSkipNext };

class Session final : public PollConn {
 public:
  Session(Reactor* reactor, std::shared_ptr<ClientRecord> record);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // --- From the reactor ---
  void OnData(std::string_view bytes);
  void OnEnd(int error);
  void OnSent(size_t bytes, int error);
  void OnClosed();
  // After a turn in which something happened to it: parses on, hands over replies, closes. May call
  // for its own deletion (Reactor::Destroy), so nothing follows it.
  void Service();
  // Looks at the timeouts; called about once a second while needs_timer().
  void Tick(int64_t now_ms);
  bool needs_timer() const;
  // Answers what is under way, starts nothing more, then closes.
  void Stop();
  // Closes at once; unfinished work ends as for a client that has gone.
  void Abort();
  // Ends a request that waits at the front, with null or an error.
  void Unblock(bool error);
  // Ends all requests that wait or would.
  void AbandonWaits();
  size_t input_capacity() const { return in_.capacity(); }
  bool closing() const { return state_ != State::kOpen; }
  size_t place = 0;    // among the reactor's sessions
  bool dirty = false;  // in the reactor's list

  // --- For handlers ---
  Reactor& reactor() { return *reactor_; }
  ServerShared& shared();
  RequestPool& pool();
  ClientRecord& record() { return *record_; }
  // For a reply at once. REQUIRES: the command is not a job operation.
  RespWriter writer() { return RespWriter(&out_, resp3_); }
  // Answers an error, in order. The other form is for codes that the engine does not know.
  void Fail(const Error& error);
  void Fail(std::string_view code, std::string_view text);
  // Starts a request taken from pool().
  void Submit(Request* request);
  void SubmitGroup(std::unique_ptr<CompleteGroup> group);
  // MULTI: what is submitted from now on is queued. EXEC: submits it, or fails when something of it
  // was refused. DISCARD: forgets it.
  void BeginMulti();
  void ExecMulti();
  void DropMulti();
  bool in_multi() const { return multi_ != nullptr; }
  void CloseAfterReplies();
  // Sends the events of those queues (of all when there are none) from now on, in place of those it
  // listened to before. Errors: kFull. REQUIRES: no command is under way.
  Error Listen(std::vector<std::string> queues);
  void StopListening();
  bool listening() const { return events_ != nullptr; }
  bool resp3() const { return resp3_; }
  void set_resp3(bool on);
  void set_reply_mode(ReplyMode mode) {
    reply_mode_ = mode;
    silent_ = true;  // this command has no reply either
  }
  // The reply to the command under way is given, and those after it.
  void EndSilence() {
    reply_mode_ = ReplyMode::kOn;
    silent_ = false;
  }

 private:
  enum class State : uint8_t {
    kOpen,
    kDraining,   // answers what is under way, reads nothing more
    kLingering,  // all is sent; waits a little for the peer to see it
    kClosing,    // the poller is letting go
    kClosed,     // only requests are still under way
  };
  struct UnsentLease {
    uint64_t end;  // place in the output stream where its reply ends
    Receipt receipt;
  };

  // session_events.cc
  struct EventStream;
  void PumpEvents();
  static void EventsDone(Request* request, void* context);
  void WriteEvents(const EventStream& stream);

  std::string_view Input() const;
  void Consume(size_t bytes);
  void KeepBorrowed();
  void Pump();
  bool MayParse();
  bool HeadWaits() const;
  bool Dispatch(Args args);
  void Defer(std::string code, std::string text, bool close);
  void WriteDeferred();
  void ProtocolError(const std::string& text);
  static void Done(Request* request, void* context);
  void OnDone(Slot* slot, Request* request);
  void StartGroup(Slot* slot);
  void QueueMember(Request* request);
  Error RoomInMulti(size_t bytes) const;
  void BreakMulti(std::string_view why);
  size_t GroupMax() const;
  void ReleaseGroup(size_t bytes);
  void Append(Slot* slot);
  void Drain();
  void Answer(Slot* slot);
  void NoteLeases(const Slot& slot);
  void UndoLeases(const Request* request);
  size_t Charge(const Request& request) const;
  void SetBlocking(int change);
  void Flush();
  void SettleReading();
  void SettleAccounts();
  void StartLinger();
  void MakeRoom(size_t bytes);
  void CloseNow();
  size_t Unsent() const { return out_.size() + sending_.size() - sending_at_; }

  // Constant after construction.
  Reactor* const reactor_;
  Core* const core_;
  const std::shared_ptr<ClientRecord> record_;
  const int64_t opened_ms_;

  State state_ = State::kOpen;
  bool resp3_ = false;
  ReplyMode reply_mode_ = ReplyMode::kOn;
  bool silent_ = false;      // the command being carried out is not answered
  bool peer_ended_ = false;  // no more input will come
  bool dropped_ = false;     // its stream has been dropped
  bool stopping_ = false;
  bool until_idle_ = false;  // the next command waits for all answers
  bool starved_ = true;      // the parser needs more bytes
  bool said_something_ = false;

  RespParser parser_;
  std::string in_;  // unparsed bytes
  size_t in_at_ = 0;
  std::string_view borrowed_;  // unparsed bytes in the poller's buffer, within OnData

  Stream stream_;
  Slot* head_ = nullptr;
  Slot* tail_ = nullptr;
  size_t slots_ = 0;
  size_t charge_ = 0;
  size_t blocking_ = 0;    // requests under way that may wait
  size_t heavy_ = 0;       // requests under way whose reply carries payloads
  Slot* group_ = nullptr;  // a COMPLETEMANY that is not wholly started
  // Between MULTI and EXEC.
  struct Multi {
    GroupRequest* request;
    size_t bytes = 0;  // as ServerShared::groups_held counts them
    size_t commands = 0;
    std::string broken;  // which command was refused
  };
  std::unique_ptr<Multi> multi_;
  EventStream* events_ = nullptr;  // what it listens to
  size_t event_streams_ = 0;       // that one, and those that are just ending
  const char* command_ = "";       // being carried out
  bool deferred_ = false;          // an error to be answered when all before it is
  bool deferred_close_ = false;
  bool deferred_silent_ = false;
  std::string deferred_code_;
  std::string deferred_text_;

  std::string out_;      // replies not yet handed over
  std::string sending_;  // under way
  size_t sending_at_ = 0;
  uint64_t sent_total_ = 0;  // bytes that the kernel has taken
  std::vector<UnsentLease> unsent_leases_;
  size_t unsent_leases_at_ = 0;

  size_t accounted_in_ = 0;
  size_t accounted_out_ = 0;
  size_t accounted_charge_ = 0;
  int64_t command_began_ms_ = 0;  // of a half command; 0: none
  uint64_t command_bytes_ = 0;
  int64_t sent_ms_ = 0;  // the last byte was taken
  int64_t linger_until_ms_ = 0;
};

}  // namespace vestq
