"""Faults of jobs: (name that must be found, the fault, a history with it, one without, what is there at the end).

The end may be two: of the bad history, and of the good one. GOOD: more histories in which nothing may be found.
"""

import mix
from planted import (DONE, LIFE, ONE, TAKEN, WALL, complete, did, end, enqueue, fail, lease, life, look, lost_lease, op, peek, receipt,
                     unique, up)

NONE = {}
AGAIN = lease(1500, "1", "a", attempt=2, claim=2)
DONE_AGAIN = complete(1600, "1", claim=2)
RENEWED = did("renew", 900, 1000, **receipt("1"), length=1000)
PURGE = did("purge", 5, 1, queue=mix.PURGED)
PURGED = enqueue(0, "1", "a", mix.PURGED)
DELAYED = enqueue(0, "1", "a", delay=100)
RETRY = [ONE, TAKEN, fail(20, "1", ["retry", 100])]
KEPT = [enqueue(0, "1", "a", mix.KEPT), lease(10, "1", "a", mix.KEPT), complete(20, "1", result="r")]
CHILD = enqueue(2, "2", "b", mix.CHILDREN, parents=["1"])
SHORT = enqueue(0, "1", "a", mix.SHORT, expire=100)
DEAD = [ONE, TAKEN, fail(20, "1", ["dead", 0], dead=True)]
PAUSE = did("pause", 5, "OK", queue=mix.PAUSED)
FIRST, SECOND = (enqueue(i, str(i + 1), "ab"[i], "order-0", priority=i, space="one") for i in (0, 1))


def saved(t0, value, answered=True):
    return op("checkpoint", t0, t0 + 1 if answered else None, 1000, **receipt("1"), value=value, length=1000)


def ordered(t0, ident, uid, priority):
    return lease(t0, ident, uid, "order-0", priority=priority, space="one")


def spaced(space):
    return [enqueue(0, "1", "a", mix.PAUSED, space=space), *end("1", "a", 50, mix.PAUSED, space=space)]


def crowd(queue, count, step):
    """As many jobs, one lease each, all ended late."""
    found = []
    for i in range(count):
        ident, uid = str(i + 1), f"u{i}"
        found += [enqueue(0, ident, uid, queue), lease(10 + i * step, ident, uid, queue, claim=i + 1), complete(990, ident, claim=i + 1)]
    return found


