// `vestq schedule`: what makes jobs by the clock.
#include <spdlog/fmt/fmt.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/limits.h"
#include "lease/time_zone.h"
#include "tools/call.h"
#include "tools/commands.h"
#include "tools/job_words.h"
#include "tools/json.h"
#include "tools/payload.h"

namespace vestq {
namespace {

struct ScheduleOptions : CallOptions {
  std::string command;  // "schedule set"
  std::string name;
  std::string queue;
  PayloadOptions payload;
  std::string expression;
  std::string zone;
  std::string count = "5";
  // Option words of SCHEDULE SET itself and what was given for them.
  std::vector<std::pair<std::string, std::string>> words = {
      {"CRON", ""}, {"TZ", ""}, {"EVERY", ""}, {"MISSED", ""}};
  JobWords job;
};

using Words = std::vector<std::string_view>;

void PrintReply(const CallOptions& o, const redisReply& reply) {
  if (reply.type == REDIS_REPLY_ARRAY)
    return o.json ? PrintJson(JsonOfMap(reply)) : PrintMap(MapOf::kSchedule, reply);
  if (o.json) return PrintJson({{"ok", true}});
}

// One command whose reply is a map, or says that it was done.
int Say(const ScheduleOptions& o, const Words& words) {
  return WithDaemon(o.command, o, [&](Client* client) {
    const Result<ReplyPtr> reply = client->Call(words);
    if (!reply.ok()) return reply.error();
    const bool none = (*reply)->type == REDIS_REPLY_NIL ||
                      ((*reply)->type == REDIS_REPLY_INTEGER && (*reply)->integer == 0);
    if (none) return Error(ErrorCode::kNotFound, "there is no schedule \"" + o.name + "\"");
    PrintReply(o, **reply);
    return Error::Ok();
  });
}

int Set(const ScheduleOptions& o) {
  if (o.payload.sources() != 1)
    return ComplainUsage(o.command, "give one of PAYLOAD, --stdin or --file");
  JobWords job = o.job;
  if (const Error wrong = job.Check(); !wrong.ok()) return Complain(o.command, wrong);
  if (o.words[0].second.empty() == o.words[2].second.empty())
    return ComplainUsage(o.command, "give one of --cron and --every");
  const Result<std::string> payload = ReadPayload(o.payload, limits::kPayloadHardMax);
  if (!payload.ok()) return Complain(o.command, payload.error());
  Words words = {"SCHEDULE", "SET", o.name, o.queue, *payload};
  for (const auto& [word, value] : o.words) {
    if (!value.empty()) words.insert(words.end(), {word, value});
  }
  job.Append(&words);
  return Say(o, words);
}

int RunNow(const ScheduleOptions& o) {
  return WithDaemon(o.command, o, [&o](Client* client) {
    const Result<ReplyPtr> reply = client->Call({"SCHEDULE", "RUN", o.name});
    if (!reply.ok()) return reply.error();
    // With a unique key the id stands in an array.
    const bool unique = (*reply)->type == REDIS_REPLY_ARRAY && (*reply)->elements == 3;
    const std::string id = ReplyText(unique ? *(*reply)->element[0] : **reply);
    const bool added = !unique || (*reply)->element[1]->integer == 1;
    if (o.json) {
      nlohmann::ordered_json out = {{"id", id}, {"added", added}};
      if (unique) out["state"] = ReplyText(*(*reply)->element[2]);
      PrintJson(out);
    } else {
      fmt::print("{}{}\n", id, added ? "" : " " + ReplyText(*(*reply)->element[2]));
    }
    return Error::Ok();
  });
}

int Next(const ScheduleOptions& o) {
  return WithDaemon(o.command, o, [&o](Client* client) {
    Words words = {"SCHEDULE", "NEXT", o.expression, "COUNT", o.count};
    if (!o.zone.empty()) words.insert(words.end(), {"TZ", o.zone});
    const Result<ReplyPtr> reply = client->Call(words);
    if (!reply.ok()) return reply.error();
    nlohmann::ordered_json times = nlohmann::ordered_json::array();
    // By the clocks of that zone; without its data here, by UTC's: the same moments.
    const Result<TimeZone> found = o.zone.empty() ? TimeZone() : TimeZone::Find(o.zone);
    const TimeZone zone = found.ok() ? *found : TimeZone();
    for (size_t i = 0; i < (*reply)->elements; ++i) {
      const int64_t ms = (*reply)->element[i]->integer;
      times.push_back(ms);
      if (!o.json) fmt::print("{}\n", MomentText(ms, zone.At(ms / 1000).offset_s));
    }
    if (o.json) PrintJson(times);
    return Error::Ok();
  });
}

// Pages of [cursor, [map ...]].
int List(const ScheduleOptions& o) {
  return WithDaemon(o.command, o, [&o](Client* client) {
    std::string cursor = "0";
    do {
      const Result<ReplyPtr> reply = client->Call({"SCHEDULE", "LIST", "CURSOR", cursor});
      if (!reply.ok()) return reply.error();
      cursor = ReplyText(*(*reply)->element[0]);
      const redisReply& page = *(*reply)->element[1];
      for (size_t i = 0; i < page.elements; ++i) {
        const redisReply& map = *page.element[i];
        if (o.json) {
          PrintJson(JsonOfMap(map));
          continue;
        }
        const auto text = [&map](std::string_view name) {
          const redisReply* const value = FindInMap(map, name);
          return value == nullptr ? std::string() : ValueText(MapOf::kSchedule, name, *value);
        };
        fmt::print(
            "{}  queue {}  {}  {}  next {}  fired {}\n", text("name"), text("queue"),
            text("cron").empty() ? "every " + text("every") : text("cron") + " " + text("tz"),
            text("state"), text("next"), text("fired"));
      }
    } while (cursor != "0");
    return Error::Ok();
  });
}

constexpr char kExitText[] =
    "\nExit status: 0; 1 the server cannot be reached or refused, stderr says why; 2 usage.";
constexpr char kExamples[] =
    "Examples:\n"
    "  vestq schedule set report reports daily --cron \"0 6 * * mon-fri\" --tz Europe/Berlin\n"
    "  vestq schedule set poll feeds all --every 5m --missed skip --unique poll\n"
    "  vestq schedule set bill bills --file bill.json --cron @monthly --keep 7d --header by=cron\n"
    "  vestq schedule next \"30 2 * * *\" --tz America/New_York --count 3\n"
    "  vestq schedule list\n"
    "  vestq schedule run report             one job now, beside its slots\n"
    "  vestq schedule pause report\n"
    "\n"
    "Times are those of UTC, of `next` those of --tz; with --json they are Unix ms, and spans are "
    "ms.";

using Act = int (*)(const ScheduleOptions&);

Command Add(Command parent, const char* name, const char* about,
            const std::shared_ptr<ScheduleOptions>& options, Action* action, Act act) {
  options->command = std::string("schedule ") + name;
  Command command = parent.Add(name, about);
  AddCallOptions(command, options.get(), "Print JSON");
  command.WhenGiven([options, action, act] { *action = [options, act] { return act(*options); }; });
  return command;
}

void AddSet(Command schedule, Action* action) {
  auto options = std::make_shared<ScheduleOptions>();
  Command set = Add(schedule, "set", "Make or change one", options, action, Set);
  set.Value("NAME", &options->name, "Its name").Required();
  set.Value("QUEUE", &options->queue, "Where its jobs go").Required();
  AddPayloadOptions(set, &options->payload, "What each of them carries", "The payload");
  const char* const help[] = {"Five fields, m h dom mon dow, or @hourly, @daily, ...",
                              "The zone of --cron, as in the system's zone data; UTC unless given",
                              "Instead of --cron: 30s, 5m, 2h",
                              "Slots that passed while the server was down: once, skip, all"};
  CommandOption words[4];
  for (size_t i = 0; i < options->words.size(); ++i) {
    std::string flag = "--" + options->words[i].first;
    for (char& c : flag) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    words[i] = set.Value(flag, &options->words[i].second, help[i]);
  }
  words[0].Excludes(words[2]);
  words[1].Excludes(words[2]);
  words[2].Span(limits::kEveryMin, limits::kEveryMax);
  words[3].OneOf({"once", "skip", "all"});
  options->job.AddTo(set, JobWords::Of::kSchedule);
}

}  // namespace

void AddSchedule(Command program, Action* action) {
  Command schedule = program.Add("schedule", "Jobs by the clock: cron, or every so often",
                                 std::string(kExamples) + kExitText);
  AddSet(schedule, action);
  auto one = [&](const char* name, const char* about, Act act) {
    auto options = std::make_shared<ScheduleOptions>();
    Add(schedule, name, about, options, action, act)
        .Value("NAME", &options->name, "Its name")
        .Required();
  };
  one("get", "Show one", [](const ScheduleOptions& o) {
    return Say(o, {"SCHEDULE", "GET", o.name});
  });
  one("del", "Delete one; its jobs stay", [](const ScheduleOptions& o) {
    return Say(o, {"SCHEDULE", "DEL", o.name});
  });
  one("pause", "Void its slots until it is resumed", [](const ScheduleOptions& o) {
    return Say(o, {"SCHEDULE", "PAUSE", o.name});
  });
  one("resume", "Go on with the next slot", [](const ScheduleOptions& o) {
    return Say(o, {"SCHEDULE", "RESUME", o.name});
  });
  one("run",
      "Make a job now, beside the slots (it does not count as fired); prints its id, or ID STATE "
      "of "
      "the job that\n"
      "holds its unique key: then there is no new one",
      RunNow);
  Add(schedule, "list", "Show all", std::make_shared<ScheduleOptions>(), action, List);
  auto next = std::make_shared<ScheduleOptions>();
  Command slots = Add(schedule, "next", "When an expression comes next", next, action, Next);
  slots.Value("EXPRESSION", &next->expression, "m h dom mon dow").Required();
  slots.Value("--tz", &next->zone, "Zone; UTC unless given");
  slots.Value("--count", &next->count, "How many").Between(1, 1000).ShowDefault();
}

}  // namespace vestq
