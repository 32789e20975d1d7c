// The sub-commands of `vestq`, one file each. A function here adds its options, its help and its
// examples to the command line; when the sub-command was asked for, *action does it and returns the
// exit status. Nothing is done before the whole command line has been found right.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace vestq {

using Action = std::function<int()>;

void AddServe(CLI::App* app, Action* action);
void AddEnqueue(CLI::App* app, Action* action);
// `command` is what stood after `--` on the command line; it outlives the action.
void AddWork(CLI::App* app, const std::vector<std::string>* command, Action* action);
void AddCheckpoint(CLI::App* app, Action* action);
// job, cancel, promote, reschedule, revoke.
void AddJobs(CLI::App* app, Action* action);
// waitfor, tail.
void AddWatch(CLI::App* app, Action* action);
void AddPeek(CLI::App* app, Action* action);
void AddRedrive(CLI::App* app, Action* action);
void AddPurge(CLI::App* app, Action* action);
void AddQueue(CLI::App* app, Action* action);
void AddSchedule(CLI::App* app, Action* action);
void AddWorkers(CLI::App* app, Action* action);
void AddExport(CLI::App* app, Action* action);
void AddImport(CLI::App* app, Action* action);
void AddStats(CLI::App* app, Action* action);
void AddCheck(CLI::App* app, Action* action);

}  // namespace vestq
