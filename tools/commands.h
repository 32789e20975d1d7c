// The sub-commands of `vestq`, one file each. A function here adds its options, its help and its
// examples to the command line; when the sub-command was asked for, *action does it and returns the
// exit status. Nothing is done before the whole command line has been found right.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/command_line.h"

namespace vestq {

using Action = std::function<int()>;

void AddServe(Command program, Action* action);
void AddEnqueue(Command program, Action* action);
// `command` is what stood after `--` on the command line; it outlives the action.
void AddWork(Command program, const std::vector<std::string>* command, Action* action);
// lease, renew, complete, fail, release.
void AddLease(Command program, Action* action);
void AddCheckpoint(Command program, Action* action);
// job, cancel, promote, reschedule, revoke.
void AddJobs(Command program, Action* action);
// waitfor, tail.
void AddWatch(Command program, Action* action);
void AddPeek(Command program, Action* action);
void AddRedrive(Command program, Action* action);
void AddPurge(Command program, Action* action);
void AddQueue(Command program, Action* action);
// space, spaces.
void AddSpace(Command program, Action* action);
void AddSchedule(Command program, Action* action);
void AddWorkers(Command program, Action* action);
void AddExport(Command program, Action* action);
void AddImport(Command program, Action* action);
void AddStats(Command program, Action* action);
// call: any command of the wire.
void AddRaw(Command program, Action* action);
void AddCheck(Command program, Action* action);

}  // namespace vestq
