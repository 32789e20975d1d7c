#!/usr/bin/env python3
"""`vestq waitfor` and `vestq tail`: what they print and how they end."""

import json
import signal

import harness
from harness import DaemonCase, to_map


class Watch(DaemonCase):
    def lease(self):
        return to_map(self.client.call("LEASE", "q", "WORKER", "w")[0])["receipt"]

    def start(self, *words):
        return self.spawn(*words, "--server", self.server.address)

    def test_waitfor_shows_the_end(self):
        ident = self.client.call("ENQUEUE", "q", "x", "KEEP", "1m").decode()
        waiter = self.start("waitfor", ident, "--json")
        self.client.call("COMPLETE", self.lease(), "RESULT", "42")
        shown = json.loads(harness.read_line(waiter.stdout))
        self.assertEqual(waiter.wait(harness.DEADLINE), 0)
        self.assertEqual((shown["id"], shown["state"], shown["result"]), (ident, "done", "42"))

    def test_waitfor_of_dead_gone_and_unfinished_jobs(self):
        ident = self.client.call("ENQUEUE", "q", "x").decode()
        late = self.vestq("waitfor", ident, "--at-most", "20ms", status=6)
        self.assertIn("has not ended within 20ms", late.stderr)
        self.client.call("FAIL", self.lease(), "DEAD", "REASON", "no")
        dead = self.vestq("waitfor", ident, status=5)
        self.assertIn("is dead", dead.stderr)
        self.assertIn("no", dead.stdout)
        self.client.call("CANCEL", ident)
        gone = self.vestq("waitfor", ident, status=4)
        self.assertIn("gone", gone.stdout)
        self.assertIn(f"there is no job {ident}", gone.stderr)
        self.assertIn("job id", self.vestq("waitfor", "x", status=2).stderr)
        self.vestq("waitfor", status=2)

    def test_tail_says_that_a_queue_is_not_there(self):
        tail = self.start("tail", "nope")
        self.assertEqual(harness.read_line(tail.stderr), 'vestq tail: there is no queue "nope" yet')
        self.client.call("ENQUEUE", "nope", "x")
        self.assertIn("enqueued", harness.read_line(tail.stdout))

    def waiting(self, *words):
        """A `waitfor` that waits."""
        waiter = self.start("waitfor", *words)
        while b"cmd=waitfor" not in self.client.call("CLIENT", "LIST").lower():
            self.assertIsNone(waiter.poll())
        return waiter

    def test_waitfor_a_job_that_ends_unkept(self):
        ident = self.client.call("ENQUEUE", "q", "x").decode()
        waiter = self.waiting(ident)
        self.client.call("COMPLETE", self.lease())
        self.assertEqual(waiter.wait(harness.DEADLINE), 4)
        self.assertIn(b"is gone: done, cancelled, expired or purged", waiter.stderr.read())

    def test_waitfor_when_the_server_closes_or_somebody_ends_the_wait(self):
        ident = self.client.call("ENQUEUE", "q", "x").decode()
        waiter = self.waiting(ident)
        entry = [line for line in self.client.call("CLIENT", "LIST").decode().splitlines() if "waitfor" in line.lower()][0]
        self.client.call("CLIENT", "UNBLOCK", entry.split()[0].split("=")[1])
        self.assertEqual(waiter.wait(harness.DEADLINE), 1)
        self.assertIn(b"CLIENT UNBLOCK", waiter.stderr.read())
        for words in ([], ["--at-most", "5m"]):
            self.waiting_at_the_end(ident, words)
            self.server.start()
            self.client = self.server.client()

    def waiting_at_the_end(self, ident, words):
        waiter = self.waiting(ident, *words)
        self.server.end()
        self.assertEqual(waiter.wait(harness.DEADLINE), 1)
        self.assertRegex(waiter.stderr.read().decode(), f"the server at {self.server.address} is closing; job {ident} had not")

    def test_tail_prints_events(self):
        plain, as_json = self.start("tail"), self.start("tail", "q", "--json")
        while self.client.call("CLIENT", "LIST").count(b" flags=P ") < 2:
            self.assertIsNone(plain.poll())
            self.assertIsNone(as_json.poll())
        ident = self.client.call("ENQUEUE", "q", "x").decode()
        self.client.call("ENQUEUE", "other", "x")
        self.client.call("FAIL", self.lease(), "DEAD", "REASON", "two\nlines")
        events = [json.loads(harness.read_line(as_json.stdout)) for _ in range(4)]
        self.assertEqual([e["event"] for e in events], ["enqueued", "leased", "failed", "dead"])
        self.assertEqual({e["id"] for e in events}, {ident})
        self.assertEqual(events[2]["reason"], "two\nlines")
        lines = [harness.read_line(plain.stdout) for _ in range(5)]
        self.assertRegex(lines[0], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z  enqueued +q  %s$" % ident)
        self.assertTrue(any("failed" in x and "worker w  reason: two\\nlines" in x for x in lines), lines)
        self.assertTrue(any(" other " in x for x in lines), lines)
        plain.send_signal(signal.SIGINT)
        self.assertEqual(plain.wait(harness.DEADLINE), -signal.SIGINT)
        self.server.end()
        self.assertEqual(as_json.wait(harness.DEADLINE), 1)
        self.assertIn(b"went away", as_json.stderr.read())


if __name__ == "__main__":
    harness.main()
