#!/usr/bin/env python3
"""`vestq schedule` and `vestq workers`."""

import json
import unittest

import harness
from harness import DaemonCase, to_map


class Schedule(DaemonCase):
    def test_a_schedule_lives_and_ends(self):
        self.vestq("schedule", "set", "report", "reports", "daily", "--cron", "0 6 * * mon-fri", "--tz", "Europe/Berlin",
                   "--missed", "skip", "--priority", "7")
        shown = json.loads(self.vestq("schedule", "get", "report", "--json").stdout)
        self.assertEqual((shown["queue"], shown["cron"], shown["tz"], shown["missed"], shown["priority"], shown["state"]),
                         ("reports", "0 6 * * mon-fri", "Europe/Berlin", "skip", 7, "active"))
        self.vestq("schedule", "pause", "report")
        self.assertIn("paused", self.vestq("schedule", "list").stdout)
        ident = self.vestq("schedule", "run", "report").stdout.strip()
        self.assertEqual(to_map(self.client.call("JOB", ident, "PAYLOAD"))["payload"], b"daily")
        self.vestq("schedule", "set", "often", "q", "x", "--every", "90s")
        self.assertIn("every 1m 30s  active  next 20", self.vestq("schedule", "list").stdout)
        self.assertRegex(self.vestq("schedule", "get", "often").stdout, r"every +1m 30s\n")
        self.assertEqual(json.loads(self.vestq("schedule", "get", "often", "--json").stdout)["every"], 90_000)
        self.vestq("schedule", "del", "often")
        self.vestq("schedule", "resume", "report")
        listed = [json.loads(line) for line in self.vestq("schedule", "list", "--json").stdout.splitlines()]
        self.assertEqual([(one["name"], one["last"]) for one in listed], [("report", None)])
        self.vestq("schedule", "del", "report")
        self.assertIn("no schedule", self.vestq("schedule", "get", "report", status=1).stderr)

    def test_a_schedule_has_the_options_of_its_jobs(self):
        with open(self.path("payload"), "wb") as file:
            file.write(b"\0\xff")
        self.vestq("schedule", "set", "s", "q", "--file", self.path("payload"), "--every", "1h", "--keep", "7d", "--backoff",
                   "fixed:5s", "--type", "bill", "--header", "by=cron", "--header", "n=1", "--unique", "k", "--for", "2h",
                   "--space", "sp", "--attempts", "3", "--lease", "1m", "--expire", "1d")
        shown = to_map(self.client.call("SCHEDULE", "GET", "s"))
        self.assertEqual((shown["payload"], shown["keep"], shown["backoff"], shown["type"], shown["unique-for"]),
                         (b"\0\xff", 7 * 86_400_000, b"fixed:5s", b"bill", 7_200_000))
        self.assertEqual(shown["headers"], [b"by", b"cron", b"n", b"1"])
        self.assertEqual((shown["space"], shown["attempts"], shown["lease"]), (b"sp", 3, 60_000))
        done = harness.run("schedule", "set", "in", "q", "--stdin", "--every", "1h", "--server", self.server.address,
                           stdin=b"from stdin")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(to_map(self.client.call("SCHEDULE", "GET", "in"))["payload"], b"from stdin")
        self.assertIn("PAYLOAD, --stdin", self.vestq("schedule", "set", "s", "q", "--every", "1h", status=2).stderr)
        self.assertIn("NAME=VALUE", self.vestq("schedule", "set", "s", "q", "x", "--header", "y", status=2).stderr)
        self.vestq("schedule", "set", "s", "q", "x", "--delay", "1s", status=2)

    def test_next_and_what_is_wrong(self):
        words = ("schedule", "next", "*/15 * * * *", "--count", "3")
        times = json.loads(self.vestq(*words, "--json").stdout)
        self.assertEqual([b - a for a, b in zip(times, times[1:])], [900_000] * 2)
        shown = self.vestq(*words).stdout.splitlines()
        self.assertRegex(shown[0], r"^20\d\d-\d\d-\d\dT\d\d:(00|15|30|45):00Z$")
        shown = self.vestq("schedule", "next", "30 7 1 1 *", "--tz", "Asia/Kolkata", "--count", "1").stdout
        self.assertRegex(shown, r"^20\d\d-01-01T07:30:00\+05:30\n$")
        self.assertIn("hour", self.vestq("schedule", "next", "0 99 * * *", status=2).stderr)
        self.assertIn("Mars", self.vestq("schedule", "next", "0 1 * * *", "--tz", "Mars/Olympus", status=2).stderr)
        self.assertEqual(harness.run("schedule").returncode, 2)

    def test_workers(self):
        self.client.call("ENQUEUE", "q", "x")
        self.client.call("LEASE", "q", "WORKER", "w1")
        row = json.loads(self.vestq("workers", "--json").stdout)
        self.assertEqual((row["queue"], row["worker"], row["leases"]), ("q", "w1", 1))
        self.assertRegex(self.vestq("workers", "q").stdout, r"w1 +1 +[0-9.]+m?s\n")
        self.assertIn("NOTFOUND", self.vestq("workers", "nothing", status=1).stderr)


if __name__ == "__main__":
    unittest.main()
