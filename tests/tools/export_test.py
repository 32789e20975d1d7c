#!/usr/bin/env python3
"""`vestq export` and `vestq import` in json: every field, interruptions, bad lines, what is left out."""

import base64
import json
import os
import signal
import subprocess
import time

import harness
from harness import DaemonCase, to_map


class Moving(DaemonCase):
    """What the tests here share."""

    def export(self, *more, server=None, status=0):
        done = harness.run("export", *more, "--server", (server or self.server).address)
        self.assertEqual(done.returncode, status, done.stderr)
        return [json.loads(one) for one in done.stdout.split("\n") if one], done.stderr

    def load(self, lines, *more, server=None, status=0):
        text = "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines)
        done = harness.run("import", *more, "--json", "--server", (server or self.server).address, stdin=text.encode())
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout or "null"), done.stderr

    def other(self):
        other = self.daemon(data=self.path("other"))
        client = other.client()
        self.addCleanup(client.close)
        return other, client

    def info(self, queue, client=None):
        return to_map((client or self.client).call("QUEUE", "INFO", queue))


class Export(Moving):
    def test_every_field_is_kept(self):
        at = int(time.time() * 1000) + 7_200_000
        full = ["SPACE", "sp\u00e4ce\n", "PRIORITY", "0", "ATTEMPTS", "0", "BACKOFF", "list:1s,90m", "LEASE", "61s", "UNIQUE",
                b"k\xff", "FOR", "3h", "EXPIRE", "4d", "KEEP", "5m", "TYPE", "resize", "HEADER", "3", "n", "a b", "n", "again",
                "", "", "AT", at]
        first = self.client.call("ENQUEUE", "q", "full \u2028 text", *full)[0].decode()
        second = self.client.call("ENQUEUE", "q", bytes(range(256)), "SPACE", b"\xfe", "HEADER", 1, b"\x80", b"\0").decode()
        zeros = self.client.call("ENQUEUE", "q", bytes(1000)).decode()
        jobs, _ = self.export()
        by_id = {job["id"]: job for job in jobs}
        self.assertEqual(set(by_id), {first, second, zeros})
        self.assertEqual(by_id[zeros]["payload"], "\0" * 1000)
        job = by_id[first]
        enqueued, left = job.pop("enqueued"), job.pop("vests-in")
        self.assertLess(abs(enqueued - time.time() * 1000), 60_000)
        self.assertLess(abs(enqueued + left - at), 60_000)
        self.assertEqual(job, {
            "id": first, "state": "scheduled", "queue": "q", "space": "sp\u00e4ce\n", "priority": 0, "attempt": 0,
            "attempts": 0, "vests": at, "backoff": "list:1s,90m", "lease": 61_000,
            "unique-base64": base64.b64encode(b"k\xff").decode(), "unique-for": 10_800_000, "expire": 345_600_000,
            "keep": 300_000, "type": "resize", "headers": [["n", "a b"], ["n", "again"], ["", ""]], "size": 13,
            "payload": "full \u2028 text"})
        job = by_id[second]
        self.assertEqual((job["space-base64"], base64.b64decode(job["payload-base64"]), job["headers-base64"]),
                         ("/g==", bytes(range(256)), [["gA==", "AA=="]]))

        other, client = self.other()
        self.assertEqual(self.load(jobs, server=other)[0], {"imported": 3, "there": 0, "held": 0, "skipped": 0})
        jobs, _ = self.export(server=other)
        self.assertEqual(len(jobs), 3)
        for job in jobs:
            headers = job.pop("headers", None) or [[base64.b64decode(part).decode("latin-1") for part in pair]
                                                   for pair in job.pop("headers-base64")]
            source = by_id[headers[-1][1]]
            self.assertEqual(headers[-1][0], "source-id")
            self.assertEqual(len(headers), 1 + len(source.get("headers", source.get("headers-base64", []))))
            for field in ("id", "enqueued", "vests-in", "headers", "headers-base64"):
                job.pop(field, None)
                source.pop(field, None)
            if job["state"] == "ready":
                job.pop("vests"), source.pop("vests")
            self.assertEqual(job, source)
        _, found = client.call("PEEK", "q", "STATE", "scheduled", "PAYLOAD")
        self.assertEqual(to_map(found[0])["unique"], b"k\xff")

    def test_a_leased_job_vests_at_its_deadline_and_a_retry_when_it_would(self):
        for _ in range(2):
            self.client.call("ENQUEUE", "q", "x", "EXPIRE", "1h")
        one, two = map(to_map, self.client.call("LEASE", "q", "COUNT", "2", "FOR", "1h", "WORKER", "w 1"))
        self.client.call("CHECKPOINT", one["receipt"], b"page 7")
        self.client.call("FAIL", two["receipt"], "DELAY", "2h", "REASON", "no route")
        jobs = {job["id"]: job for job in self.export()[0]}
        leased, retry = jobs[one["id"].decode()], jobs[two["id"].decode()]
        self.assertEqual((leased["state"], leased["worker"], leased["checkpoint"], leased["attempt"]),
                         ("leased", "w 1", "page 7", 1))
        self.assertEqual((retry["state"], retry["last-error"], retry["attempt"]), ("scheduled", "no route", 1))
        self.assertNotIn("expire", leased)  # it has been leased, so it never lapses
        other, client = self.other()
        self.load(jobs.values(), server=other)
        _, found = client.call("PEEK", "q", "STATE", "scheduled")
        self.assertEqual(sorted(to_map(job)["vests"] for job in found), sorted([leased["deadline"], retry["vests"]]))

    def test_which_jobs(self):
        for queue in ("a", "b", "c"):
            for space in ("", "s"):
                for _ in range(3):
                    self.client.call("ENQUEUE", queue, "x", "SPACE", space)
        job = to_map(self.client.call("LEASE", "a")[0])
        self.client.call("FAIL", job["receipt"], "DEAD", "REASON", "bad")
        jobs, said = self.export()
        self.assertEqual(len(jobs), 17)
        self.assertIn("17 jobs of 3 queues, 1 dead left out", said)
        self.assertEqual({job["queue"] for job in self.export("--queue", "a", "--queue", "c")[0]}, {"a", "c"})
        self.assertEqual(len(self.export("--space", "s")[0]), 9)
        self.assertEqual(len(self.export("--space", "")[0]), 8)
        jobs, said = self.export("--state", "dead,leased", "--json")
        self.assertEqual([(job["state"], job["last-error"]) for job in jobs], [("dead", "bad")])
        self.assertEqual(json.loads(said), {"exported": 1, "queues": 3, "skipped": 0, "left_out": {"ready": 17}})
        self.assertIn("NOTFOUND", self.export("--queue", "absent", status=1)[1])
        self.export("--state", "waiting", status=2)
        self.export("--format", "xml", status=2)
        def counts():
            return {key: value for key, value in self.info("b").items() if not key.startswith("oldest-")}
        before = counts()
        self.export()
        self.assertEqual(counts(), before)

    def test_dead_letters_only_on_request(self):
        job = {"queue": "q", "payload": "x", "state": "dead", "id": "7", "enqueued": 5, "reason": "r", "last-error": "e"}
        self.assertIn("line 1: state: a dead letter; --redrive", self.load([job], status=1)[1])
        self.assertEqual(self.load([job], "--redrive")[0]["imported"], 1)
        self.assertEqual(self.info("q")["ready"], 1)
        self.load([job], "--redrive", "--format", "fdb", status=2)

    def test_lines_by_hand(self):
        lines = ['{"queue":"mail","payload":"a"}', "", '{"queue":"mail","payload":"a"}',
                 '{"payload-base64":"/w==","queue":"mail","priority":5,"type":"t"}']
        self.assertEqual(self.load(lines)[0], {"imported": 3, "there": 0, "held": 0, "skipped": 0})
        self.assertEqual(self.load(lines)[0], {"imported": 0, "there": 3, "held": 0, "skipped": 0})
        self.assertEqual(self.load(lines, "--window", "0")[0], {"imported": 3, "there": 0, "held": 0, "skipped": 0})
        job = to_map(self.client.call("LEASE", "mail")[0])
        self.assertEqual((job["payload"], job["priority"], job["type"]), (b"\xff", 5, b"t"))
        self.assertFalse([one for one in self.export()[0] if "unique" in one])
        with open(self.path("file"), "w", encoding="utf-8") as file:
            file.write(lines[0])
        self.assertEqual(self.vestq("import", self.path("file"), "--window", "0").stdout, "1 imported\n")
        self.vestq("import", self.path("absent"), status=1)
        self.vestq("import", self.path("file"), "--window", "5", status=2)

    def test_a_time_by_hand_may_be_rfc_3339(self):
        self.assertEqual(self.load([{"queue": "later", "payload": "a", "vests": "2033-01-31T08:00:00Z"}])[0]["imported"], 1)
        job = self.client.call("PEEK", "later", "STATE", "scheduled")[1][0]
        self.assertEqual(to_map(job)["vests"], 1990771200000)
        self.assertIn("vests 'soon': a time is expected",
                      self.load([{"queue": "later", "payload": "a", "vests": "soon"}], status=1)[1])
        self.assertIn("--window 0 adds them", harness.run("import", "--help").stdout)

    def test_progress_goes_to_a_terminal_only(self):
        self.client.call("ENQUEUE", "q", "x")
        self.assertNotIn("\r", self.export()[1])
        leader, follower = os.openpty()
        self.addCleanup(os.close, leader)
        done = subprocess.run([harness.PROGRAM, "export", "--server", self.server.address], stdout=subprocess.PIPE,
                              stderr=follower, timeout=harness.DEADLINE, check=False)
        os.close(follower)
        self.assertEqual(done.returncode, 0)
        said = os.read(leader, 4096).decode()
        self.assertIn("\rvestq export: 1 jobs exported\r\n", said)
        self.assertIn("vestq export: 1 job of 1 queue", said)

    def test_a_unique_key_of_its_own_is_kept_and_counted(self):
        lines = [{"queue": "q", "payload": "one", "id": "1", "unique": "k"}, {"queue": "q", "payload": "two", "id": "2",
                                                                            "unique": "k"}]
        self.assertEqual(self.load(lines)[0], {"imported": 1, "there": 0, "held": 1, "skipped": 0})
        self.assertEqual([(job["payload"], job["unique"]) for job in self.export()[0]], [("one", "k")])
        self.assertIn("2 not added, their unique keys are held", harness.run(
            "import", "--server", self.server.address, stdin="".join(map(json.dumps, lines)).replace("}{", "}\n{").encode()).stdout)

    def test_a_full_header_takes_no_more(self):
        job = {"queue": "q", "payload": "x", "id": "9", "headers": [["n", str(i)] for i in range(64)]}
        self.load([job])
        self.assertEqual(self.export()[0][0]["headers"], job["headers"])

    def test_what_cannot_be_carried_is_named_with_its_line(self):
        good = {"queue": "q", "payload": "x"}
        bad = [("nonsense", "a JSON object"), ("7", "a JSON object"), ('{"queue":"q","payload":"\\ud800"}', "a JSON object"),
               ({"payload": "x"}, "queue: a name"), ({"queue": "q"}, "payload: a string"),
               ({**good, "queue": 5}, "queue: a string"), ({**good, "queue": "q" * 201}, "queue name"),
               ({**good, "queue": "a b"}, "queue name"), ({**good, "payload": None}, "payload: a string"),
               ({**good, "payload-base64": "eA=="}, "contradict"), ({"queue": "q", "payload-base64": "e"}, "base64"),
               ({**good, "prioritty": 5}, "'prioritty' is no field of a job"), ({**good, "priority-base64": ""}, "no field"),
               ('{"queue":"q","payload":"a","payload":"b"}', "'payload' stands there twice"),
               ({**good, "priority": -1}, "priority: a whole number"), ({**good, "priority": 1.5}, "priority: a whole number"),
               ({**good, "priority": "5"}, "priority: a whole number"), ({**good, "priority": 2 ** 32}, "RANGE PRIORITY"),
               ({**good, "space": "s" * 201}, "RANGE"), ({**good, "attempts": 10 ** 10}, "RANGE ATTEMPTS"),
               ({**good, "backoff": "5s"}, "ERR"), ({**good, "lease": 1}, "RANGE LEASE"), ({**good, "unique": ""}, "RANGE UNIQUE"),
               ({**good, "unique-for": 5}, "ERR"), ({**good, "type": "t" * 201}, "RANGE TYPE"),
               ({**good, "state": "done"}, "state: a job that is done"), ({**good, "state": "waiting"}, "state"),
               ({**good, "state": "running"}, "state: ready, scheduled"), ({**good, "state": "scheduled"}, "vests: "),
               ({**good, "state": "scheduled", "vests": 2 ** 48}, "RANGE AT"),
               ({**good, "vests": 1_796_075_448}, "vests 1796075448: Unix milliseconds"),
               ({**good, "headers": {"a": "b"}}, "headers: "), ({**good, "headers": [["a"]]}, "headers: "),
               ({**good, "headers": [["a", 1]]}, "headers: "), ({**good, "headers-base64": [["a", "b"]]}, "headers: "),
               ({**good, "headers": [["a", "b"]] * 65}, "HEADER"), ({**good, "payload": "x" * (2 << 20)}, "TOOBIG")]
        counts, said = self.load([good] + [one for one, _ in bad] + [good], "--skip-bad")
        self.assertEqual(counts, {"imported": 2, "there": 0, "held": 0, "skipped": len(bad)})
        said = said.splitlines()
        for number, (one, why) in enumerate(bad, 2):
            found = [text for text in said if f" line {number}: " in text]
            self.assertEqual(len(found), 1, (number, one, said))
            self.assertIn(why, found[0])
        self.assertIn("line 2: a JSON object", self.load([good, "nonsense", good], status=1)[1])
        # The answer of one that the daemon refuses comes when others are on their way: nothing is lost of them.
        counts, said = self.load([good, {**good, "priority": 2 ** 32}, good], "--window", "0", status=1)
        self.assertIn("line 2: RANGE PRIORITY", said)
        self.assertGreaterEqual(counts["imported"], 1)


    def test_a_line_by_hand_with_a_time_and_no_state_is_scheduled(self):
        self.load([{"queue": "q", "payload": "later", "vests": 4_102_444_800_000},
                   {"queue": "q", "payload": "now", "vests": 1_500_000_000_000}])
        jobs = {job["payload"]: job for job in self.export()[0]}
        self.assertEqual((jobs["later"]["state"], jobs["later"]["vests"]), ("scheduled", 4_102_444_800_000))
        self.assertEqual(jobs["now"]["state"], "ready")


