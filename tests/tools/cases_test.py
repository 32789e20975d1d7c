#!/usr/bin/env python3
"""Public bug reports of other queues as scenarios over RESP: what their users met must not happen here.

The same cases run through the library in tests/engine/cases_test.cc and over RESP in tests/net/server_cases_test.cc and its
neighbours, with their own numbers, under clocks that the test moves; here it is the real daemon, real processes, real time
and real signals. Nothing sleeps: a waiting LEASE tells when a job comes.
"""

import json
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

SLACK = 2.0  # seconds, for a busy machine; tests/net/server_cases_test.cc has the rules without any


class Cases(harness.DaemonCase):
    def connect(self):
        client = self.server.client()
        self.addCleanup(client.close)
        return client

    def enqueue(self, queue="q", payload="p", *options, client=None):
        return (client or self.client).call("ENQUEUE", queue, payload, *options)

    def lease(self, queue="q", *options, client=None):
        """The next job as a map; None when there is none."""
        jobs = (client or self.client).call("LEASE", queue, *options)
        return harness.to_map(jobs[0]) if jobs else None

    def info(self, queue="q"):
        return harness.to_map(self.client.call("QUEUE", "INFO", queue))

    def job(self, ident):
        return harness.to_map(self.client.call("JOB", ident))

    def error(self, *words, client=None):
        with self.assertRaises(harness.RespError) as caught:
            (client or self.client).call(*words)
        return str(caught.exception)

    def restart(self, how=signal.SIGKILL):
        self.client.close()
        self.server.end(how)
        self.server.start()
        self.client = self.connect()

    def assert_comes(self, seconds, queue="q", since=None, client=None):
        """The next job comes so long after `since` (or now), and not before."""
        since = time.monotonic() if since is None else since
        job = self.lease(queue, "BLOCK", "30s", "FOR", "1h", client=client)
        took = time.monotonic() - since
        self.assertIsNotNone(job)
        self.assertTrue(seconds - 0.01 <= took <= seconds + SLACK, f"{took:.3f} s instead of {seconds}")
        return job


class B01LeaseTimers(Cases):
    """The end of a lease must not hang on another timer of its holder's connection."""

    def test_a_holder_that_waited_before(self):
        self.enqueue()
        holder, other = self.connect(), self.connect()
        began = time.monotonic()
        self.assertIsNotNone(self.lease("q", "BLOCK", "300ms", "FOR", "600ms", client=holder))
        self.assert_comes(0.6, since=began, client=other)
        info = self.info()
        self.assertEqual((info["expired"], info["leases"]), (1, 2))

    def test_a_holder_that_waits_again(self):
        for _ in range(3):
            self.enqueue()
        holder, other = self.connect(), self.connect()
        began = time.monotonic()
        for length in ("300ms", "900ms", "600ms"):
            self.assertIsNotNone(self.lease("q", "FOR", length, client=holder))
        holder.send("LEASE", "empty", "BLOCK", "20s")
        for at in (0.3, 0.6, 0.9):
            self.assert_comes(at, since=began, client=other)

    def test_equal_lengths(self):
        for wait, length in ((400, 400), (400, 300), (400, 500)):
            with self.subTest(wait=wait, length=length):
                ident = self.enqueue()
                holder, other = self.connect(), self.connect()
                began = time.monotonic()
                self.assertIsNotNone(self.lease("q", "BLOCK", f"{wait}ms", "FOR", f"{length}ms", client=holder))
                self.assertEqual(self.assert_comes(length / 1000, since=began, client=other)["id"], ident)
                self.assertEqual(self.client.call("CANCEL", ident), 1)


