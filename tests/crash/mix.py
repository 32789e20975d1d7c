"""The random commands of the power-cut test about jobs, and the queues that they are about.

A generator gives pairs: the words that are sent, and what the log says of them (`kind`, and what the judge needs). Each has its
weight in client.py. What a command needs to know (receipts held, ids and keys seen) it takes from the client, which learns it
from answers. Queues differ so that each rule of the judge has one where nothing else interferes:

    plain spaces limited rated   any command; limited: 3 attempts, 4 leases at a time; rated: 40 starts a second, bursts of 10
    unique kept children short   UNIQUE keys; results that are kept; AFTER; EXPIRE
    groups                       what groups enqueue
    tight                        max-jobs and max-bytes: mostly full, so that ENQUEUEs are refused, or wait
    purged dropped               PURGE in each form; QUEUE DROP, and with it options that only an empty queue takes
    paused options               PAUSE and RESUME of the queue and of its spaces; QUEUE SET and SPACE SET of each option
    sick moved                   many dead letters; where REDRIVE … TO moves them
    slots-…                      jobs of schedules, one queue for each kind of schedule
    order-N                      of one client alone, one space: LEASE must follow priority, then id
"""

import time

PLAIN = ["plain", "spaces", "limited", "rated"]
UNIQUE, KEPT, CHILDREN, SHORT, PURGED, DROPPED, PAUSED, OPTIONS, SICK, MOVED, GROUPS, TIGHT = (
    "unique", "kept", "children", "short", "purged", "dropped", "paused", "options", "sick", "moved", "groups", "tight")
SLOTS = ["slots-all", "slots-once", "slots-skip", "slots-cron", "slots-unique", "slots-dynamic"]
QUEUES = [*PLAIN, UNIQUE, KEPT, CHILDREN, SHORT, PURGED, DROPPED, PAUSED, OPTIONS, SICK, MOVED, GROUPS, TIGHT, *SLOTS]
SPACED = ["spaces", PURGED, SICK, UNIQUE, GROUPS, PAUSED, OPTIONS, TIGHT]
SPACES = [f"space-{i}" for i in range(6)]
REDRIVEN = [*PLAIN, UNIQUE, SICK, SICK, MOVED]
STATES = ("ready", "scheduled", "waiting", "leased", "dead", "done")
CONCURRENCY, RATE, BURST = 4, 40, 10
MAX_JOBS, MAX_BYTES = 10, 12000  # of the tight one
HOUR_MS = 3600 * 1000
LEASE_MS, BACKOFF = 2500, "fixed:100ms"  # of every queue, unless its options are what is tried
BACKOFFS = ["fixed:50ms", "exp:40ms:400ms", "list:30ms,60ms,120ms"]


def order_queue(number):
    return f"order-{number}"


def payload_of(uid, size):
    """Bytes that follow from the name of an enqueue, so that a reader can tell whether they are all there."""
    return uid.encode() + b"|" + bytes((len(uid) * 31 + i * 7) % 256 for i in range(size))


