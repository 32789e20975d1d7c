#!/usr/bin/env python3
"""`vestq lease`, `renew`, `complete`, `fail`, `release`: a worker that is a script; and `vestq call`."""

import base64
import json

import harness
from harness import DaemonCase, to_map


class ByHand(DaemonCase):
    def enqueue(self, payload, *options):
        return self.client.call("ENQUEUE", "q", payload, *options).decode()

    def lease(self, *options):
        return [json.loads(line) for line in self.vestq("lease", "q", "--json", *options).stdout.splitlines()]

    def test_lease_shows_jobs_with_all_that_the_daemon_says(self):
        ids = [self.enqueue("job %d" % i, "SPACE", "s", "HEADER", "1", "a", "b", "TYPE", "t") for i in range(3)]
        jobs = self.lease("--count", "2", "--for", "1m", "--worker", "w", "--space", "s")
        self.assertEqual([(job["id"], job["payload"], job["headers"], job["type"]) for job in jobs],
                         [(ids[i], "job %d" % i, [["a", "b"]], "t") for i in range(2)])
        self.assertGreater(jobs[0]["lease-left"], 50_000)
        self.assertEqual(to_map(self.client.call("JOB", ids[0]))["worker"], b"w")
        shown = self.vestq("lease", "q").stdout
        self.assertRegex(shown, r"(?m)^receipt +" + ids[2])
        self.assertRegex(shown, r"(?m)^lease-left +(30s|29\.\ds)$")
        self.assertRegex(shown, r"(?m)^deadline +20\d\d-\d\d-\d\dT")
        self.assertEqual(self.vestq("lease", "q", status=6).stdout, "")
        self.assertEqual(self.vestq("lease", "q", "--block", "10ms", status=6).stderr, "")
        self.assertIn("must be 1 to 1000", self.vestq("lease", "q", "--count", "0", status=2).stderr)

    def test_a_payload_that_is_no_text(self):
        self.enqueue(bytes(range(256)))
        self.assertEqual(base64.b64decode(self.lease()[0]["payload-base64"]), bytes(range(256)))

    def test_renew_and_complete_with_a_result(self):
        ident = self.enqueue("x", "KEEP", "1h")
        receipt = self.lease()[0]["receipt"]
        self.assertEqual(self.vestq("renew", receipt, "--for", "2h").stdout, receipt + " renewed for 2h\n")
        left = json.loads(self.vestq("renew", receipt, "--for", "2h", "--json").stdout)
        self.assertEqual(left, {"receipt": receipt, "lease-left": 7_200_000})
        done = self.vestq("complete", receipt, "--result", "42", "--json").stdout
        self.assertEqual(json.loads(done), {"receipt": receipt, "completed": True})
        self.assertEqual(to_map(self.client.call("JOB", ident))["result"], b"42")
        self.assertIn("LEASELOST", self.vestq("complete", receipt, status=1).stderr)
        self.assertIn("LEASELOST", self.vestq("renew", receipt, status=1).stderr)

    def test_complete_takes_a_result_from_stdin(self):
        ident = self.enqueue("x", "KEEP", "1h")
        receipt = self.lease()[0]["receipt"]
        done = harness.run("complete", receipt, "--stdin", "--server", self.server.address, stdin=b"\0\xff")
        self.assertEqual(done.stdout, receipt + " completed\n", done.stderr)
        self.assertEqual(to_map(self.client.call("JOB", ident))["result"], b"\0\xff")

    def test_many_are_completed_each_for_itself(self):
        ids = [self.enqueue("x") for _ in range(3)]
        receipts = [job["receipt"] for job in self.lease("--count", "3")]
        self.client.call("CANCEL", ids[1])
        done = self.vestq("complete", *receipts, "--json", status=1)
        self.assertEqual([json.loads(line)["completed"] for line in done.stdout.splitlines()], [True, False, True])
        self.assertIn("1 of 3 leases", done.stderr)

    def test_fail_says_when_it_is_tried_again(self):
        ident = self.enqueue("x")
        receipt = self.lease()[0]["receipt"]
        self.assertEqual(self.vestq("fail", receipt, "--reason", "no", "--delay", "1h").stdout,
                         receipt + " failed, again in 1h\n")
        self.client.call("PROMOTE", ident)
        receipt = self.lease()[0]["receipt"]
        self.assertEqual(json.loads(self.vestq("fail", receipt, "--dead", "--json").stdout),
                         {"receipt": receipt, "failed": True, "dead": True})
        self.assertEqual(to_map(self.client.call("JOB", ident))["state"], b"dead")
        self.enqueue("y")
        receipt = self.lease()[0]["receipt"]
        shown = json.loads(self.vestq("fail", receipt, "--delay", "5s", "--json").stdout)
        self.assertEqual(shown, {"receipt": receipt, "failed": True, "dead": False, "retry-in": 5000})

    def test_release(self):
        ident = self.enqueue("x")
        receipt = self.lease()[0]["receipt"]
        self.vestq("release", receipt, "--delay", "1h", "--priority", "3")
        job = to_map(self.client.call("JOB", ident))
        self.assertEqual((job["state"], job["attempt"], job["priority"]), (b"scheduled", 0, 3))

    def test_call_sends_any_command(self):
        self.assertEqual(self.vestq("call", "SET", "k", "").stdout, "OK\n")
        self.assertEqual(self.vestq("call", "GET", "k").stdout, "\n")
        self.assertEqual(self.vestq("call", "GET", "other").stdout, "(null)\n")
        self.assertEqual(json.loads(self.vestq("call", "GET", "other", "--json").stdout), None)
        self.assertEqual(self.vestq("call", "MGET", "k", "other").stdout, "\n(null)\n")
        self.client.call("SET", "bytes", b"\xff")
        self.assertEqual(json.loads(self.vestq("call", "RANGE", "", "--json").stdout),
                         ["0", ["bytes", {"base64": "/w=="}, "k", ""]])
        self.assertEqual(json.loads(self.vestq("call", "DEL", "k", "--json").stdout), 1)
        self.assertIn("unknown command", self.vestq("call", "DANCE", status=1).stderr)
        done = harness.run("call", "--server", self.server.address, "--", "ECHO", "--json")
        self.assertEqual(done.stdout, "--json\n")


if __name__ == "__main__":
    harness.main()