class Interrupted(Moving):
    N = 12_000

    def setUp(self):
        super().setUp()
        self.lines = [json.dumps({"queue": "q", "id": str(i), "enqueued": 5, "payload": "p%d" % i}) for i in range(self.N)]

    def begin(self):
        """An import that has imported something and waits for more lines."""
        read_end, write_end = os.pipe()
        process = self.spawn("import", "--server", self.server.address, stdin=read_end)
        os.close(read_end)
        with os.fdopen(write_end, "wb", closefd=False) as pipe:
            pipe.write("".join(one + "\n" for one in self.lines[:self.N // 2]).encode())
        self.addCleanup(os.close, write_end)
        return process

    def finish(self):
        """All again: each job is there once."""
        counts, _ = self.load(self.lines)
        self.assertEqual(counts["imported"] + counts["there"], self.N)
        self.assertEqual(counts["skipped"], 0)
        return counts

    def payloads(self):
        return [job["payload"] for job in self.export()[0]]

    def test_killed_in_the_middle_and_begun_again(self):
        process = self.begin()
        done = []
        while len(done) < 100:
            done += [to_map(job) for job in self.client.call("LEASE", "q", "COUNT", "100", "BLOCK", "50s") or []]
        self.client.call("COMPLETEMANY", *[job["receipt"] for job in done])
        process.send_signal(signal.SIGKILL)
        process.wait(harness.DEADLINE)
        counts = self.finish()
        self.assertGreaterEqual(counts["there"], len(done))
        left = self.payloads()
        self.assertEqual(len(left), self.N - len(done), "what is done does not come again, nothing comes twice")
        self.assertEqual(set(left) | {job["payload"].decode() for job in done}, {"p%d" % i for i in range(self.N)})
        self.assertEqual(self.finish()["imported"], 0)

    def test_the_daemon_is_killed_and_comes_back(self):
        process = self.begin()
        self.client.call("LEASE", "q", "BLOCK", "50s", "FOR", "100ms")
        self.server.end(signal.SIGKILL)
        _, said = process.communicate(timeout=harness.DEADLINE)
        self.assertEqual(process.returncode, 1, said)
        self.assertRegex(said.decode(), "went away|cannot reach")
        self.assertIn("import the file again", said.decode())
        self.server.start()
        self.client.close()
        self.client = self.server.client()
        self.addCleanup(self.client.close)
        self.finish()
        self.assertEqual(sorted(self.payloads()), sorted("p%d" % i for i in range(self.N)))

    def test_a_closed_pipe_ends_an_export(self):
        self.load(self.lines)
        process = self.spawn("export", "--server", self.server.address)
        harness.read_line(process.stdout)
        process.stdout.close()
        process.stdout = None
        self.assertEqual(process.wait(harness.DEADLINE), 1)
        self.assertIn(b"cannot write", process.stderr.read())


if __name__ == "__main__":
    harness.main()
