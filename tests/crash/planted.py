"""Small fabricated histories for history_test.py: each with the fault that a judge must name, and one like it without."""

import history
import mix


def op(kind, t0, t1=None, reply=None, error=None, client=0, **what):
    """A command; without t1 it was cut off. A daemon that comes back: up(t)."""
    line = {"client": client, "t0": t0, "op": {"kind": kind, **what}}
    if t1 is not None:
        line["t1"], line["w1"] = t1, t1 + WALL
    if error is not None:
        line["error"] = error
    elif t1 is not None:
        line["reply"] = reply
    return line


WALL = 60000 * 1000  # the wall clock at 0
SEEN = {"queue": "plain", "space": "", "priority": 1024, "attempts": 25}


def did(kind, t0, reply, **what):
    return op(kind, t0, t0 + 1, reply, **what)


def up(t):
    return op("up", t)


def enqueue(t0, ident, uid, queue="plain", answered=True, **what):
    return op("enqueue", t0, t0 + 1 if answered else None, ident, queue=queue, uid=uid, **what)


def unique(t0, reply, uid, answered=True, **what):
    """reply: the id of a new job, or (id, state) of one that holds the key."""
    reply = [reply, 1, "new"] if isinstance(reply, str) else [reply[0], 0, reply[1]]
    return op("enqueue", t0, t0 + 1 if answered else None, reply, queue=mix.UNIQUE, uid=uid, key="u",
              **{"window": 0, "replace": False, **what})


def lease(t0, ident, uid, queue="plain", attempt=1, claim=1, length=1000, count=1, **fields):
    job = {**SEEN, "receipt": f"{ident}.1.{claim}", "id": ident, "queue": queue, "attempt": attempt, "uid": uid, "whole": True,
           "lease-left": length, **fields}
    return did("lease", t0, [job], length=length, queues=[queue], count=count, worker="w")


def lost_lease(t0, *queues):
    return op("lease", t0, length=1000, queues=list(queues or ["plain"]), count=1, worker="w")


def receipt(ident, claim=1):
    return {"receipt": f"{ident}.1.{claim}", "id": ident}


def complete(t0, ident, claim=1, answered=True, **what):
    return op("complete", t0, t0 + 1 if answered else None, "OK", **receipt(ident, claim), **{"result": None, **what})


def fail(t0, ident, reply, claim=1, **what):
    return did("fail", t0, reply, **receipt(ident, claim), **{"dead": False, **what})


def look(t0, ident, state, kind="job", **fields):
    return did(kind, t0, state and {**SEEN, "state": state, **fields}, id=ident)


def peek(t0, ident, state, queue="plain", **fields):
    return did("peek", t0, ["0", [{**SEEN, "id": ident, "state": state, "queue": queue, **fields}]], queue=queue, state=state)


def info(t0, queue, **counts):
    return did("info", t0, {**dict.fromkeys(("enqueued", "duplicates", "completed", "failed", "released"), 0), **counts}, queue=queue)


def event(t0, name, ident, queue="plain"):
    return op("event", t0, t0, "OK", client=9, name=name, queue=queue, id=ident)


def schedule(t0, name="all", **row):
    """A SCHEDULE GET of one that was set at 0 with EVERY 100ms."""
    return did("schedule-get", t0, {"created": WALL, "every": 100, "missed": "all", "state": "active", "fired": 0, "skipped": 0,
                                    "passed-over": 0, "next": WALL + 100, "uid": "s", **row}, name=name)


ONE = enqueue(0, "1", "a")
TAKEN = lease(10, "1", "a")
DONE = complete(20, "1")
LIFE = [ONE, TAKEN, DONE]


def life(ident, uid, t0=0, queue="plain", **what):
    return [enqueue(t0, ident, uid, queue, **what), *end(ident, uid, t0 + 100, queue)]


def end(ident, uid, t0=9000, queue="plain", claim=9, attempt=1, **fields):
    """What makes a job's history whole: taken and completed, late."""
    return [lease(t0, ident, uid, queue, attempt, claim, **fields), complete(t0 + 2, ident, claim)]


def history_of(lines):
    clients = {}
    for line in lines:
        clients.setdefault(line["client"], []).append(line)
    return sorted((one for mine in clients.values() for one in history.from_lines(sorted(mine, key=lambda line: line["t0"]))),
                  key=lambda one: one.t0)
