#!/usr/bin/env python3
"""A client of the crash test: random commands of every kind, and a log of what it sent and what came back.

    client.py PORT LOG SEED NUMBER [WITHOUT]

WITHOUT names kinds of commands, with commas, that are left out (to narrow a finding down). It works until its standard input ends. When its connection breaks it waits for a byte there (the daemon is back) and
goes on. One line of JSON a command: `t0` and `t1` (CLOCK_MONOTONIC, ms: sent, answered), `op` with what is needed to
judge it, and `reply`, or `error` where one came; with neither the outcome is unknown. tests/crash/history.py judges.
"""

import json
import os
import random
import select
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402

PLAIN = ["plain", "spaces", "limited"]
UNIQUE, KEPT, CHILDREN, SHORT, PURGED, DROPPED, SLOTS, GROUPS = (
    "unique", "kept", "children", "short", "purged", "dropped", "slots", "groups")
QUEUES = [*PLAIN, UNIQUE, KEPT, CHILDREN, SHORT, PURGED, DROPPED, SLOTS, GROUPS]
REDRIVEN = ["plain", "spaces", "limited", UNIQUE]


def now_ms():
    return time.monotonic() * 1000.0


def payload_of(uid, size):
    """Bytes that follow from the name of an enqueue, so that a reader can tell whether they are all there."""
    text = uid.encode() + b"|"
    return text + bytes((len(uid) * 31 + i * 7) % 256 for i in range(size))


