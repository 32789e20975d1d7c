#!/usr/bin/env python3
"""The wall clock of a running daemon is stepped (libfaketime): spans last their real length, run-at and cron follow the
clock, nothing shown is negative or huge, also across a restart and while the process is stopped (case B28)."""

import glob
import os
import shutil
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

LIBRARY = (glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1") or [None])[0]
SLACK = 2.0  # seconds, for a busy machine; tests/net has the same without any
HOUR, YEARS = 3600, 10 * 365 * 86400
SPAN = 1.2  # seconds
MINUTE = 60_000  # milliseconds


@unittest.skipUnless(LIBRARY, "libfaketime is not installed (package faketime)")
class Clock(harness.Case):
    def start(self, seconds=0):
        self.clock = self.path("clock")
        self.step(seconds)
        # Kills lose nothing so, and the disk's other users do not make it late.
        self.server = self.daemon("--durability", "os", env={**os.environ, "LD_PRELOAD": LIBRARY, "FAKETIME_TIMESTAMP_FILE": self.clock,
                                       "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"})
        self.client = self.connect()

    def connect(self):
        client = self.server.client()
        self.addCleanup(client.close)
        return client

    def step(self, seconds):
        """The daemon's wall clock is so far from the real one from now on."""
        with open(self.clock + ".new", "w", encoding="ascii") as file:
            file.write(f"{seconds:+.3f}s\n")
        os.rename(self.clock + ".new", self.clock)
        self.offset = seconds

    def see_step(self, seconds):
        """The same, and the daemon has looked at it."""
        self.step(seconds)
        self.assertLess(abs(self.wall() - (time.time() + seconds)), SLACK)

    def wall(self):
        seconds, micros = self.client.call("TIME")
        return int(seconds) + int(micros) / 1e6

    def begin_spans(self):
        """One of each kind, each SPAN long from a moment not before `since`."""
        span, call, self.since = f"{int(SPAN * 1000)}ms", self.client.call, {}

        def begin(name, *words):
            self.since[name] = time.monotonic()
            return call(*words)
        begin("delayed", "ENQUEUE", "delayed", "p", "DELAY", span)
        call("ENQUEUE", "leased", "p")
        begin("leased", "LEASE", "leased", "FOR", span)
        call("ENQUEUE", "retried", "p", "BACKOFF", f"fixed:{span}")
        receipt = self.receipt("retried")
        begin("retried", "FAIL", receipt)
        call("ENQUEUE", "released", "p")
        receipt = self.receipt("released")
        begin("released", "RELEASE", receipt, "DELAY", span)
        call("ENQUEUE", "paused", "p")
        begin("paused", "QUEUE", "PAUSE", "paused", "FOR", span)
        begin("window", "ENQUEUE", "window", "p", "UNIQUE", "k", "FOR", span)
        call("COMPLETE", self.receipt("window"))
        self.short = begin("short", "ENQUEUE", "short", "p", "EXPIRE", span)
        self.kept = call("ENQUEUE", "kept", "p", "KEEP", span)
        receipt = self.receipt("kept")
        begin("kept", "COMPLETE", receipt)
        self.began = self.since["never"] = time.monotonic()

    def receipt(self, queue):
        return harness.to_map(self.client.call("LEASE", queue, "FOR", "1h")[0])["receipt"]

    def wait_for_spans(self):
        """All of them are over at their time, and none before."""
        took = {}
        waiting = {queue: self.connect() for queue in ("delayed", "leased", "retried", "released", "paused", "never")}
        for queue, client in waiting.items():
            left = max(1, int((SPAN - (time.monotonic() - self.began)) * 1000))
            client.send("LEASE", queue, "BLOCK", f"{left}ms" if queue == "never" else "30s", "FOR", "1h")
        gone = {"short": False, "kept": False, "window": False}
        until = time.monotonic() + harness.DEADLINE
        while not all(gone.values()):
            self.assertLess(time.monotonic(), until, gone)
            now = {"short": self.client.call("JOB", self.short) is None, "kept": self.client.call("JOB", self.kept) is None,
                   "window": gone["window"] or self.client.call("ENQUEUE", "window", "p", "UNIQUE", "k")[1] == 1}
            for name, over in now.items():
                if over and not gone[name]:
                    took[name] = time.monotonic() - self.since[name]
            gone = now
        for queue, client in waiting.items():
            self.assertEqual(client.read() is None, queue == "never", queue)
            took.setdefault(queue, time.monotonic() - self.since[queue])
            client.close()
        for name, seconds in took.items():
            self.assertGreater(seconds, SPAN - 0.01, name)
        self.assertLess(time.monotonic() - self.began, SPAN + SLACK)

    def look(self):
        """Nothing is negative or huge, and every age is right: all that is here came within the last minute."""
        for queue in self.client.call("QUEUES")[1]:
            info = harness.to_map(self.client.call("QUEUE", "INFO", queue))
            for name, value in info.items():
                if isinstance(value, int):
                    most = 1_000_000 if name == "dead-max" else MINUTE
                    self.assertTrue((-1 if name == "paused" else 0) <= value <= most, (name, info))
            for worker in self.client.call("WORKERS", queue)[1]:
                self.assertTrue(0 <= harness.to_map(worker)["oldest"] <= MINUTE, worker)
            for state in ("ready", "scheduled", "leased", "dead", "done"):
                for job in self.client.call("PEEK", queue, "STATE", state)[1]:
                    job, now = harness.to_map(job), self.wall() * 1000
                    self.assertTrue(state == "done" or -1000 <= now - job["enqueued"] <= MINUTE, (now, job))
                    self.assertTrue(0 <= job.get("vests-in", 0) <= MINUTE, job)
                    self.assertTrue(0 <= job.get("lease-left", 0) <= HOUR * 1000, job)
                    self.assertTrue(0 <= job.get("kept-for", 0) <= MINUTE, job)
                    if "vests-in" in job:
                        self.assertTrue(-MINUTE <= job["vests"] - now <= MINUTE, (now, job))
                    if "deadline" in job:
                        self.assertTrue(-MINUTE <= job["deadline"] - now <= HOUR * 1000 + MINUTE, (now, job))

    def run_steps(self, between, start=0, steps=(-HOUR, HOUR, -YEARS, YEARS)):
        self.start(start)
        for step in steps:
            with self.subTest(step=step):
                for queue in self.client.call("QUEUES")[1]:  # what the round before left
                    self.client.call("QUEUE", "DROP", queue)
                self.begin_spans()
                self.see_step(start + step)
                self.look()
                between()
                self.look()
                self.wait_for_spans()

    def test_steps(self):
        self.run_steps(lambda: None)

    def test_steps_and_a_kill(self):
        def kill():
            self.client.close()
            self.server.end(signal.SIGKILL)
            self.server.start()
            self.client = self.connect()
        self.run_steps(kill)

    def stop(self, seconds):
        """It stands still for so long."""
        self.server.stop()
        with self.assertRaises(TimeoutError):
            harness.read_line(self.server.process.stdout, deadline=seconds)
        self.server.process.send_signal(signal.SIGCONT)

    def test_steps_of_a_stopped_process(self):
        self.run_steps(lambda: self.stop(SPAN / 2))

    def test_spans_that_end_while_it_stands_still(self):
        self.run_steps(lambda: self.stop(SPAN + 0.2), steps=(-HOUR, HOUR))

    def test_from_1970(self):
        def kill():
            self.client.close()
            self.server.end(signal.SIGKILL)
            self.server.start()
            self.client = self.connect()
        epoch = 5 - int(time.time())
        for between in (lambda: None, kill, lambda: self.stop(SPAN / 2)):
            self.run_steps(between, start=epoch, steps=(0, -epoch))  # before it is corrected, and when it is
            self.server.close()
            shutil.rmtree(self.server.data)

    def test_twenty_years_ahead(self):
        self.run_steps(lambda: None, start=2 * YEARS, steps=(0, -2 * YEARS))

    def test_a_minute_that_passes_while_it_stands_still(self):
        """A slot is not lost by a late tick, and comes once."""
        self.start()
        for policy in ("once", "skip", "all"):
            self.client.call("SCHEDULE", "SET", policy, policy, "p", "CRON", "* * * * *", "MISSED", policy)
        slot = harness.to_map(self.client.call("SCHEDULE", "GET", "all"))["next"]
        self.step(slot / 1000 - 1 - time.time())
        self.stop(2.0)
        for policy in ("once", "skip", "all"):
            self.assertIsNotNone(self.client.call("LEASE", policy, "BLOCK", "30s", "FOR", "1h"), policy)
            self.assertIsNone(self.client.call("LEASE", policy, "BLOCK", "300ms"), policy)
            got = harness.to_map(self.client.call("SCHEDULE", "GET", policy))
            self.assertEqual((got["fired"], got["passed-over"], got["last"]), (1, 0, slot), policy)
        # Half an hour in which it stood still and the clock went on.
        self.server.stop()
        self.step(self.offset + 1820)  # and 20 s, so that no slot is merely late
        self.server.process.send_signal(signal.SIGCONT)
        for policy, jobs in (("once", 1), ("all", 30)):
            came = 0
            while came < jobs:
                came += len(self.client.call("LEASE", policy, "COUNT", "100", "BLOCK", "30s", "FOR", "1h"))
            got = harness.to_map(self.client.call("SCHEDULE", "GET", policy))
            self.assertEqual((came, got["fired"], got["passed-over"]), (jobs, 1 + jobs, 30 - jobs), policy)
        got = harness.to_map(self.client.call("SCHEDULE", "GET", "skip"))
        self.assertEqual((got["fired"], got["passed-over"]), (1, 30))

    def test_run_at_and_cron_follow_the_clock(self):
        self.start()
        at = int((self.wall() + HOUR) * 1000)
        ident = self.client.call("ENQUEUE", "at", "p", "AT", str(at))
        self.client.call("SCHEDULE", "SET", "hourly", "cron", "p", "CRON", "0 * * * *", "MISSED", "all")
        self.client.call("SCHEDULE", "SET", "paused", "cron", "p", "CRON", "0 * * * *")
        self.client.call("SCHEDULE", "PAUSE", "paused")
        self.see_step(-HOUR)
        self.assertGreater(harness.to_map(self.client.call("JOB", ident))["vests-in"], 1.9 * HOUR * 1000)
        self.assertIsNone(self.client.call("LEASE", "at", "BLOCK", "1500ms"))
        self.see_step(HOUR + 1)
        job = harness.to_map(self.client.call("LEASE", "at", "BLOCK", "30s")[0])
        self.assertEqual(job["id"], ident)
        # One full hour has passed, or two; each slot once.
        slots = {harness.to_map(job)["id"] for job in self.client.call("LEASE", "cron", "COUNT", "10", "BLOCK", "30s", "FOR", "1h")}
        fired = harness.to_map(self.client.call("SCHEDULE", "GET", "hourly"))["fired"]
        self.assertEqual(len(slots), fired)
        self.assertIn(fired, (1, 2))
        self.see_step(-HOUR)  # what ran is not run again
        self.assertIsNone(self.client.call("LEASE", "cron", "BLOCK", "700ms"))
        self.see_step(HOUR + 1)
        self.assertIsNone(self.client.call("LEASE", "cron", "BLOCK", "700ms"))

    def test_ids_and_order_do_not_follow_it(self):
        self.start()
        put = []
        for step in (0, -HOUR, YEARS, -YEARS):
            self.see_step(step)
            for _ in range(250):
                self.client.send("ENQUEUE", "q", "p", "SPACE", "one")
            put += [self.client.read() for _ in range(250)]
            self.client.close()
            self.server.end(signal.SIGKILL)
            self.server.start()
            self.client = self.connect()
        came = [harness.to_map(job)["id"] for job in self.client.call("LEASE", "q", "COUNT", "1000", "FOR", "1h")]
        self.assertEqual(came, put)
        self.assertEqual(put, sorted(put, key=int))


if __name__ == "__main__":
    harness.main()
