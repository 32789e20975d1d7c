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
        self.vestq("schedule", "resume", "report")
        listed = [json.loads(line) for line in self.vestq("schedule", "list", "--json").stdout.splitlines()]
        self.assertEqual([(one["name"], one["last"]) for one in listed], [("report", None)])
        self.vestq("schedule", "del", "report")
        self.assertIn("no schedule", self.vestq("schedule", "get", "report", status=1).stderr)

    def test_next_and_what_is_wrong(self):
        times = [int(line) for line in self.vestq("schedule", "next", "*/15 * * * *", "--count", "3").stdout.split()]
        self.assertEqual([b - a for a, b in zip(times, times[1:])], [900_000] * 2)
        self.assertIn("hour", self.vestq("schedule", "next", "0 99 * * *", status=1).stderr)
        self.assertIn("Mars", self.vestq("schedule", "next", "0 1 * * *", "--tz", "Mars/Olympus", status=1).stderr)
        self.assertEqual(harness.run("schedule").returncode, 2)

    def test_workers(self):
        self.client.call("ENQUEUE", "q", "x")
        self.client.call("LEASE", "q", "WORKER", "w1")
        row = json.loads(self.vestq("workers", "--json").stdout)
        self.assertEqual((row["queue"], row["worker"], row["leases"]), ("q", "w1", 1))
        self.assertIn("w1", self.vestq("workers", "q").stdout)
        self.assertIn("NOTFOUND", self.vestq("workers", "nothing", status=1).stderr)


if __name__ == "__main__":
    unittest.main()