def text(value):
    """A reply without bytes: latin-1 keeps every byte."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, list):
        return [text(item) for item in value]
    return value


class Client:
    def __init__(self, port, log, seed, number, without=()):
        self.port, self.number = port, number
        self.random = random.Random(seed)
        self.log = open(log, "a", encoding="ascii")
        self.serial = 0
        self.connection = None
        self.held = []   # (receipt, id, until)
        self.ids = []    # of jobs that it enqueued
        self.parents = []  # those of them that others may wait for
        self.kinds = [
            (30, self.enqueue), (6, self.enqueue_unique), (3, self.enqueue_many), (5, self.enqueue_after),
            (24, self.lease), (30, self.end_lease), (6, self.checkpoint), (3, self.renew), (3, self.cancel),
            (1, self.revoke), (2, self.promote), (2, self.reschedule), (2, self.look), (1, self.redrive),
            (1, self.purge), (0.3, self.drop), (6, self.group), (6, self.data), (0.3, self.pause), (1, self.run_slot),
            (1, self.wait_for)]
        self.kinds = [(weight, make) for weight, make in self.kinds if make.__name__ not in without]

    def uid(self):
        self.serial += 1
        return f"{self.number}.{self.serial}"

    # Each gives commands: (words, what the log says of it).

    def options(self):
        """Random options of an enqueue, and what they mean."""
        words, delay = [], 0
        if self.random.random() < 0.2:
            delay = self.random.randrange(1, 1500)
            words += ["DELAY", f"{delay}ms"]
        if self.random.random() < 0.3:
            words += ["PRIORITY", str(self.random.randrange(4))]
        if self.random.random() < 0.1:
            words += ["TYPE", "t", "HEADER", "1", "k", "v"]
        return words, delay

    def new_job(self, queue, more=()):
        uid, size = self.uid(), self.random.choice((0, 10, 100, 300, 5000))
        words, delay = self.options()
        if queue in ("spaces", GROUPS):
            words += ["SPACE", f"space-{self.random.randrange(12)}"]
        if queue == "limited":
            words += ["ATTEMPTS", "3"]
        if queue == SHORT:
            words += ["EXPIRE", f"{self.random.randrange(100, 1500)}ms"]
        return (["ENQUEUE", queue, payload_of(uid, size), *words, *more],
                {"kind": "enqueue", "queue": queue, "uid": uid, "delay": delay})

    def enqueue(self):
        yield self.new_job(self.random.choice([*PLAIN, *PLAIN, KEPT, SHORT, PURGED, PURGED, DROPPED]))

    def enqueue_unique(self):
        key = f"key-{self.random.randrange(24)}"
        more = ["UNIQUE", key]
        window = 0
        if self.random.random() < 0.3:
            window = self.random.randrange(100, 2000)
            more += ["FOR", f"{window}ms"]
        words, what = self.new_job(UNIQUE, more)
        yield words, {**what, "key": key, "window": window}

    def enqueue_many(self):
        n = self.random.randrange(1, 6)
        uids = [self.uid() for _ in range(n)]
        yield (["ENQUEUEMANY", "plain", str(n), *(payload_of(uid, 20) for uid in uids)],
               {"kind": "many", "queue": "plain", "uids": uids})

    def enqueue_after(self):
        if not self.parents:
            return
        parents = sorted({self.random.choice(self.parents[-40:]) for _ in range(self.random.randrange(1, 4))}, key=int)
        words, what = self.new_job(CHILDREN, ["AFTER", str(len(parents)), *parents])
        yield words, {**what, "parents": parents}

    def lease(self):
        count, length = self.random.randrange(1, 9), self.random.randrange(800, 4000)
        queues = self.random.sample(QUEUES, len(QUEUES))
        yield (["LEASE", *queues, "COUNT", str(count), "FOR", f"{length}ms", "WORKER", f"client-{self.number}"],
               {"kind": "lease", "length": length})

    def take_held(self):
        self.held = [held for held in self.held if held[2] > now_ms() - 500]
        return self.held.pop(self.random.randrange(len(self.held))) if self.held else None

    def end_lease(self):
        held = self.take_held()
        if not held:
            return
        receipt, ident, _ = held
        what = {"receipt": receipt, "id": ident}
        dice = self.random.random()
        if dice < 0.6:
            result = f"result of {ident}"
            yield ["COMPLETE", receipt, "RESULT", result], {"kind": "complete", "result": result, **what}
        elif dice < 0.7:
            yield ["COMPLETEMANY", receipt], {"kind": "complete-many", **what}
        elif dice < 0.85:
            more = self.random.choice(([], ["DELAY", "50ms"], ["DEAD"]))
            yield (["FAIL", receipt, "REASON", "so it goes", *more], {"kind": "fail", "dead": more == ["DEAD"], **what})
        elif dice < 0.95:
            more = self.random.choice(([], ["DELAY", "100ms"], ["PRIORITY", "2"]))
            yield ["RELEASE", receipt, *more], {"kind": "release", **what}
        # else it is forgotten, and time brings the job back

    def some_held(self):
        self.held = [held for held in self.held if held[2] > now_ms()]
        return self.random.choice(self.held) if self.held else None

    def checkpoint(self):
        held = self.some_held()
        if held:
            value, length = self.uid(), self.random.randrange(1500, 4000)
            yield (["CHECKPOINT", held[0], value, "FOR", f"{length}ms"],
                   {"kind": "checkpoint", "receipt": held[0], "id": held[1], "value": value, "length": length})

    def renew(self):
        held = self.some_held()
        if held:
            length = self.random.randrange(1500, 4000)
            yield (["RENEW", held[0], "FOR", f"{length}ms"],
                   {"kind": "renew", "receipt": held[0], "id": held[1], "length": length})

    def some_id(self):
        return self.random.choice(self.ids[-60:]) if self.ids else None

    def about_job(self, kind, *more):
        ident = self.some_id()
        if ident:
            yield [kind.upper(), ident, *more], {"kind": kind, "id": ident}

    def cancel(self):
        return self.about_job("cancel")

    def revoke(self):
        return self.about_job("revoke")

    def promote(self):
        return self.about_job("promote")

    def reschedule(self):
        return self.about_job("reschedule", "DELAY", f"{self.random.randrange(0, 800)}ms")

    def look(self):
        return self.about_job("job")

    def wait_for(self):
        return self.about_job("waitfor", "BLOCK", "20ms")

    def redrive(self):
        queue = self.random.choice(REDRIVEN)
        more = self.random.choice((["ALL"], ["COUNT", "3"]))
        yield ["REDRIVE", queue, *more], {"kind": "redrive", "queue": queue}

    def purge(self):
        yield ["PURGE", PURGED], {"kind": "purge", "queue": PURGED}

    def drop(self):
        yield ["QUEUE", "DROP", DROPPED], {"kind": "drop", "queue": DROPPED}

    def pause(self):
        yield ["QUEUE", "PAUSE", "spaces", "FOR", "100ms"], {"kind": "pause", "queue": "spaces"}

    def run_slot(self):
        yield ["SCHEDULE", "RUN", "every"], {"kind": "run"}

    def group(self):
        """Complete one job, book two, write a key: all or nothing."""
        uid = self.uid()
        members = [(["SET", f"group:{uid}", uid], {"kind": "set-group"})]
        for _ in range(2):
            members.append(self.new_job(GROUPS))
        held = self.take_held() if self.random.random() < 0.5 else None
        if held:
            members.append((["COMPLETE", held[0]], {"kind": "complete", "receipt": held[0], "id": held[1],
                                                    "result": None}))
        self.random.shuffle(members)
        yield None, {"kind": "group", "uid": uid, "members": members}

    def data(self):
        key = f"client-{self.number}:{self.random.randrange(5)}"
        dice = self.random.random()
        if dice < 0.7:
            value = self.uid()
            yield ["SET", key, value], {"kind": "set", "key": key, "value": value}
        elif dice < 0.85:
            yield ["DEL", key], {"kind": "set", "key": key, "value": None}
        else:
            yield ["GET", key], {"kind": "get", "key": key}

    # The loop.

    def note(self, what, began, **outcome):
        line = {"client": self.number, "t0": round(began, 3), **outcome, "op": what}
        self.log.write(json.dumps(line) + "\n")

    def learn(self, what, reply):
        """Takes from an answer what later commands use."""
        kind = what["kind"]
        if kind == "enqueue":
            ident = (reply[0] if isinstance(reply, list) else reply).decode()
            self.ids.append(ident)
            if what["queue"] not in (CHILDREN, UNIQUE):
                self.parents.append(ident)
        elif kind == "many":
            self.ids += [ident.decode() for ident in reply]
        elif kind == "lease":
            for job in reply or []:
                job = harness.to_map(job)
                self.held.append((job["receipt"].decode(), job["id"].decode(), now_ms() + what["length"]))
        del self.ids[:-200], self.parents[:-200]

    @staticmethod
    def short(what, reply):
        """What the judge needs of a reply: a leased job's payload as its name and whether it is whole."""
        if what["kind"] != "lease":
            return text(reply)
        jobs = []
        for job in reply or []:
            job = harness.to_map(job)
            uid, _, rest = job["payload"].partition(b"|")
            whole = job["payload"] == payload_of(uid.decode("latin-1"), len(rest))
            jobs.append({"receipt": text(job["receipt"]), "id": text(job["id"]), "queue": text(job["queue"]),
                         "attempt": job["attempt"], "attempts": job["attempts"], "uid": text(uid), "whole": whole,
                         "checkpoint": text(job.get("checkpoint", b""))})
        return jobs

    def send(self, connection, words, what):
        if what["kind"] != "group":
            connection.send(*words)
            return
        connection.send("MULTI")
        for member, _ in what["members"]:
            connection.send(*member)
        connection.send("EXEC")

    def receive(self, connection, what):
        if what["kind"] != "group":
            return connection.read()
        for _ in range(1 + len(what["members"])):  # OK, QUEUED …; what is wrong with one EXEC says again
            try:
                connection.read()
            except harness.RespError:
                pass
        return connection.read()

    def pass_on(self, what, began, **outcome):
        """Notes a command; of a group each member, so that the judge sees a group as its parts too."""
        if what["kind"] != "group":
            self.note(what, began, **outcome)
            return
        replies = outcome.pop("reply", None)
        if replies is not None:
            outcome["reply"] = "OK"
        self.note({"kind": "group", "uid": what["uid"]}, began, **outcome)
        for i, (_, member) in enumerate(what["members"]):
            one = dict(outcome)
            if replies is not None:
                one["reply"] = text(replies[i])
            self.note({**member, "group": what["uid"]}, began, **one)

    def burst(self, connection):
        """Sends some commands together and reads what comes; False when the connection broke."""
        chosen = []
        weights = [weight for weight, _ in self.kinds]
        for _ in range(self.random.randrange(1, 9)):
            make = self.random.choices(self.kinds, weights)[0][1]
            chosen += list(make() or [])
        began, sent = now_ms(), []
        try:
            for words, what in chosen:
                sent.append(what)
                self.send(connection, words, what)
            while sent:
                what = sent[0]
                try:
                    reply = self.receive(connection, what)
                except harness.RespError as error:
                    sent.pop(0)
                    # The outcome is as open as without an answer.
                    code = str(error).split(" ", 1)[0]
                    outcome = {} if code in ("NOTDURABLE", "SHUTDOWN") else {"error": str(error)}
                    self.pass_on(what, began, **outcome)
                    continue
                sent.pop(0)
                answered = now_ms()
                if what["kind"] == "group":
                    self.pass_on(what, began, t1=answered, reply=reply)
                    for (_, member), one in zip(what["members"], reply):
                        self.learn(member, one)
                else:
                    self.note(what, began, t1=round(answered, 3), reply=self.short(what, reply))
                    self.learn(what, reply)
            return True
        except (OSError, ValueError):
            for what in sent:
                self.pass_on(what, began)
            return False

    def run(self):
        """Until standard input ends; each byte there says that the daemon is up."""
        while os.read(0, 1):
            try:
                connection = harness.Resp(self.port)
            except OSError:
                continue
            while self.burst(connection):
                if select.select([0], [], [], 0)[0]:
                    break
            connection.close()
        self.log.close()


if __name__ == "__main__":
    Client(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), "".join(sys.argv[5:]).split(",")).run()
