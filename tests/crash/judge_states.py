"""Judges what commands say of jobs: their state, numbers of jobs removed and redriven, refusals, holders of leases, events."""

import bisect
import collections

import mix
from history import GRAIN, before

LIVE = ("ready", "scheduled", "leased", "waiting")
EXPIRY_SLACK = 1000.0  # ms: for how long a job that has lapsed may still be listed
LEASE_AT_MOST = 60000.0  # ms: no lease of the mix lasts longer without an answer that names it
ENDS = ("completed", "cancelled", "lapsed", "purged", "dropped")


def judge(h):
    for ident, job in list(h.jobs.items()):
        for sighting in job.sightings:
            check_sighting(h, ident, job, sighting)
    check_waits(h)
    check_refusals(h)
    check_verdicts(h)
    check_purges(h)
    check_redrives(h)
    check_workers(h)
    check_events(h)


def check_sighting(h, ident, job, seen):
    enqueue, op = job.enqueue, seen.op
    if seen.state is None:
        if enqueue is not None and before(enqueue, op) and not h.may_be_gone(ident, job, op.end):
            h.say("LOST", f"{op.kind} says that there is no job {ident}", enqueue, op)
        elif enqueue is not None and before(enqueue, op) and must_be_kept(h, ident, job, op):
            h.say("RESULT", f"{op.kind} says that there is no job {ident}, which is kept", enqueue, op)
    elif seen.state == "done":
        if not any(end.kind == "complete" and end.t0 < op.t1 for end in job.ends):
            h.say("STATE", f"job {ident} is done and nobody completed it", enqueue, op)
        elif h.keep_of(job) == 0:
            h.say("STATE", f"job {ident} is kept and should not be", enqueue, op)
    elif seen.state == "dead":
        if not h.may_have_died(ident, job, op.t1):
            h.say("STATE", f"job {ident} is dead for no reason", enqueue, op)
    elif enqueue is None:
        return
    elif seen.state == "leased":
        if not (any(d.t0 < op.t1 for d in job.deliveries) or h.may_be_leased_unseen(job.queue, enqueue.t0, op.t1)
                or h.moves(job)):
            h.say("STATE", f"job {ident} is leased and nobody has it", enqueue, op)
    elif seen.state == "waiting":
        if not enqueue.parents:
            h.say("STATE", f"job {ident} waits for nothing", enqueue, op)
    elif seen.state == "scheduled" and not may_be_scheduled(h, job, op):
        h.say("STATE", f"job {ident} is scheduled and nothing made it so", enqueue, op)
    if seen.state in ("ready", "scheduled") and has_lapsed(h, job, op):
        h.say("EXPIRE", f"job {ident} is {seen.state} after its time", enqueue, op)


def must_be_kept(h, ident, job, op):
    done = [end for end in job.ends if end.kind == "complete" and end.certain and before(end, op)]
    removed = any(r.queue == job.queue and r.t0 < op.end and (r.kind == "drop" or r.state == "done") for r in h.removals)
    return bool(done) and h.keep_of(job) == mix.HOUR_MS and not removed


def may_be_scheduled(h, job, op):
    enqueue = job.enqueue
    return bool(enqueue.delay or enqueue.at or enqueue.key or enqueue.parents
                or any(o.t0 < op.t1 and (o.kind == "fail" or o.kind == "release" and o.delay) for o in job.touches)
                or any(o.t0 < op.t1 and o.kind == "reschedule" for o in job.others)
                or any(o.t0 < op.t1 and (o.rate or o.to) and job.queue in (o.queue, o.to) for o in h.redrives_of[job.queue]))


def has_lapsed(h, job, op):
    enqueue = job.enqueue
    if not enqueue.expire or enqueue.at or enqueue.parents or any(o.t0 < op.t1 for o in job.others) or any(d.t0 < op.t1 for d in job.deliveries):
        return False
    return (op.t0 > enqueue.t1 + (enqueue.delay or 0) + enqueue.expire + EXPIRY_SLACK
            and not h.may_be_leased_unseen(enqueue.queue, enqueue.t0, op.t0))


def check_waits(h):
    """WAITFOR answers null only when the job is not over."""
    for op in h.possible("waitfor"):
        if op.certain and op.reply is None:
            for end in h.jobs[op.id].ends:
                if end.certain and before(end, op):
                    h.say("STATE", f"WAITFOR says that job {op.id} is not over", end, op)


