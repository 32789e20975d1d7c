// MULTI, EXEC and DISCARD: commands that are carried out together or not at all. What stands between is
// parsed when it comes, by its own handler, and queued by the session.
#include "net/command.h"
#include "net/session.h"

namespace vestq::handlers {

void Multi(Session& session, Args) {
  if (session.in_multi()) return session.Fail("ERR", "MULTI calls can not be nested");
  session.BeginMulti();
  session.writer().Simple("OK");
}

void Exec(Session& session, Args) {
  if (!session.in_multi()) return session.Fail("ERR", "EXEC without MULTI");
  session.ExecMulti();
}

void Discard(Session& session, Args) {
  if (!session.in_multi()) return session.Fail("ERR", "DISCARD without MULTI");
  session.DropMulti();
  session.writer().Simple("OK");
}

void Watch(Session& session, Args args) {
  session.Fail("ERR", std::string(args.size() == 1 ? "UNWATCH" : "WATCH") +
                          " is not supported: SET key value IF old stores a value only where it "
                          "still is the old one, also between MULTI and EXEC");
}

}  // namespace vestq::handlers
