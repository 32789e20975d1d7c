"""Judges each job's life: that it was sent, ends once, is with one holder, counts its attempts, and is not lost."""

import mix
from history import GRAIN, KEEPS, after, before

DEFAULT_LEASES = {mix.OPTIONS: (1500, 2000, mix.LEASE_MS), mix.DROPPED: (mix.LEASE_MS, 30000)}
DEFAULT_ATTEMPTS = {mix.OPTIONS: (7, 9, 25)}
DEFAULT_BACKOFFS = {mix.OPTIONS: ("fixed:60ms", "list:20ms,80ms", mix.BACKOFF)}
LOSSY = (mix.PURGED, mix.DROPPED)


def judge(h):
    for ident, job in list(h.jobs.items()):
        check_payload(h, ident, job)
        check_fields(h, ident, job)
        check_ends(h, ident, job)
        check_leases(h, ident, job)
        check_receipts(h, ident, job)
        check_attempts(h, ident, job)
        check_fails(h, ident, job)
        check_renewals(h, ident, job)
        check_checkpoints(h, ident, job)
        check_result(h, ident, job)
        check_lost(h, ident, job)
    check_twice(h)


def uids_of(h, job):
    """Whose payload it may have: its own, or that of a REPLACE."""
    if job.enqueue is None or not job.enqueue.key:
        return {job.uid}
    return {job.uid} | {op.uid for op in h.holds[job.enqueue.space or "", job.enqueue.key] if op.replace}


def check_payload(h, ident, job):
    seen = [(d.op, d.job) for d in job.deliveries] + [(s.op, s.job) for s in job.sightings if s.job and "uid" in s.job]
    for op, shown in seen:
        if shown["uid"].startswith("slot-"):
            continue
        sent, queue = h.sent.get(shown["uid"]), shown.get("queue", op.queue)
        if sent is None:
            h.say("INVENTED", f"job {ident} has a payload that nobody sent", op)
        elif not shown["whole"]:
            h.say("INVENTED", f"the payload of job {ident} is not whole", op)
        elif sent.error is not None:
            h.say("INVENTED", f"job {ident} was refused and is there", sent, op)
        elif job.uid is not None and shown["uid"] not in uids_of(h, job):
            h.say("INVENTED", f"job {ident} has the payload of another", job.enqueue, op)
        elif sent.kind != "schedule-set" and queue != sent.queue and {queue, sent.queue} != {mix.SICK, mix.MOVED}:
            h.say("INVENTED", f"job {ident} came from another queue", sent, op)


def check_twice(h):
    """One enqueue, one job; where REDRIVE TO may have given another id, not two that live."""
    for uid, ids in h.ids.items():
        sent = h.sent.get(uid)
        if sent is None or sent.kind == "schedule-set" or len(ids) < 2:
            continue
        if sent.key and len([ident for ident in ids if h.jobs[ident].uid == uid]) < 2:
            continue  # REPLACE brought the payload to another's id: check_replaced looks at it
        if any(h.moves(h.jobs[ident]) for ident in ids):
            done = [ident for ident in ids if any(op.certain and op.kind == "complete" for op in h.jobs[ident].ends)]
            if len(done) < 2:
                continue
        h.say("INVENTED", f"enqueue {uid} made jobs {sorted(ids)}", sent)


def reprioritised(job):
    """Something may have given it another priority."""
    return bool(job.replaces) or any(op.priority is not None for op in [*job.touches, *job.others])


def check_fields(h, ident, job):
    enqueue = job.enqueue
    if enqueue is None or enqueue.kind not in ("enqueue", "many"):
        return
    shown = [(d.op, d.job, True) for d in job.deliveries]
    shown += [(s.op, s.job, False) for s in job.sightings if s.job]
    attempts = (enqueue.attempts,) if enqueue.attempts is not None else DEFAULT_ATTEMPTS.get(enqueue.queue, (25,))
    for op, fields, leased in shown:
        done = fields.get("state") == "done"
        want = {"space": ((enqueue.space or ""),), "type": (enqueue.type or "",), "attempts": attempts}
        if not done:
            want["headers"] = (enqueue.headers or [],)
        if not reprioritised(job) and not enqueue.key:
            want["priority"] = (enqueue.priority if enqueue.priority is not None else 1024,)
        if not leased:
            want["backoff"] = (enqueue.backoff or "",)
            want["lease"] = (enqueue.lease or "",)
            want["unique"] = (enqueue.key or "", "")  # only while it holds it
            if enqueue.keep is not None:
                want["keep"] = (enqueue.keep,)
        for name, allowed in want.items():
            empty = [] if name == "headers" else ""
            if fields.get(name, empty) not in allowed and not (done and name not in fields):
                h.say("FIELDS", f"{name} of job {ident} is {fields.get(name)!r}, not {allowed}", enqueue, op)


