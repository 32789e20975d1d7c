"""What the clients' own logs say: commands, jobs, and what may or must have become of them. The judges (judges.py) ask it.

A command is *certain* when it was answered. With neither answer nor error it is *open*: it may have happened at any time from
when it was sent until the daemon was there again (`end`), or never; only what was answered before a cut counts. Times are
CLOCK_MONOTONIC, the same for all clients. `before(a, b)`: a's answer came before b was sent, or both went over one connection, a
first. So each question has two sides, and a judge takes the one that can accuse nobody wrongly: what *may* be (some order of the
open and overlapping commands allows it) when it looks for the impossible, what *must* be (every order demands it) when
something is missing.
"""

import bisect
import collections
import json

import mix

INFINITE = float("inf")
GRAIN = 2.0  # ms: the engine counts whole milliseconds, also across a restart
STATIC = ("all", "once", "skip", "cron", "unique")  # schedules that no client changes
KEEPS = {mix.KEPT: mix.HOUR_MS}


# What the log may say of a command, beside its kind.
WHAT = ("queue uid uids size space priority delay at attempts backoff lease expire keep type headers key value window replace parents "
        "receipt receipts id ids result dead length queues count worker state to rate values nx group name every prefix after keys "
        "attempt missed members of_many").split()


class Op:
    """A command: its kind, when it was sent and answered (INFINITE: never), and what came. What the log says of it are
    attributes (op.queue, op.uid ...), None where it says nothing."""

    def __init__(self, line):
        self.what, self.t0 = line["op"], line["t0"]
        self.kind = self.what["kind"]
        self.client, self.conn, self.n = line["client"], line.get("conn", 0), line.get("n", 0)
        self.reply, self.error = line.get("reply"), line.get("error")
        self.certain = "t1" in line and self.error is None
        self.open = "t1" not in line and self.error is None
        self.t1 = line.get("t1", INFINITE)
        self.end = self.t1      # by then it has happened, or never will
        self.wall = line.get("w1")
        self.void = False       # part of an open group that did not happen
        vars(self).update((name, value) for name, value in self.what.items() if name in Op.named)

    named = frozenset(WHAT)

    @property
    def possible(self):
        return self.error is None and not self.void

    def __repr__(self):
        return (f"client {self.client} ({self.conn}.{self.n}) {self.t0:.0f}..{self.t1:.0f} {self.what} -> "
                f"{self.error or self.reply}")


for _name in WHAT:
    setattr(Op, _name, None)


def before(a, b):
    return a.end < b.t0 or (a.client == b.client and a.conn == b.conn and a.n < b.n)


def after(a, b):
    return before(b, a)


def expand(line):
    """Commands about several things as one for each."""
    op = line["op"]

    def part(reply, **what):
        one = {**line, "op": {**{key: value for key, value in op.items() if key in ("group",)}, **what}}
        if "reply" in line:
            one["reply"] = reply
        return one

    replies = line.get("reply")
    if op["kind"] == "complete-many":
        for i, (receipt, ident) in enumerate(zip(op["receipts"], op["ids"])):
            one = part("OK", kind="complete", receipt=receipt, id=ident, result=None, of_many=True)
            if replies is not None and replies[i] == 0:
                one["error"] = "LEASELOST (0 of COMPLETEMANY)"
                del one["reply"]
            yield one
    elif op["kind"] == "mget":
        for i, key in enumerate(op["keys"]):
            yield part(replies and replies[i], kind="get", key=key)
    elif op["kind"] == "del":
        yield line
        for key in op["keys"]:
            yield part(replies, kind="set", key=key, value=None)
    else:
        yield line


def from_lines(lines):
    """The commands of one client, in the order of its log."""
    ops = [Op(one) for line in lines for one in expand(line)]
    up = INFINITE
    for op in reversed(ops):
        if op.kind == "up":
            up = op.t0
        elif op.open:
            op.end = up
    return ops


def read_logs(paths):
    ops = []
    for path in paths:
        with open(path, encoding="ascii") as file:
            ops += from_lines(map(json.loads, file))
    return sorted(ops, key=lambda op: op.t0)


class Delivery:
    """A job in the answer of a LEASE."""

    def __init__(self, op, job):
        self.op, self.job = op, job
        self.t0, self.t1 = op.t0, op.t1
        self.id, self.attempt, self.receipt, self.queue = job["id"], job["attempt"], job["receipt"], job["queue"]
        self.length = op.length or job.get("lease-left", 0)
        self.fence = fence_of(self.receipt)


