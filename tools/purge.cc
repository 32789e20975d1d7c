// `vestq purge` and `vestq queue drop`: what removes jobs by the thousand, so a person is asked first.
#include "tools/purge.h"

#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/call.h"
#include "tools/confirm.h"
#include "tools/exit_status.h"
#include "tools/json.h"

namespace vestq {
namespace {

struct PurgeOptions : CallOptions {
  std::string queue;
  std::string state;
  std::string space;
  bool space_set = false;
  std::vector<std::string> ids;
  bool yes = false;
};

int Remove(std::string_view name, const PurgeOptions& options, const std::string& question,
           const std::vector<std::string_view>& words) {
  // A person who sits there is asked; a script has made up its mind.
  if (!options.yes && CanAsk() && !AskedAndYes(question)) {
    fmt::print(stderr, "vestq {}: nothing was removed\n", name);
    return kExitFailed;
  }
  return WithDaemon(name, options, [&](Client* client) {
    // Those of a space are removed one by one: it may take a while.
    const Result<ReplyPtr> reply = client->CallWaiting(words, Duration(0));
    if (!reply.ok()) return reply.error();
    if (options.json) {
      PrintJson({{"queue", options.queue}, {"removed", (*reply)->integer}});
    } else {
      fmt::print("{}\n", (*reply)->integer);
    }
    return Error::Ok();
  });
}

int Purge(const PurgeOptions& o) {
  std::vector<std::string_view> words = {"PURGE", o.queue};
  std::string what = "all scheduled, waiting and ready jobs";
  if (!o.ids.empty()) {
    words.push_back("ID");
    words.insert(words.end(), o.ids.begin(), o.ids.end());
    what = fmt::format("{} job{}", o.ids.size(), o.ids.size() == 1 ? "" : "s");
  }
  if (!o.state.empty()) {
    words.insert(words.end(), {"STATE", o.state});
    what = o.state == "done" ? "all kept results" : fmt::format("all {} jobs", o.state);
  }
  if (o.space_set) {
    words.insert(words.end(), {"SPACE", o.space});
    what += fmt::format(" of the space \"{}\"", o.space);
  }
  return Remove("purge", o, fmt::format("Remove {} of the queue \"{}\"?", what, o.queue), words);
}

int Drop(const PurgeOptions& o) {
  return Remove("queue drop", o,
                fmt::format("Drop the queue \"{}\" with all its jobs, dead and leased ones "
                            "included, kept results and options?",
                            o.queue),
                {"QUEUE", "DROP", o.queue});
}

void AddCommon(Command command, PurgeOptions* options) {
  command.Value("QUEUE", &options->queue, "Queue").Required();
  command.Flag("--yes,-y", &options->yes, "Do not ask; without a terminal nobody is asked");
  AddCallOptions(command, options, "Print one JSON object");
}

constexpr char kPurgeHelp[] =
    "Examples:\n"
    "  vestq purge mail                            scheduled, waiting and ready jobs\n"
    "  vestq purge mail --state dead --yes         the dead letters, and nobody is asked\n"
    "  vestq purge mail --space acme\n"
    "  vestq purge mail --id 4711 4712             these, in whatever state\n"
    "\n"
    "Leased jobs, dead letters and kept results go only by --state. Prints how many there were; "
    "space\n"
    "comes back in the background. Exit status: 0; 1 the server cannot be reached or refused, or "
    "you\n"
    "said no; 2 usage.";

}  // namespace

void AddPurge(Command program, Action* action) {
  auto options = std::make_shared<PurgeOptions>();
  Command purge = program.Add("purge", "Remove jobs of a queue", kPurgeHelp);
  AddCommon(purge, options.get());
  CommandOption state = purge.Value(
      "--state", &options->state, "scheduled, waiting, ready, leased, dead or done (kept results)");
  CommandOption space =
      purge.Value("--space", &options->space, "Only this space; \"\" is the empty one")
          .MayBeEmpty();
  purge.Value("--id", &options->ids, "These jobs, up to 1000").Excludes(state).Excludes(space);
  purge.WhenGiven([options, space, action] {
    options->space_set = space.given();
    *action = [options] { return Purge(*options); };
  });
}

void AddQueueDrop(Command queue, Action* action) {
  auto options = std::make_shared<PurgeOptions>();
  Command drop = queue.Add("drop", "Remove a queue with all that is in it; prints how many jobs");
  AddCommon(drop, options.get());
  drop.WhenGiven([options, action] { *action = [options] { return Drop(*options); }; });
}

}  // namespace vestq
