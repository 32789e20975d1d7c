// CLIENT: the connections, as Redis describes and manages them.
#include <time.h>

#include <charconv>
#include <string>

#include "net/command.h"
#include "net/options.h"
#include "net/reactor.h"
#include "net/session.h"
#include "net/words.h"

namespace vestq::handlers {
namespace {

using words::EqualsIgnoreCase;

bool IsPrintable(std::string_view text) {
  for (char c : text) {
    if (c < '!' || c > '~') return false;
  }
  return true;
}

bool ParseClientId(std::string_view text, uint64_t* id) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), *id);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && *id > 0;
}

std::string Describe(const ServerShared& shared, const ClientRecord& r, int64_t now_ms) {
  timespec ts{};
  clock_gettime(CLOCK_REALTIME, &ts);
  const int64_t wall_ms = ts.tv_sec * 1000 + ts.tv_nsec / 1'000'000;
  constexpr auto kRelaxed = std::memory_order_relaxed;
  std::string command = r.last_command.load(kRelaxed);
  for (char& c : command) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  std::string line =
      "id=" + std::to_string(r.id) + " addr=" + r.address + " laddr=" + r.local_address +
      " fd=" + std::to_string(r.fd) + " name=" + shared.clients.Get(r, &ClientRecord::name) +
      " age=" + std::to_string(std::max<int64_t>(wall_ms - r.connected_ms, 0) / 1000) +
      " idle=" + std::to_string(std::max<int64_t>(now_ms - r.last_ms.load(kRelaxed), 0) / 1000) +
      " flags=" +
      (r.blocked.load(kRelaxed)     ? "b"
       : r.listening.load(kRelaxed) ? "P"
                                    : "N") +
      " db=0 sub=0 psub=0 ssub=0 multi=-1 core=" + std::to_string(r.core.value()) +
      " tot-net-in=" + std::to_string(r.input_bytes.load(kRelaxed)) +
      " tot-net-out=" + std::to_string(r.output_bytes.load(kRelaxed)) +
      " tot-cmds=" + std::to_string(r.commands.load(kRelaxed)) + " cmd=" + command +
      " user=default redir=-1 resp=" + std::to_string(r.resp.load(kRelaxed)) +
      " lib-name=" + shared.clients.Get(r, &ClientRecord::library) +
      " lib-ver=" + shared.clients.Get(r, &ClientRecord::library_version);
  return line + "\n";
}

void SetName(Session& session, Args args) {
  if (args.size() != 3) return session.Fail("ERR", WrongArity("client|setname"));
  if (!IsPrintable(args[2])) {
    return session.Fail("ERR",
                        "Client names cannot contain spaces, newlines or special characters.");
  }
  session.shared().clients.Set(&session.record(), &ClientRecord::name, std::string(args[2]));
  session.writer().Simple("OK");
}

void GetName(Session& session, Args args) {
  if (args.size() != 2) return session.Fail("ERR", WrongArity("client|getname"));
  const std::string name = session.shared().clients.Get(session.record(), &ClientRecord::name);
  if (name.empty()) return session.writer().Null();
  session.writer().Bulk(name);
}

void Id(Session& session, Args args) {
  if (args.size() != 2) return session.Fail("ERR", WrongArity("client|id"));
  session.writer().Int(static_cast<int64_t>(session.record().id));
}

void Self(Session& session, Args args) {
  if (args.size() != 2) return session.Fail("ERR", WrongArity("client|info"));
  session.writer().Verbatim(
      Describe(session.shared(), session.record(), session.reactor().now_ms()));
}

// CLIENT LIST [TYPE normal] [ID id ...]
void List(Session& session, Args args) {
  std::string text;
  const auto& shared = session.shared();
  const int64_t now_ms = session.reactor().now_ms();
  if (args.size() > 3 && EqualsIgnoreCase(args[2], "ID")) {
    for (std::string_view word : args.subspan(3)) {
      uint64_t id = 0;
      if (!ParseClientId(word, &id)) return session.Fail("ERR", "Invalid client ID");
      const auto record = shared.clients.Find(id);
      if (record != nullptr) text += Describe(shared, *record, now_ms);
    }
    return session.writer().Verbatim(text);
  }
  const bool type = args.size() == 4 && EqualsIgnoreCase(args[2], "TYPE");
  if (args.size() != 2 && !type) return session.Fail("ERR", "syntax error");
  if (!type || EqualsIgnoreCase(args[3], "normal")) {
    for (const auto& record : shared.clients.All()) text += Describe(shared, *record, now_ms);
  } else if (!EqualsIgnoreCase(args[3], "master") && !EqualsIgnoreCase(args[3], "replica") &&
             !EqualsIgnoreCase(args[3], "slave") && !EqualsIgnoreCase(args[3], "pubsub")) {
    return session.Fail("ERR", "Unknown client type " + words::Quote(args[3]));
  }
  session.writer().Verbatim(text);
}

bool KillOne(Session& session, const ClientRecord& record) {
  if (record.id == session.record().id) {
    session.CloseAfterReplies();
  } else {
    session.shared().reactors[record.core.value()]->KillClient(record.id);
  }
  return true;
}

