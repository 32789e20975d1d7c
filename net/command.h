// The commands: a table of names, arities and handlers, and how a command becomes a request of the
// engine.
//
// A handler reads the arguments and either submits one request (job commands), or answers at once
// (all others, which therefore run when everything before them on the connection has been
// answered), or fails with an error. Handlers run on the session's reactor and do not block.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/result.h"

namespace vestq {

class Session;
using Args = std::span<const std::string_view>;  // the command's name first

enum CommandFlag : uint8_t {
  kCommandJob = 1,  // becomes a request of the engine
  kCommandWrite = 2,
  kCommandBlocking = 4,  // may wait
  kCommandAdmin = 8,
  kCommandGroup = 16,      // may stand between MULTI and EXEC
  kCommandControl = 32,    // is carried out at once there
  kCommandListening = 64,  // also on a RESP2 connection that listens to events
};

struct CommandSpec {
  const char* name;  // upper case
  int arity;         // Redis's: arguments with the name; negative: at least so many
  uint8_t flags;
  const char* group;
  const char* summary;
  void (*handler)(Session& session, Args args);

  bool is(CommandFlag flag) const { return (flags & flag) != 0; }
};

std::span<const CommandSpec> Commands();
// nullptr: no such command. Any case.
const CommandSpec* FindCommand(std::string_view name);

// "unknown command 'x', with args beginning with: 'a' 'b' " as Redis words it.
std::string UnknownCommand(Args args);
std::string WrongArity(std::string_view command);
std::string UnknownSubcommand(std::string_view command, std::string_view sub);

// Handlers, by file.
namespace handlers {
// command_jobs.cc
void Enqueue(Session& session, Args args);
void EnqueueMany(Session& session, Args args);
void Lease(Session& session, Args args);
void Renew(Session& session, Args args);
void Checkpoint(Session& session, Args args);
void Complete(Session& session, Args args);
void CompleteMany(Session& session, Args args);
void Fail(Session& session, Args args);
void Release(Session& session, Args args);
void Cancel(Session& session, Args args);
void Job(Session& session, Args args);
// command_handling.cc
void Peek(Session& session, Args args);
void Workers(Session& session, Args args);
void Redrive(Session& session, Args args);
void Revoke(Session& session, Args args);
void Promote(Session& session, Args args);
void Reschedule(Session& session, Args args);
// command_kv.cc
void SetData(Session& session, Args args);
void GetData(Session& session, Args args);
void GetManyData(Session& session, Args args);
void CountData(Session& session, Args args);
void DeleteData(Session& session, Args args);
void RangeData(Session& session, Args args);
// command_multi.cc
void Multi(Session& session, Args args);
void Exec(Session& session, Args args);
void Discard(Session& session, Args args);
void Watch(Session& session, Args args);
// command_queues.cc
void Queues(Session& session, Args args);
void Queue(Session& session, Args args);
// command_spaces.cc
void Spaces(Session& session, Args args);
void Space(Session& session, Args args);
// command_purge.cc
void Purge(Session& session, Args args);
void DropQueue(Session& session, Args args);
// command_schedules.cc
void Schedule(Session& session, Args args);
// command_watch.cc
void WaitFor(Session& session, Args args);
void Events(Session& session, Args args);
// command_connection.cc
void Ping(Session& session, Args args);
void Echo(Session& session, Args args);
void Hello(Session& session, Args args);
void Auth(Session& session, Args args);
void Select(Session& session, Args args);
void Reset(Session& session, Args args);
void Quit(Session& session, Args args);
void Cluster(Session& session, Args args);
// command_client.cc
void Client(Session& session, Args args);
// command_help.cc. Answers `COMMAND HELP`, and says so; else does nothing. REQUIRES: two arguments or more.
bool Help(Session& session, Args args);
// command_server.cc
void Command(Session& session, Args args);
void Info(Session& session, Args args);
void Time(Session& session, Args args);
void Shutdown(Session& session, Args args);
}  // namespace handlers

}  // namespace vestq
