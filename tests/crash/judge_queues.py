"""Judges what QUEUE INFO counts and shows, the list of queues, and schedules."""

import bisect
import collections

import mix
from history import STATIC, before
from register import Register

MINUTE_MS = 60000
INFINITE = float("inf")
# The last millisecond of a slot and the first of the next are told by two clocks.
PHASE_SLACK = 5


def judge(h):
    check_totals(h)
    check_lapsed(h)
    check_room(h)
    check_options(h)
    check_spaces(h)
    check_names(h)
    schedules = Schedules(h)
    schedules.check_static()
    schedules.check_dynamic()
    schedules.check_lists()
    schedules.check_runs()
    schedules.check_slots()


# Counts.

class Total:
    """How often something happened for certain before a time, and at most."""

    def __init__(self):
        self.done, self.begun = [], []

    def add(self, op, times=1):
        self.begun += [op.t0] * times
        if op.certain:
            self.done += [op.t1] * times

    def sort(self):
        self.done.sort()
        self.begun.sort()

    def bounds(self, op):
        return bisect.bisect_left(self.done, op.t0), bisect.bisect_left(self.begun, op.t1)


def totals(h):
    """(queue, name of the total) -> Total; of queues that nothing moves to another one and nothing drops."""
    found = collections.defaultdict(Total)
    for op in h.possible("enqueue", "many"):
        added = op.kind == "many" or not op.certain or not isinstance(op.reply, list) or op.reply[1] == 1
        if added:
            found[op.queue, "enqueued"].add(op, len(op.uids) if op.kind == "many" else 1)
        if op.key and not (op.certain and added):
            found[op.queue, "duplicates"].add(op)
    for op in h.possible("complete", "fail", "release"):
        mine = h.receipts.get(op.receipt)
        if mine:
            name = {"complete": "completed", "fail": "failed", "release": "released"}[op.kind]
            found[mine.queue, name].add(op)
    for total in found.values():
        total.sort()
    return found


class AtTheEnd:
    t0 = t1 = INFINITE


def check_totals(h):
    found = totals(h)
    seen = [(op, op.queue, op.reply) for op in h.possible("info") if op.certain]
    seen += [(AtTheEnd, queue, info) for queue, info in h.final.infos.items()]
    for op, queue, info in seen:
        for name in ("enqueued", "duplicates", "completed", "failed", "released"):
            if queue in (mix.DROPPED, mix.SICK, mix.MOVED) or queue.startswith("slots") and name in ("enqueued", "duplicates"):
                continue
            least, most = found[queue, name].bounds(op)
            if not least <= info[name] <= most:
                h.say("NUMBER", f"QUEUE INFO {queue}: {name} is {info[name]}, where {least} to {most} may be", op)


def check_lapsed(h):
    """What vanished from the queue of EXPIREs has lapsed, and nothing else."""
    if mix.SHORT not in h.final.infos:
        return
    least = most = 0
    for uid, op in h.sent_to[mix.SHORT]:
        if not op.possible:
            continue
        ids = h.ids.get(uid, ())
        delivered = any(h.jobs[ident].deliveries or ident in h.final.dead for ident in ids)
        ended = any(h.jobs[ident].ends for ident in ids)
        least += op.certain and not delivered and not ended
        most += not delivered and not any(end.certain for ident in ids for end in h.jobs[ident].ends)
    lapsed = h.final.infos[mix.SHORT]["lapsed"]
    if not least <= lapsed <= most:
        h.say("EXPIRE", f"{lapsed} jobs have lapsed, where {least} to {most} may have")


# Room.

def check_room(h):
    """What certainly stands in the tight queue fits; where even what may stand there leaves room, nobody is refused."""
    stands, may_stand = [], []  # (from, until, bytes)
    for uid, op in h.sent_to[mix.TIGHT]:
        if not op.possible:
            continue
        ids = h.ids.get(uid, ())
        over = [end_of(h, ident) for ident in ids]
        may_stand.append((op.t0, max((most for _, most in over), default=INFINITE), op.size))
        if op.certain and over and not any(h.may_have_died(ident, h.jobs[ident], INFINITE) for ident in ids):
            stands.append((op.t1, min(least for least, _ in over), op.size))
    for since, _, _ in stands:
        at_once = [size for begin, end, size in stands if begin <= since < end]
        if len(at_once) > mix.MAX_JOBS or sum(at_once) > mix.MAX_BYTES:
            h.say("ROOM", f"{len(at_once)} jobs of {sum(at_once)} bytes stand in {mix.TIGHT} at {since:.0f}")
            break
    for op in h.ops:
        if op.queue == mix.TIGHT and op.kind in ("enqueue", "many") and not op.group and (op.error or "").startswith("FULL"):
            check_refusal(h, op, [size for begin, end, size in may_stand if begin < op.t1 and end > op.t0])