def check_refusals(h):
    """No receipt is refused while its lease certainly lasts; no job is unknown while it certainly lives."""
    for op in h.ops:
        if op.error is None or op.group:
            continue
        if op.error.startswith("LEASELOST") and op.receipt in h.receipts:
            mine = h.receipts[op.receipt]
            until = h.lease_end(h.jobs[mine.id], mine)
            if op.t1 < until - GRAIN:
                h.say("EXCLUSIVE", f"a receipt of job {mine.id} was refused within its lease", mine.op, op)
        elif op.kind in ("promote", "reschedule"):
            job = h.jobs[op.id]
            if op.error.startswith("NOTFOUND") and job.enqueue and before(job.enqueue, op) and not h.may_be_gone(
                    op.id, job, op.end):
                h.say("LOST", f"{op.kind} says that there is no job {op.id}", job.enqueue, op)
            elif op.error.startswith("BUSY") and h.must_wait(op.id, job, op):
                h.say("STATE", f"{op.kind} says that job {op.id} is busy", job.enqueue, op)


def check_verdicts(h):
    """CANCEL says 0 only of what may be gone, REVOKE 1 only of what may be leased and 0 only of what may not."""
    for op in h.possible("cancel"):
        job = h.jobs[op.id]
        if op.certain and op.reply == 0 and job.enqueue and before(job.enqueue, op) and not h.may_be_gone(op.id, job, op.end):
            h.say("LOST", f"CANCEL says that there is no job {op.id}", job.enqueue, op)
    for op in h.possible("revoke"):
        job = h.jobs[op.id]
        if not op.certain or job.enqueue is None or h.moves(job):
            continue
        leased = any(d.t0 < op.t1 for d in job.deliveries) or h.may_be_leased_unseen(job.queue, job.enqueue.t0, op.end)
        if op.reply == 1 and not leased:
            h.say("STATE", f"REVOKE ended a lease of job {op.id}, which nobody had", job.enqueue, op)
        for delivery in job.deliveries:
            if op.reply == 0 and before(delivery.op, op) and h.lease_end(job, delivery) - GRAIN > op.t1:
                h.say("STATE", f"REVOKE says that job {op.id} is not leased", delivery.op, op)


# Numbers.

def jobs_by_uid(h, queue, space, until):
    """(uid, its ids that are known) of all that may have been put into a queue before then."""
    for uid, op in h.sent_to[queue]:
        if op.possible and op.t0 < until and (
                space is None or (op.space or "") == space):
            yield uid, h.ids.get(uid, ())


def may_still_be_there(h, ids, op, state):
    """A job of these ids may be removed by this command."""
    if not ids:
        return state != "done"
    for ident in ids:
        job = h.jobs[ident]
        over = any(end.certain and end is not op and before(end, op) and (state != "done" or end.kind == "cancel")
                   for end in job.ends)
        died = state != "dead" or h.may_have_died(ident, job, op.t1)
        done = state != "done" or any(end.kind == "complete" and end.t0 < op.t1 for end in job.ends)
        if not over and died and done:
            return True
    return False


def must_be_in(h, ident, job, op):
    if op.state is None:
        return h.must_wait(ident, job, op)
    if op.state == "dead":
        return h.must_be_dead(ident, job, op)
    if op.state == "leased":
        return any(before(d.op, op) and h.lease_end(job, d, but=op) - GRAIN > op.t1 for d in job.deliveries) and not any(
            r is not op and r.t0 < op.end and r.end > job.deliveries[0].t0 and h.applies(r, ident, job) for r in h.removals_for(job))
    return False


def check_purges(h):
    for op in h.possible("purge"):
        if not op.certain:
            continue
        there = [(ident, job) for ident, job in h.jobs_of[op.queue] if (
            op.space is None or job.space == op.space) and (op.ids is None or ident in op.ids)]
        if op.ids is not None:
            least = sum(h.must_wait(ident, job, op) or h.must_be_dead(ident, job, op) for ident, job in there)
            most = sum(may_still_be_there(h, (ident,), op, None) for ident, _ in there)
        else:
            least = sum(must_be_in(h, ident, job, op) for ident, job in there)
            most = sum(may_still_be_there(h, ids, op, op.state) for _, ids in jobs_by_uid(h, op.queue, op.space, op.end))
        if not least <= op.reply <= most:
            h.say("NUMBER", f"PURGE removed {op.reply} jobs, where {least} to {most} may have been", op)