class B02LateHolders(Cases):
    """Who holds no lease any more changes nothing."""

    def refused_everything(self, receipt):
        for words in (("RENEW", receipt), ("RELEASE", receipt), ("FAIL", receipt), ("CHECKPOINT", receipt, "p=50"),
                      ("COMPLETE", receipt, "RESULT", "late")):
            self.assertRegex(self.error(*words), "^LEASELOST ", words)
        self.assertEqual(self.client.call("COMPLETEMANY", receipt), [0])

    def test_nobody_has_taken_it(self):
        ident = self.enqueue("q", "p", "PRIORITY", "7")
        late = self.lease("q", "FOR", "100ms")["receipt"]
        until = time.monotonic() + harness.DEADLINE
        while self.job(ident)["state"] == b"leased":
            self.assertLess(time.monotonic(), until)
        self.refused_everything(late)
        self.assertEqual(self.info()["leases"], 1)
        job = self.job(ident)
        self.assertEqual((job["state"], job["priority"]), (b"ready", 7))
        self.assertNotIn("checkpoint", job)
        self.assertNotIn("last-error", job)

    def test_another_has_taken_it(self):
        ident = self.enqueue()
        late = self.lease("q", "FOR", "100ms")["receipt"]
        now = self.assert_comes(0.09)
        self.refused_everything(late)
        self.client.call("CHECKPOINT", now["receipt"], "p=90")
        self.refused_everything(late)
        self.assertEqual((self.job(ident)["checkpoint"], self.job(ident)["attempt"]), (b"p=90", 2))
        self.assertEqual(self.client.call("COMPLETE", now["receipt"]), b"OK")

    def test_a_renewed_lease_is_honoured(self):
        self.enqueue()
        began = time.monotonic()
        receipt = self.lease("q", "FOR", "1s")["receipt"]
        self.assertIsNone(self.lease("q", "BLOCK", "200ms"))
        self.assertGreater(self.client.call("RENEW", receipt, "FOR", "10s"), 9000)
        self.assertIsNone(self.lease("q", "BLOCK", "900ms"))
        self.assertGreater(time.monotonic() - began, 1.0)
        self.assertEqual(self.client.call("COMPLETE", receipt), b"OK")
        self.assertIsNone(self.lease())

    def test_the_last_acknowledged_checkpoint_comes(self):
        self.enqueue()
        receipt = self.lease("q", "FOR", "1h")["receipt"]
        for i in range(58):
            self.client.call("CHECKPOINT", receipt, b"%d " % i + b"x" * 4096, "FOR", "1h")
        self.restart()  # and the worker with it: its lease stands, so it is revoked
        self.assertEqual(self.client.call("REVOKE", receipt.split(b".")[0]), 1)
        self.assertEqual(self.lease()["checkpoint"], b"57 " + b"x" * 4096)

    def test_an_old_receipt_of_the_same_worker(self):
        self.enqueue()
        late = self.lease("q", "FOR", "100ms")["receipt"]
        self.assertNotEqual(self.assert_comes(0.09)["receipt"], late)
        self.refused_everything(late)


