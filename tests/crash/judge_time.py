"""Judges time: nothing early, nothing after its EXPIRE, nothing out of a paused queue; limits; order."""

import collections

import mix
from history import GRAIN, after, before


def judge(h):
    for ident, job in h.jobs.items():
        check_bars(h, ident, job)
        check_parents(h, ident, job)
        check_expiry(h, ident, job)
    check_pauses(h)
    check_concurrency(h)
    check_rate(h)
    check_order(h)


# Nothing early.

def appearances(job):
    """Where a job was seen as due: (command, fence or None)."""
    return ([(d.op, d.fence) for d in job.deliveries]
            + [(s.op, None) for s in job.sightings if s.state == "ready"])


def lifters(h, job):
    """Commands that may give it another time, whenever they come."""
    found = [op for op in job.others if op.kind in ("promote", "reschedule")]
    if job.enqueue and job.enqueue.key:
        found += [op for op in h.holds[job.enqueue.space or "", job.enqueue.key] if op.replace and op is not job.enqueue]
    return found + h.redrives_of[job.queue]


def bars(h, ident, job):
    """(command, ms from it, wall time or None, fence of the lease that it ended or None): due then, not before."""
    enqueue = job.enqueue
    if enqueue and (enqueue.delay or enqueue.at):
        yield enqueue, enqueue.delay or 0, enqueue.at, None
    for op in job.touches:
        mine = h.receipts.get(op.receipt)
        if op.certain and mine and op.kind == "fail" and op.reply[0] == "retry":
            yield op, op.reply[1], None, mine.fence
        elif op.certain and mine and op.kind == "release" and op.delay:
            yield op, op.delay, None, mine.fence
    for op in job.others:
        if op.kind == "reschedule" and op.certain:
            yield op, op.delay or 0, op.at, None
    for op in job.replaces:
        if op.certain and (op.delay or op.at):
            yield op, op.delay or 0, op.at, None
    for op in h.redrives_of[job.queue]:
        if op.certain and op.rate and op.queue == job.queue and h.must_be_dead(ident, job, op):
            if op.id == ident and op.reply == 1 or op.id is None and op.count is None and not (enqueue and enqueue.key):
                yield op, 1000 / op.rate, None, None


def check_bars(h, ident, job):
    seen = appearances(job)
    if not seen:
        return
    lifts = lifters(h, job)
    for bar, ms, at, fence in bars(h, ident, job):
        for op, claim in seen:
            behind = claim > fence if fence is not None and claim is not None else after(op, bar)
            early = op.t1 < bar.t0 + ms - GRAIN if at is None else op.wall is not None and op.wall < at - GRAIN
            if not behind or not early:
                continue
            if not any(lift is not bar and lift.end > bar.t0 and lift.t0 < op.t1 for lift in lifts):
                h.say("EARLY", f"job {ident} came before its time", bar, op)


def check_parents(h, ident, job):
    if job.enqueue is None or not job.enqueue.parents or not job.deliveries:
        return
    first = min(job.deliveries, key=lambda delivery: delivery.t1)
    if redriven_dead(h, job, first):
        return
    for parent in job.enqueue.parents:
        ends = [end for end in h.jobs[parent].ends if end.kind == "complete"]
        if not any(end.t0 < first.t1 for end in ends) and not was_gone_before(h, parent, job.enqueue):
            h.say("EARLY", f"job {ident} came before its parent {parent} was complete", job.enqueue, first.op)


def redriven_dead(h, job, first):
    """A child that died with a parent and was redriven needs that one no longer."""
    return any(op.t0 < first.t1 for op in h.redrives_of[job.queue])


def was_gone_before(h, ident, child):
    """It may have left before the child was enqueued, without being complete."""
    job = h.jobs[ident]
    return h.may_be_gone(ident, job, child.end)


# Nothing late.