def check_ends(h, ident, job):
    certain = [op for op in job.ends if op.certain]
    if len(certain) > 1:
        h.say("AGAIN", f"job {ident} ended {len(certain)} times", *certain)
    alive = [d.op for d in job.deliveries] + [s.op for s in job.sightings if s.state not in (None, "done")]
    for end in certain:
        for op in alive:
            if after(op, end):
                h.say("AGAIN", f"job {ident} was seen alive after its end", end, op)
    if job.enqueue is None:
        return
    for purge in h.removals_for(job):
        if purge.certain and h.applies(purge, ident, job) and before(job.enqueue, purge):
            later = [op for op in alive if after(op, purge)]
            if later and must_go(h, ident, job, purge):
                h.say("AGAIN", f"job {ident} came after it was purged", job.enqueue, purge, later[0])


def must_go(h, ident, job, purge):
    """The purge must have removed it: in that state whatever happened, if the job was there at all."""
    if purge.kind == "drop":
        return True
    if purge.ids is not None:
        return ident in purge.ids
    if purge.state == "dead":
        return h.must_be_dead(ident, job, purge)
    if purge.state is not None:
        return False
    # A leased job stays: it must not have been with anybody, known or not.
    return not any(d.t0 < purge.t1 for d in job.deliveries) and not h.may_be_leased_unseen(purge.queue, job.enqueue.t0, purge.end)


def check_leases(h, ident, job):
    for i, first in enumerate(job.deliveries):
        until = h.lease_end(job, first)
        for second in job.deliveries[i + 1:]:
            if after(second.op, first.op) and second.t1 < until - GRAIN:
                h.say("EXCLUSIVE", f"job {ident} was delivered twice within one lease", first.op, second.op)
        for second in job.deliveries:
            if second is not first and after(second.op, first.op) and second.fence <= first.fence:
                h.say("EXCLUSIVE", f"the fence of job {ident} did not grow", first.op, second.op)
        for sighting in job.sightings:
            if (after(sighting.op, first.op) and sighting.t1 < until - GRAIN and sighting.state != "leased"
                    and sighting.op.kind != "waitfor"):
                h.say("EXCLUSIVE", f"job {ident} is {sighting.state} within its lease", first.op, sighting.op)


def check_receipts(h, ident, job):
    """No receipt is honoured after its lease was over for certain (the refusals are in check_refusals of judge_states)."""
    for op in job.touches:
        mine = h.receipts.get(op.receipt)
        if not op.certain or mine is None:
            continue
        overs = [o for o in h.touches_with(job, op.receipt) if o.kind not in ("renew", "checkpoint") and o.certain and before(o, op)]
        overs += [o for o in job.others if o.certain and o.kind in ("revoke", "cancel") and before(o, op) and after(o, mine.op)]
        overs += [d.op for d in job.deliveries if d.fence > mine.fence and before(d.op, op)]
        # A second COMPLETE is a second end, see check_ends.
        if overs and not (op.kind == "complete" and any(o.kind == "complete" for o in overs)):
            h.say("EXCLUSIVE", f"a receipt of job {ident} was honoured after its lease", mine.op, overs[0], op)


def redriven(h, queue, t0, t1):
    return any(op.end > t0 and op.t0 < t1 for op in h.redrives_of[queue])


def check_attempts(h, ident, job):
    for delivery in job.deliveries:
        limit = delivery.job["attempts"]
        if delivery.attempt < 1 or (limit and delivery.attempt > limit):
            h.say("ATTEMPTS", f"attempt {delivery.attempt} of job {ident}, {limit} allowed", delivery.op)
    for first, second in zip(job.deliveries, job.deliveries[1:]):
        if not after(second.op, first.op) or redriven(h, first.queue, first.t0, second.t1):
            continue
        released = any(op.kind == "release" for op in h.touches_with(job, first.receipt))
        unseen = h.leases_unseen(first.queue, first.t0, second.t1)
        least = first.attempt + (0 if released else 1)
        if not least <= second.attempt <= first.attempt + 1 + unseen:
            h.say("ATTEMPTS", f"attempt {first.attempt} of job {ident}, then {second.attempt}", first.op, second.op)


def backoffs(spec, attempt):
    """Least and most ms of a back-off after a failed attempt."""
    kind, *values = spec.split(":")
    values = [int(value.removesuffix("ms")) for value in ",".join(values).split(",")]
    if kind == "exp":
        whole = values[0] * 2 ** (attempt - 1)
        return min(values[1], whole * 0.8 - 1), min(values[1], whole * 1.2 + 1)
    value = values[min(attempt, len(values)) - 1]
    return value, value


