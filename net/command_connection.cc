// Commands on the connection itself, and those that tell a client of Redis that this is no Redis
// cluster.
#include <charconv>

#include "net/command.h"
#include "net/reactor.h"
#include "net/session.h"
#include "net/words.h"

namespace vestq::handlers {
namespace {

constexpr std::string_view kWrongPass = "invalid username-password pair or user is disabled.";

bool IsClientName(std::string_view name) {
  for (char c : name) {
    if (c < '!' || c > '~') return false;
  }
  return true;
}

// HELLO's options; false when it has failed.
bool HelloOptions(Session& session, Args args, std::string_view* name) {
  for (size_t i = 2; i < args.size();) {
    if (words::EqualsIgnoreCase(args[i], "AUTH") && i + 2 < args.size()) {
      session.Fail("WRONGPASS", kWrongPass);
      return false;
    }
    if (words::EqualsIgnoreCase(args[i], "SETNAME") && i + 1 < args.size()) {
      *name = args[i + 1];
      if (!IsClientName(*name)) {
        session.Fail("ERR", "Client names cannot contain spaces, newlines or special characters.");
        return false;
      }
      i += 2;
      continue;
    }
    session.Fail("ERR", "Syntax error in HELLO option " + words::Quote(args[i]));
    return false;
  }
  return true;
}

}  // namespace

void Ping(Session& session, Args args) {
  if (args.size() > 2) return session.Fail("ERR", WrongArity("PING"));
  if (session.listening() && !session.resp3()) {  // as Redis in its subscribe mode
    RespWriter w = session.writer();
    w.Array(2);
    w.Bulk("pong");
    return w.Bulk(args.size() == 1 ? std::string_view() : args[1]);
  }
  if (args.size() == 1) {
    session.writer().Simple("PONG");
  } else {
    session.writer().Bulk(args[1]);
  }
}

void Echo(Session& session, Args args) { session.writer().Bulk(args[1]); }

void Hello(Session& session, Args args) {
  bool resp3 = session.resp3();
  if (args.size() > 1) {
    if (args[1] != "2" && args[1] != "3") {
      const bool number =
          !args[1].empty() && args[1].find_first_not_of("0123456789") == std::string_view::npos;
      if (number) return session.Fail("NOPROTO", "unsupported protocol version");
      return session.Fail("ERR", "Protocol version is not an integer or out of range");
    }
    resp3 = args[1] == "3";
  }
  std::string_view name;
  if (!HelloOptions(session, args, &name)) return;
  session.set_resp3(resp3);
  ServerShared& shared = session.shared();
  if (name.data() != nullptr)
    shared.clients.Set(&session.record(), &ClientRecord::name, std::string(name));
  RespWriter w = session.writer();
  w.Map(7);
  w.Bulk("server");
  w.Bulk("vestq");
  w.Bulk("version");
  w.Bulk(shared.options.version);
  w.Bulk("proto");
  w.Int(resp3 ? 3 : 2);
  w.Bulk("id");
  w.Int(static_cast<int64_t>(session.record().id));
  w.Bulk("mode");
  w.Bulk("standalone");
  w.Bulk("role");
  w.Bulk("master");
  w.Bulk("modules");
  w.Array(0);
}

void Auth(Session& session, Args args) {
  if (args.size() > 3) return session.Fail("ERR", "syntax error");
  if (args.size() == 3) return session.Fail("WRONGPASS", kWrongPass);
  session.Fail(
      "ERR",
      "AUTH <password> called without any password configured for the default user. Are you sure "
      "your configuration is correct?");
}

void Select(Session& session, Args args) {
  int64_t index = 0;
  const auto parsed = std::from_chars(args[1].data(), args[1].data() + args[1].size(), index);
  if (parsed.ec != std::errc() || parsed.ptr != args[1].data() + args[1].size()) {
    return session.Fail("ERR", "value is not an integer or out of range");
  }
  if (index != 0) return session.Fail("ERR", "DB index is out of range");
  session.writer().Simple("OK");
}

void Reset(Session& session, Args) {
  session.DropMulti();
  session.StopListening();
  session.set_resp3(false);
  session.EndSilence();
  session.shared().clients.Set(&session.record(), &ClientRecord::name, "");
  session.writer().Simple("RESET");
}

void Quit(Session& session, Args) {
  session.writer().Simple("OK");
  session.CloseAfterReplies();
}

void Cluster(Session& session, Args) {
  session.Fail("ERR", "This instance has cluster support disabled");
}

}  // namespace vestq::handlers
