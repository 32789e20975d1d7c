#!/usr/bin/env python3
"""`vestq job`, `cancel`, `promote`, `reschedule`, `revoke`, `peek`, `redrive`: what they print and how they end."""

import json
import unittest

import harness
from harness import DaemonCase, to_map


class Handle(DaemonCase):
    def vestq(self, *words, status=0):
        done = super().vestq(*words, status=status)
        return done.stderr if status else done.stdout

    def enqueue(self, *words):
        return self.client.call("ENQUEUE", "q", *words).decode()

    def die(self, payload):
        ident = self.enqueue(payload)
        job = to_map(self.client.call("LEASE", "q")[0])
        self.client.call("FAIL", job["receipt"], "DEAD", "REASON", "bad " + payload)
        return ident

    def test_job_shows_what_there_is(self):
        ident = self.enqueue("hello", "DELAY", "1h", "PRIORITY", "7")
        self.assertIn("scheduled", self.vestq("job", ident))
        shown = json.loads(self.vestq("job", ident, "--json", "--payload"))
        self.assertEqual((shown["id"], shown["state"], shown["priority"], shown["payload"]),
                         (ident, "scheduled", 7, "hello"))
        self.assertEqual(self.vestq("job", ident, "--only-payload"), "hello")
        self.assertIn("no job 4711", self.vestq("job", "4711", status=1))
        self.assertIn("job id", self.vestq("job", "x", status=1))

    def test_promote_reschedule_and_cancel(self):
        ident = self.enqueue("x", "DELAY", "1h")
        self.assertIn("rescheduled", self.vestq("reschedule", ident, "--delay", "2h", "--priority", "3"))
        self.assertGreater(json.loads(self.vestq("job", ident, "--json"))["vests-in"], 7_000_000)
        self.assertEqual(json.loads(self.vestq("promote", ident, "--json")), {"id": ident, "promoted": True})
        self.assertEqual(json.loads(self.vestq("job", ident, "--json"))["state"], "ready")
        self.vestq("reschedule", ident, "--at", "2100-01-01T00:00:00Z")
        self.assertIn("cancelled", self.vestq("cancel", ident))
        self.assertIn("no such", self.vestq("cancel", ident, status=1))
        self.assertIn("NOTFOUND", self.vestq("promote", ident, status=1))
        self.vestq("reschedule", ident, status=2)
        self.vestq("reschedule", ident, "--delay", "1s", "--at", "5", status=2)

    def test_revoke(self):
        ident = self.enqueue("x")
        self.assertIn("not leased", self.vestq("revoke", ident, status=1))
        self.client.call("LEASE", "q")
        self.assertIn("BUSY", self.vestq("promote", ident, status=1))
        self.assertIn("revoked", self.vestq("revoke", ident))
        self.assertEqual(json.loads(self.vestq("job", ident, "--json"))["state"], "ready")

    def test_peek_over_pages(self):
        ids = [self.enqueue("job %d" % i, "SPACE", "s") for i in range(1200)]
        lines = self.vestq("peek", "q", "--all", "--json").splitlines()
        self.assertEqual([json.loads(line)["id"] for line in lines], ids)
        self.assertEqual(len(self.vestq("peek", "q").splitlines()), 101)
        self.assertEqual(len(self.vestq("peek", "q", "--count", "3", "--space", "s").splitlines()), 4)
        self.assertEqual(self.vestq("peek", "q", "--space", ""), "")
        first = json.loads(self.vestq("peek", "q", "--count", "1", "--json", "--payload"))
        self.assertEqual(first["payload"], "job 0")
        self.assertIn("NOTFOUND", self.vestq("peek", "none", status=1))
        self.assertIn("expected", self.vestq("peek", "q", "--state", "odd", status=1))
        self.vestq("peek", "q", "--payload", status=2)
        self.vestq("peek", "q", "--all", "--count", "3", status=2)

    def test_dead_letters_are_seen_and_redriven(self):
        ids = [self.die("x%d" % i) for i in range(5)]
        listed = self.vestq("peek", "q", "--state", "dead")
        self.assertIn("bad x0", listed)
        self.assertEqual(self.vestq("redrive", "q", "--id", ids[0]), "1\n")
        self.assertIn("BUSY", self.vestq("redrive", "q", "--id", ids[0], status=1))
        self.assertEqual(json.loads(self.vestq("redrive", "q", "--count", "1", "--rate", "1/s", "--json")),
                         {"queue": "q", "redriven": 1})
        self.assertEqual(self.vestq("redrive", "q", "--all", "--to", "r"), "3\n")
        self.assertEqual(len(self.vestq("peek", "r", "--json").splitlines()), 3)
        self.vestq("redrive", "q", status=2)
        self.vestq("redrive", "q", "--all", "--count", "2", status=2)

    def test_help_teaches(self):
        for name in ("job", "cancel", "promote", "reschedule", "revoke", "peek", "redrive"):
            self.assertIn("Examples:", harness.run(name, "--help").stdout)

    def test_a_daemon_that_is_not_there(self):
        self.server.end()
        self.assertIn("vestq serve", self.vestq("peek", "q", status=1))


if __name__ == "__main__":
    harness.main()
