#!/usr/bin/env python3
"""A client of the power-cut test: random commands (mix.py, mix_more.py), and a log of what it sent and what came back.

    client.py PORT LOG SEED NUMBER [WITHOUT]

WITHOUT names kinds of commands (functions of the mix), with commas, that are left out, to narrow a finding down. At first, and
when its connection breaks, it writes `-` to its standard output and waits for a byte on its standard input: then the daemon is
there (again). It works until that ends, and writes a `.` for each burst of commands that was answered.

One line of JSON a command: `conn` and `n` (which connection, the how manieth there: the order in which they were sent), `t0` and
`t1` (CLOCK_MONOTONIC, ms: sent, answered), `w1` (the wall clock when it was answered), `op` with what is needed to judge it, and
`reply`, or `error` where one came; with neither the outcome is unknown. A line of the kind `up` says that the daemon is
there (again): what was open before happened by then or never does. One of the kind `forms` counts what was answered, by the
forms of commands.py. tests/crash/history.py reads it.
"""

import collections
import json
import os
import random
import select
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import commands  # noqa: E402
import harness  # noqa: E402
import mix  # noqa: E402
import mix_more  # noqa: E402

GROUPS = ("group", "discarded")
NOT_CARRIED_OUT = "DISCARDED"


def now_ms():
    return time.monotonic() * 1000.0


def text(value):
    """A reply without bytes: latin-1 keeps every byte."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, list):
        return [text(item) for item in value]
    return value


def job_map(flat):
    """A job's map with its payload as the name that it begins with, and whether it is whole."""
    job = {name: text(value) for name, value in harness.to_map(flat).items() if name != "payload"}
    payload = harness.to_map(flat).get("payload")
    if payload is not None:
        uid, _, rest = payload.partition(b"|")
        job["uid"] = text(uid)
        job["whole"] = payload == mix.payload_of(job["uid"], len(rest))
    return job


def short(kind, reply):
    """What the judge needs of a reply."""
    if kind == "lease":
        return [job_map(job) for job in reply or []]
    if kind in ("job", "waitfor", "schedule-get"):
        return reply and job_map(reply)
    if kind in ("info", "space-info"):
        return {name: text(value) for name, value in harness.to_map(reply).items()}
    if kind in ("peek", "schedule-list", "workers", "spaces"):
        return [text(reply[0]), [job_map(item) for item in reply[1]]]
    return text(reply)