def fence_of(receipt):
    return tuple(int(part) for part in receipt.split(".")[1:])


class Sighting:
    """A job in the answer of JOB, PEEK or WAITFOR; state None: there is no such job."""

    def __init__(self, op, ident, job):
        self.op, self.id, self.job = op, ident, job
        self.t0, self.t1 = op.t0, op.t1
        self.state = job.get("state") if job else None


class Job:
    """All that is known of one id."""

    def __init__(self):
        self.enqueue = None  # the command that was answered with this id
        self.uid = None
        self.deliveries = []
        self.sightings = []
        self.ends = []       # COMPLETE, CANCEL that may have happened
        self.touches = []    # by a receipt: RENEW, CHECKPOINT, FAIL, RELEASE, COMPLETE
        self.others = []     # by its id: REVOKE, CANCEL, PROMOTE, RESCHEDULE
        self.replaces = []   # UNIQUE ... REPLACE that changed it
        self.queue, self.space, self.key = None, None, None  # None: not known, and no key

    def settle(self):
        """When all of it is learned."""
        self.deliveries.sort(key=lambda delivery: delivery.fence)
        if self.enqueue:
            self.queue, self.space, self.key = self.enqueue.queue, self.enqueue.space or "", self.enqueue.key
        elif self.deliveries:
            self.queue, self.space = self.deliveries[0].queue, self.deliveries[0].job.get("space", "")


class Final:
    """The end: what was found when all clients had stopped and everything was drained."""

    def __init__(self, dead=(), keys=None, results=None, infos=None):
        self.dead = set(dead)            # ids
        self.keys = keys or {}           # key -> value
        self.results = results or {}     # id -> result, of jobs that are done and kept
        self.infos = infos or {}         # queue -> QUEUE INFO

    def write(self, path):
        with open(path, "w", encoding="ascii") as file:
            json.dump([sorted(self.dead), self.keys, self.results, self.infos], file)

    @staticmethod
    def read(path):
        with open(path, encoding="ascii") as file:
            return Final(*json.load(file))