def check_redrives(h):
    for op in h.possible("redrive"):
        if not op.certain:
            continue
        queues = (mix.SICK, mix.MOVED) if op.queue in (mix.SICK, mix.MOVED) else (op.queue,)
        there = [(ident, job) for queue in queues for ident, job in h.jobs_of[queue] if op.id is None or ident == op.id]
        # A held key keeps one dead, an edge keeps it in its queue.
        least = sum(h.must_be_dead(ident, job, op) for ident, job in there
                    if job.queue == op.queue and not job.key and ident not in h.parents
                    and not was_moved(h, job, op))
        most = sum(h.may_have_died(ident, job, op.t1) and not any(end.certain and before(end, op) for end in job.ends)
                   for ident, job in there)
        if op.queue in (mix.SICK, mix.MOVED) or op.queue.startswith("slots"):
            most = max(most, op.reply)  # ids that no client knows yet
        if op.count is not None:
            least, most = min(least, op.count), min(most, op.count)
        if not least <= op.reply <= most:
            h.say("NUMBER", f"REDRIVE took {op.reply} jobs, where {least} to {most} may have been dead", op)


def was_moved(h, job, op):
    return job.queue in (mix.SICK, mix.MOVED) and any(o.to and o.t0 < op.end for o in h.redrives)


# Who holds leases.

class Held:
    """The leases of one worker in one queue."""

    def __init__(self):
        self.began, self.over = [], []  # times: all that were sent; of those that are certainly over
        self.certain = []               # (answered, until when it certainly lasts)

    def most(self, op):
        return bisect.bisect_left(self.began, op.t1) - bisect.bisect_left(self.over, op.t0)

    def least(self, op):
        recent = bisect.bisect_left(self.certain, (op.t1 - LEASE_AT_MOST, 0))
        return sum(answered < op.t0 and until - GRAIN > op.t1 for answered, until in self.certain[recent:])


def held_leases(h):
    held = collections.defaultdict(Held)
    for delivery in h.receipts.values():
        job, one = h.jobs[delivery.id], held[delivery.queue, delivery.op.worker or ""]
        one.began.append(delivery.t0)
        one.over += [min(times) for times in [[o.t1 for o in h.touches_with(job, delivery.receipt)
                                               if o.certain and o.kind not in ("renew", "checkpoint")]] if times]
        one.certain.append((delivery.t1, h.lease_end(job, delivery)))
    for one in held.values():
        one.began.sort()
        one.over.sort()
        one.certain.sort()
    return held


def check_workers(h):
    held = held_leases(h)
    for op in h.possible("workers"):
        if not op.certain:
            continue
        others, rows = op.reply
        shown = {(row["queue"], row.get("worker", "")): row["leases"] for row in rows}
        asked = {key: one for key, one in held.items() if not op.queue or key[0] == op.queue}
        least = collections.Counter({key: one.least(op) for key, one in asked.items()})
        most = collections.Counter({key: one.most(op) for key, one in asked.items()})
        for lease in h.open_leases:
            if lease.t0 < op.t1:
                most.update({(queue, lease.worker or ""): lease.count for queue in lease.queues})
        wrong = {key for key in set(shown) | set(least) if shown.get(key, 0) > most[key] or (
            not int(others) and shown.get(key, 0) < least[key])}
        for key in sorted(wrong):
            h.say("STATE", f"WORKERS says {shown.get(key, 0)} leases of {key}, where {least[key]} to {most[key]} may be", op)


# Events.

def check_events(h):
    ended = {}
    heard = {}
    for op in h.by_kind["event"]:
        ident = op.id
        if ident is None:
            continue
        if ident in ended:
            h.say("EVENT", f"job {ident} has {op.name} after its end", ended[ident], op)
        elif op.name in ENDS:
            ended[ident] = op
        heard.setdefault(ident, op)
        job = h.jobs[ident]
        if op.name == "completed" and not any(end.kind == "complete" and end.t0 < op.t1 for end in job.ends):
            h.say("EVENT", f"job {ident} is completed, and nobody did", op)
        if op.name == "cancelled" and not any(end.kind == "cancel" and end.t0 < op.t1 for end in job.ends):
            h.say("EVENT", f"job {ident} is cancelled, and nobody did", op)
    for ident, op in ended.items():
        for delivery in h.jobs[ident].deliveries:
            if delivery.t0 > op.t1:
                h.say("EVENT", f"job {ident} was delivered after its end was told", op, delivery.op)
    check_heard(h, heard, ended)


def check_heard(h, heard, ended):
    """What an event told of is there, even if its ENQUEUE was never answered."""
    for ident, op in heard.items():
        job = h.jobs[ident]
        if job.enqueue or job.deliveries or job.ends or ident in h.final.dead or ident in ended:
            continue
        if op.queue not in (mix.SHORT, mix.PURGED, mix.DROPPED, mix.SICK, mix.MOVED):
            h.say("EVENT", f"job {ident} was told of ({op.name}) and is nowhere", op)
