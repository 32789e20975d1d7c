// HELP of the commands that have sub-commands, in Redis's form: what clients and people of Redis try first.
#include <span>
#include <string>
#include <string_view>

#include "net/command.h"
#include "net/session.h"
#include "net/words.h"

namespace vestq::handlers {
namespace {

struct SubHelp {
  std::string_view form;  // begins with the name
  std::string_view about;
};

constexpr SubHelp kClient[] = {
    {"GETNAME", "The name of this connection."},
    {"ID", "The id of this connection."},
    {"INFO", "Describes this connection."},
    {"KILL <ip:port>", "Closes the connection from there."},
    {"KILL [ID <id>] [ADDR <ip:port>] [LADDR <ip:port>] [SKIPME yes|no]",
     "Closes the connections that match all of these; answers how many."},
    {"LIST [TYPE <type> | ID <id> ...]", "Describes connections."},
    {"NO-EVICT ON|OFF", "Accepted; changes nothing."},
    {"NO-TOUCH ON|OFF", "Accepted; changes nothing."},
    {"REPLY ON|OFF|SKIP", "Whether commands of this connection are answered."},
    {"SETINFO LIB-NAME|LIB-VER <value>", "Names the client library."},
    {"SETNAME <name>", "Names this connection."},
    {"UNBLOCK <id> [TIMEOUT|ERROR]", "Ends that connection's waiting LEASE or WAITFOR."},
};
constexpr SubHelp kCommand[] = {
    {"(no subcommand)", "Describes all commands."},
    {"COUNT", "How many commands there are."},
    {"DOCS [<command> ...]", "What the commands do."},
    {"INFO [<command> ...]", "Describes commands."},
    {"LIST", "The names of all commands."},
};
constexpr SubHelp kQueue[] = {
    {"DROP <queue>", "Removes it with all its jobs; answers how many."},
    {"INFO <queue>", "Jobs by state, what happened since it was made, options."},
    {"PAUSE <queue> [FOR <duration>]", "Gives no more jobs out."},
    {"RESUME <queue>", "Gives jobs out again."},
    {"SET <queue> <option> <value> [<option> <value> ...]",
     "Sets options (lease, attempts, backoff, keep, order, dead-keep, dead-max, ...); the value "
     "default unsets one."},
};
constexpr SubHelp kSchedule[] = {
    {"DEL <name>", "Deletes it; jobs that it made stay."},
    {"GET <name>", "Describes it."},
    {"LIST [CURSOR <cursor>] [COUNT <n>]", "Describes all, in pages."},
    {"NEXT <expression> [TZ <zone>] [COUNT <n>]", "When an expression comes next."},
    {"PAUSE <name>", "Its slots are void until it is resumed."},
    {"RESUME <name>", "Goes on with the next slot."},
    {"RUN <name>", "Makes a job now."},
    {"SET <name> <queue> <payload> CRON <expression> [TZ <zone>] | EVERY <duration> [MISSED "
     "once|skip|all] [options of ENQUEUE]",
     "Makes or changes it."},
};

constexpr SubHelp kSpace[] = {
    {"INFO <queue> <space>", "Ready and leased jobs, and what holds for it."},
    {"PAUSE <queue> <space> [FOR <duration>]", "Gives no more of its jobs out."},
    {"RESUME <queue> <space>", "Gives its jobs out again."},
    {"SET <queue> <space> <option> <value> [<option> <value> ...]",
     "Sets options (concurrency, rate, burst, weight, pause); the value default unsets one: what "
     "the "
     "queue says of its spaces holds."},
};

void Write(Session& session, std::string_view command, std::span<const SubHelp> subs) {
  RespWriter w = session.writer();
  w.Array(3 + 2 * subs.size());
  w.Simple(std::string(command) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
  for (const SubHelp& sub : subs) {
    w.Simple(sub.form);
    w.Simple("    " + std::string(sub.about));
  }
  w.Simple("HELP");
  w.Simple("    Prints this help.");
}

}  // namespace

bool Help(Session& session, Args args) {
  static constexpr struct {
    std::string_view command;
    std::span<const SubHelp> subs;
  } kHelps[] = {{"CLIENT", kClient},
                {"COMMAND", kCommand},
                {"QUEUE", kQueue},
                {"SCHEDULE", kSchedule},
                {"SPACE", kSpace}};
  if (!words::EqualsIgnoreCase("HELP", args[1])) return false;
  for (const auto& help : kHelps) {
    if (!words::EqualsIgnoreCase(help.command, args[0])) continue;
    if (args.size() == 2) {
      Write(session, help.command, help.subs);
    } else {
      session.Fail("ERR", WrongArity(std::string(help.command) + "|help"));
    }
    return true;
  }
  return false;
}

}  // namespace vestq::handlers
