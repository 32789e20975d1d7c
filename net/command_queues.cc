// QUEUES and QUEUE INFO: what the engine counts.
#include <algorithm>
#include <string>
#include <vector>

#include "net/command.h"
#include "net/options.h"
#include "net/reactor.h"
#include "net/session.h"
#include "net/words.h"

namespace vestq::handlers {
namespace {

constexpr size_t kQueuesAPage = 1000;
constexpr OptionSpec kQueuesOptions[] = {{"CURSOR"}};

void WriteCounts(const QueueCounts& c, RespWriter w) {
  const std::pair<std::string_view, int64_t> fields[] = {
      {"ready", c.ready},
      {"scheduled", c.scheduled},
      {"waiting", c.waiting},
      {"leased", c.leased},
      {"dead", c.dead},
      {"bytes", c.bytes},
      {"enqueued", c.enqueued},
      {"leases", c.leases},
      {"completed", c.completed},
      {"failed", c.failed},
      {"released", c.released},
      {"expired", c.expired},
      {"died", c.died},
      {"cancelled", c.cancelled},
      {"waiters", static_cast<int64_t>(c.waiters)},
  };
  w.Map(1 + std::size(fields));
  w.Bulk("queue");
  w.Bulk(c.name);
  for (const auto& [name, value] : fields) {
    w.Bulk(name);
    w.Int(value);
  }
}

}  // namespace

// The cursor is the last name given, behind a colon: names are listed in byte order.
void Queues(Session& session, Args args) {
  const bool pattern = args.size() > 1 && OptionReader::Find(kQueuesOptions, args[1]) < 0;
  std::string_view after;
  OptionReader options("QUEUES", kQueuesOptions, args.subspan(pattern ? 2 : 1));
  while (options.Next()) {
    if (options.value() == "0") continue;
    if (!options.value().starts_with(':')) {
      return session.Fail("ERR", "CURSOR " + words::Quote(options.value()) +
                                     ": 0 or what the last call gave is expected");
    }
    after = options.value().substr(1);
  }
  if (!options.error().ok()) return session.Fail(options.error());
  std::vector<std::string> names;
  for (QueueCounts& counts : session.shared().engine->Queues()) {
    if (counts.name > after && (!pattern || words::MatchGlob(args[1], counts.name))) {
      names.push_back(std::move(counts.name));
    }
  }
  std::sort(names.begin(), names.end());
  const bool more = names.size() > kQueuesAPage;
  if (more) names.resize(kQueuesAPage);
  RespWriter w = session.writer();
  w.Array(2);
  w.Bulk(more ? ":" + names.back() : std::string("0"));
  w.Array(names.size());
  for (const std::string& name : names) w.Bulk(name);
}

void Queue(Session& session, Args args) {
  static constexpr std::string_view kLater[] = {"SET", "PAUSE", "RESUME", "DROP"};
  for (std::string_view sub : kLater) {
    if (words::EqualsIgnoreCase(sub, args[1])) {
      return session.Fail("ERR", "QUEUE " + std::string(sub) + " is not supported by this version");
    }
  }
  if (!words::EqualsIgnoreCase(args[1], "INFO")) {
    return session.Fail("ERR", UnknownSubcommand("QUEUE", args[1]));
  }
  if (args.size() != 3) return session.Fail("ERR", WrongArity("queue|info"));
  if (const Error error = words::CheckQueue(args[2]); !error.ok()) return session.Fail(error);
  QueueCounts counts;
  if (!session.shared().engine->Queue(args[2], &counts)) {
    return session.Fail("NOTFOUND", "there is no queue " + words::Quote(args[2]));
  }
  WriteCounts(counts, session.writer());
}

}  // namespace vestq::handlers