class Client(mix.JobCommands, mix_more.MoreCommands):
    def __init__(self, port, log, seed, number, without=()):
        self.port, self.number = port, number
        self.random = random.Random(seed)
        self.log = open(log, "a", encoding="ascii")
        self.serial, self.conn, self.n = 0, 0, 0
        self.forms = collections.Counter()
        self.held = []     # (receipt, id, until, queue)
        self.ids = []      # of jobs that it enqueued
        self.parents = []  # those of them that others may wait for
        self.dead = []     # (id, queue)
        self.cursors = {}  # (queue, state, space): where a listing stands
        self.read = {}     # key: the value that it had when this client last looked
        self.ranges = []   # (prefix, last key, cursor)
        self.kinds = [(weight, make) for weight, make in self.all_kinds() if make.__name__ not in without]

    def all_kinds(self):
        return [
            (26, self.enqueue), (7, self.enqueue_unique), (4, self.enqueue_many), (4, self.enqueue_after), (5, self.enqueue_tight), (1, self.enqueue_many_tight),
            (5, self.enqueue_in_order), (24, self.lease), (5, self.lease_in_order), (34, self.end_lease),
            (6, self.checkpoint), (5, self.renew), (3, self.cancel), (2, self.revoke), (3, self.promote),
            (5, self.reschedule), (5, self.look), (3, self.wait_for), (8, self.peek), (3, self.redrive),
            (4, self.purge), (0.6, self.drop), (1, self.pause), (2, self.resume), (2, self.queue_set),
            (1.5, self.space_set), (1, self.space_pause), (3, self.space_resume), (1, self.space_info), (1.2, self.spaces),
            (2, self.queue_info), (0.7, self.queues), (2, self.workers), (2, self.schedule_set), (0.7, self.schedule_del),
            (0.8, self.schedule_pause), (1.2, self.schedule_resume), (1.5, self.schedule_get), (1.2, self.schedule_list),
            (1.5, self.schedule_run), (1, self.schedule_next), (8, self.data_set), (2, self.data_get), (2, self.data_many),
            (1, self.data_exists), (1.5, self.data_del), (3, self.data_range), (14, self.group), (1, self.discarded)]

    def uid(self):
        self.serial += 1
        return f"{self.number}.{self.serial}"

    # The log.

    def note(self, what, began, **outcome):
        self.n += 1
        line = {"client": self.number, "conn": self.conn, "n": self.n, "t0": round(began, 3), **outcome, "op": what}
        self.log.write(json.dumps(line) + "\n")

    def pass_on(self, what, began, **outcome):
        """Notes a command; of a group each member, so that the judge sees a group as its parts too."""
        if what["kind"] not in GROUPS:
            self.note(what, began, **outcome)
            return
        replies = outcome.pop("reply", None)
        if what["kind"] == "discarded":
            outcome = {"error": NOT_CARRIED_OUT}
        else:
            whole = {**outcome, "reply": "OK"} if replies is not None else outcome
            self.note({"kind": "group", "uid": what["uid"]}, began, **whole)
        for i, (_, member) in enumerate(what["members"]):
            one = dict(outcome)
            if replies is not None and what["kind"] == "group":
                one["reply"] = short(member["kind"], replies[i])
            self.note({**member, "group": what["uid"]} if what["kind"] == "group" else member, began, **one)

    def count(self, words, what, reply):
        """Counts the forms of a command that was answered."""
        if what["kind"] not in GROUPS:
            self.forms.update(commands.forms(words))
            return
        self.forms.update(("MULTI", "EXEC" if what["kind"] == "group" else "DISCARD"))
        if what["kind"] == "group":
            for member, _ in what["members"]:
                self.forms.update(f"EXEC: {form}" for form in commands.forms(member) if f"EXEC: {form}" in commands.FORMS)

    # What later commands use.

    def learn(self, what, reply):
        kind = what["kind"]
        if kind == "enqueue":
            ident = text(reply[0] if isinstance(reply, list) else reply)
            if what["queue"] != mix.order_queue(self.number):
                self.ids.append(ident)
            if what["queue"] in (*mix.PLAIN, mix.KEPT, mix.SHORT, mix.PURGED, mix.DROPPED):
                self.parents.append(ident)
        elif kind == "many":
            self.ids += text(reply)
        elif kind == "lease":
            for job in reply or []:
                job = harness.to_map(job)
                self.held.append((text(job["receipt"]), text(job["id"]), now_ms() + job["lease-left"], text(job["queue"])))
        elif kind == "fail" and reply[0] == b"dead":
            self.dead.append((what["id"], what["queue"]))
        elif kind == "peek":
            self.learn_page(what, reply)
        elif kind in ("set", "set-group") and reply is not None:
            self.read[what["key"]] = what["value"]
        elif kind == "get":
            self.read[what["key"]] = text(reply)
        elif kind == "mget":
            self.read.update(zip(what["keys"], text(reply)))
        elif kind == "range" and reply[0] != b"0" and reply[1]:
            self.ranges.append((what["prefix"], text(reply[1][-2]), text(reply[0])))
        del self.ids[:-200], self.parents[:-200], self.dead[:-50], self.ranges[:-10]

    def learn_page(self, what, reply):
        key = (what["queue"], what["state"], what["space"])
        self.cursors.pop(key, None)
        if reply[0] != b"0":
            self.cursors[key] = text(reply[0])
        if what["state"] == "dead":
            self.dead += [(text(harness.to_map(job)["id"]), what["queue"]) for job in reply[1]]

    # The loop.

    def send(self, connection, words, what):
        if what["kind"] not in GROUPS:
            connection.send(*words)
            return
        connection.send("MULTI")
        for member, _ in what["members"]:
            connection.send(*member)
        connection.send("EXEC" if what["kind"] == "group" else "DISCARD")

    def receive(self, connection, what):
        if what["kind"] not in GROUPS:
            return connection.read()
        for _ in range(1 + len(what["members"])):  # OK, QUEUED …; what is wrong with one EXEC says again
            try:
                connection.read()
            except harness.RespError:
                pass
        return connection.read()

    def answered(self, words, what, began, reply):
        outcome = {"t1": round(now_ms(), 3), "w1": round(time.time() * 1000)}
        self.count(words, what, reply)
        if what["kind"] in GROUPS:
            self.pass_on(what, began, **outcome, reply=reply)
            if what["kind"] == "group":
                for (_, member), one in zip(what["members"], reply):
                    self.learn(member, one)
        else:
            self.note(what, began, **outcome, reply=short(what["kind"], reply))
            self.learn(what, reply)

    def burst(self, connection):
        """Sends some commands together and reads what comes; False when the connection broke."""
        chosen, weights = [], [weight for weight, _ in self.kinds]
        for _ in range(self.random.randrange(1, 14)):
            make = self.random.choices(self.kinds, weights)[0][1]
            chosen += list(make() or [])
        began = now_ms()
        sent = []
        try:
            for words, what in chosen:
                sent.append((words, what))
                self.send(connection, words, what)
            while sent:
                words, what = sent[0]
                try:
                    reply = self.receive(connection, what)
                except harness.RespError as error:
                    # What is not known to be durable is as open as without an answer.
                    open_still = str(error).split(" ", 1)[0] in ("NOTDURABLE", "SHUTDOWN")
                    self.pass_on(what, began, **({} if open_still else {"error": str(error), "t1": round(now_ms(), 3)}))
                else:
                    self.answered(words, what, began, reply)
                sent.pop(0)
            return True
        except (OSError, ValueError):
            for _, what in sent:
                self.pass_on(what, began)
            return False

    @staticmethod
    def wait_for_daemon():
        """Says that it waits; false when it is to end."""
        os.write(1, b"-")
        return bool(os.read(0, 1))

    def run(self):
        while self.wait_for_daemon():
            self.conn, self.n = self.conn + 1, 0
            self.note({"kind": "up"}, now_ms())
            self.cursors = {key: cursor for key, cursor in self.cursors.items() if key[1] != "leased"}  # they end with a start
            try:
                connection = harness.Resp(self.port)
            except OSError:
                continue
            while self.burst(connection):
                os.write(1, b".")
                if select.select([0], [], [], 0)[0]:
                    break
            connection.close()
        self.note({"kind": "forms"}, now_ms(), reply=dict(self.forms))
        self.log.close()


if __name__ == "__main__":
    Client(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), "".join(sys.argv[5:]).split(",")).run()
