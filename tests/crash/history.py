"""Judges what clients saw (tests/crash/client.py) against what vestq promises.

A command is certain when it was answered; with neither answer nor error its outcome is open: it may have happened at any
time after it was sent. Times are CLOCK_MONOTONIC, the same for all clients, so `a before b` means that a's answer came
before b was sent. What is judged, by the names of ARCHITECTURE.md's guarantees for users:

    LOST        every acknowledged job is at the end completed, cancelled, dead, lapsed, purged or was drained
    INVENTED    every delivered job was sent by somebody, once, and its payload is whole
    AGAIN       nothing is delivered after it was completed, cancelled or purged; each of these happens once
    EXCLUSIVE   no job is delivered while its last holder's lease certainly lasts; fences only grow
    ATTEMPTS    a delivery counts; no attempt is beyond the limit
    EARLY       no delayed job comes before its time, no child before its parents are complete
    UNIQUE      two jobs never certainly hold one key
    CHECKPOINT  a delivery brings the last acknowledged checkpoint, or one sent after it
    GROUP       all of a group or nothing
    DATA        a key has its last acknowledged value, or one sent after it
    RESULT      a kept result is the one that was acknowledged
"""

import collections
import json

INFINITE = float("inf")
GRAIN = 2.0  # ms: the engine counts whole milliseconds, by a clock that goes on from a stored one after a restart


class Op:
    """A command: its kind, when it was sent and answered (INFINITE: never), and what came."""

    def __init__(self, line):
        self.what, self.t0 = line["op"], line["t0"]
        self.kind = self.what["kind"]
        self.client = line["client"]
        self.reply, self.error = line.get("reply"), line.get("error")
        self.answered = "t1" in line
        self.t1 = line.get("t1", INFINITE)
        self.open = not self.answered and self.error is None

    @property
    def certain(self):
        return self.answered

    @property
    def possible(self):
        return self.error is None

    def __repr__(self):
        return f"client {self.client} {self.t0:.0f}..{self.t1:.0f} {self.what} -> {self.error or self.reply}"


def read_logs(paths):
    ops = []
    for path in paths:
        with open(path, encoding="ascii") as file:
            ops += [Op(json.loads(line)) for line in file]
    return sorted(ops, key=lambda op: op.t0)


class Delivery:
    def __init__(self, op, job):
        self.op, self.job = op, job
        self.t0, self.t1 = op.t0, op.t1
        self.id, self.attempt = job["id"], job["attempt"]
        self.fence = tuple(int(part) for part in job["receipt"].split(".")[1:])


class Job:
    """All that is known of one id."""

    def __init__(self):
        self.enqueue = None
        self.uid = None
        self.deliveries = []
        self.ends = []       # COMPLETE, CANCEL that may have happened
        self.touches = []    # by a receipt: RENEW, CHECKPOINT, FAIL, RELEASE, COMPLETE
        self.others = []     # by its id: REVOKE, CANCEL, ...


class Final:
    """The end: what was found when all clients had stopped and everything was drained."""

    def __init__(self, dead=(), keys=None, results=None, fired=None):
        self.dead = set(dead)            # ids
        self.keys = keys or {}           # key -> value
        self.results = results or {}     # id -> result, of jobs that are done and kept
        self.fired = fired               # jobs that the schedule says it has made


