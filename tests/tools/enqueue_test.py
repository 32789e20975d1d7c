#!/usr/bin/env python3
"""`vestq enqueue`: where the payload comes from, options, many lines at once, and what it says when it goes wrong."""

import json
import os
import unittest

import harness
from harness import DaemonCase, to_map


class Enqueue(DaemonCase):
    def enqueue(self, *words, stdin=b"", status=0):
        done = harness.run("enqueue", *words, "--server", self.server.address, stdin=stdin)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def job(self, ident):
        return to_map(self.client.call("JOB", ident.strip(), "PAYLOAD"))

    def test_a_payload_on_the_command_line(self):
        job = self.job(self.enqueue("q", "hello").stdout)
        self.assertEqual((job["queue"], job["payload"], job["state"]), (b"q", b"hello", b"ready"))

    def test_an_empty_payload_and_one_that_begins_with_a_dash(self):
        self.assertEqual(self.job(self.enqueue("q", "").stdout)["payload"], b"")
        done = harness.run("enqueue", "--server", self.server.address, "--", "q", "--lines")
        self.assertEqual(self.job(done.stdout)["payload"], b"--lines")

    def test_any_bytes_from_stdin_and_from_a_file(self):
        content = bytes(range(256)) * 1000
        self.assertEqual(self.job(self.enqueue("q", "--stdin", stdin=content).stdout)["payload"], content)
        with open(self.path("payload"), "wb") as file:
            file.write(content)
        self.assertEqual(self.job(self.enqueue("q", "--file", self.path("payload")).stdout)["payload"], content)
        self.assertIn("absent", self.enqueue("q", "--file", self.path("absent"), status=1).stderr)

    def test_options_reach_the_job(self):
        job = self.job(self.enqueue("q", "x", "--space", "tenant 7", "--priority", "5", "--delay", "1h", "--attempts",
                                    "3", "--lease", "2m", "--backoff", "fixed:30s").stdout)
        self.assertEqual((job["space"], job["priority"], job["attempts"], job["state"]),
                         (b"tenant 7", 5, 3, b"scheduled"))
        self.assertEqual(self.job(self.enqueue("q", "x", "--at", "2100-01-01T00:00:00Z").stdout)["state"], b"scheduled")

    def test_after_waits_for_other_jobs(self):
        first, second = (self.enqueue("p", "x").stdout.strip() for _ in range(2))
        child = self.enqueue("c", "x", "--after", first + "," + second).stdout
        self.assertEqual((self.job(child)["state"], self.job(child)["waits-for"]), (b"waiting", 2))
        child = self.enqueue("c", "--after", first, "--after", second, "x").stdout
        self.assertEqual(self.job(child)["waits-for"], 2)
        shown = harness.run("peek", "c", "--state", "waiting", "--server", self.server.address)
        self.assertIn("waits-for: 2", shown.stdout)
        self.assertIn("NOTFOUND", self.enqueue("c", "x", "--after", "123456789", status=1).stderr)

    def test_json(self):
        self.assertTrue(self.job(json.loads(self.enqueue("q", "x", "--json").stdout)["id"]))

    def test_what_the_server_refuses_is_said_in_its_words(self):
        self.assertIn("RANGE", self.enqueue("q" * 201, "x", status=2).stderr)
        self.assertIn("30s", self.enqueue("q", "x", "--delay", "30", status=2).stderr)
        self.assertIn("TOOBIG", self.enqueue("q", "--stdin", stdin=b"x" * (2 << 20), status=1).stderr)

    def test_each_line_is_a_job_and_ids_come_in_order(self):
        lines = [b"line %d" % i for i in range(5000)] + [b"", b"last, without an end"]
        ids = self.enqueue("q", "--lines", stdin=b"\n".join(lines)).stdout.split()
        self.assertEqual(len(ids), len(lines))
        self.assertEqual(len(set(ids)), len(lines))
        for at in (0, 1, 2500, 4999, 5000, 5001):
            self.assertEqual(self.job(ids[at])["payload"], lines[at])

    def test_lines_together_are_one_command(self):
        done = self.enqueue("q", "--lines", "--together", "--space", "s", stdin=b"one\n\nthree")
        self.assertEqual([self.job(i)["payload"] for i in done.stdout.split()], [b"one", b"", b"three"])
        self.assertEqual(self.enqueue("q", "--lines", "--together").stdout, "")
        lines = b"\n".join(b"x" for _ in range(1001))
        self.assertIn("RANGE", self.enqueue("r", "--lines", "--together", stdin=lines, status=2).stderr)
        self.enqueue("r", "--lines", "--together", "--unique", "k", stdin=b"x", status=2)
        self.assertEqual(harness.run("queue", "info", "r", "--server", self.server.address).returncode, 1)

    def test_no_line_is_no_job(self):
        self.assertEqual(self.enqueue("q", "--lines").stdout, "")

    def test_a_refused_line_is_named_and_the_others_go_on(self):
        lines = [b"first", b"x" * (2 << 20), b"third"]
        done = self.enqueue("q", "--lines", stdin=b"\n".join(lines), status=1)
        self.assertIn("line 2: TOOBIG", done.stderr)
        self.assertEqual([self.job(i)["payload"] for i in done.stdout.split()], [b"first", b"third"])

    def test_a_connection_that_goes_away_tells_which_lines_are_unsure(self):
        read_end, write_end = os.pipe()
        process = self.spawn("enqueue", "q", "--lines", "--server", self.server.address, stdin=read_end)
        os.close(read_end)
        self.addCleanup(os.close, write_end)
        os.write(write_end, b"".join(b"%d\n" % i for i in range(1100)))
        first = harness.read_line(process.stdout)
        self.assertTrue(first.isdigit())
        self.server.process.kill()
        self.server.process.wait()
        os.write(write_end, b"".join(b"%d\n" % i for i in range(1100)))
        _, errors = process.communicate(timeout=harness.DEADLINE)
        self.assertEqual(process.returncode, 1)
        self.assertRegex(errors.decode(), r"lines \d+ to \d+ were sent and may or may not be enqueued")


class Refused(harness.DaemonCase):
    def test_lines_that_are_refused_for_one_reason_are_told_once(self):
        words = ["enqueue", "q", "--lines", "--server", self.server.address]
        done = harness.run(*words, "--backoff", "odd", stdin=b"x\n" * 3000)
        self.assertEqual(done.returncode, 1)
        said = done.stderr.splitlines()
        self.assertLess(len(said), 10)  # one, or more when the pipe was empty for a moment
        self.assertRegex(said[0], "^vestq enqueue: lines 1 to [0-9]+: ERR BACKOFF")
        self.assertRegex(said[-1], "lines [0-9]+ to 3000: ERR BACKOFF")
        done = harness.run(*words, stdin=b"a\n" + b"x" * (2 << 20) + b"\nb\n")
        self.assertRegex(done.stderr, "^vestq enqueue: line 2: TOOBIG .*\n$")
        self.assertEqual(len(done.stdout.splitlines()), 2)

    def test_how_many_payloads_were_given(self):
        self.assertIn("there are 2", self.vestq("enqueue", "q", "x", "--lines", status=2).stderr)
        self.assertIn("there is none", self.vestq("enqueue", "q", status=2).stderr)

    def test_a_header_needs_a_name(self):
        self.assertIn("NAME=VALUE", self.vestq("enqueue", "q", "x", "--header", "=b", status=2).stderr)


if __name__ == "__main__":
    harness.main()