// CLIENT KILL ip:port, or CLIENT KILL [ID id] [ADDR ip:port] [LADDR ip:port] [SKIPME yes|no]
void Kill(Session& session, Args args) {
  const auto clients = session.shared().clients.All();
  if (args.size() == 3) {
    for (const auto& record : clients) {
      if (record->address != args[2]) continue;
      session.writer().Simple("OK");
      KillOne(session, *record);
      return;
    }
    return session.Fail("ERR", "No such client");
  }
  enum : size_t { kId, kAddr, kLaddr, kSkipMe };
  static constexpr OptionSpec kOptions[] = {{"ID"}, {"ADDR"}, {"LADDR"}, {"SKIPME"}};
  OptionReader options("CLIENT KILL", kOptions, args.subspan(2));
  uint64_t id = 0;
  std::string_view address, local;
  bool skip_me = true;
  while (options.Next()) {
    if (options.option() == kId && !ParseClientId(options.value(), &id)) {
      return session.Fail("ERR", "client-id should be greater than 0");
    }
    if (options.option() == kAddr) address = options.value();
    if (options.option() == kLaddr) local = options.value();
    if (options.option() == kSkipMe) {
      skip_me = EqualsIgnoreCase(options.value(), "yes");
      if (!skip_me && !EqualsIgnoreCase(options.value(), "no"))
        return session.Fail("ERR", "syntax error");
    }
  }
  if (!options.error().ok()) return session.Fail(options.error());
  if (args.size() == 2) return session.Fail("ERR", WrongArity("client|kill"));
  int64_t killed = 0;
  for (const auto& record : clients) {
    if (options.seen(kId) && record->id != id) continue;
    if (options.seen(kAddr) && record->address != address) continue;
    if (options.seen(kLaddr) && record->local_address != local) continue;
    if (skip_me && record->id == session.record().id) continue;
    killed += KillOne(session, *record);
  }
  session.writer().Int(killed);
}

void SetInfo(Session& session, Args args) {
  if (args.size() != 4) return session.Fail("ERR", WrongArity("client|setinfo"));
  const bool name = EqualsIgnoreCase(args[2], "lib-name");
  if (!name && !EqualsIgnoreCase(args[2], "lib-ver")) {
    return session.Fail("ERR", "Unrecognized option " + words::Quote(args[2]));
  }
  if (!IsPrintable(args[3])) {
    return session.Fail("ERR", std::string(name ? "lib-name" : "lib-ver") +
                                   " cannot contain spaces, newlines or special characters.");
  }
  session.shared().clients.Set(&session.record(),
                               name ? &ClientRecord::library : &ClientRecord::library_version,
                               std::string(args[3]));
  session.writer().Simple("OK");
}

// Answers 1 when the client was waiting; the waiting ends a moment later, on its own core.
void Unblock(Session& session, Args args) {
  if (args.size() != 3 && args.size() != 4)
    return session.Fail("ERR", WrongArity("client|unblock"));
  uint64_t id = 0;
  if (!ParseClientId(args[2], &id))
    return session.Fail("ERR", "value is not an integer or out of range");
  bool error = false;
  if (args.size() == 4) {
    error = EqualsIgnoreCase(args[3], "ERROR");
    if (!error && !EqualsIgnoreCase(args[3], "TIMEOUT")) {
      return session.Fail("ERR", "CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
    }
  }
  const auto record = session.shared().clients.Find(id);
  const bool blocked = record != nullptr && record->blocked.load(std::memory_order_relaxed);
  if (blocked) session.shared().reactors[record->core.value()]->UnblockClient(id, error);
  session.writer().Int(blocked ? 1 : 0);
}

// Redis's memory rules that do not exist here: accepted, for clients that set them.
void OnOff(Session& session, Args args) {
  if (args.size() != 3 || (!EqualsIgnoreCase(args[2], "ON") && !EqualsIgnoreCase(args[2], "OFF"))) {
    return session.Fail("ERR", "syntax error");
  }
  session.writer().Simple("OK");
}

void Reply(Session& session, Args args) {
  if (args.size() != 3) return session.Fail("ERR", WrongArity("client|reply"));
  if (EqualsIgnoreCase(args[2], "ON")) {
    session.EndSilence();
    session.writer().Simple("OK");
  } else if (EqualsIgnoreCase(args[2], "OFF")) {
    session.set_reply_mode(ReplyMode::kOff);
  } else if (EqualsIgnoreCase(args[2], "SKIP")) {
    session.set_reply_mode(ReplyMode::kSkipNext);
  } else {
    session.Fail("ERR", "syntax error");
  }
}

}  // namespace

void Client(Session& session, Args args) {
  static constexpr struct {
    std::string_view name;
    void (*handler)(Session&, Args);
  } kSubcommands[] = {
      {"SETNAME", SetName}, {"GETNAME", GetName}, {"ID", Id},           {"INFO", Self},
      {"LIST", List},       {"KILL", Kill},       {"SETINFO", SetInfo}, {"UNBLOCK", Unblock},
      {"NO-EVICT", OnOff},  {"NO-TOUCH", OnOff},  {"REPLY", Reply},
  };
  for (const auto& sub : kSubcommands) {
    if (EqualsIgnoreCase(sub.name, args[1])) return sub.handler(session, args);
  }
  if (Help(session, args)) return;
  session.Fail("ERR", UnknownSubcommand("CLIENT", args[1]));
}

}  // namespace vestq::handlers