class Judge:
    def __init__(self, ops, final):
        self.ops, self.final = ops, final
        self.findings = []
        self.jobs = collections.defaultdict(Job)
        self.sent = {}           # uid -> the enqueue that names it
        self.redrives = [op for op in ops if op.kind == "redrive" and op.possible]
        self.purges = [op for op in ops if op.kind in ("purge", "drop") and op.possible]
        self.open_leases = [op for op in ops if op.kind == "lease" and op.open]
        self.slots = set()
        for op in ops:
            self.learn(op)
        # Enqueues whose job was there at some time.
        self.seen = {delivery.job["uid"] for job in self.jobs.values() for delivery in job.deliveries}
        self.seen |= {self.jobs[ident].uid for ident in final.dead if ident in self.jobs}

    def say(self, name, text, *evidence):
        self.findings.append(f"{name}: {text}" + "".join(f"\n    {item!r}" for item in evidence))

    def learn(self, op):
        what = op.what
        if op.kind == "enqueue":
            self.sent[what["uid"]] = op
            added = op.certain and (not isinstance(op.reply, list) or op.reply[1] == 1)
            if added:
                ident = op.reply[0] if isinstance(op.reply, list) else op.reply
                self.jobs[ident].enqueue, self.jobs[ident].uid = op, what["uid"]
        elif op.kind == "many":
            for i, uid in enumerate(what["uids"]):
                self.sent[uid] = op
                if op.certain:
                    self.jobs[op.reply[i]].enqueue, self.jobs[op.reply[i]].uid = op, uid
        elif op.kind == "run" and op.certain:
            self.slots.add(op.reply if isinstance(op.reply, str) else op.reply[0])
        elif op.kind == "lease" and op.certain:
            for job in op.reply:
                self.jobs[job["id"]].deliveries.append(Delivery(op, job))
        elif op.kind in ("complete", "complete-many", "fail", "release", "renew", "checkpoint"):
            done = op.possible and not (op.kind == "complete-many" and op.certain and op.reply[0] == 0)
            if done:
                self.jobs[what["id"]].touches.append(op)
                if op.kind.startswith("complete"):
                    self.jobs[what["id"]].ends.append(op)
        elif op.kind == "cancel" and op.possible:
            job = self.jobs[what["id"]]
            job.others.append(op)
            if not op.certain or op.reply == 1:
                job.ends.append(op)
        elif op.kind in ("revoke", "promote", "reschedule") and op.possible:
            self.jobs[what["id"]].others.append(op)

    # Each check looks at one promise.

    def run(self):
        for ident, job in self.jobs.items():
            job.deliveries.sort(key=lambda delivery: delivery.t0)
            self.check_payload(ident, job)
            self.check_ends(ident, job)
            self.check_leases(ident, job)
            self.check_attempts(ident, job)
            self.check_time(ident, job)
            self.check_checkpoints(ident, job)
            self.check_lost(ident, job)
            self.check_result(ident, job)
        self.check_twice()
        self.check_unique()
        self.check_groups()
        self.check_data()
        self.check_slots()
        return self.findings

    def check_payload(self, ident, job):
        for delivery in job.deliveries:
            if delivery.job["queue"] == "slots":
                continue
            op = self.sent.get(delivery.job["uid"])
            if op is None:
                self.say("INVENTED", f"job {ident} has a payload that nobody sent", delivery.op)
            elif not delivery.job["whole"]:
                self.say("INVENTED", f"the payload of job {ident} is not whole", delivery.op)
            elif op.error is not None:
                self.say("INVENTED", f"job {ident} was refused and is there", op, delivery.op)
            elif job.uid is not None and job.uid != delivery.job["uid"]:
                self.say("INVENTED", f"job {ident} has the payload of another", job.enqueue, delivery.op)
            elif op.what["queue"] != delivery.job["queue"]:
                self.say("INVENTED", f"job {ident} came from another queue", op, delivery.op)

    def check_twice(self):
        """One enqueue, one job."""
        ids = collections.defaultdict(set)
        for ident, job in self.jobs.items():
            if job.uid is not None:
                ids[job.uid].add(ident)
            for delivery in job.deliveries:
                if delivery.job["queue"] != "slots":
                    ids[delivery.job["uid"]].add(ident)
        for uid, found in ids.items():
            if len(found) > 1:
                self.say("INVENTED", f"enqueue {uid} made jobs {sorted(found)}", self.sent.get(uid))

    def check_ends(self, ident, job):
        certain = [op for op in job.ends if op.certain]
        if len(certain) > 1:
            self.say("AGAIN", f"job {ident} ended {len(certain)} times", *certain)
        for end in certain:
            for delivery in job.deliveries:
                if delivery.t0 > end.t1:
                    self.say("AGAIN", f"job {ident} came after its end", end, delivery.op)
        if job.enqueue is None:
            return
        for purge in self.purges:
            if not purge.certain or purge.what["queue"] != job.enqueue.what["queue"] or job.enqueue.t1 > purge.t0:
                continue
            later = [delivery for delivery in job.deliveries if delivery.t0 > purge.t1]
            # A leased job stays: it must not have been with anybody, known or not.
            with_somebody = purge.kind == "purge" and (
                any(delivery.t0 < purge.t1 for delivery in job.deliveries)
                or any(lease.t0 < purge.t1 for lease in self.open_leases))
            if later and not with_somebody:
                self.say("AGAIN", f"job {ident} came after it was purged", job.enqueue, purge, later[0].op)

    def lease_end(self, job, delivery):
        """Until when its lease certainly lasts."""
        until, length = delivery.t0 + delivery.op.what["length"], delivery.op.what["length"]
        for op in job.touches:
            if op.what.get("receipt") != delivery.job["receipt"] or op.t0 < delivery.t0:
                continue
            if op.kind in ("renew", "checkpoint"):
                length = op.what.get("length", length)
                until = op.t0 + length if op.certain else min(until, op.t0 + length)
            else:
                until = min(until, op.t0)
        for op in job.others:
            if op.kind in ("revoke", "cancel") and op.t0 < until and op.t1 > delivery.t0:
                until = min(until, op.t0)
        for op in self.purges:
            if op.kind == "drop" and op.what["queue"] == delivery.job["queue"] and op.t1 > delivery.t0:
                until = min(until, op.t0)
        return until

    def check_leases(self, ident, job):
        for i, first in enumerate(job.deliveries):
            until = self.lease_end(job, first)
            for second in job.deliveries[i + 1:]:
                if second.t0 > first.t1 and second.t1 < until - GRAIN:
                    self.say("EXCLUSIVE", f"job {ident} was delivered twice within one lease", first.op, second.op)
                if second.t0 > first.t1 and second.fence <= first.fence:
                    self.say("EXCLUSIVE", f"the fence of job {ident} did not grow", first.op, second.op)

    def redriven(self, queue, t0, t1):
        return any(op.what["queue"] == queue and op.t1 > t0 and op.t0 < t1 for op in self.redrives)

    def check_attempts(self, ident, job):
        for delivery in job.deliveries:
            limit = delivery.job["attempts"]
            if delivery.attempt < 1 or (limit and delivery.attempt > limit):
                self.say("ATTEMPTS", f"attempt {delivery.attempt} of job {ident}, {limit} allowed", delivery.op)
        for first, second in zip(job.deliveries, job.deliveries[1:]):
            if second.t0 <= first.t1 or self.redriven(first.job["queue"], first.t0, second.t1):
                continue
            released = any(op.kind == "release" and op.what["receipt"] == first.job["receipt"] for op in job.touches)
            if second.attempt < first.attempt or (second.attempt == first.attempt and not released):
                self.say("ATTEMPTS", f"attempt {first.attempt} of job {ident}, then {second.attempt}", first.op, second.op)

    def check_time(self, ident, job):
        op = job.enqueue
        if op is None or not job.deliveries:
            return
        first = min(job.deliveries, key=lambda delivery: delivery.t1)
        moved = any(other.kind in ("promote", "reschedule") for other in job.others) or op.what.get("key")
        if op.what.get("delay") and not moved and first.t1 < op.t0 + op.what["delay"] - GRAIN:
            self.say("EARLY", f"job {ident} came before its delay of {op.what['delay']} ms was over", op, first.op)
        for parent in op.what.get("parents", ()):
            ends = [end for end in self.jobs[parent].ends if end.kind.startswith("complete")]
            if not any(end.t0 < first.t1 for end in ends) and not self.may_be_gone(parent):
                self.say("EARLY", f"job {ident} came before its parent {parent} was complete", op, first.op)

    def may_be_gone(self, ident):
        """It may have left without a trace that its children could know: before they were enqueued."""
        job = self.jobs[ident]
        op = job.enqueue
        if op is None:
            return True
        return op.what["queue"] in ("short", "purged", "dropped") or any(end.kind == "cancel" for end in job.ends)

    def check_checkpoints(self, ident, job):
        sent = sorted((op for op in job.touches if op.kind == "checkpoint"), key=lambda op: op.t0)
        for delivery in job.deliveries:
            before = [op for op in sent if op.certain and op.t1 < delivery.t0]
            last = max((op.t0 for op in before), default=-1)
            allowed = {op.what["value"] for op in sent if op.t0 >= last and op.t0 < delivery.t1} if before else (
                {""} | {op.what["value"] for op in sent if op.t0 < delivery.t1})
            if delivery.job["checkpoint"] not in allowed:
                self.say("CHECKPOINT", f"job {ident} came with {delivery.job['checkpoint']!r}, not one of {allowed}",
                         delivery.op, *before[-2:])

    def check_lost(self, ident, job):
        op = job.enqueue
        if op is None or op.what["queue"] == "short":
            return
        if job.ends or ident in self.final.dead:
            return
        for purge in self.purges:
            if purge.what["queue"] == op.what["queue"] and purge.t1 > op.t0:
                return
        self.say("LOST", f"job {ident} was acknowledged and is nowhere", op, *[d.op for d in job.deliveries])

    def check_result(self, ident, job):
        certain = [op for op in job.ends if op.certain and op.kind == "complete" and op.what["result"] is not None]
        if not certain or not job.deliveries or job.deliveries[0].job["queue"] != "kept":
            return
        if self.final.results.get(ident) != certain[0].what["result"]:
            self.say("RESULT", f"job {ident} is kept with {self.final.results.get(ident)!r}", certain[0])

    def check_unique(self):
        holders = collections.defaultdict(list)
        for ident, job in self.jobs.items():
            if job.enqueue is not None and job.enqueue.what.get("key"):
                holders[job.enqueue.what["key"]].append((ident, job))
        for key, found in holders.items():
            found.sort(key=lambda item: item[1].enqueue.t0)
            for (first, one), (second, two) in ((a, b) for i, a in enumerate(found) for b in found[i + 1:]):
                # The first holds the key at least until somebody may have ended it.
                free = min([end.t0 for end in one.ends], default=INFINITE)
                deaths = [op.t0 for op in one.touches if op.kind == "fail" and op.what["dead"]]
                free = min([free, *deaths])
                if first in self.final.dead or any(d.attempt == d.job["attempts"] for d in one.deliveries):
                    free = -1
                window = one.enqueue.what["window"]
                cancelled = any(end.kind == "cancel" for end in one.ends)
                if window and 0 <= free < INFINITE and not cancelled and not deaths:
                    free = max(free, one.enqueue.t0 + window)
                if two.enqueue.t0 > one.enqueue.t1 and two.enqueue.t1 < free:
                    self.say("UNIQUE", f"jobs {first} and {second} held key {key}", one.enqueue, two.enqueue)

    def check_groups(self):
        parts = collections.defaultdict(list)
        for op in self.ops:
            if "group" in op.what:
                parts[op.what["group"]].append(op)
        for op in self.ops:
            if op.kind != "group":
                continue
            uid = op.what["uid"]
            there = [f"group:{uid}" in self.final.keys]
            if not op.certain:  # else its jobs are acknowledged ones: LOST looks for them
                there += [part.what["uid"] in self.seen for part in parts[uid] if part.kind == "enqueue"]
            if len(set(there)) > 1:
                self.say("GROUP", f"half of group {uid}: {there}", op, *parts[uid])
            elif op.certain and not there[0]:
                self.say("GROUP", f"group {uid} was acknowledged and is nowhere", op)
            elif op.error is not None and there[0]:
                self.say("GROUP", f"group {uid} was refused and is there", op)
            for part in parts[uid]:
                if part.kind == "complete" and not there[0]:
                    self.revive(part)

    def revive(self, part):
        """A COMPLETE of a group that did not happen: without another end its job must be found."""
        job = self.jobs[part.what["id"]]
        others = [end for end in job.ends if end is not part]
        if not others and part in job.ends and job.enqueue is not None and part.what["id"] not in self.final.dead:
            if job.enqueue.what["queue"] not in ("short", "purged", "dropped"):
                self.say("GROUP", "a COMPLETE took effect without its group", part)

    def check_data(self):
        keys = collections.defaultdict(list)
        for op in self.ops:
            if op.kind in ("set", "get") and op.possible:
                keys[op.what["key"]].append(op)
        for key, ops in keys.items():
            allowed = {None}
            for op in ops:  # one client's own, in order
                if op.kind == "get":
                    if op.certain and op.reply not in allowed:
                        self.say("DATA", f"{key} is {op.reply!r}, not one of {allowed}", op)
                    continue
                allowed = {op.what["value"]} if op.certain else allowed | {op.what["value"]}
            if self.final.keys.get(key) not in allowed:
                self.say("DATA", f"{key} is {self.final.keys.get(key)!r} at the end, not one of {allowed}", *ops[-3:])

    def check_slots(self):
        if self.final.fired is None:
            return
        seen = {ident for ident, job in self.jobs.items() if any(d.job["queue"] == "slots" for d in job.deliveries)}
        seen |= {ident for ident in self.final.dead if ident in seen}
        open_runs = sum(op.kind == "run" and op.open for op in self.ops)
        extra = len(seen | self.slots) - len(self.slots) - self.final.fired
        if not 0 <= extra <= open_runs:
            self.say("LOST" if extra < 0 else "INVENTED",
                     f"{self.final.fired} slots, {len(self.slots)} runs and {open_runs} open ones, {len(seen)} jobs")
        missing = self.slots - seen
        if missing:
            self.say("LOST", f"jobs {sorted(missing)} of SCHEDULE RUN are nowhere")