def check_expiry(h, ident, job):
    enqueue = job.enqueue
    if enqueue is None or not enqueue.expire or enqueue.at or enqueue.parents:
        return
    until = enqueue.t1 + (enqueue.delay or 0) + enqueue.expire + GRAIN
    if not job.deliveries:
        return
    first = min(job.deliveries, key=lambda delivery: delivery.t0)
    if first.t0 <= until or first.attempt > 1 or any(op.t0 < first.t1 for op in lifters(h, job)):
        return
    # One that was leased, seen or not, expires no longer.
    if not h.may_be_leased_unseen(enqueue.queue, enqueue.t0, first.t0):
        h.say("EXPIRE", f"job {ident} was delivered {first.t0 - until:.0f} ms after its time", enqueue, first.op)


def check_pauses(h):
    changes = h.possible("pause", "resume", "drop")
    deliveries = collections.defaultdict(list)
    for job in h.jobs.values():
        for delivery in job.deliveries:
            deliveries[delivery.queue].append(delivery)
    for pause in h.possible("pause"):
        if not pause.certain:
            continue
        until = min([op.t0 for op in changes if op is not pause and op.queue == pause.queue and op.end > pause.t0
                     and (op.kind == "drop" or op.space == pause.space)], default=float("inf"))
        if pause.length:
            until = min(until, pause.t0 + pause.length - GRAIN)
        for delivery in deliveries[pause.queue]:
            if pause.space is not None and delivery.job["space"] != pause.space:
                continue
            if after(delivery.op, pause) and delivery.t1 < until:
                h.say("PAUSE", f"job {delivery.id} came out of a paused queue", pause, delivery.op)


# Limits.

def of_queue(h, queue):
    return [(job, d) for job in h.jobs.values() for d in job.deliveries if d.queue == queue]


def check_concurrency(h):
    edges = []
    for job, delivery in of_queue(h, "limited"):
        until = h.lease_end(job, delivery) - GRAIN
        if until > delivery.t1:
            edges += [(delivery.t1, 1, delivery), (until, -1, delivery)]
    running = {}
    for _, step, delivery in sorted(edges, key=lambda edge: edge[:2]):
        if step < 0:
            del running[delivery.receipt]
            continue
        running[delivery.receipt] = delivery
        if len(running) > mix.CONCURRENCY:
            h.say("LIMIT", f"{len(running)} leases at a time", *[other.op for other in running.values()])
            return


def check_rate(h):
    starts = sorted((d.t0, d.t1) for _, d in of_queue(h, "rated"))
    for i, (first, _) in enumerate(starts):
        for n, last in enumerate(sorted(t1 for _, t1 in starts[i:]), 1):
            allowed = mix.BURST + mix.RATE * (last - first + GRAIN) / 1000
            if n > allowed + 1:
                h.say("LIMIT", f"{n} jobs started within {last - first:.0f} ms, {allowed:.1f} are allowed")
                return


# Order: in the queue of one client, of which it changes nothing but by leasing.

def check_order(h):
    jobs = collections.defaultdict(list)
    for ident, job in h.jobs.items():
        if job.enqueue and job.enqueue.queue.startswith("order-"):
            jobs[job.enqueue.queue].append((job.enqueue.priority, int(ident), job))
    for lease in h.possible("lease"):
        if not lease.certain or not lease.reply or not lease.queues or not lease.queues[0].startswith("order-"):
            continue
        ready = [rank for rank in jobs[lease.queues[0]] if must_be_ready(h, rank[2], lease)]
        taken = set()
        for job in lease.reply:
            rank = (job["priority"], int(job["id"]))
            for priority, ident, passed in ready:
                if (priority, ident) < rank and ident not in taken:
                    h.say("ORDER", f"job {job['id']} was taken before job {ident}", passed.enqueue, lease)
            taken.add(int(job["id"]))


def must_be_ready(h, job, lease):
    """Nobody had it before, known or not."""
    return (before(job.enqueue, lease) and not any(before(d.op, lease) for d in job.deliveries)
            and not any(d.op is not lease and d.t0 < lease.t1 and not after(d.op, lease) for d in job.deliveries)
            and not h.may_be_leased_unseen(job.enqueue.queue, job.enqueue.t0, lease.t0)
            and not any(op.t0 < lease.t1 for op in job.ends))