def check_fails(h, ident, job):
    for op in job.touches:
        mine = h.receipts.get(op.receipt)
        if op.kind != "fail" or not op.certain or mine is None:
            continue
        verdict, ms = op.reply
        last = mine.job["attempts"] and mine.attempt >= mine.job["attempts"]
        if (verdict == "dead") != bool(op.dead or last):
            h.say("ATTEMPTS", f"FAIL of attempt {mine.attempt} of {mine.job['attempts']} of job {ident} says {verdict}", mine.op, op)
            continue
        if verdict == "dead":
            ranges = [(0, 0)]
        elif op.delay is not None:
            ranges = [(op.delay, op.delay)]
        elif job.enqueue is None:
            continue  # its own back-off is not known
        elif job.enqueue.backoff:
            ranges = [backoffs(job.enqueue.backoff, mine.attempt)]
        elif mine.queue == mix.DROPPED:
            continue  # gone with the queue, and set again
        else:
            ranges = [backoffs(spec, mine.attempt) for spec in DEFAULT_BACKOFFS.get(mine.queue, (mix.BACKOFF,))]
        if not any(least <= ms <= most for least, most in ranges):
            h.say("ATTEMPTS", f"FAIL of job {ident} says {ms} ms, not one of {ranges}", job.enqueue, mine.op, op)


def check_renewals(h, ident, job):
    for delivery in job.deliveries:
        given = {delivery.op.length} if delivery.op.length else set(lease_lengths(job, delivery))
        left, slack = delivery.job.get("lease-left"), delivery.t1 - delivery.t0 + GRAIN
        if left is not None and None not in given and not any(length - slack <= left <= length for length in given):
            h.say("RENEW", f"a lease of job {ident} lasts {left} ms, not {given}", delivery.op)
        for op in h.touches_with(job, delivery.receipt):
            if op.kind not in ("renew", "checkpoint"):
                continue
            if op.length:
                # Without an answer it may have been, or not.
                given = {op.length} if op.certain else given | {op.length}
            slack = op.t1 - op.t0 + GRAIN
            if op.certain and None not in given and not any(length - slack <= op.reply <= length for length in given):
                h.say("RENEW", f"{op.kind} of job {ident} answers {op.reply} ms, not {given}", delivery.op, op)


def lease_lengths(job, delivery):
    """What a LEASE without FOR may have given; None: not known."""
    if job.enqueue is None:
        return (None,)
    return (job.enqueue.lease,) if job.enqueue.lease else DEFAULT_LEASES.get(delivery.queue, (mix.LEASE_MS,))


def check_checkpoints(h, ident, job):
    sent = sorted((op for op in job.touches if op.kind == "checkpoint"), key=lambda op: (op.t0, op.n))
    if len([other for other in h.ids[job.uid] if h.moves(h.jobs[other])]) > 1:
        return  # sent for it under another id
    for delivery in job.deliveries:
        done = [i for i, op in enumerate(sent) if op.certain and before(op, delivery.op)]
        first = max(done, default=-1)
        allowed = {op.value for op in sent[max(first, 0):] if op.t0 < delivery.t1} | ({""} if first < 0 else set())
        found = delivery.job.get("checkpoint", "")
        if found not in allowed and not (job.enqueue is None and h.moves(job)):
            h.say("CHECKPOINT", f"job {ident} came with {found!r}, not one of {allowed}", delivery.op, *sent[-2:])


def check_result(h, ident, job):
    """A kept result, at the end and wherever it was read."""
    ends = [op for op in job.ends if op.kind == "complete"]
    allowed = {op.result or "" for op in ends}
    for sighting in job.sightings:
        found = sighting.job and sighting.job.get("result", "")
        if sighting.state == "done" and sighting.op.kind != "peek" and found not in allowed:
            h.say("RESULT", f"job {ident} has the result {found!r}, not one of {allowed}", sighting.op, *ends)
    certain = [op for op in ends if op.certain]
    if not certain or h.keep_of(job) != mix.HOUR_MS or job.queue in LOSSY or job.queue not in (*KEEPS, *mix.PLAIN):
        return
    if h.final.results.get(ident) != (certain[0].result or ""):
        h.say("RESULT", f"job {ident} is kept with {h.final.results.get(ident)!r}", certain[0])


def check_lost(h, ident, job):
    """What was acknowledged is somewhere in the end. Of a job that may have gone on under another id any id will do."""
    op = job.enqueue
    if op is None:
        return
    ids = h.ids[job.uid] if h.moves(job) else {ident}
    if any(h.jobs[one].ends or one in h.final.dead for one in ids):
        return
    if h.may_be_removed(ident, job, op.t0, float("inf")) or h.may_have_lapsed(job, float("inf")):
        return
    h.say("LOST", f"job {ident} was acknowledged and is nowhere", op, *[d.op for d in job.deliveries])