class B04Attempts(Cases):
    """A job that kills its worker ends dead after exactly its attempts."""

    def killed_worker(self):
        """A process that takes a job and dies of SIGKILL; the job."""
        asks, tells = os.pipe()
        pid = os.fork()
        if pid == 0:
            client = self.server.client()
            job = self.lease("q", "BLOCK", "10s", "FOR", "200ms", client=client)
            os.write(tells, b"%s %d" % (job["id"], job["attempt"]))
            signal.pause()
            os._exit(1)
        taken = os.read(asks, 100).split()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(asks)
        os.close(tells)
        return taken

    def three_ends(self, ident, restart_at=None):
        """A worker that is killed, one that is silent, one that reports a failure; the daemon may die in the middle."""
        self.assertEqual(self.killed_worker(), [ident, b"1"])
        silent = self.connect()  # and stays open
        job = self.lease("q", "BLOCK", "10s", "FOR", "200ms", client=silent)
        self.assertEqual((job["id"], job["attempt"]), (ident, 2))
        if restart_at:
            self.restart()
        job = self.lease("q", "BLOCK", "10s")
        self.assertEqual(job["attempt"], 3)
        self.assertEqual(self.client.call("FAIL", job["receipt"], "REASON", "boom"), [b"dead", 0])
        dead = self.job(ident)
        self.assertEqual((dead["state"], dead["attempt"], dead["last-error"]), (b"dead", 3, b"boom"))
        self.assertEqual(dead["reason"], b"attempts used up: the worker reported a failure")
        self.assertEqual(self.info()["leases"], 3)
        self.assertIsNone(self.lease("q", "BLOCK", "300ms"))

    def test_three_attempts(self):
        self.three_ends(self.enqueue("q", "p", "ATTEMPTS", "3"))

    def test_three_attempts_and_a_restart(self):
        self.three_ends(self.enqueue("q", "p", "ATTEMPTS", "3"), restart_at=2)

    def test_dead_without_any_client(self):
        """Nobody asks: an event tells when it was."""
        events = self.connect()
        events.call("EVENTS", "q")
        ident = self.enqueue("q", "p", "ATTEMPTS", "1")
        deadline = self.lease("q", "FOR", "300ms")["deadline"]
        self.client.close()
        while True:
            _, name, fields = events.read()
            fields = harness.to_map(fields)
            if name == b"dead":
                break
        self.assertEqual((fields["id"], fields["reason"]), (ident, b"attempts used up: the lease expired"))
        self.assertTrue(-50 <= fields["time"] - deadline <= 1000, fields["time"] - deadline)
        self.client = self.connect()
        self.assertEqual(self.job(ident)["state"], b"dead")
        self.assertEqual(self.info()["leases"], 1)

    def test_limits_of_the_number(self):
        self.enqueue("q", "p", "ATTEMPTS", "0")
        self.assertEqual(self.lease()["attempts"], 0)
        for text in ("-1", "2147483648", "1000000001"):
            self.assertRegex(self.error("ENQUEUE", "none", "p", "ATTEMPTS", text), "^RANGE ATTEMPTS")

    def test_redriven_ones_have_all_their_tries(self):
        ident = self.enqueue("q", "p", "ATTEMPTS", "2")
        for _ in range(2):
            self.client.call("FAIL", self.lease()["receipt"], "DELAY", "0")
        self.assertEqual(self.job(ident)["state"], b"dead")
        self.assertEqual(self.client.call("REDRIVE", "q", "ID", ident), 1)
        for attempt in (1, 2):
            job = self.lease()
            self.assertEqual(job["attempt"], attempt)
            self.client.call("FAIL", job["receipt"], "DELAY", "0")
        self.assertEqual(self.job(ident)["state"], b"dead")

    def test_a_release_is_no_failed_try(self):
        self.enqueue("q", "p", "ATTEMPTS", "3", "BACKOFF", "list:1s,10s,1m")
        for _ in range(50):
            job = self.lease()
            self.assertEqual(job["attempt"], 1)
            self.client.call("RELEASE", job["receipt"])
        self.assertEqual(self.client.call("FAIL", self.lease()["receipt"]), [b"retry", 1000])


