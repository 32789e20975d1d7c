#!/usr/bin/env python3
"""`vestq queue`, and the options of `vestq enqueue` for unique, kept and labelled jobs; what `vestq work` gives a command."""

import json
import os
import pty
import subprocess
import unittest

import harness
from harness import DaemonCase, to_map


class Queue(DaemonCase):
    def info(self):
        return json.loads(self.vestq("queue", "info", "q", "--json").stdout)

    def test_options_are_set_shown_and_unset(self):
        self.vestq("queue", "set", "q", "lease=2m", "attempts=5", "backoff=fixed:10s", "keep=1h")
        info = self.info()
        self.assertEqual((info["lease"], info["attempts"], info["backoff"], info["keep"]), ("2m", 5, "fixed:10s", "1h"))
        self.assertIn("order", harness.run("queue", "set", "--help").stdout)
        self.vestq("queue", "set", "q", "lease=default")
        self.assertEqual(self.info()["lease"], "30s")
        self.assertRegex(self.vestq("queue", "info", "q").stdout, r"backoff +fixed:10s")

    def test_a_paused_queue_gives_nothing_out(self):
        self.vestq("queue", "pause", "q")
        self.vestq("enqueue", "q", "x")
        self.assertIsNone(self.client.call("LEASE", "q"))
        self.assertEqual(self.info()["paused"], -1)
        self.assertRegex(self.vestq("stats").stdout, r"(?s)FAILED +EXPIRED  PAUSED\nq .* 0  until resumed\n")
        self.vestq("queue", "pause", "q", "--for", "1h")
        self.assertGreater(self.info()["paused"], 3_500_000)
        self.assertRegex(self.vestq("stats").stdout, r"  for (1h|59m 59s)\n")
        self.vestq("queue", "resume", "q")
        self.assertNotIn("PAUSED", self.vestq("stats").stdout)
        self.assertEqual(len(self.client.call("LEASE", "q")), 1)

    def test_times_are_shown_as_such_and_json_keeps_ms(self):
        self.vestq("queue", "pause", "q", "--for", "2h")
        self.assertRegex(self.vestq("queue", "info", "q").stdout, r"paused +(2h|1h 59m)\n")
        self.assertRegex(self.vestq("queue", "info", "q").stdout, r"oldest-ready +-\n")
        self.vestq("enqueue", "q", "x")
        self.assertRegex(self.vestq("queue", "info", "q").stdout, r"oldest-ready +[0-9.]+m?s\n")
        self.assertIsInstance(self.info()["oldest-ready"], int)

    def test_list_shows_names(self):
        for name in ("alpha", "beta", "another"):
            self.vestq("enqueue", name, "x")
        self.assertEqual(self.vestq("queue", "list").stdout, "alpha\nanother\nbeta\n")
        self.assertEqual([json.loads(line) for line in self.vestq("queue", "list", "a*", "--json").stdout.splitlines()],
                         [{"queue": "alpha"}, {"queue": "another"}])

    def test_purge_says_how_many_there_were(self):
        ids = [self.vestq("enqueue", "q", "x").stdout.strip() for _ in range(4)]
        self.vestq("enqueue", "q", "x", "--space", "acme")
        self.vestq("enqueue", "q", "x", "--delay", "1h")
        self.assertEqual(self.vestq("purge", "q", "--id", ids[0], ids[1]).stdout, "2\n")
        self.assertEqual(self.vestq("purge", "q", "--space", "acme", "--yes").stdout, "1\n")
        self.assertEqual(json.loads(self.vestq("purge", "q", "--state", "scheduled", "--json").stdout),
                         {"queue": "q", "removed": 1})
        self.assertEqual(self.vestq("purge", "q").stdout, "2\n")
        self.assertIn("expected", self.vestq("purge", "q", "--state", "odd", status=2).stderr)
        self.assertIn("NOTFOUND", self.vestq("purge", "none", status=1).stderr)
        self.vestq("purge", "q", "--id", "1", "--state", "dead", status=2)
        self.assertIn("Examples:", harness.run("purge", "--help").stdout)

    def test_a_dropped_queue_is_gone(self):
        self.vestq("queue", "set", "q", "attempts=5")
        self.vestq("enqueue", "q", "x")
        self.assertEqual(json.loads(self.vestq("queue", "drop", "q", "--json").stdout), {"queue": "q", "removed": 1})
        self.assertIn("NOTFOUND", self.vestq("queue", "info", "q", status=1).stderr)
        self.assertIn("NOTFOUND", self.vestq("queue", "drop", "q", status=1).stderr)

    def dead(self, count):
        for _ in range(count):
            self.client.call("ENQUEUE", "q", "x")
            self.client.call("FAIL", to_map(self.client.call("LEASE", "q")[0])["receipt"], "DEAD")

    def test_dead_letters_that_an_option_would_drop_are_asked_for(self):
        self.dead(3)
        for setting, what in (("dead-max=0", "all 3"), ("dead-keep=0", "all 3"), ("DEAD-KEEP=0s", "all 3"),
                              ("dead-max=2", "the 1 oldest of 3"), ("dead-keep=1h", "those of 3 that died more than 1h ago")):
            refused = self.vestq("queue", "set", "q", "attempts=9", setting, status=1).stderr
            self.assertIn(f'drops dead letters of the queue "q" for good: {what}; nothing was changed (--yes', refused)
            self.assertEqual(self.at_a_terminal("queue", "set", "q", setting, answer=b"n\n"), 1)
        self.assertEqual((self.info()["dead"], self.info()["attempts"], self.info()["dead-max"]), (3, 25, 1_000_000))
        for setting in ("dead-max=3", "dead-keep=36500d", "attempts=8"):
            self.assertEqual(self.vestq("queue", "set", "q", setting).stderr, "")
        self.assertIn("the 1 oldest of 3", self.vestq("queue", "set", "q", "dead-max=2", "--yes").stderr)
        self.assertEqual(self.at_a_terminal("queue", "set", "q", "dead-max=0", answer=b"y\n"), 0)
        self.vestq("queue", "set", "new", "dead-max=0", "dead-keep=0")

    def test_none_where_it_means_nothing_is_refused_with_what_to_write(self):
        self.assertIn("dead-max 'none': write 281474976710656 to keep all of them; 0 keeps none",
                      self.vestq("queue", "set", "q", "dead-max=none", status=2).stderr)
        self.assertIn("dead-keep 'none': write 36500d to keep them for ever; 0 keeps none",
                      self.vestq("queue", "set", "q", "dead-keep=none", status=2).stderr)
        self.assertIn("attempts 'none': write 0 for no limit", self.vestq("queue", "set", "q", "attempts=none", status=2).stderr)
        text = harness.run("queue", "set", "--help").stdout
        self.assertIn("0: NONE", text)
        self.assertIn("dead-max=281474976710656", text)

    def test_a_person_is_asked_first(self):
        self.vestq("enqueue", "q", "x")
        for words in (("purge", "q"), ("queue", "drop", "q")):
            self.assertEqual(self.at_a_terminal(*words, answer=b"n\n"), 1)
            self.assertEqual(self.info()["ready"], 1)
        self.assertEqual(self.at_a_terminal("purge", "q", answer=b"y\n"), 0)
        self.assertEqual(self.info()["ready"], 0)
        self.assertEqual(self.at_a_terminal("queue", "drop", "q", "--yes", answer=b""), 0)

    def at_a_terminal(self, *words, answer):
        person, program = pty.openpty()
        try:
            os.write(person, answer)
            return subprocess.run([harness.PROGRAM, *words, "--server", self.server.address], stdin=program,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=harness.DEADLINE,
                                  check=False).returncode
        finally:
            os.close(person)
            os.close(program)

    def test_what_is_wrong_is_said(self):
        self.assertIn("OPTION=VALUE", self.vestq("queue", "set", "q", "lease", status=2).stderr)
        self.assertIn("30s", self.vestq("queue", "set", "q", "lease=30", status=2).stderr)
        self.assertIn("NOTFOUND", self.vestq("queue", "info", "nothing", status=1).stderr)
        self.assertEqual(harness.run("queue").returncode, 2)

    def test_a_unique_key_that_is_held_names_its_job(self):
        first = self.vestq("enqueue", "q", "x", "--unique", "k", "--for", "1h").stdout.split()
        self.assertEqual(len(first), 1)
        self.assertEqual(self.vestq("enqueue", "q", "y", "--unique", "k").stdout.split(), [first[0], "ready"])
        held = json.loads(self.vestq("enqueue", "q", "z", "--unique", "k", "--replace", "--json").stdout)
        self.assertEqual(held, {"id": first[0], "added": False, "state": "ready", "replaced": True})
        self.assertEqual(self.vestq("enqueue", "q", "z", "--unique", "k", "--replace").stdout, first[0] + " ready replaced\n")
        fresh = self.vestq("enqueue", "q", "z", "--unique", "new", "--replace").stdout
        self.assertTrue(fresh.strip().isdigit(), fresh)
        self.assertEqual(to_map(self.client.call("JOB", first[0], "PAYLOAD"))["payload"], b"z")
        self.client.call("LEASE", "q", "COUNT", "2")
        self.assertEqual(self.vestq("enqueue", "q", "z", "--unique", "k", "--replace").stdout, first[0] + " leased\n")
        held = json.loads(self.vestq("enqueue", "q", "z", "--unique", "k", "--replace", "--json").stdout)
        self.assertEqual((held["state"], held["replaced"]), ("leased", False))

    def test_a_command_sees_type_and_checkpoint(self):
        self.vestq("enqueue", "q", "x", "--type", "resize", "--header", "trace=a=b", "--keep", "1h")
        job = to_map(self.client.call("LEASE", "q")[0])
        self.assertEqual(job["headers"], [b"trace", b"a=b"])
        self.client.call("CHECKPOINT", job["receipt"], "page 7")
        self.client.call("RELEASE", job["receipt"])
        done = harness.run("work", "q", "--drain", "--server", self.server.address, "--", "sh", "-c",
                           'echo "$VESTQ_TYPE, $VESTQ_CHECKPOINT"')
        self.assertEqual(done.stdout, "resize, page 7\n", done.stderr)
        self.assertEqual(to_map(self.client.call("JOB", job["id"]))["state"], b"done")


if __name__ == "__main__":
    unittest.main()
