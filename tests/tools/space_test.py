#!/usr/bin/env python3
"""`vestq space`, `vestq spaces`, and what a full queue says to `vestq enqueue`."""

import json

import harness
from harness import DaemonCase, to_map


class Spaces(DaemonCase):
    def info(self, space):
        return json.loads(self.vestq("space", "info", "q", space, "--json").stdout)

    def test_options_of_a_space_are_set_shown_and_unset(self):
        self.vestq("enqueue", "q", "x", "--space", "acme")
        self.vestq("space", "set", "q", "acme", "weight=5", "concurrency=2", "rate=0.5")
        info = self.info("acme")
        self.assertEqual((info["queue"], info["space"], info["ready"], info["weight"], info["concurrency"]),
                         ("q", "acme", 1, 5, 2))
        self.assertEqual(sorted(info["own"]), ["concurrency", "rate", "weight"])
        self.assertIn("0.5", str(info["rate"]))
        shown = self.vestq("space", "info", "q", "acme").stdout
        self.assertRegex(shown, r"(?m)^weight +5$")
        self.assertRegex(shown, r"(?m)^oldest-ready +[0-9.]+m?s$")
        self.assertRegex(shown, r"(?m)^own +\w+, \w+, \w+$")
        self.vestq("space", "set", "q", "acme", "weight=default", "rate=default", "concurrency=default")
        self.assertEqual(self.info("acme")["own"], [])
        self.assertEqual(self.info("")["space"], "")

    def test_a_paused_space_gives_nothing_out(self):
        self.vestq("enqueue", "q", "x", "--space", "acme")
        self.assertEqual(self.vestq("space", "pause", "q", "acme").stdout, "")
        self.assertEqual(json.loads(self.vestq("space", "pause", "q", "acme", "--json").stdout), {"ok": True})
        self.assertIsNone(self.client.call("LEASE", "q"))
        self.assertEqual(self.info("acme")["paused"], -1)
        self.assertRegex(self.vestq("space", "info", "q", "acme").stdout, r"(?m)^paused +until resumed$")
        self.vestq("space", "pause", "q", "acme", "--for", "1h")
        self.assertRegex(self.vestq("space", "info", "q", "acme").stdout, r"(?m)^paused +(1h|59m 59s)$")
        self.vestq("space", "resume", "q", "acme")
        self.assertEqual(len(self.client.call("LEASE", "q")), 1)

    def test_spaces_are_listed_over_pages(self):
        names = ["s%03d" % i for i in range(150)]
        for name in names:
            self.client.call("ENQUEUE", "q", "x", "SPACE", name)
        self.client.call("ENQUEUE", "q", "x", "SPACE", b"\xff")
        listed = [json.loads(line) for line in self.vestq("spaces", "q", "--json").stdout.splitlines()]
        self.assertEqual([one.get("space") for one in listed], names + [None])
        self.assertEqual(listed[-1]["space-base64"], "/w==")
        self.assertEqual({one["ready"] for one in listed}, {1})
        shown = self.vestq("spaces", "q").stdout.splitlines()
        self.assertRegex(shown[0], r"^SPACE +READY +OLDEST +LEASED +WEIGHT +CONCURRENCY +RATE +PAUSED$")
        self.assertRegex(shown[1], r"^s000 +1 +[0-9.]+m?s +0 +1 +none +none +no$")
        self.assertEqual(len(shown), 152)

    def test_what_is_wrong_is_said(self):
        self.assertIn("NOTFOUND", self.vestq("spaces", "none", status=1).stderr)
        self.assertIn("NOTFOUND", self.vestq("space", "info", "none", "s", status=1).stderr)
        self.assertIn("weight", self.vestq("space", "set", "q", "s", "weight=0", status=2).stderr)
        self.assertIn("OPTION=VALUE", self.vestq("space", "set", "q", "s", "weight", status=2).stderr)
        self.assertIn("there are: info, set, ", self.vestq("space", "dance", status=2).stderr)


class Room(DaemonCase):
    def test_a_full_queue_refuses_or_is_waited_for(self):
        self.vestq("queue", "set", "q", "max-jobs=1")
        ident = self.vestq("enqueue", "q", "x").stdout.strip()
        self.assertIn("FULL", self.vestq("enqueue", "q", "y", status=1).stderr)
        self.assertIn("FULL", self.vestq("enqueue", "q", "y", "--wait", "10ms", status=1).stderr)
        waiter = self.spawn("enqueue", "q", "z", "--wait", "1m", "--server", self.server.address)
        while to_map(self.client.call("QUEUE", "INFO", "q"))["enqueues-waiting"] == 0:
            self.assertIsNone(waiter.poll())
        self.client.call("CANCEL", ident)
        self.assertTrue(harness.read_line(waiter.stdout).isdigit())
        self.assertEqual(waiter.wait(harness.DEADLINE), 0)
        info = json.loads(self.vestq("queue", "info", "q", "--json").stdout)
        self.assertEqual((info["max-jobs"], info["ready"], info["refused"]), (1, 1, 2))


if __name__ == "__main__":
    harness.main()