class B19Restarts(Cases):
    """A restart changes no counter and no order."""

    def views(self):
        """Each job's own counts and the queue's, as three commands show them."""
        jobs = [harness.to_map(job) for job in self.client.call("PEEK", "q", "STATE", "dead", "COUNT", "100")[1]]
        info = self.info()
        return ([(job["id"], job["attempt"], job["reason"]) for job in jobs],
                {key: info[key] for key in ("ready", "scheduled", "leased", "dead", "enqueued", "leases", "died", "failed")})

    def test_dead_letters(self):
        def bury(count):
            for _ in range(count):
                self.enqueue("q", "p")
                self.client.call("FAIL", self.lease()["receipt"], "DEAD", "REASON", "no")
        bury(10)
        before = self.views()
        self.restart()
        self.assertEqual(self.views(), before)
        bury(10)
        before = self.views()
        for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
            self.restart(how)
            self.assertEqual(self.views(), before)
        order = [ident for ident, _, _ in before[0]]
        self.assertEqual(order, sorted(order, key=int))
        came = []
        while self.client.call("REDRIVE", "q", "COUNT", "1"):
            came.append(self.lease("q", "FOR", "1h")["id"])
        self.assertEqual(came, order)

    def test_leases(self):
        for _ in range(100):
            self.enqueue()
        held = [harness.to_map(job)["receipt"] for job in self.client.call("LEASE", "q", "COUNT", "100", "FOR", "1h")]
        self.restart()
        for i, receipt in enumerate(held):
            self.assertEqual(self.info()["leased"], 100 - i)
            self.assertEqual(self.client.call("COMPLETE", receipt), b"OK")
        info = self.info()
        self.assertEqual([info[key] for key in ("ready", "leased", "completed", "expired")], [0, 0, 100, 0])

    def test_an_expired_lease_moves_in_the_same_instant(self):
        ident = self.enqueue()
        self.lease("q", "FOR", "200ms")
        seen = set()
        until = time.monotonic() + harness.DEADLINE
        while (1, 0) not in seen:
            info = self.info()
            seen.add((info["ready"], info["leased"]))
            self.assertLess(time.monotonic(), until)
        self.assertEqual(seen, {(0, 1), (1, 0)})
        self.assertEqual(self.job(ident)["state"], b"ready")


    def test_all_views_after_a_load(self):
        """Jobs of every state, in random order and amid kills; then a full listing, INFO of the queues, INFO and `vestq stats`."""
        chance, held = random.Random(7), []
        queues, states = ("a", "b"), ("ready", "scheduled", "waiting", "leased", "dead", "done")
        for turn in range(600):
            queue = chance.choice(queues)
            kind = chance.randrange(10)
            if kind < 4:
                options = chance.choice(((), ("DELAY", "1h"), ("SPACE", "s"), ("KEEP", "1h"), ("UNIQUE", str(turn % 7)),
                                         ("AFTER", "1", str(self.parent()))))
                self.enqueue(queue, "p", *options)
            elif kind < 7:
                held += [harness.to_map(job)["receipt"] for job in
                         self.client.call("LEASE", queue, "COUNT", "5", "FOR", chance.choice(("1h", "100ms"))) or []]
            elif held:
                words = chance.choice((("COMPLETE",), ("FAIL",), ("FAIL", "DEAD"), ("RELEASE",), ("RENEW",)))
                try:
                    self.client.call(words[0], held.pop(chance.randrange(len(held))), *words[1:])
                except harness.RespError as error:
                    self.assertRegex(str(error), "^LEASELOST ")
            if turn % 200 == 199:
                self.restart()
        self.assert_at_rest(states)
        for state in ("scheduled", "waiting", "ready", "leased", "dead", "done"):  # a drained queue reports 0
            self.client.call("PURGE", "a", "STATE", state)
            self.assertEqual(self.info("a")[state], 0)
        self.assert_at_rest(states)
        self.client.call("QUEUE", "DROP", "b")
        self.assert_at_rest(states)
        self.restart()
        self.assert_at_rest(states)
        self.assertEqual(sum(self.info("a")[state] for state in states), 0)

    def parent(self):
        """A job that is never done."""
        if not hasattr(self, "waited_for"):
            self.waited_for = int(self.enqueue("parents", "p", "DELAY", "100d"))
        return self.waited_for

    def listed(self, queue, state):
        count, cursor = 0, b"0"
        while True:
            cursor, page = self.client.call("PEEK", queue, "STATE", state, "COUNT", "100", "CURSOR", cursor)
            count += len(page)
            if cursor == b"0":
                return count

    def all_views(self, states):
        """Jobs by queue and state as each command shows them; INFO knows their sums only, and no kept results."""
        names = [name.decode() for name in self.client.call("QUEUES")[1]]
        text = dict(line.split(":", 1) for line in self.client.call("INFO").decode().split("\r\n") if ":" in line)
        shown = {one["queue"]: one for one in json.loads(self.vestq("stats", "--json").stdout)["queues"]}
        return {"QUEUE INFO": {name: {state: self.info(name)[state] for state in states} for name in names},
                "PEEK": {name: {state: self.listed(name, state) for state in states} for name in names},
                "stats": {name: {state: one[state] for state in states} for name, one in shown.items()},
                "INFO": {state: int(text["jobs_" + state]) for state in states if state != "done"}}

    def assert_at_rest(self, states):
        """All views are equal, as soon as the leases of 100 ms have ended."""
        until = time.monotonic() + harness.DEADLINE
        while True:
            views = self.all_views(states)
            counts = views["QUEUE INFO"]
            sums = {state: sum(one[state] for one in counts.values()) for state in states if state != "done"}
            if (views["PEEK"], views["stats"], views["INFO"]) == (counts, counts, sums):
                return
            self.assertLess(time.monotonic(), until, views)


