// What the program's exit status means; the same for every sub-command, and part of what scripts
// rely on.
#pragma once

namespace vestq {

enum ExitStatus : int {
  kExitOk = 0,
  kExitFailed = 1,  // it was tried and did not work: one line on stderr says what and why
  kExitUsage =
      2,  // the command line is wrong (found here, or by the server: ERR, RANGE) or does not fit the store;
          // nothing changed
  kExitEngine =
      3,  // serve only: a write or sync failed while running; nothing was acknowledged wrongly
  // waitfor: how the job fares, when it is not done.
  kExitGone = 4,    // it is no longer there, or never was: how it ended nobody knows
  kExitDead = 5,    // it is a dead letter
  kExitNotYet = 6,  // it has not come to its end in the time given; lease: there was no job in it
};

}  // namespace vestq