def end_of(h, ident):
    """When it ended at the earliest, and at the latest."""
    job = h.jobs[ident]
    deaths = [op for op in job.touches if op.kind == "fail" and op.certain and op.reply[0] == "dead"]
    certain = [op.end for op in job.ends + deaths if op.certain]
    return (min([op.t0 for op in job.ends + [op for op in job.touches if op.kind == "fail"]], default=INFINITE),
            min(certain, default=INFINITE))


def check_refusal(h, op, sizes):
    # Who waits holds up those behind it, whatever they need.
    others = [one for one in h.ops if one is not op and one.queue == mix.TIGHT and one.kind in ("enqueue", "many")
              and one.t0 < op.t1 and one.t1 > op.t0]
    jobs, most = len(op.uids or (op.uid,)), op.size * len(op.uids or (op.uid,))
    if not others and len(sizes) + jobs <= mix.MAX_JOBS and sum(sizes) + most <= mix.MAX_BYTES:
        h.say("ROOM", f"{mix.TIGHT} is full with at most {len(sizes)} jobs of {sum(sizes)} bytes", op)


# Options and names.

def check_settings(h, sets, shows, of):
    """What these commands set, all of one thing, is what those show."""
    registers = collections.defaultdict(lambda: Register("as it was"))
    for op in sets:
        for name, value in op.values.items():
            registers[name].write(op, value)
    for op in shows:
        if op.certain and op.queue == mix.OPTIONS:
            for name, register in registers.items():
                allowed = register.allowed(op)
                if "as it was" not in allowed and op.reply[name] not in allowed:
                    h.say("OPTIONS", f"{name}{of} is {op.reply[name]!r}, not one of {allowed}", op)


def check_options(h):
    sets = [op for op in h.possible("queue-set") if op.queue == mix.OPTIONS]
    check_settings(h, sets, h.possible("info"), "")


def check_spaces(h):
    """What SPACE SET says of the one space that it is tried on; SPACES in order, each space once."""
    check_settings(h, h.possible("space-set"), h.possible("space-info"), " of the space")
    for op in h.possible("spaces"):
        names = [row["space"] for row in op.reply[1]] if op.certain else []
        if names != sorted(set(names)):
            h.say("STATE", "SPACES is out of order, or has one twice", op)


def check_names(h):
    """Queues with options are always there; only one of them is dropped."""
    for op in h.possible("queues"):
        if op.certain:
            missing = set(mix.QUEUES) - {mix.DROPPED} - set(op.reply[1])
            if missing or op.reply[1] != sorted(set(op.reply[1])):
                h.say("STATE", f"QUEUES lacks {sorted(missing)}, or is out of order", op)


# Schedules.