class B25UniqueKeys(Cases):
    """A key is held exactly while its job lives, and for its window."""

    def unique(self, key="k1", *options, queue="q", client=None):
        ident, new, state = self.enqueue(queue, "p", "UNIQUE", key, *options, client=client)
        return ident, new, state

    def assert_new(self, *options, **more):
        ident, new, _ = self.unique(*options, **more)
        self.assertEqual(new, 1)
        return ident

    def assert_held(self, by, state, *options, **more):
        self.assertEqual(self.unique(*options, **more), (by, 0, state))

    def test_cancel_frees_it(self):
        ident = self.assert_new("k1", "DELAY", "60s", "FOR", "120s")
        self.assert_held(ident, b"scheduled")
        self.client.call("CANCEL", ident)
        self.assert_new()

    def test_held_while_it_runs(self):
        ident = self.assert_new()
        receipt = self.lease()["receipt"]
        self.assert_held(ident, b"leased")
        self.client.call("COMPLETE", receipt)
        self.assert_new()

    def test_a_dead_one_does_not_hold_it(self):
        dead = self.assert_new()
        self.client.call("FAIL", self.lease()["receipt"], "DEAD")
        living = self.assert_new()
        self.assertRegex(self.error("REDRIVE", "q", "ID", dead), f"^BUSY job {living.decode()} holds")
        self.client.call("COMPLETE", self.lease()["receipt"])
        self.assertEqual(self.client.call("REDRIVE", "q", "ID", dead), 1)
        self.assert_held(dead, b"ready")

    def test_the_window(self):
        ident = self.assert_new("k1", "FOR", "600ms")
        began = time.monotonic()
        self.client.call("COMPLETE", self.lease()["receipt"])
        self.assert_held(ident, b"gone")
        while self.unique("k1")[1] == 0:
            pass
        self.assertGreater(time.monotonic() - began, 0.55)

    def test_a_kill_after_the_answer(self):
        ident = self.assert_new()
        self.restart()
        self.assert_held(ident, b"ready")

    def test_a_kill_between_add_and_answer(self):
        """The key and its job, or neither."""
        for turn in range(6):
            key = f"cut-{turn}"
            self.client.send("ENQUEUE", "q", "p", "UNIQUE", key, "FOR", "120s")
            for _ in range(turn * 40):  # a little later each time
                os.getpid()
            self.restart()
            ident, new, state = self.unique(key)
            self.assertEqual(self.job(ident)["state"], b"ready")
            self.assertEqual(self.info()["ready"], turn + 1)
            self.assertEqual(state, b"new" if new else b"ready")

    def test_held_through_a_retry(self):
        ident = self.assert_new("k1", "BACKOFF", "fixed:1h")
        self.client.call("FAIL", self.lease()["receipt"])
        self.assert_held(ident, b"scheduled")

    def test_two_connections_at_once(self):
        first, second = self.connect(), self.connect()
        keys = [f"key-{i}" for i in range(2000)]
        new = 0
        for at in range(0, len(keys), 200):
            for client in (first, second):
                for key in keys[at:at + 200]:
                    client.send("ENQUEUE", "q", "p", "UNIQUE", key)
            for client in (first, second):
                new += sum(client.read()[1] for _ in range(200))
        self.assertEqual(new, len(keys))
        self.assertEqual(self.info()["ready"], len(keys))
        self.assertEqual(self.info()["duplicates"], len(keys))

    def test_scopes_and_sizes(self):
        for more in ({"queue": "q"}, {"queue": "r"}):
            self.assert_new("k1", **more)
            self.assert_new("k1", "SPACE", "a", **more)
            self.assert_new("k1", "SPACE", "b", **more)
        self.assert_new(b"\x00")
        self.assert_new(bytes(range(256)) * 2)
        for key in (b"", b"x" * 513, b"x" * 65536):
            self.assertRegex(self.error("ENQUEUE", "q", "p", "UNIQUE", key), "^(RANGE|TOOBIG) ")


