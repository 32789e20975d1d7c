#include "net/command.h"

#include <array>
#include <cstring>

namespace vestq {
namespace {

constexpr uint8_t kJobWrite = kCommandJob | kCommandWrite;
constexpr uint8_t kGroupRead = kCommandJob | kCommandGroup;
constexpr uint8_t kGroupWrite = kJobWrite | kCommandGroup;

constexpr std::array kCommands = {
    CommandSpec{"ENQUEUE", -3, kGroupWrite, "jobs", "Adds a job to a queue.", handlers::Enqueue},
    CommandSpec{"ENQUEUEMANY", -4, kGroupWrite, "jobs", "Adds jobs to a queue, all or none.",
                handlers::EnqueueMany},
    CommandSpec{"LEASE", -2, kJobWrite | kCommandBlocking, "jobs",
                "Takes ready jobs, waiting for one if asked to.", handlers::Lease},
    CommandSpec{"RENEW", -2, kGroupWrite, "jobs", "Makes a lease last longer.", handlers::Renew},
    CommandSpec{"CHECKPOINT", -3, kGroupWrite, "jobs",
                "Stores how far a leased job is, and makes its lease last longer.",
                handlers::Checkpoint},
    CommandSpec{"COMPLETE", -2, kGroupWrite, "jobs", "Ends a leased job as done.",
                handlers::Complete},
    CommandSpec{"COMPLETEMANY", -2, kGroupWrite, "jobs", "Ends several leased jobs as done.",
                handlers::CompleteMany},
    CommandSpec{"FAIL", -2, kGroupWrite, "jobs",
                "Ends a lease as failed: the job is retried later, or dead.", handlers::Fail},
    CommandSpec{"RELEASE", -2, kGroupWrite, "jobs",
                "Gives a leased job back without using its attempt.", handlers::Release},
    CommandSpec{"CANCEL", -2, kGroupWrite, "jobs", "Removes an unfinished or dead job.",
                handlers::Cancel},
    CommandSpec{"JOB", -2, kCommandJob, "jobs", "Describes a job.", handlers::Job},
    CommandSpec{"WAITFOR", -2, kCommandJob | kCommandBlocking, "jobs",
                "Describes a job once it is done, dead or gone, waiting for that if asked to.",
                handlers::WaitFor},
    CommandSpec{"PEEK", -2, kCommandJob, "jobs", "Lists a queue's jobs in one state, in pages.",
                handlers::Peek},
    CommandSpec{"REDRIVE", -2, kJobWrite, "jobs", "Makes dead letters jobs again.",
                handlers::Redrive},
    CommandSpec{"PURGE", -2, kJobWrite, "jobs", "Removes a queue's jobs.", handlers::Purge},
    CommandSpec{"REVOKE", 2, kJobWrite, "jobs", "Ends a job's lease as its expiry would.",
                handlers::Revoke},
    CommandSpec{"PROMOTE", 2, kJobWrite, "jobs", "Makes a scheduled job ready now.",
                handlers::Promote},
    CommandSpec{"RESCHEDULE", -4, kJobWrite, "jobs",
                "Gives a scheduled or ready job another time, and another priority if asked to.",
                handlers::Reschedule},
    CommandSpec{"WORKERS", -1, kCommandJob, "queues", "Lists who holds leases.", handlers::Workers},
    CommandSpec{"SET", -3, kGroupWrite, "data", "Stores a value, always or if (NX, IF).",
                handlers::SetData},
    CommandSpec{"GET", 2, kGroupRead, "data", "Reads a value.", handlers::GetData},
    CommandSpec{"MGET", -2, kGroupRead, "data", "Reads several values at one moment.",
                handlers::GetManyData},
    CommandSpec{"EXISTS", -2, kGroupRead, "data", "Counts the keys that are there.",
                handlers::CountData},
    CommandSpec{"DEL", -2, kGroupWrite, "data", "Removes keys.", handlers::DeleteData},
    CommandSpec{"RANGE", -2, kGroupRead, "data", "Reads the keys of a prefix, in order.",
                handlers::RangeData},
    CommandSpec{"MULTI", 1, kCommandControl, "transactions",
                "Begins a group: what follows is queued until EXEC.", handlers::Multi},
    CommandSpec{"EXEC", 1, kJobWrite | kCommandControl, "transactions",
                "Carries out what was queued, together or not at all.", handlers::Exec},
    CommandSpec{"DISCARD", 1, kCommandControl, "transactions", "Forgets what was queued.",
                handlers::Discard},
    CommandSpec{"WATCH", -2, kCommandControl, "transactions",
                "Refused: SET key value IF old compares and sets.", handlers::Watch},
    CommandSpec{"UNWATCH", 1, kCommandControl, "transactions",
                "Refused: SET key value IF old compares and sets.", handlers::Watch},
    CommandSpec{"QUEUES", -1, 0, "queues", "Lists queues.", handlers::Queues},
    CommandSpec{"QUEUE", -2, kCommandWrite, "queues",
                "Describes a queue (INFO), sets its options (SET), pauses, resumes and drops it.",
                handlers::Queue},
    CommandSpec{"SPACES", -2, kCommandJob, "queues",
                "Lists the spaces of a queue that have jobs to run or options, in pages.",
                handlers::Spaces},
    CommandSpec{
        "SPACE", -2, kCommandWrite, "queues",
        "Describes a space of a queue (INFO), sets its options (SET), pauses and resumes it.",
        handlers::Space},
    CommandSpec{"SCHEDULE", -2, kCommandWrite, "schedules",
                "Enqueues a job at certain times (SET LIST GET DEL PAUSE RESUME RUN NEXT).",
                handlers::Schedule},
    CommandSpec{"EVENTS", -1, kCommandListening, "server",
                "Sends what happens to jobs, as it happens.", handlers::Events},
    CommandSpec{"PING", -1, kCommandListening, "connection", "Answers PONG, or its argument.",
                handlers::Ping},
    CommandSpec{"ECHO", 2, 0, "connection", "Answers its argument.", handlers::Echo},
    CommandSpec{"HELLO", -1, 0, "connection", "Chooses RESP2 or RESP3.", handlers::Hello},
    CommandSpec{"AUTH", -2, 0, "connection", "Logs in.", handlers::Auth},
    CommandSpec{"CLIENT", -2, 0, "connection", "Describes and manages connections.",
                handlers::Client},
    CommandSpec{"SELECT", 2, 0, "connection", "There is only database 0.", handlers::Select},
    CommandSpec{"RESET", 1, kCommandControl | kCommandListening, "connection",
                "Makes the connection as new.", handlers::Reset},
    CommandSpec{"QUIT", -1, kCommandControl | kCommandListening, "connection",
                "Closes the connection.", handlers::Quit},
    CommandSpec{"CLUSTER", -2, 0, "server", "This is no cluster.", handlers::Cluster},
    CommandSpec{"READONLY", 1, 0, "server", "This is no cluster.", handlers::Cluster},
    CommandSpec{"READWRITE", 1, 0, "server", "This is no cluster.", handlers::Cluster},
    CommandSpec{"ASKING", 1, 0, "server", "This is no cluster.", handlers::Cluster},
    CommandSpec{"COMMAND", -1, 0, "server", "Describes the commands.", handlers::Command},
    CommandSpec{"INFO", -1, 0, "server", "Describes the server.", handlers::Info},
    CommandSpec{"TIME", 1, 0, "server", "The server's wall clock.", handlers::Time},
    CommandSpec{"SHUTDOWN", 1, kCommandAdmin, "server", "Stops the server.", handlers::Shutdown},
};

constexpr size_t kNameMax = 16;

// Open addressing over the upper-case names; built once.
class CommandIndex {
 public:
  CommandIndex() {
    for (const CommandSpec& spec : kCommands) {
      size_t at = Hash(spec.name) & kMask;
      while (slots_[at] != nullptr) at = (at + 1) & kMask;
      slots_[at] = &spec;
    }
  }