class Schedules:
    def __init__(self, h):
        self.h = h
        # What stands under each name that clients change: the uid of a SET or None; and whether it is paused.
        self.there = collections.defaultdict(Register)
        self.paused = collections.defaultdict(lambda: Register(False))
        for op in h.possible("schedule-set"):
            self.there[op.name].write(op, op.uid)
        for op in h.possible("schedule-del"):
            if op.reply != 0:
                self.there[op.name].write(op, None)
                self.paused[op.name].write(op, False)
        for op in h.possible("schedule-pause", "schedule-resume"):
            self.paused[op.name].write(op, op.kind == "schedule-pause")

    def check_static(self):
        """Slots of a schedule that nobody changes: each made a job, was skipped for UNIQUE, or passed over by policy."""
        last = {}
        for op in self.h.possible("schedule-get"):
            if not op.certain or op.name not in STATIC:
                continue
            row = op.reply
            if row is None:
                self.h.say("LOST", f"the schedule {op.name} was acknowledged and is nowhere", op)
                continue
            made = row["fired"] + row["skipped"] + row["passed-over"]
            slots = made if row["next"] is None else self.slots_of(row)  # none while it is paused
            if made != slots:
                self.h.say("SCHEDULE", f"{op.name}: {slots} slots have passed, {made} were fired, skipped or passed over", op)
            if row["missed"] == "all" and row["passed-over"]:
                self.h.say("SCHEDULE", f"{op.name}: {row['passed-over']} slots were passed over, all should run", op)
            if "unique" not in row and row["skipped"]:
                self.h.say("SCHEDULE", f"{op.name}: {row['skipped']} slots were skipped without a unique key", op)
            older = last.get(op.name)
            if older and any(older.reply[name] > row[name] for name in ("fired", "skipped", "passed-over")):
                self.h.say("SCHEDULE", f"{op.name} has gone back", older, op)
            last[op.name] = op

    @staticmethod
    def slots_of(row):
        """How many slots lie between its SET and its next one."""
        if "every" in row:
            return round((row["next"] - row["created"]) / row["every"]) - 1
        return row["next"] // MINUTE_MS - row["created"] // MINUTE_MS - 1

    def check_dynamic(self):
        for op in self.h.possible("schedule-get"):
            if not op.certain or op.name in STATIC:
                continue
            allowed, found = self.there[op.name].allowed(op), op.reply and op.reply["uid"]
            if found not in allowed:
                self.h.say("SCHEDULE", f"{op.name} is {found!r}, not one of {allowed}", op)
            elif found and op.reply["state"] not in {"paused" if p else "active" for p in self.paused[op.name].allowed(op)}:
                self.h.say("SCHEDULE", f"{op.name} is {op.reply['state']}", op)
        for op in self.h.possible("schedule-del"):
            allowed = self.there[op.name].but(op).allowed(op)
            if op.certain and (op.reply == 1 and set(allowed) == {None} or op.reply == 0 and None not in allowed):
                self.h.say("SCHEDULE", f"DEL of {op.name} says {op.reply}, it was one of {allowed}", op)
        for op in self.h.ops:
            if op.error and op.error.startswith("NOTFOUND") and op.kind in ("schedule-pause", "schedule-resume", "schedule-run"):
                if None not in self.there[op.name].allowed(op) or op.name in STATIC:
                    self.h.say("SCHEDULE", f"{op.kind} says that there is no {op.name}", op)

    def check_lists(self):
        for op in self.h.possible("schedule-list"):
            if not op.certain:
                continue
            names = [row["name"] for row in op.reply[1]]
            missing = [name for name in STATIC if name not in names and (op.reply[0] == "0" or names and name < names[-1])]
            missing += [name for name, register in self.there.items() if None not in register.allowed(op) and name not in names
                        and (op.reply[0] == "0" or names and name < names[-1])]
            if names != sorted(set(names)) or missing:
                self.h.say("SCHEDULE", f"LIST lacks {missing}, or is out of order", op)
        for op in self.h.possible("schedule-next"):
            slots = op.reply
            if op.certain and (len(slots) != op.count or slots != sorted(set(slots)) or any(slot % MINUTE_MS for slot in slots)
                               or not 0 <= slots[0] - op.wall + (op.t1 - op.t0) + PHASE_SLACK <= MINUTE_MS + (op.t1 - op.t0) + 10):
                self.h.say("SCHEDULE", "NEXT does not give the next minutes", op)

    def check_runs(self):
        """A job that RUN acknowledged is there; it may hold a key, and then be one that was there."""
        seen = {ident for ident, job in self.h.jobs.items() if job.deliveries} | self.h.final.dead
        missing = sorted(ident for ident in self.h.runs if ident not in seen)
        if missing:
            self.h.say("LOST", f"jobs {missing} of SCHEDULE RUN are nowhere", *[self.h.runs[ident] for ident in missing])

    def made(self):
        """uid of a schedule's payload -> ids of its jobs."""
        made = collections.defaultdict(set)
        for ident, job in self.h.jobs.items():
            for delivery in job.deliveries:
                if delivery.queue.startswith("slots-"):
                    made[delivery.job["uid"]].add(ident)
        return made

    def check_slots(self):
        """As many jobs as slots that fired and RUNs; of schedules that clients change no more than there can have been."""
        made = self.made()
        runs = [op for op in self.h.possible("schedule-run")]
        for name in STATIC:
            gets = [op for op in self.h.possible("schedule-get") if op.certain and op.name == name and op.reply]
            paused = [op for op in self.h.possible("schedule-pause") if op.certain and op.name == name]
            last = [op for op in gets if paused and before(paused[-1], op)]
            if not last:
                continue
            certain = sum(op.certain and op.name == name for op in runs)
            possible = sum(op.name == name for op in runs)
            number, fired = len(made[f"slot-{name}"]), last[-1].reply["fired"]
            if number < fired + certain:
                self.h.say("LOST", f"{name} has fired {fired} slots and {certain} to {possible} RUNs, there were {number} jobs")
            elif number > fired + possible:
                self.h.say("SCHEDULE", f"{name} has fired {fired} slots and {certain} to {possible} RUNs, there were {number} jobs")
        over = max((op.t0 for op in self.h.ops), default=0)
        for op in self.h.possible("schedule-set"):
            if op.every:
                until = min([other.t1 for other in self.h.by_kind["schedule-set"] + self.h.by_kind["schedule-del"]
                             if other.name == op.name and other.certain and before(op, other)],
                            default=over)
                most = (until - op.t0) // op.every + 1 + sum(run.name == op.name for run in runs)
                if len(made[op.uid]) > most:
                    self.h.say("SCHEDULE", f"{op.name} made {len(made[op.uid])} jobs, {most} at most are right", op)
