"""Judges unique keys, groups, and the application's data."""

import collections

import mix
from history import before
from register import Register

INFINITE = float("inf")


def judge(h):
    check_holders(h)
    check_held(h)
    check_replaced(h)
    check_groups(h)
    data = written(h)
    check_reads(h, data)
    check_conditions(h, data)
    check_counts(h, data)
    check_ranges(h, data)


# Unique keys.

def window_end(job, op_time, certain):
    """Until when FOR holds the key of a job: at the latest, or for certain."""
    enqueue = job.enqueue
    ends = [getattr(op, op_time) + op.window for op in [enqueue, *job.replaces] if op.window]
    return (min(ends) if certain else max(ends)) if ends else -INFINITE


def free_at_earliest(h, ident, job):
    """Before then it holds its key for certain."""
    if ident in h.final.dead or any(d.attempt == d.job["attempts"] for d in job.deliveries):
        return -INFINITE  # it may have died at any time
    deaths = [op.t0 for op in job.touches if op.kind == "fail" and (op.dead or op.open or op.reply[0] == "dead")]
    cancels = [end.t0 for end in job.ends if end.kind == "cancel"]
    done = min([end.t0 for end in job.ends if end.kind == "complete"], default=INFINITE)
    if done < INFINITE:
        done = max(done, window_end(job, "t0", certain=True))
    return min([done, *deaths, *cancels])


def check_holders(h):
    """Two jobs never hold one key."""
    holders = collections.defaultdict(list)
    for ident, job in h.jobs.items():
        if job.key and job.queue == mix.UNIQUE:
            holders[job.space, job.key].append((ident, job))
    for key, found in holders.items():
        for first, one in found:
            free = free_at_earliest(h, first, one)
            for second, two in found:
                if one is not two and before(one.enqueue, two.enqueue) and two.enqueue.t1 < free:
                    h.say("UNIQUE", f"jobs {first} and {second} held key {key}", one.enqueue, two.enqueue)


def check_held(h):
    """What a duplicate names as the holder holds the key, or may."""
    for ops in h.holds.values():
        for op in ops:
            if not op.certain or op.reply[1] == 1:
                continue
            ident, _, state = op.reply
            job = h.jobs[ident]
            if job.enqueue is None:
                continue  # its ENQUEUE was cut off
            if job.key != op.key or job.space != (op.space or ""):
                h.say("UNIQUE", f"job {ident} holds a key that is not its own", job.enqueue, op)
                continue
            over = [end for end in job.ends if end.certain and before(end, op)]
            may_be_open = window_end(job, "t1", certain=False) > op.t0 and not any(end.kind == "cancel" for end in over)
            if over and not may_be_open:
                h.say("UNIQUE", f"the key of job {ident} is held by nothing", over[0], op)
            elif over and state != "gone":
                h.say("UNIQUE", f"job {ident} is over and holds its key as {state}", over[0], op)
            elif state == "gone" and not any(end.t0 < op.t1 for end in job.ends):
                h.say("UNIQUE", f"job {ident} is gone, and nobody ended it", job.enqueue, op)
            elif h.must_be_dead(ident, job, op):
                h.say("UNIQUE", f"the key of job {ident}, which is dead, is held", job.enqueue, op)


def check_replaced(h):
    """A delivery brings the payload of the last REPLACE that was answered before, or of one sent after that."""
    for ident, job in h.jobs.items():
        if job.enqueue is None or not job.key or not job.deliveries:
            continue
        payload = Register(job.uid)
        for op in h.holds[job.space, job.key]:
            if op.replace and (op in job.replaces or op.open):
                payload.write(op, op.uid)
        for delivery in job.deliveries:
            allowed = payload.allowed(delivery.op)
            if delivery.job["uid"] not in allowed:
                h.say("UNIQUE", f"job {ident} came with payload {delivery.job['uid']}, not one of {allowed}", delivery.op, *job.replaces)


# Groups.

def check_groups(h):
    for op in h.by_kind["group"]:
        there = f"group:{op.uid}" in h.final.keys
        if op.certain and not there:
            h.say("GROUP", f"group {op.uid} was acknowledged and is nowhere", op)
        elif op.error is not None and there:
            h.say("GROUP", f"group {op.uid} was refused and is there", op)
        elif op.open:
            for part in h.groups[op.uid]:
                check_part(h, op, part)