class B26Zones(Cases):
    """Zone names as the machine's data has them, or a refusal (what clock changes do stands in tests/lease/cron_test.cc)."""

    def test_names(self):
        for zone in ("Europe/London", "America/New_York", "Australia/Lord_Howe", "UTC"):
            slots = self.client.call("SCHEDULE", "NEXT", "*/15 * * * *", "TZ", zone, "COUNT", "100")
            self.assertEqual({b - a for a, b in zip(slots, slots[1:])}, {900_000}, zone)
        self.assertEqual(len(self.client.call("SCHEDULE", "NEXT", "0 0 * * *", "TZ", "EST5EDT")), 1)
        for zone in ("europe/london", "GMT+5", "Mars/Olympus", "", "../etc/passwd"):
            self.assertRegex(self.error("SCHEDULE", "NEXT", "0 0 * * *", "TZ", zone), "^(ERR|RANGE) ", zone)

    def test_a_machine_without_zone_data(self):
        """An error, never UTC in silence."""
        if not harness.can_mount(self.folder):
            self.skipTest("needs root and mount")
        program = self.path("without-zones")
        with open(program, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n"
                       f"exec unshare -m sh -c 'mount -t tmpfs tmpfs /usr/share/zoneinfo && exec \"$0\" \"$@\"' {harness.PROGRAM} \"$@\"\n")
        os.chmod(program, 0o755)
        self.client.call("SCHEDULE", "SET", "kept", "q", "p", "CRON", "0 0 * * *", "TZ", "Europe/London")
        whole, harness.PROGRAM = harness.PROGRAM, program
        try:
            self.restart(signal.SIGTERM)
        finally:
            harness.PROGRAM = whole
        for words in (("SET", "s", "q", "p", "CRON", "0 0 * * *"), ("NEXT", "0 0 * * *")):
            self.assertRegex(self.error("SCHEDULE", *words, "TZ", "Europe/London"), "^ERR .*Europe/London.*zone data")
        self.assertIsNone(self.client.call("SCHEDULE", "GET", "s"))
        self.assertEqual(len(self.client.call("SCHEDULE", "NEXT", "0 0 * * *", "TZ", "UTC")), 1)
        self.assertEqual(len(self.client.call("SCHEDULE", "NEXT", "0 0 * * *")), 1)
        self.assertEqual(harness.to_map(self.client.call("SCHEDULE", "GET", "kept"))["tz"], b"Europe/London")

    def test_no_next_time_has_passed(self):
        now = time.time() * 1000
        for expression in ("* * * * *", "30 2 * * *", "0 6 * * 1", "0 0 29 2 *", "@hourly"):
            slots = self.client.call("SCHEDULE", "NEXT", expression, "TZ", "America/New_York", "COUNT", "50")
            self.assertTrue(all(slot > now for slot in slots), expression)
            self.assertEqual(slots, sorted(set(slots)))


if __name__ == "__main__":
    harness.main()
