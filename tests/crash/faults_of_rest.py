"""Faults of what commands tell, of numbers, unique keys, groups, data, schedules and events: as faults_of_jobs.py."""

import mix
from planted import (LIFE, ONE, TAKEN, DONE, WALL, complete, did, end, enqueue, event, fail, info, lease, life, look, lost_lease, op, peek,
                     receipt, schedule, unique, up)

NONE = {}
MINUTE = 60000
DEAD = [ONE, TAKEN, fail(20, "1", ["dead", 0], dead=True)]
IS_DEAD = {"dead": ["1"]}
PURGED = [enqueue(i, str(i + 1), "abc"[i], mix.PURGED) for i in range(3)]
HELD = [unique(0, "1", "a"), *end("1", "a", 10, mix.UNIQUE)]
WINDOW = [unique(0, "1", "a", window=500), *end("1", "a", 10, mix.UNIQUE)]
SICK = [unique(0, "1", "a"), lease(10, "1", "a", mix.UNIQUE), fail(20, "1", ["dead", 0], dead=True)]
CUT_GROUP = op("group", 20, uid="g")
PARTS = [enqueue(20, None, uid, mix.GROUPS, answered=False, group="g") for uid in "xy"]
BOTH = [*end("7", "x", 100, mix.GROUPS, 7), *end("8", "y", 100, mix.GROUPS, 8)]
THERE = {"keys": {"group:g": "g"}}


def wrote(t0, value, key="k", reply="OK", **what):
    return did("set", t0, reply, key=key, value=value, **what)


def got(t0, value, key="k"):
    return did("get", t0, value, key=key)


def page(t0, flat, cursor="0", **what):
    return did("range", t0, [cursor, flat], prefix="k", **what)


def fired(count, runs=0, pause=True):
    """The schedule `all`, paused, that says it has fired once; and so many jobs of it."""
    jobs = [one for i in range(count) for one in end(str(i + 1), "slot-all", 200 + 10 * i, "slots-all", i + 1)]
    return [did("schedule-pause", 150, "OK", name="all"), schedule(160, fired=1, next=None, state="paused"), *jobs]


SET_DYNAMIC = did("schedule-set", 0, "OK", name="d", uid="s", every=1000)
DEL_DYNAMIC = did("schedule-del", 50, 1, name="d")
LIST = [{"name": name} for name in ("all", "cron", "once", "skip", "unique")]
QUEUES = sorted(mix.QUEUES)


def tight(count, size=100):
    """So many jobs at once in the queue that has little room."""
    return [one for i in range(count) for one in life(str(i + 1), f"t{i}", t0=i, queue=mix.TIGHT, size=size)]


def refused(t0):
    return op("enqueue", t0, t0 + 1, error="FULL queue 'tight' holds", queue=mix.TIGHT, uid="r", size=100)