BACK = [AGAIN, DONE_AGAIN]
FAULTS = [
    ("LOST", "a job is nowhere", [ONE], LIFE, NONE),
    ("LOST", "a job that was taken once is nowhere", [ONE, TAKEN], [ONE], (NONE, {"dead": ["1"]})),
    ("LOST", "a job that cannot have expired, since it was taken, is nowhere",
     [SHORT, lease(10, "1", "a", mix.SHORT)], [SHORT], NONE),
    ("LOST", "a job is nowhere, its EXPIRE being far off",
     [enqueue(0, "1", "a", mix.SHORT, expire=10**12), look(50, "1", None)], life("1", "a", 0, mix.SHORT, expire=10**12), NONE),
    ("INVENTED", "a payload that nobody sent", [*LIFE, lease(10, "2", "x", claim=2)], LIFE, NONE),
    ("INVENTED", "a payload that is not whole", [ONE, lease(10, "1", "a", whole=False), DONE], LIFE, NONE),
    ("INVENTED", "a job whose enqueue was refused", [op("enqueue", 0, 1, error="FULL", queue="plain", uid="a"), TAKEN, DONE],
     [enqueue(0, None, "a", answered=False), TAKEN, DONE], NONE),
    ("INVENTED", "the payload of another job", [ONE, *life("2", "b"), lease(10, "1", "b"), DONE], [*LIFE, *life("2", "b")], NONE),
    ("INVENTED", "a job in another queue", [ONE, lease(10, "1", "a", queue="spaces"), DONE], LIFE, NONE),
    ("INVENTED", "two jobs of one enqueue", [enqueue(0, None, "a", answered=False), TAKEN, DONE, lease(10, "2", "a", claim=2)],
     [enqueue(0, None, "a", answered=False), TAKEN, DONE], NONE),
    ("FIELDS", "another space", [ONE, lease(10, "1", "a", space="s"), DONE],
     [enqueue(0, "1", "a", space="s"), lease(10, "1", "a", space="s"), DONE], NONE),
    ("FIELDS", "another priority", [ONE, lease(10, "1", "a", priority=3), DONE],
     [ONE, TAKEN, did("release", 15, "OK", **receipt("1"), priority=3), lease(30, "1", "a", priority=3, claim=2),
      complete(40, "1", 2)], NONE),
    ("FIELDS", "an option that was lost", [enqueue(0, "1", "a", keep=200), look(5, "1", "ready"), TAKEN, DONE],
     [enqueue(0, "1", "a", keep=200), look(5, "1", "ready", keep=200), TAKEN, DONE], NONE),
    ("AGAIN", "two ends", [*LIFE, did("cancel", 30, 1, id="1")], [*LIFE, did("cancel", 30, 0, id="1")], NONE),
    ("AGAIN", "a delivery after the end", [*LIFE, lease(30, "1", "a", attempt=2, claim=2)], LIFE, NONE),
    ("AGAIN", "listed after the end", [*LIFE, peek(30, "1", "ready")], [*LIFE, peek(15, "1", "leased")], NONE),
    ("AGAIN", "a delivery after PURGE", [PURGED, PURGE, lease(10, "1", "a", mix.PURGED)], [PURGED, PURGE], NONE),
    ("EXCLUSIVE", "two holders", [ONE, TAKEN, lease(500, "1", "a", attempt=2, claim=2), complete(600, "1", 2)],
     [ONE, TAKEN, *BACK], NONE),
    ("EXCLUSIVE", "two holders, the lease being renewed", [ONE, TAKEN, RENEWED, *BACK],
     [ONE, TAKEN, RENEWED, fail(950, "1", ["retry", 100]), *BACK], NONE),
    ("EXCLUSIVE", "a fence that shrinks", [ONE, lease(10, "1", "a", claim=3), *BACK], [ONE, TAKEN, *BACK], NONE),
    ("EXCLUSIVE", "ready within its lease", [ONE, TAKEN, look(15, "1", "ready"), DONE],
     [ONE, TAKEN, look(15, "1", "leased"), DONE], NONE),
    ("EXCLUSIVE", "a receipt that is honoured after RELEASE",
     [ONE, TAKEN, did("release", 15, "OK", **receipt("1")), DONE], [ONE, TAKEN, did("renew", 15, 1000, **receipt("1")), DONE], NONE),
    ("EXCLUSIVE", "a receipt that is refused within its lease",
     [ONE, TAKEN, op("complete", 20, 21, error="LEASELOST", **receipt("1")), *end("1", "a", attempt=2)],
     [ONE, TAKEN, op("complete", 2000, 2001, error="LEASELOST", **receipt("1")), *end("1", "a", attempt=2)], NONE),
    ("EXCLUSIVE", "a 0 of COMPLETEMANY within the lease",
     [ONE, TAKEN, did("complete-many", 20, [0], receipts=["1.1.1"], ids=["1"]), *end("1", "a", attempt=2)],
     [ONE, TAKEN, did("complete-many", 20, [1], receipts=["1.1.1"], ids=["1"])], NONE),
    ("ATTEMPTS", "more attempts than allowed", [enqueue(0, "1", "a", attempts=3), lease(10, "1", "a", attempt=4, attempts=3), DONE],
     [enqueue(0, "1", "a", attempts=3), lease(10, "1", "a", attempts=3), DONE], NONE),
    ("ATTEMPTS", "a delivery that does not count", [ONE, TAKEN, lease(1500, "1", "a", claim=2), DONE_AGAIN],
     [ONE, TAKEN, did("release", 15, "OK", **receipt("1")), lease(1500, "1", "a", claim=2), DONE_AGAIN], NONE),
    ("ATTEMPTS", "a delivery that counts twice", [ONE, TAKEN, lease(1500, "1", "a", attempt=3, claim=2), DONE_AGAIN],
     [ONE, TAKEN, lost_lease(1200), up(1400), lease(1500, "1", "a", attempt=3, claim=2), DONE_AGAIN], NONE),
    ("ATTEMPTS", "FAIL says dead with attempts left", [ONE, TAKEN, fail(20, "1", ["dead", 0])], DEAD, {"dead": ["1"]}),
    ("ATTEMPTS", "FAIL says retry after the last attempt",
     [enqueue(0, "1", "a", attempts=1), lease(10, "1", "a", attempts=1), fail(20, "1", ["retry", 100])],
     [enqueue(0, "1", "a", attempts=1), lease(10, "1", "a", attempts=1), fail(20, "1", ["dead", 0])], {"dead": ["1"]}),
    ("ATTEMPTS", "FAIL says another back-off than the queue's", [ONE, TAKEN, fail(20, "1", ["retry", 5]), *end("1", "a", attempt=2)],
     [*RETRY, *end("1", "a", attempt=2)], NONE),
    ("ATTEMPTS", "FAIL says another back-off than the job's",
     [enqueue(0, "1", "a", backoff="list:30ms,60ms,120ms"), TAKEN, fail(20, "1", ["retry", 60]), *end("1", "a", attempt=2)],
     [enqueue(0, "1", "a", backoff="exp:40ms:400ms"), TAKEN, fail(20, "1", ["retry", 47]), *end("1", "a", attempt=2)], NONE),
    ("RENEW", "a lease of another length", [ONE, lease(10, "1", "a", **{"lease-left": 500}), DONE], LIFE, NONE),
    ("RENEW", "a lease without FOR of another length than the job's",
     [enqueue(0, "1", "a", lease=1200), {**TAKEN, "op": {**TAKEN["op"], "length": None}}, DONE],
     [enqueue(0, "1", "a", lease=1000), {**TAKEN, "op": {**TAKEN["op"], "length": None}}, DONE], NONE),
    ("RENEW", "RENEW without FOR gives another length than the last one",
     [ONE, TAKEN, did("renew", 15, 2000, **receipt("1")), DONE], [ONE, TAKEN, did("renew", 15, 1000, **receipt("1")), DONE], NONE),
    ("CHECKPOINT", "an older checkpoint", [ONE, TAKEN, saved(20, "one"), saved(30, "two"), saved(40, "three", False), up(50),
                                           lease(2000, "1", "a", attempt=2, claim=2, checkpoint="one"), complete(2100, "1", 2)],
     [ONE, TAKEN, saved(20, "one"), saved(30, "two"), saved(40, "three", False), up(50),
      lease(2000, "1", "a", attempt=2, claim=2, checkpoint="three"), complete(2100, "1", 2)], NONE),
    ("CHECKPOINT", "no checkpoint", [ONE, TAKEN, saved(20, "one"), lease(2000, "1", "a", attempt=2, claim=2), complete(2100, "1", 2)],
     [ONE, TAKEN, saved(20, "one", False), up(50), lease(2000, "1", "a", attempt=2, claim=2), complete(2100, "1", 2)], NONE),
    ("RESULT", "a result that was lost", KEPT, KEPT, (NONE, {"results": {"1": "r"}})),
    ("RESULT", "another result", [*KEPT, look(30, "1", "done", queue=mix.KEPT, result="x")],
     [*KEPT, look(30, "1", "done", queue=mix.KEPT, result="r")], {"results": {"1": "r"}}),
    ("RESULT", "a kept job that is unknown", [*KEPT, look(30, "1", None)], [*KEPT, look(15, "1", "leased", queue=mix.KEPT)],
     {"results": {"1": "r"}}),

    ("EARLY", "before its delay", [DELAYED, TAKEN, DONE], [DELAYED, *end("1", "a")], NONE),
    ("EARLY", "before its AT", [enqueue(0, "1", "a", at=WALL + 100), TAKEN, DONE], [enqueue(0, "1", "a", at=WALL + 5), TAKEN, DONE], NONE),
    ("EARLY", "listed as ready before its delay", [DELAYED, peek(20, "1", "ready"), *end("1", "a")],
     [DELAYED, did("promote", 15, "OK", id="1"), peek(20, "1", "ready"), *end("1", "a")], NONE),
    ("EARLY", "within its back-off", [*RETRY, lease(50, "1", "a", attempt=2, claim=2), complete(60, "1", 2)],
     [*RETRY, lease(130, "1", "a", attempt=2, claim=2), complete(140, "1", 2)], NONE),
    ("EARLY", "before what FAIL DELAY says",
     [ONE, TAKEN, fail(20, "1", ["retry", 300], delay=300), lease(200, "1", "a", attempt=2, claim=2), complete(210, "1", 2)],
     [ONE, TAKEN, fail(20, "1", ["retry", 300], delay=300), lease(400, "1", "a", attempt=2, claim=2), complete(410, "1", 2)], NONE),
    ("EARLY", "before what RELEASE says",
     [ONE, TAKEN, did("release", 20, "OK", **receipt("1"), delay=100), lease(50, "1", "a", claim=2), complete(60, "1", 2)],
     [ONE, TAKEN, did("release", 20, "OK", **receipt("1"), delay=100), lease(130, "1", "a", claim=2), complete(140, "1", 2)], NONE),
    ("EARLY", "before what RESCHEDULE says", [ONE, did("reschedule", 5, "OK", id="1", delay=100), TAKEN, DONE],
     [ONE, did("reschedule", 5, "OK", id="1", delay=2), TAKEN, DONE], NONE),
    ("EARLY", "before what REPLACE says",
     [unique(0, "1", "a"), unique(5, ("1", "ready"), "b", replace=True, delay=100), lease(10, "1", "b", mix.UNIQUE), DONE],
     [unique(0, "1", "a"), unique(5, ("1", "ready"), "b", replace=True), lease(10, "1", "b", mix.UNIQUE), DONE], NONE),
    ("EARLY", "before the rate of REDRIVE",
     [*DEAD, did("redrive", 30, 1, queue="plain", id="1", rate=5), *end("1", "a", 100)],
     [*DEAD, did("redrive", 30, 1, queue="plain", id="1", rate=5), *end("1", "a", 300)], NONE),
    ("EARLY", "a child before its parent", [ONE, CHILD, *end("2", "b", 10, mix.CHILDREN), *end("1", "a")],
     [ONE, CHILD, TAKEN, DONE, *end("2", "b", 30, mix.CHILDREN)], NONE),
    ("EXPIRE", "delivered after its EXPIRE", [SHORT, *end("1", "a", 500, mix.SHORT)], [SHORT, *end("1", "a", 50, mix.SHORT)], NONE),
    ("EXPIRE", "still listed long after its EXPIRE", [SHORT, peek(5000, "1", "ready", mix.SHORT)],
     [SHORT, peek(50, "1", "ready", mix.SHORT)], NONE),
    ("LOST", "gone before its EXPIRE", [SHORT, look(50, "1", None)], [SHORT, look(150, "1", None)], NONE),
    ("PAUSE", "a delivery from a paused queue", [PAUSE, *life("1", "a", 0, mix.PAUSED)],
     [PAUSE, did("resume", 50, "OK", queue=mix.PAUSED), *life("1", "a", 0, mix.PAUSED)], NONE),
    ("PAUSE", "a delivery before a pause's FOR is over", [{**PAUSE, "op": {**PAUSE["op"], "length": 300}}, *life("1", "a", 0, mix.PAUSED)],
     [{**PAUSE, "op": {**PAUSE["op"], "length": 50}}, *life("1", "a", 0, mix.PAUSED)], NONE),
    ("PAUSE", "a delivery from a paused space", [did("pause", 5, "OK", queue=mix.PAUSED, space="s"), *spaced("s")],
     [did("pause", 5, "OK", queue=mix.PAUSED, space="s"), *spaced("t")], NONE),
    ("LIMIT", "more leases at a time than the limit", crowd("limited", mix.CONCURRENCY + 1, 1), crowd("limited", mix.CONCURRENCY, 1), NONE),
    ("LIMIT", "more starts than the rate", crowd("rated", mix.BURST + 5, 1), crowd("rated", mix.BURST + 5, 50), NONE),
    ("ORDER", "a less urgent job first",
     [FIRST, SECOND, ordered(10, "2", "b", 1), complete(20, "2"), ordered(30, "1", "a", 0), complete(40, "1")],
     [FIRST, SECOND, ordered(10, "1", "a", 0), complete(20, "1"), ordered(30, "2", "b", 1), complete(40, "2")], NONE),
]
GOOD = [
    ([ONE], {"dead": ["1"]}),
    ([ONE, TAKEN, AGAIN, complete(1600, "1", claim=2, answered=False)], NONE),
    ([enqueue(0, "1", "a", answered=False), TAKEN, DONE], NONE),
    ([unique(0, "1", "a"), *end("1", "a", 10, mix.UNIQUE), unique(30, "3", "c"), *end("3", "c", 40, mix.UNIQUE)], NONE),
    ([*LIFE, did("redrive", 30, 0, queue="plain"), op("redrive", 40, 41, error="BUSY", queue="plain", id="1")], NONE),
]