class History:
    def __init__(self, ops, final):
        self.ops, self.final, self.findings = ops, final, []
        self.by_kind = collections.defaultdict(list)
        for op in ops:
            self.by_kind[op.kind].append(op)
        self.settle_groups()
        self.jobs = collections.defaultdict(Job)
        self.sent = {}                    # uid -> the command that names it
        self.holds = collections.defaultdict(list)  # (space, key) -> UNIQUE enqueues
        self.receipts = {}                # receipt -> delivery
        self.runs = {}                    # id -> SCHEDULE RUN
        self.removals = self.possible("purge", "drop")
        self.removals_of = collections.defaultdict(list)
        for op in self.removals:
            self.removals_of[op.queue].append(op)
        self.redrives = self.possible("redrive")
        self.redrives_of = collections.defaultdict(list)  # by either queue of theirs
        for op in self.redrives:
            for queue in {op.queue, op.to} - {None}:
                self.redrives_of[queue].append(op)
        self.open_leases = [op for op in self.by_kind["lease"] if op.open]
        self.open_since = [op.t0 for op in self.open_leases]
        self.open_at_most = max([op.end - op.t0 for op in self.open_leases], default=0)
        for op in ops:
            self.learn(op)
        self.jobs_of = collections.defaultdict(list)      # queue -> (id, job)
        self.sent_to = collections.defaultdict(list)      # queue -> (uid, command)
        for ident, job in self.jobs.items():
            job.settle()
            self.jobs_of[job.queue].append((ident, job))
        for uid, op in self.sent.items():
            self.sent_to[op.queue].append((uid, op))
        self.ids = collections.defaultdict(set)     # uid -> ids
        for ident, job in self.jobs.items():
            for uid in {job.uid, *(d.job.get("uid") for d in job.deliveries)} - {None}:
                self.ids[uid].add(ident)
        self.parents = {parent for op in ops if op.possible for parent in op.parents or ()}

    def say(self, name, text, *evidence):
        self.findings.append(f"{name}: {text}" + "".join(f"\n    {item!r}" for item in evidence))

    def possible(self, *kinds):
        return [op for kind in kinds for op in self.by_kind[kind] if op.possible]

    def settle_groups(self):
        """A group that was cut off happened if its key is there: then all of it did, else nothing."""
        self.groups = collections.defaultdict(list)
        for op in self.ops:
            if op.group:
                self.groups[op.group].append(op)
        for op in self.by_kind["group"]:
            op.happened = op.certain or f"group:{op.uid}" in self.final.keys
            for part in self.groups[op.uid]:
                part.void = op.open and not op.happened

    def learn(self, op):
        kind = op.kind
        if kind == "enqueue":
            self.learn_enqueue(op)
        elif kind == "many":
            for i, uid in enumerate(op.uids):
                self.sent[uid] = op
                if op.certain:
                    self.jobs[op.reply[i]].enqueue, self.jobs[op.reply[i]].uid = op, uid
        elif kind == "schedule-set":
            self.sent[op.uid] = op
        elif kind == "schedule-run" and op.certain:
            if isinstance(op.reply, str) or op.reply[1] == 1:
                self.runs[op.reply if isinstance(op.reply, str) else op.reply[0]] = op
        elif kind == "lease" and op.certain:
            for job in op.reply:
                delivery = Delivery(op, job)
                self.jobs[delivery.id].deliveries.append(delivery)
                self.receipts[delivery.receipt] = delivery
        elif kind in ("complete", "fail", "release", "renew", "checkpoint") and op.possible:
            self.jobs[op.id].touches.append(op)
            if kind == "complete":
                self.jobs[op.id].ends.append(op)
        elif kind in ("cancel", "revoke", "promote", "reschedule") and op.possible:
            if op.reply != 0:
                self.jobs[op.id].others.append(op)
                if kind == "cancel":
                    self.jobs[op.id].ends.append(op)
        elif kind in ("job", "waitfor") and op.certain:
            gone = op.reply is None if kind == "job" else op.reply is not None and op.reply["state"] == "gone"
            if gone or op.reply is not None:
                self.jobs[op.id].sightings.append(Sighting(op, op.id, None if gone else op.reply))
        elif kind == "peek" and op.certain:
            for job in op.reply[1]:
                self.jobs[job["id"]].sightings.append(Sighting(op, job["id"], job))

    def learn_enqueue(self, op):
        self.sent[op.uid] = op
        added = op.certain and (not isinstance(op.reply, list) or op.reply[1] == 1)
        if added:
            ident = op.reply[0] if isinstance(op.reply, list) else op.reply
            self.jobs[ident].enqueue, self.jobs[ident].uid = op, op.uid
        elif op.certain and op.replace and op.reply[2] in ("ready", "scheduled"):
            self.jobs[op.reply[0]].replaces.append(op)
        if op.key and op.possible:
            self.holds[op.space or "", op.key].append(op)

    # What may have happened to a job.

    def touches_with(self, job, receipt):
        return [op for op in job.touches if op.receipt == receipt]

    def applies(self, removal, ident, job):
        """May this PURGE or DROP remove that job, while it lives?"""
        if job.queue is not None and removal.queue != job.queue:
            return False
        if removal.kind == "drop":
            return True
        if removal.ids is not None:
            return ident in removal.ids
        if removal.state == "done":
            return False
        return removal.space is None or job.space is None or removal.space == job.space

    def may_be_removed(self, ident, job, since, until, but=None):
        """By a PURGE or DROP within that time."""
        return any(op is not but and op.t0 < until and op.end > since and self.applies(op, ident, job)
                   for op in self.removals_for(job))

    def removals_for(self, job):
        return self.removals if job.queue is None else self.removals_of[job.queue]

    def may_be_leased_unseen(self, queue, since, until):
        """By a LEASE whose answer nobody got."""
        return self.leases_unseen(queue, since, until) > 0

    def leases_unseen(self, queue, since, until):
        first = bisect.bisect_left(self.open_since, since - self.open_at_most)
        last = bisect.bisect_left(self.open_since, until)
        return sum(op.end > since and queue in (op.queues or ()) for op in self.open_leases[first:last])

    def moves(self, job):
        """It may go on under another id: REDRIVE TO, of a job with a space."""
        if job.queue not in (mix.SICK, mix.MOVED) or job.space == "":
            return []
        return [op for op in self.redrives_of[job.queue] if op.to]

    def vests_after(self, op):
        """Before then the job of an ENQUEUE has not vested, by what it says itself."""
        return op.t0 + (op.delay or 0)

    def may_have_lapsed(self, job, until):
        """EXPIRE: never after a lease that somebody got; RESCHEDULE and PROMOTE only make it later."""
        op = job.enqueue
        return bool(op.expire) and not job.deliveries and until > self.vests_after(op) + op.expire - GRAIN

    def may_be_gone(self, ident, job, until, but=None):
        """Neither alive nor dead at some moment before `until`."""
        if job.enqueue is None:
            return True
        return (any(op.t0 < until and op is not but for op in job.ends)
                or self.may_be_removed(ident, job, job.enqueue.t0, until, but)
                or self.may_have_lapsed(job, until) or any(op.t0 < until and op is not but for op in self.moves(job)))

    def may_have_died(self, ident, job, until):
        if job.enqueue is None or any(op.kind == "fail" and op.t0 < until and (op.dead or op.open or op.reply[0] == "dead")
                                      for op in job.touches):
            return True
        if any(self.parent_may_be_lost(parent, until) for parent in job.enqueue.parents or ()):
            return True
        limit = job.enqueue.attempts
        if limit is None:
            limit = 7 if job.queue == mix.OPTIONS else 25
        known = max([d.attempt for d in job.deliveries if d.t0 < until], default=0)
        unseen = self.leases_unseen(job.queue, job.enqueue.t0, until)
        return limit > 0 and known + unseen >= limit

    def parent_may_be_lost(self, ident, until):
        """Cancelled, expired, purged or dropped: then its children die."""
        job = self.jobs[ident]
        return (job.enqueue is None or any(op.kind == "cancel" and op.t0 < until for op in job.ends)
                or self.may_be_removed(ident, job, job.enqueue.t0, until) or self.may_have_lapsed(job, until))

    # What must be.

    def must_wait(self, ident, job, op):
        """Scheduled or ready (or waiting) at the time of this command, nobody having had it."""
        enqueue = job.enqueue
        return (enqueue is not None and enqueue.certain and before(enqueue, op) and not enqueue.parents
                and not any(d.t0 < op.end for d in job.deliveries)
                and not self.may_be_leased_unseen(enqueue.queue, enqueue.t0, op.end)
                and not self.may_be_gone(ident, job, op.end, but=op))

    def must_be_dead(self, ident, job, op):
        """A FAIL was answered with dead, and nothing may have changed that since."""
        deaths = [fail for fail in job.touches if fail.kind == "fail" and fail.certain and fail.reply[0] == "dead"
                  and before(fail, op)]
        if not deaths or job.enqueue is None:
            return False
        death = max(deaths, key=lambda fail: fail.t0)
        redriven = any(r is not op and r.end > death.t0 and r.t0 < op.end for r in self.redrives_of[job.queue])
        return not (redriven or any(end is not op and end.t0 < op.end for end in job.ends)
                    or self.may_be_removed(ident, job, death.t0, op.end, but=op))

    def lease_end(self, job, delivery, but=None):
        """Until when its lease certainly lasts."""
        until, length = delivery.t0 + delivery.length, delivery.length
        for op in job.touches:
            if op is but or op.receipt != delivery.receipt:
                continue
            if op.kind in ("renew", "checkpoint"):
                given = op.reply if op.certain and isinstance(op.reply, int) else op.length or 0
                length = op.t0 + given
                until = length if op.certain else min(until, length)
            else:
                until = min(until, op.t0)
        for op in job.others:
            if op is not but and op.kind in ("revoke", "cancel") and op.t0 < until and op.end > delivery.t0:
                until = min(until, op.t0)
        for op in self.removals_for(job):
            if op is not but and op.end > delivery.t0 and op.t0 < until and self.applies(op, delivery.id, job) and (
                    op.kind == "drop" or op.ids is not None or op.state == "leased"):
                until = min(until, op.t0)
        return until

    def keep_of(self, job):
        """For how long its result is kept; None when that is not known."""
        if job.enqueue is None or job.queue == mix.OPTIONS:
            return None if job.enqueue is None or job.enqueue.keep is None else job.enqueue.keep
        return KEEPS.get(job.queue, 0) if job.enqueue.keep is None else job.enqueue.keep