  const CommandSpec* Find(std::string_view upper) const {
    for (size_t at = Hash(upper) & kMask; slots_[at] != nullptr; at = (at + 1) & kMask) {
      if (upper == slots_[at]->name) return slots_[at];
    }
    return nullptr;
  }

 private:
  static constexpr size_t kMask = 127;
  static size_t Hash(std::string_view name) {
    uint32_t h = 2166136261u;
    for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
    return h ^ (h >> 15);
  }
  std::array<const CommandSpec*, kMask + 1> slots_{};
};

std::string Clipped(std::string_view text) {
  std::string out;
  for (char c : text.substr(0, 128)) out.push_back(c >= 0x20 && c < 0x7f ? c : '?');
  return out;
}

}  // namespace

std::span<const CommandSpec> Commands() { return kCommands; }

const CommandSpec* FindCommand(std::string_view name) {
  static const CommandIndex index;
  if (name.size() > kNameMax) return nullptr;
  char upper[kNameMax];
  for (size_t i = 0; i < name.size(); ++i) {
    upper[i] = name[i] >= 'a' && name[i] <= 'z' ? static_cast<char>(name[i] - 32) : name[i];
  }
  return index.Find(std::string_view(upper, name.size()));
}

std::string UnknownCommand(Args args) {
  std::string text = "unknown command '" + Clipped(args[0]) + "', with args beginning with: ";
  for (size_t i = 1; i < args.size() && text.size() < 256; ++i) {
    text += "'" + Clipped(args[i]) + "' ";
  }
  return text;
}

std::string WrongArity(std::string_view command) {
  std::string lower;
  for (char c : command) lower.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c);
  return "wrong number of arguments for '" + lower + "' command";
}

std::string UnknownSubcommand(std::string_view command, std::string_view sub) {
  return "unknown subcommand '" + Clipped(sub) + "'. Try " + std::string(command) + " HELP.";
}

}  // namespace vestq