def check_part(h, group, part):
    """Of a group that was cut off."""
    if part.kind in ("enqueue", "many"):
        for uid in part.uids or [part.uid]:
            seen = any(h.jobs[ident].deliveries or h.jobs[ident].sightings or ident in h.final.dead for ident in h.ids.get(uid, ()))
            must_show = not part.key and not part.expire and part.queue not in (mix.PURGED, mix.DROPPED, mix.CHILDREN)
            if seen and not group.happened:
                h.say("GROUP", f"job {uid} is there without its group", group, part)
            elif group.happened and must_show and not seen:
                h.say("GROUP", f"job {uid} is missing from its group", group, part)
    elif part.kind == "complete" and part.id in h.jobs:
        check_completed(h, group, part)


def check_completed(h, group, part):
    """Its COMPLETE took effect if the group did; if it did not, the job is not lost (check_lost). One of COMPLETEMANY may have
    found its lease lost, which fails no group."""
    if part.of_many:
        return
    for delivery in h.jobs[part.id].deliveries:
        if group.happened and delivery.t0 > part.end:
            h.say("GROUP", f"job {part.id} came after the group that completed it", group, delivery.op)


# Data.

def written(h):
    """key: what was written to it."""
    data = collections.defaultdict(Register)
    for op in h.possible("set", "set-group"):
        if not ((op.nx or op.what.get("if")) and op.certain and op.reply is None):
            data[op.key].write(op, op.value)
    return data


class AtTheEnd:
    """An observer after everything."""
    client, conn, n, t0, t1, end = None, None, 0, INFINITE, INFINITE, INFINITE


def check_reads(h, data):
    for op in h.possible("get"):
        if op.certain and op.reply not in data[op.key].allowed(op):
            h.say("DATA", f"{op.key} is {op.reply!r}, not one of {data[op.key].allowed(op)}", op)
    for key, register in data.items():
        allowed = register.allowed(AtTheEnd)
        if not key.startswith("group:") and h.final.keys.get(key) not in allowed:
            h.say("DATA", f"{key} is {h.final.keys.get(key)!r} at the end, not one of {allowed}", *[op for op, _ in register.writes[-3:]])


def check_conditions(h, data):
    """NX and IF. Every value is written by one command only, so that no value is replaced by two."""
    taken = {}
    for op in h.possible("set"):
        old = op.what.get("if")
        if not op.certain or not (op.nx or old):
            continue
        allowed = set(data[op.key].but(op).allowed(op))
        want = None if op.nx else old
        if op.reply is None and allowed == {want}:
            h.say("DATA", f"SET of {op.key} was refused though it is {want!r}", op)
        elif op.reply is not None and want not in allowed:
            h.say("DATA", f"SET of {op.key} took it for {want!r}, it is one of {allowed}", op)
        elif op.reply is not None and old:
            if (op.key, old) in taken:
                h.say("DATA", f"two commands replaced {old!r} of {op.key}", taken[op.key, old], op)
            taken[op.key, old] = op


def check_counts(h, data):
    """EXISTS and DEL answer how many are there."""
    for op in h.possible("exists", "del"):
        if not op.certain:
            continue
        allowed = [set(data[key].but(op).allowed(op)) for key in op.keys]
        least, most = sum(None not in values for values in allowed), sum(values != {None} for values in allowed)
        if not least <= op.reply <= most:
            h.say("DATA", f"{op.kind} of {op.keys} says {op.reply}, where {least} to {most} may be", op)


def check_ranges(h, data):
    """A page is in order, below its prefix, and has every key that is certainly there."""
    for op in h.possible("range"):
        if not op.certain:
            continue
        cursor, flat = op.reply
        keys, values = flat[0::2], flat[1::2]
        after_it = op.after or ""
        if keys != sorted(set(keys)) or any(not key.startswith(op.prefix) or key <= after_it for key in keys):
            h.say("DATA", f"a page of {op.prefix} is not in order behind {after_it!r}", op)
        for key, value in zip(keys, values):
            if value not in data[key].allowed(op):
                h.say("DATA", f"RANGE shows {key} as {value!r}, not one of {data[key].allowed(op)}", op)
        last = keys[-1] if keys and cursor != "0" else None
        for key, register in data.items():
            if key.startswith(op.prefix) and key > after_it and (cursor == "0" or last is not None and key <= last):
                if key not in keys and None not in register.allowed(op):
                    h.say("DATA", f"RANGE of {op.prefix} lacks {key}", op)