FAULTS = [
    ("ROOM", "more jobs stand than max-jobs allows", tight(mix.MAX_JOBS + 1), tight(mix.MAX_JOBS), NONE),
    ("ROOM", "more bytes stand than max-bytes allows", tight(3, mix.MAX_BYTES // 3 + 1), tight(3, mix.MAX_BYTES // 3), NONE),
    ("ROOM", "a queue with room refuses", [*tight(mix.MAX_JOBS - 1), refused(50)], [*tight(mix.MAX_JOBS), refused(50)], NONE),
    ("LOST", "JOB says that a job is gone which is not", [ONE, look(5, "1", None), TAKEN, DONE], [*LIFE, look(30, "1", None)], NONE),
    ("LOST", "WAITFOR says gone of a job that is not", [ONE, look(5, "1", "gone", "waitfor"), TAKEN, DONE],
     [*LIFE, look(30, "1", "gone", "waitfor")], NONE),
    ("STATE", "done, and nobody completed it", [ONE, look(5, "1", "done"), TAKEN, DONE],
     [enqueue(0, "1", "a", keep=200), TAKEN, DONE, look(30, "1", "done", keep=200)], NONE),
    ("STATE", "kept without KEEP", [*LIFE, look(30, "1", "done")], [*LIFE, look(30, "1", None)], NONE),
    ("STATE", "dead for no reason", [ONE, look(5, "1", "dead"), TAKEN, DONE], [*DEAD, look(30, "1", "dead")], (NONE, IS_DEAD)),
    ("STATE", "leased by nobody", [ONE, look(5, "1", "leased"), *end("1", "a")],
     [ONE, lost_lease(2), look(5, "1", "leased"), up(8), *end("1", "a")], NONE),
    ("STATE", "waits for nothing", [ONE, look(5, "1", "waiting"), TAKEN, DONE],
     [ONE, enqueue(2, "2", "b", parents=["1"]), look(5, "2", "waiting"), TAKEN, DONE, *end("2", "b")], NONE),
    ("STATE", "scheduled by nothing", [ONE, look(5, "1", "scheduled"), TAKEN, DONE],
     [enqueue(0, "1", "a", delay=50), look(5, "1", "scheduled"), *end("1", "a")], NONE),
    ("STATE", "WAITFOR says that a job is not over which is", [*LIFE, look(30, "1", None, "waitfor")],
     [*LIFE, look(15, "1", None, "waitfor")], NONE),
    ("LOST", "PROMOTE does not know a job", [ONE, op("promote", 5, 6, error="NOTFOUND", id="1"), TAKEN, DONE],
     [*LIFE, op("promote", 30, 31, error="NOTFOUND", id="1")], NONE),
    ("STATE", "RESCHEDULE says that a waiting job is busy", [ONE, op("reschedule", 5, 6, error="BUSY", id="1", delay=0), *end("1", "a")],
     [ONE, TAKEN, op("reschedule", 15, 16, error="BUSY", id="1", delay=0), DONE], NONE),
    ("LOST", "CANCEL does not know a job", [ONE, did("cancel", 5, 0, id="1"), TAKEN, DONE], [*LIFE, did("cancel", 30, 0, id="1")], NONE),
    ("STATE", "REVOKE ends a lease that nobody had", [ONE, did("revoke", 5, 1, id="1"), *end("1", "a")],
     [ONE, TAKEN, did("revoke", 15, 1, id="1"), *end("1", "a", attempt=2)], NONE),
    ("STATE", "REVOKE does not find a lease", [ONE, TAKEN, did("revoke", 15, 0, id="1"), DONE], [ONE, did("revoke", 5, 0, id="1"), *end("1", "a")], NONE),
    ("NUMBER", "PURGE removes fewer than there were", [*PURGED, did("purge", 10, 2, queue=mix.PURGED)],
     [*PURGED, did("purge", 10, 3, queue=mix.PURGED)], NONE),
    ("NUMBER", "PURGE removes more than there were", [*PURGED, did("purge", 10, 4, queue=mix.PURGED)],
     [*PURGED, did("cancel", 5, 1, id="1"), did("purge", 10, 2, queue=mix.PURGED)], NONE),
    ("NUMBER", "PURGE of ids removes fewer than there were", [*PURGED, did("purge", 10, 1, queue=mix.PURGED, ids=["1", "2"]), *end("3", "c", queue=mix.PURGED)],
     [*PURGED, did("purge", 10, 2, queue=mix.PURGED, ids=["1", "2"]), *end("3", "c", queue=mix.PURGED)], NONE),
    ("NUMBER", "REDRIVE takes fewer than are dead", [*DEAD, did("redrive", 30, 0, queue="plain"), *end("1", "a")],
     [*DEAD, did("redrive", 30, 1, queue="plain"), *end("1", "a")], NONE),
    ("NUMBER", "REDRIVE takes more than are dead", [*DEAD, did("redrive", 30, 2, queue="plain", count=3), *end("1", "a")],
     [*DEAD, did("redrive", 30, 1, queue="plain", count=3), *end("1", "a")], NONE),
    ("STATE", "WORKERS shows a lease that is over", [*LIFE, did("workers", 30, ["0", [{"queue": "plain", "worker": "w", "leases": 1}]])],
     [*LIFE, did("workers", 15, ["0", [{"queue": "plain", "worker": "w", "leases": 1}]])], NONE),
    ("STATE", "WORKERS lacks a lease", [*LIFE, did("workers", 15, ["0", []])], [*LIFE, did("workers", 30, ["0", []])], NONE),
    ("STATE", "QUEUES lacks one", [did("queues", 0, ["0", QUEUES[1:]])], [did("queues", 0, ["0", QUEUES])], NONE),

    ("EVENT", "another event after the end", [*LIFE, event(22, "completed", "1"), event(30, "leased", "1")],
     [*LIFE, event(12, "leased", "1"), event(22, "completed", "1")], NONE),
    ("EVENT", "completed by nobody", [ONE, event(5, "completed", "1"), did("cancel", 20, 1, id="1")],
     [ONE, event(25, "cancelled", "1"), did("cancel", 20, 1, id="1")], NONE),
    ("EVENT", "cancelled by nobody", [*LIFE, event(25, "cancelled", "1")], [*LIFE, event(22, "completed", "1")], NONE),
    ("EVENT", "delivered after its end was told", [ONE, TAKEN, complete(20, "1", answered=False), event(25, "completed", "1"), up(40), *end("1", "a", attempt=2)],
     [ONE, TAKEN, complete(20, "1", answered=False), up(40), *end("1", "a", attempt=2)], NONE),
    ("EVENT", "a job that was told of is nowhere", [enqueue(0, None, "a", answered=False), event(5, "enqueued", "1")],
     [enqueue(0, None, "a", answered=False), event(5, "enqueued", "1"), TAKEN, DONE], NONE),

    ("UNIQUE", "two holders", [unique(0, "1", "a"), unique(5, "2", "b"), *end("1", "a", queue=mix.UNIQUE), *end("2", "b", queue=mix.UNIQUE)],
     [*HELD, unique(50, "2", "b"), *end("2", "b", queue=mix.UNIQUE)], NONE),
    ("UNIQUE", "two holders within the window", [*WINDOW, unique(100, "2", "b"), *end("2", "b", queue=mix.UNIQUE)],
     [*WINDOW, unique(600, "2", "b"), *end("2", "b", queue=mix.UNIQUE)], NONE),
    ("UNIQUE", "held by nothing", [*HELD, unique(50, ("1", "gone"), "b")], [unique(0, "1", "a"), unique(5, ("1", "ready"), "b"), *HELD[1:]], NONE),
    ("UNIQUE", "held by nothing, its window being over", [*WINDOW, unique(600, ("1", "gone"), "b")], [*WINDOW, unique(50, ("1", "gone"), "b")], NONE),
    ("UNIQUE", "held by a job that was cancelled", [unique(0, "1", "a", window=500), did("cancel", 10, 1, id="1"), unique(50, ("1", "gone"), "b")],
     [unique(0, "1", "a", window=500), did("cancel", 10, 1, id="1"), unique(50, "2", "b"), *end("2", "b", queue=mix.UNIQUE)], NONE),
    ("UNIQUE", "over, and said to be ready", [*WINDOW, unique(50, ("1", "ready"), "b")], [*WINDOW, unique(50, ("1", "gone"), "b")], NONE),
    ("UNIQUE", "said to be gone, and nobody ended it", [unique(0, "1", "a", window=500), unique(5, ("1", "gone"), "b"), *end("1", "a", queue=mix.UNIQUE)],
     [*WINDOW, unique(50, ("1", "gone"), "b")], NONE),
    ("UNIQUE", "held by a dead job", [*SICK, unique(50, ("1", "dead"), "b")], [*SICK, unique(50, "2", "b"), *end("2", "b", queue=mix.UNIQUE)], IS_DEAD),
    ("UNIQUE", "held by a job of another key", [*LIFE, unique(50, ("1", "ready"), "b")], LIFE, NONE),
    ("UNIQUE", "REPLACE is answered, and the old payload comes",
     [unique(0, "1", "a"), unique(5, ("1", "ready"), "b", replace=True), *end("1", "a", queue=mix.UNIQUE)],
     [unique(0, "1", "a"), unique(5, ("1", "leased"), "b", replace=True), *end("1", "a", queue=mix.UNIQUE)], NONE),

    ("GROUP", "an acknowledged group is nowhere", [did("group", 20, "OK", uid="g")], [did("group", 20, "OK", uid="g")], (NONE, THERE)),
    ("GROUP", "a refused group is there", [op("group", 20, 21, error="EXECABORT", uid="g")], [op("group", 20, 21, error="EXECABORT", uid="g")], (THERE, NONE)),
    ("GROUP", "a group's job without its key", [CUT_GROUP, *PARTS, up(50), *BOTH], [CUT_GROUP, *PARTS, up(50), *BOTH], (NONE, THERE)),
    ("GROUP", "half of a group's jobs", [CUT_GROUP, *PARTS, up(50), *BOTH[:2]], [CUT_GROUP, *PARTS, up(50), *BOTH], THERE),
    ("GROUP", "a COMPLETE that did not happen with its group", [ONE, TAKEN, CUT_GROUP, complete(20, "1", answered=False, group="g"), up(50), *end("1", "a", attempt=2)],
     [ONE, TAKEN, CUT_GROUP, complete(20, "1", answered=False, group="g"), up(50), *end("1", "a", attempt=2)], (THERE, NONE)),
    ("LOST", "a COMPLETE that happened without its group", [ONE, TAKEN, CUT_GROUP, complete(20, "1", answered=False, group="g"), up(50)],
     [ONE, TAKEN, CUT_GROUP, complete(20, "1", answered=False, group="g"), up(50)], (NONE, THERE)),

    ("DATA", "a value that was lost", [wrote(0, "v")], [wrote(0, "v")], (NONE, {"keys": {"k": "v"}})),
    ("DATA", "a read of before", [wrote(0, "v"), got(5, None)], [wrote(0, "v"), got(5, "v")], {"keys": {"k": "v"}}),
    ("DATA", "MGET of before", [wrote(0, "v"), did("mget", 5, [None], keys=["k"])], [wrote(0, "v"), did("mget", 5, ["v"], keys=["k"])], {"keys": {"k": "v"}}),
    ("DATA", "NX over a value", [wrote(0, "v"), wrote(5, "w", nx=True)], [wrote(0, "v"), wrote(5, "w", reply=None, nx=True)], ({"keys": {"k": "w"}}, {"keys": {"k": "v"}})),
    ("DATA", "NX refused where nothing is", [wrote(0, "v", reply=None, nx=True)], [wrote(0, "v", nx=True)], (NONE, {"keys": {"k": "v"}})),
    ("DATA", "IF refused though the value is there", [wrote(0, "v"), wrote(5, "w", reply=None, **{"if": "v"})],
     [wrote(0, "v"), wrote(5, "w", **{"if": "v"})], ({"keys": {"k": "v"}}, {"keys": {"k": "w"}})),
    ("DATA", "two commands replace one value", [wrote(0, "v"), op("set", 5, 9, "OK", key="k", value="x", **{"if": "v"}), op("set", 6, 9, "OK", client=1, key="k", value="w", **{"if": "v"})],
     [wrote(0, "v"), op("set", 5, 9, "OK", key="k", value="x", **{"if": "v"}), op("set", 6, 9, None, client=1, key="k", value="w", **{"if": "v"})],
     ({"keys": {"k": "w"}}, {"keys": {"k": "x"}})),
    ("DATA", "EXISTS says too few", [wrote(0, "v"), did("exists", 5, 0, keys=["k", "l"])], [wrote(0, "v"), did("exists", 5, 1, keys=["k", "l"])], {"keys": {"k": "v"}}),
    ("DATA", "DEL says too many", [wrote(0, "v"), did("del", 5, 2, keys=["k", "l"])], [wrote(0, "v"), did("del", 5, 1, keys=["k", "l"])], NONE),
    ("DATA", "RANGE out of order", [wrote(0, "v", "k1"), wrote(0, "w", "k2"), page(5, ["k2", "w", "k1", "v"])],
     [wrote(0, "v", "k1"), wrote(0, "w", "k2"), page(5, ["k1", "v", "k2", "w"])], {"keys": {"k1": "v", "k2": "w"}}),
    ("DATA", "RANGE shows an old value", [wrote(0, "v"), wrote(2, "w"), page(5, ["k", "v"])], [wrote(0, "v"), wrote(2, "w"), page(5, ["k", "w"])], {"keys": {"k": "w"}}),
    ("DATA", "RANGE lacks a key behind its cursor", [wrote(0, "v", "k1"), wrote(0, "w", "k2"), page(5, [], after="k1")],
     [wrote(0, "v", "k1"), wrote(0, "w", "k2"), page(5, ["k1", "v"], cursor="c")], {"keys": {"k1": "v", "k2": "w"}}),

    ("NUMBER", "QUEUE INFO counts fewer than were acknowledged", [*LIFE, info(50, "plain", completed=1)], [*LIFE, info(50, "plain", enqueued=1, completed=1)], NONE),
    ("NUMBER", "QUEUE INFO counts more than were sent", [*LIFE, info(50, "plain", enqueued=2, completed=1)], [*LIFE, info(15, "plain", enqueued=1)], NONE),
    ("EXPIRE", "a job vanished and did not lapse", [enqueue(0, "1", "a", mix.SHORT, expire=100)], [enqueue(0, "1", "a", mix.SHORT, expire=100)],
     ({"infos": {mix.SHORT: info(0, mix.SHORT, enqueued=1, lapsed=0)["reply"]}}, {"infos": {mix.SHORT: info(0, mix.SHORT, enqueued=1, lapsed=1)["reply"]}})),
    ("OPTIONS", "an option that was lost", [did("queue-set", 0, "OK", queue=mix.OPTIONS, values={"burst": 100}), info(5, mix.OPTIONS, burst=1)],
     [did("queue-set", 0, "OK", queue=mix.OPTIONS, values={"burst": 100}), info(5, mix.OPTIONS, burst=100)], NONE),

    ("OPTIONS", "an option of a space that was lost", [did("space-set", 0, "OK", queue=mix.OPTIONS, space="s", values={"weight": 3}), did("space-info", 5, {"weight": 1}, queue=mix.OPTIONS, space="s")],
     [did("space-set", 0, "OK", queue=mix.OPTIONS, space="s", values={"weight": 3}), did("space-info", 5, {"weight": 3}, queue=mix.OPTIONS, space="s")], NONE),
    ("STATE", "SPACES shows one twice", [did("spaces", 5, ["0", [{"space": "a"}, {"space": "a"}]])], [did("spaces", 5, ["0", [{"space": "a"}, {"space": "b"}]])], NONE),

    ("LOST", "a schedule is nowhere", [did("schedule-get", 5, None, name="all")], [schedule(5)], NONE),
    ("SCHEDULE", "a slot without a job", [schedule(5, fired=2, next=WALL + 400)], [schedule(5, fired=3, next=WALL + 400)], NONE),
    ("SCHEDULE", "a cron slot without a job", [did("schedule-get", 5, {"created": MINUTE * 10 + 5, "missed": "all", "fired": 0, "skipped": 0, "passed-over": 0, "next": MINUTE * 12}, name="cron")],
     [did("schedule-get", 5, {"created": MINUTE * 10 + 5, "missed": "all", "fired": 1, "skipped": 0, "passed-over": 0, "next": MINUTE * 12}, name="cron")], NONE),
    ("SCHEDULE", "a slot passed over though all should run", [schedule(5, **{"passed-over": 1}, next=WALL + 200)], [schedule(5, missed="once", **{"passed-over": 1}, next=WALL + 200)], NONE),
    ("SCHEDULE", "a slot skipped without a unique key", [schedule(5, skipped=1, next=WALL + 200)], [schedule(5, skipped=1, next=WALL + 200, unique="u")], NONE),
    ("SCHEDULE", "counts go back", [schedule(5, fired=1, next=WALL + 200), schedule(9)], [schedule(5), schedule(9, fired=1, next=WALL + 200)], NONE),
    ("SCHEDULE", "GET shows one that was deleted", [SET_DYNAMIC, DEL_DYNAMIC, schedule(60, "d")], [SET_DYNAMIC, schedule(5, "d")], NONE),
    ("SCHEDULE", "GET shows as active what is paused", [SET_DYNAMIC, did("schedule-pause", 5, "OK", name="d"), schedule(9, "d")],
     [SET_DYNAMIC, did("schedule-pause", 5, "OK", name="d"), schedule(9, "d", state="paused")], NONE),
    ("SCHEDULE", "DEL says 0 of one that is there", [SET_DYNAMIC, did("schedule-del", 50, 0, name="d")], [SET_DYNAMIC, DEL_DYNAMIC], NONE),
    ("SCHEDULE", "RUN does not know one that is there", [SET_DYNAMIC, op("schedule-run", 50, 51, error="NOTFOUND", name="d")], [SET_DYNAMIC, DEL_DYNAMIC, op("schedule-run", 60, 61, error="NOTFOUND", name="d")], NONE),
    ("SCHEDULE", "LIST lacks one", [did("schedule-list", 5, ["0", LIST[1:]])], [did("schedule-list", 5, ["0", LIST])], NONE),
    ("SCHEDULE", "NEXT gives no minute", [did("schedule-next", 5, [WALL + MINUTE + 1], count=1)], [did("schedule-next", 5, [WALL + MINUTE], count=1)], NONE),
    ("LOST", "a job of RUN is nowhere", [did("schedule-run", 5, "1", name="all")], [did("schedule-run", 5, "1", name="all"), *end("1", "slot-all", 50, "slots-all")], NONE),
    ("LOST", "a slot fired and its job is nowhere", [schedule(120, fired=1, next=WALL + 200), *fired(0)], [schedule(120, fired=1, next=WALL + 200), *fired(1)], NONE),
    ("SCHEDULE", "two jobs of one slot", [schedule(120, fired=1, next=WALL + 200), *fired(2)], [schedule(120, fired=1, next=WALL + 200), did("schedule-run", 130, "1", name="all"), *fired(2)], NONE),
    ("SCHEDULE", "more jobs than slots can have been", [SET_DYNAMIC, *[one for i in range(3) for one in end(str(i + 1), "s", 200 + 10 * i, mix.SLOTS[-1], i + 1)]],
     [SET_DYNAMIC, *end("1", "s", 1200, mix.SLOTS[-1])], NONE),
]
