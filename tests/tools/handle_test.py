#!/usr/bin/env python3
"""`vestq job`, `cancel`, `promote`, `reschedule`, `revoke`, `peek`, `redrive`: what they print and how they end."""

import base64
import json
import re
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
        shown = self.vestq("job", ident)
        self.assertIn("scheduled", shown)
        self.assertRegex(shown, r"enqueued +20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z\n")
        self.assertRegex(shown, r"vests-in +(1h|59m 59s)\n")
        self.assertRegex(self.vestq("peek", "q", "--state", "scheduled"), r"vests-in: (1h|59m 59s)\n")
        shown = json.loads(self.vestq("job", ident, "--json", "--payload"))
        self.assertEqual((shown["id"], shown["state"], shown["priority"], shown["payload"]),
                         (ident, "scheduled", 7, "hello"))
        self.assertEqual(self.vestq("job", ident, "--only-payload"), "hello")
        self.assertIn("no job 4711", self.vestq("job", "4711", status=1))
        self.assertIn("job id", self.vestq("job", "x", status=2))

    def test_promote_reschedule_and_cancel(self):
        ident = self.enqueue("x", "DELAY", "1h")
        self.assertIn("rescheduled", self.vestq("reschedule", ident, "--delay", "2h", "--priority", "3"))
        self.assertGreater(json.loads(self.vestq("job", ident, "--json"))["vests-in"], 7_000_000)
        self.assertEqual(json.loads(self.vestq("promote", ident, "--json")), {"id": ident, "promoted": True})
        self.assertEqual(json.loads(self.vestq("job", ident, "--json"))["state"], "ready")
        self.vestq("reschedule", ident, "--at", "2100-01-01T00:00:00Z")
        self.assertIn("cancelled", self.vestq("cancel", ident))
        self.assertIn(f"no unfinished or dead job {ident}", self.vestq("cancel", ident, status=1))
        self.assertIn("NOTFOUND", self.vestq("promote", ident, status=1))
        self.vestq("reschedule", ident, status=2)
        self.vestq("reschedule", ident, "--delay", "1s", "--at", "5", status=2)

    def test_revoke(self):
        ident = self.enqueue("x")
        self.assertIn(f"job {ident} is not leased", self.vestq("revoke", ident, status=1))
        self.client.call("LEASE", "q")
        self.assertIn("BUSY", self.vestq("promote", ident, status=1))
        self.assertIn("revoked", self.vestq("revoke", ident))
        self.assertEqual(json.loads(self.vestq("job", ident, "--json"))["state"], "ready")

    def test_several_jobs_at_once(self):
        ids = [self.enqueue("x") for _ in range(3)]
        shown = [json.loads(line) for line in self.vestq("job", *ids, "--json").splitlines()]
        self.assertEqual([job["id"] for job in shown], ids)
        self.assertEqual(self.vestq("job", *ids[:2]).count("state "), 2)
        done = DaemonCase.vestq(self, "cancel", ids[0], "4711", ids[1], status=1)
        self.assertEqual(done.stdout, f"{ids[0]} cancelled\n{ids[1]} cancelled\n")
        self.assertIn("there is no unfinished or dead job 4711", done.stderr)
        self.assertEqual(self.vestq("promote", ids[2]), f"{ids[2]} promoted\n")

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
        self.assertIn("expected", self.vestq("peek", "q", "--state", "odd", status=2))
        for count in ("0", "-1", "99999999999999999999"):
            self.assertIn("must be 1 to", self.vestq("peek", "q", "--count", count, status=2))
        self.vestq("peek", "q", "--payload", status=2)
        self.vestq("peek", "q", "--all", "--count", "3", status=2)

    def test_peek_says_how_to_go_on(self):
        ids = [self.enqueue("job %d" % i, "SPACE", "s") for i in range(150)]
        first = DaemonCase.vestq(self, "peek", "q", "--json")
        self.assertEqual([json.loads(line)["id"] for line in first.stdout.splitlines()], ids[:100])
        cursor = re.search(r"--all shows all, --cursor (\S+) goes on", first.stderr).group(1)
        rest = DaemonCase.vestq(self, "peek", "q", "--json", "--cursor", cursor)
        self.assertEqual([json.loads(line)["id"] for line in rest.stdout.splitlines()], ids[100:])
        self.assertEqual(rest.stderr, "")
        self.assertEqual(DaemonCase.vestq(self, "peek", "q", "--all").stderr, "")

    def test_json_loses_no_byte(self):
        payload = bytes(range(256))
        ident = self.enqueue(payload, "SPACE", b"\xff", "HEADER", "3", "a", "1", "a", "2", "b", b"\xfe")
        for words in (["peek", "q"], ["job", ident]):
            shown = json.loads(self.vestq(*words, "--json", "--payload"))
            self.assertEqual((base64.b64decode(shown["payload-base64"]), shown["space-base64"]), (payload, "/w=="))
            self.assertEqual([[base64.b64decode(part) for part in pair] for pair in shown["headers-base64"]],
                             [[b"a", b"1"], [b"a", b"2"], [b"b", b"\xfe"]])
        ident = self.enqueue("text", "HEADER", "2", "a", "1", "a", "2")
        shown = json.loads(self.vestq("job", ident, "--json"))
        self.assertEqual(shown["headers"], [["a", "1"], ["a", "2"]])

    def test_a_moment_in_seconds_is_refused(self):
        ident = self.enqueue("x", "DELAY", "1h")
        for words in (["reschedule", ident], ["enqueue", "q", "x"]):
            self.assertIn("1796075448000", self.vestq(*words, "--at", "1796075448", status=2))
            self.vestq(*words, "--at", "4102444800000")

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
        self.die("x")
        self.assertEqual(self.vestq("redrive", "q", "--all", "--rate", "5"), "1\n")
        self.vestq("redrive", "q", "--all", "--count", "2", status=2)

    def stuck(self):
        """A dead job whose unique key is held by a job that waits for it."""
        parent = self.client.call("ENQUEUE", "q", "p", "UNIQUE", "k")[0].decode()
        self.client.call("FAIL", to_map(self.client.call("LEASE", "q")[0])["receipt"], "DEAD")
        child = self.client.call("ENQUEUE", "q", "c", "UNIQUE", "k", "AFTER", "1", parent)[0].decode()
        self.assertIn(f"BUSY job {child} holds the unique key of job {parent}",
                      self.vestq("redrive", "q", "--id", parent, status=1))
        return parent, child

    def state(self, ident):
        return to_map(self.client.call("JOB", ident))["state"]

    def test_the_ways_out_of_a_key_that_the_waiting_child_of_a_dead_job_holds(self):
        parent, child = self.stuck()
        self.vestq("cancel", child)
        self.vestq("redrive", "q", "--id", parent)
        self.assertEqual(self.state(parent), b"ready")
        self.vestq("cancel", parent)
        parent, child = self.stuck()
        self.vestq("cancel", parent)
        self.vestq("redrive", "q", "--id", child)
        self.assertEqual(self.state(child), b"ready")
        self.vestq("cancel", child)
        parent, child = self.stuck()
        self.vestq("redrive", "q", "--id", parent, "--to", "other")
        self.assertEqual((self.state(parent), self.state(child)), (b"ready", b"waiting"))

    def test_help_teaches(self):
        for name in ("job", "cancel", "promote", "reschedule", "revoke", "peek", "redrive"):
            self.assertIn("Examples:", harness.run(name, "--help").stdout)

    def test_a_daemon_that_is_not_there(self):
        self.server.end()
        self.assertIn("vestq serve", self.vestq("peek", "q", status=1))


if __name__ == "__main__":
    harness.main()