class JobCommands:
    """What a client sends about jobs. REQUIRES: random, number, held, ids, parents, cursors, uid() of the client."""

    def chance(self, probability):
        return self.random.random() < probability

    def options(self, queue):
        """Random options of an enqueue, and what they mean."""
        words, what = [], {}

        def give(name, value, **known):
            words.extend((name, value))
            what.update(known)

        if self.chance(0.2):
            delay = self.random.randrange(1, 1500)
            give("DELAY", f"{delay}ms", delay=delay)
        elif self.chance(0.1):
            at = int(time.time() * 1000) + self.random.randrange(-200, 1200)
            give("AT", str(at), at=at)
        if self.chance(0.3):
            priority = self.random.randrange(4)
            give("PRIORITY", str(priority), priority=priority)
        if queue == "limited" or self.chance(0.1):
            attempts = 3 if queue == "limited" else self.random.choice((0, 2, 4))
            give("ATTEMPTS", str(attempts), attempts=attempts)
        if self.chance(0.15):
            backoff = self.random.choice(BACKOFFS)
            give("BACKOFF", backoff, backoff=backoff)
        if self.chance(0.1):
            lease = self.random.randrange(1000, 3000)
            give("LEASE", f"{lease}ms", lease=lease)
        if queue == SHORT:
            expire = HOUR_MS if self.chance(0.3) else self.random.randrange(100, 1500)
            give("EXPIRE", f"{expire}ms", expire=expire)
        if self.chance(0.1):
            keep = self.random.choice((0, 200, HOUR_MS))
            give("KEEP", f"{keep}ms" if keep else "0", keep=keep)
        if self.chance(0.1):
            give("TYPE", "some-type", type="some-type")
        if self.chance(0.1):
            header = str(self.random.randrange(1000))
            words.extend(("HEADER", "1", "header", header))
            what["headers"] = ["header", header]
        if queue in SPACED and (queue == "spaces" or self.chance(0.5)):
            space = self.random.choice(SPACES)
            give("SPACE", space, space=space)
        return words, what

    def new_job(self, queue, more=()):
        uid, size = self.uid(), self.random.choice((0, 10, 100, 300, 5000))
        words, what = self.options(queue)
        return (["ENQUEUE", queue, payload_of(uid, size), *words, *more],
                {"kind": "enqueue", "queue": queue, "uid": uid, "size": len(payload_of(uid, size)), **what})

    def enqueue(self):
        yield self.new_job(self.random.choice(
            [*PLAIN, *PLAIN, KEPT, SHORT, SHORT, PURGED, PURGED, DROPPED, PAUSED, OPTIONS, SICK, SICK]))

    def enqueue_unique(self):
        key, window = f"key-{self.random.randrange(10)}", 0
        more = ["UNIQUE", key]
        if self.chance(0.3):
            window = self.random.randrange(100, 1500)
            more += ["FOR", f"{window}ms"]
        replace = self.chance(0.4)
        words, what = self.new_job(UNIQUE, [*more, "REPLACE"] if replace else more)
        yield words, {**what, "key": key, "window": window, "replace": replace}

    def enqueue_many(self):
        n, queue = self.random.randrange(1, 6), self.random.choice(["plain", "spaces", SHORT, PURGED, GROUPS])
        uids = [self.uid() for _ in range(n)]
        if self.parents and self.chance(0.2):
            queue = CHILDREN
        words, what = self.options(queue)  # EXPIRE in one queue only: judges know by the queue what may be gone
        if queue == CHILDREN:
            parents = self.some_parents()
            words += ["AFTER", str(len(parents)), *parents]
            what["parents"] = parents
        yield (["ENQUEUEMANY", queue, str(n), *(payload_of(uid, 20) for uid in uids), *words],
               {"kind": "many", "queue": queue, "uids": uids, **what})

    def wait(self):
        return ["WAIT", f"{self.random.randrange(1, 80)}ms"] if self.chance(0.6) else []

    def enqueue_tight(self):
        yield self.new_job(TIGHT, self.wait())

    def enqueue_many_tight(self):
        uids = [self.uid() for _ in range(self.random.randrange(1, 5))]
        payloads = [payload_of(uid, 20) for uid in uids]
        words, what = self.options(TIGHT)
        yield (["ENQUEUEMANY", TIGHT, str(len(uids)), *payloads, *words, *self.wait()],
               {"kind": "many", "queue": TIGHT, "uids": uids, "size": max(map(len, payloads)), **what})

    def some_parents(self):
        return sorted({self.random.choice(self.parents[-40:]) for _ in range(self.random.randrange(1, 4))}, key=int)

    def enqueue_after(self):
        if self.parents:
            parents = self.some_parents()
            words, what = self.new_job(CHILDREN, ["AFTER", str(len(parents)), *parents])
            yield words, {**what, "parents": parents}

    def enqueue_in_order(self):
        """Into the queue of this client alone, without anything that could change its rank."""
        uid, priority = self.uid(), self.random.randrange(3)
        yield (["ENQUEUE", order_queue(self.number), payload_of(uid, 10), "SPACE", "one", "PRIORITY", str(priority)],
               {"kind": "enqueue", "queue": order_queue(self.number), "uid": uid, "priority": priority, "space": "one"})

    # Leases.

    def lease(self):
        count, words, what = self.random.randrange(1, 9), [], {"kind": "lease"}
        queues = self.random.sample(QUEUES, len(QUEUES))
        if self.chance(0.8):
            what["length"] = self.random.randrange(800, 3000)
            words += ["FOR", f"{what['length']}ms"]
        if self.chance(0.8):
            what["worker"] = f"client-{self.number}"
            words += ["WORKER", what["worker"]]
        if self.chance(0.1):
            queues, count = self.random.sample(QUEUES, 3), 2
            words += ["BLOCK", f"{self.random.randrange(1, 40)}ms"]
        if self.chance(0.15):
            what["space"] = self.random.choice(SPACES)
            queues = self.random.sample(SPACED, len(SPACED))
            words += ["SPACE", what["space"]]
        elif self.chance(0.15):
            queues, count = self.random.sample(SLOTS, len(SLOTS)), 60  # schedules go on while the daemon is down
        what["queues"], what["count"] = queues, count
        yield ["LEASE", *queues, "COUNT", str(count), *words], what

    def lease_in_order(self):
        queue, count = order_queue(self.number), self.random.randrange(1, 4)
        yield (["LEASE", queue, "COUNT", str(count), "FOR", "1500ms"],
               {"kind": "lease", "length": 1500, "queues": [queue], "count": count})

    def take_held(self):
        now = time.monotonic() * 1000
        self.held = [held for held in self.held if held[2] > now - 300]
        return self.held.pop(self.random.randrange(len(self.held))) if self.held else None

    def end_lease(self):
        held = self.take_held()
        if not held:
            return
        receipt, ident, _, queue = held
        what = {"receipt": receipt, "id": ident, "queue": queue}
        dice = self.random.random()
        if queue == SICK and self.chance(0.7):
            yield ["FAIL", receipt, "REASON", "so it goes", "DEAD"], {"kind": "fail", "dead": True, **what}
        elif dice < 0.5:
            result = f"result of {ident}"
            yield ["COMPLETE", receipt, "RESULT", result], {"kind": "complete", "result": result, **what}
        elif dice < 0.65:
            taken = [held] + [one for one in (self.take_held() for _ in range(self.random.randrange(4 + len(self.held) // 2))) if one]
            yield (["COMPLETEMANY", *(one[0] for one in taken)],
                   {"kind": "complete-many", "receipts": [one[0] for one in taken], "ids": [one[1] for one in taken]})
        elif dice < 0.82:
            delay = self.random.randrange(0, 300)
            more, known = self.random.choice((([], {}), ([], {}), (["DELAY", f"{delay}ms"], {"delay": delay}),
                                              (["DEAD"], {"dead": True})))
            if self.chance(0.7):
                more = [*more, "REASON", "so it goes"]
            yield ["FAIL", receipt, *more], {"kind": "fail", "dead": False, **known, **what}
        elif dice < 0.93:
            delay = self.random.randrange(1, 300)
            more, known = self.random.choice((([], {}), (["DELAY", f"{delay}ms"], {"delay": delay}),
                                              (["PRIORITY", "2"], {"priority": 2})))
            yield ["RELEASE", receipt, *more], {"kind": "release", **known, **what}
        # else it is forgotten, and time brings the job back

    def some_held(self):
        now = time.monotonic() * 1000
        self.held = [held for held in self.held if held[2] > now]
        return self.random.choice(self.held) if self.held else None

    def longer(self):
        """FOR, or not, of a command that renews."""
        if self.chance(0.2):
            return [], {}
        length = self.random.randrange(1000, 3000)
        return ["FOR", f"{length}ms"], {"length": length}

    def checkpoint(self):
        held = self.some_held()
        if held:
            value = self.uid()
            words, what = self.longer()
            yield (["CHECKPOINT", held[0], value, *words],
                   {"kind": "checkpoint", "receipt": held[0], "id": held[1], "value": value, **what})

    def renew(self):
        held = self.some_held()
        if held:
            words, what = self.longer()
            yield ["RENEW", held[0], *words], {"kind": "renew", "receipt": held[0], "id": held[1], **what}

    # By its id.

    def some_id(self):
        return self.random.choice(self.ids[-60:]) if self.ids else None

    def about_job(self, kind, *more, **known):
        ident = self.some_id()
        if ident:
            yield [kind.upper(), ident, *more], {"kind": kind, "id": ident, **known}

    def cancel(self):
        return self.about_job("cancel")

    def revoke(self):
        held = self.some_held() if self.chance(0.6) else None
        if held:
            yield ["REVOKE", held[1]], {"kind": "revoke", "id": held[1]}
        else:
            yield from self.about_job("revoke")

    def promote(self):
        return self.about_job("promote")

    def reschedule(self):
        more, known = [], {}
        if self.chance(0.3):
            known["priority"] = self.random.randrange(4)
            more = ["PRIORITY", str(known["priority"])]
        if self.chance(0.3):
            known["at"] = int(time.time() * 1000) + self.random.randrange(-100, 800)
            return self.about_job("reschedule", "AT", str(known["at"]), *more, **known)
        known["delay"] = self.random.randrange(0, 800)
        return self.about_job("reschedule", "DELAY", f"{known['delay']}ms", *more, **known)

    def look(self):
        return self.about_job("job", *(["PAYLOAD"] if self.chance(0.5) else []))

    def wait_for(self):
        return self.about_job("waitfor", *(["BLOCK", f"{self.random.randrange(1, 20)}ms"] if self.chance(0.7) else []))

    def peek(self):
        queue, state = self.random.choice([queue for queue in QUEUES if queue != DROPPED]), self.random.choice(STATES)
        words, space = ["STATE", state, "COUNT", str(self.random.randrange(1, 8))], None
        if queue in SPACED and self.chance(0.4):
            space = self.random.choice(SPACES)
            words += ["SPACE", space]
        if self.chance(0.4):
            words.append("PAYLOAD")
        cursor = None
        if self.cursors and self.chance(0.5):
            (queue, state, space), cursor = self.random.choice(sorted(self.cursors.items(), key=str))
            words = ["STATE", state, "COUNT", "3", *(["SPACE", space] if space else []), "CURSOR", cursor]
        yield (["PEEK", queue, *words], {"kind": "peek", "queue": queue, "state": state, "space": space})

    def redrive(self):
        queue, known, more = self.random.choice(REDRIVEN), {}, []
        dice = self.random.random()
        if dice < 0.4:
            more = ["ALL"]
        elif dice < 0.7 or not self.dead:
            known["count"] = 3
            more = ["COUNT", "3"]
        else:
            known["id"], queue = self.random.choice(self.dead)
            more = ["ID", known["id"]]
        if queue in (SICK, MOVED) and self.chance(0.5):
            known["to"] = MOVED if queue == SICK else SICK
            more += ["TO", known["to"]]
        if self.chance(0.3):
            known["rate"] = self.random.choice((5, 20))
            more += ["RATE", f"{known['rate']}/s"]
        yield ["REDRIVE", queue, *more], {"kind": "redrive", "queue": queue, **known}

    def purge(self):
        known, more = {}, []
        dice = self.random.random()
        if dice < 0.3 and self.ids:
            known["ids"] = sorted({self.some_id() for _ in range(3)}, key=int)
            more = ["ID", *known["ids"]]
        else:
            if dice < 0.7:
                known["state"] = self.random.choice(STATES)
                more += ["STATE", known["state"]]
            if self.chance(0.4):
                known["space"] = self.random.choice(SPACES)
                more += ["SPACE", known["space"]]
        yield ["PURGE", PURGED, *more], {"kind": "purge", "queue": PURGED, **known}
