#!/usr/bin/env python3
"""`vestq work`: what exit statuses mean, a command that settles its job itself, and when a drained worker ends."""

import json
import os
import signal
import socket
import threading

import harness
from harness import DaemonCase, read_line, to_map


class Work(DaemonCase):
    def enqueue(self, payload, *options, queue="q"):
        return self.client.call("ENQUEUE", queue, payload, *options).decode()

    def job(self, ident):
        return to_map(self.client.call("JOB", ident))

    def words(self, options, queues):
        return ["work", *queues, *options, "--server", self.server.address]

    def worker(self, *command, options=(), queues=("q",)):
        return self.spawn(*self.words(options, queues), "--", *command)

    def drain(self, *command, options=(), queues=("q",)):
        done = harness.run(*self.words(["--drain", *options], queues), "--", *command)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done


class Ends(Work):
    def test_exit_status_65_is_a_dead_letter_at_once(self):
        ident = self.enqueue("x")
        done = self.drain("sh", "-c", "echo no such address >&2; exit 65")
        job = self.job(ident)
        self.assertEqual((job["state"], job["attempt"], job["last-error"]),
                         (b"dead", 1, b"no such address (exit status 65)"))
        self.assertIn(f"job {ident} attempt 1: failed: exit status 65; dead", done.stderr)

    def test_exit_status_75_is_again_after_the_time_given(self):
        ident = self.enqueue("x", "BACKOFF", "fixed:5d")
        done = self.drain("sh", "-c", "exit 75", options=["--again-in", "2h"])
        job = self.job(ident)
        self.assertEqual((job["state"], job["attempt"]), (b"scheduled", 1))
        self.assertTrue(7_000_000 < job["vests-in"] <= 7_200_000, job)
        self.assertRegex(done.stderr, f"job {ident} attempt 1: failed: exit status 75; again in (2h|1h 59m)")
        ident = self.enqueue("x")
        self.drain("sh", "-c", "exit 75")
        self.assertLessEqual(self.job(ident)["vests-in"], 60_000)
        self.assertGreater(self.job(ident)["vests-in"], 50_000)

    def test_other_statuses_can_be_named_and_the_last_attempt_is_the_last(self):
        first, second = self.enqueue("x"), self.enqueue("y")
        self.drain("sh", "-c", "exit 3", options=["--dead-on", "4,3", "--space", ""])
        self.assertEqual([self.job(i)["state"] for i in (first, second)], [b"dead"] * 2)
        kept = self.enqueue("x", "BACKOFF", "fixed:1h")
        self.drain("sh", "-c", "exit 65", options=["--dead-on", "0", "--again-on", "0"])
        self.assertEqual(self.job(kept)["state"], b"scheduled")
        last = self.enqueue("x", "ATTEMPTS", "1")
        done = self.drain("sh", "-c", "exit 75")
        self.assertEqual(self.job(last)["state"], b"dead")
        self.assertIn("exit status 75; dead", done.stderr)

    def test_the_log_says_when_a_failed_job_comes_back(self):
        ident = self.enqueue("x", "BACKOFF", "fixed:90s")
        self.assertRegex(self.drain("false").stderr, f"job {ident} attempt 1: failed: exit status 1; again in 1m (30|29)s?")

    def settled(self, how, state, *options):
        """A command that ends its lease by `how`; what the worker's log says."""
        ident = self.enqueue("x", *options)
        done = self.drain("sh", "-c", f"{harness.PROGRAM} {how} >&2; exit 1", options=["--json"])
        self.assertNotIn("will run again", done.stderr)
        self.assertRegex(done.stderr, f"job {ident} attempt 1: its lease was over before FAIL, ended by the command itself, "
                         f"cancelled, revoked or expired; the job is {state} now")
        self.assertEqual(json.loads(done.stderr.splitlines()[-1]), {"completed": 0, "failed": 0, "lost": 1, "released": 0})
        return ident

    def test_a_command_that_settles_its_job_itself(self):
        self.settled("complete $VESTQ_RECEIPT", r"gone \(done, or cancelled\)")
        self.settled("complete $VESTQ_RECEIPT --result 7", "done", "KEEP", "1h")
        self.settled("fail $VESTQ_RECEIPT --dead --reason gone", "dead")
        ident = self.settled("fail $VESTQ_RECEIPT --delay 3h", "scheduled")
        self.assertGreater(self.job(ident)["vests-in"], 10_000_000)
        self.settled("release $VESTQ_RECEIPT --delay 1h", "scheduled")

    def test_a_result_that_is_not_kept_is_warned_of_once(self):
        for payload in "ab":
            self.enqueue(payload)
        kept = self.enqueue("c", "KEEP", "1h", queue="kept")
        done = self.drain("cat", options=["--result"], queues=("q",))
        self.assertEqual(done.stderr.count("its result is dropped, the job is not kept"), 1, done.stderr)
        self.assertNotIn("dropped", self.drain("cat", options=["--result"], queues=("kept",)).stderr)
        self.assertEqual(self.job(kept)["result"], b"c")

    def test_a_result_that_the_server_does_not_take_fails_the_job(self):
        server = self.daemon("--max-payload", "64KiB", data=self.path("small"))
        client = server.client()
        self.addCleanup(client.close)
        ident = client.call("ENQUEUE", "q", "x", "KEEP", "1h", "BACKOFF", "fixed:1h")
        done = harness.run("work", "q", "--drain", "--result", "--server", server.address, "--", "head", "-c", "70000", "/dev/zero")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"the server does not take its result: TOOBIG", to_map(client.call("JOB", ident))["last-error"])

    def test_a_reason_is_cut_between_characters(self):
        for text in ("\u20ac", "\U0001f600", "\u00e4"):
            ident = self.enqueue("x", "BACKOFF", "fixed:1h")
            self.drain("sh", "-c", f"for i in $(seq 3000); do printf '{text}' >&2; done; exit 1")
            reason = self.job(ident)["last-error"].decode()  # strict: nothing is cut in two
            self.assertTrue(reason.endswith(text + " (exit status 1)"), reason[-30:])
            self.assertGreater(len(reason.encode()), 4080)

    def test_why_a_command_cannot_be_executed(self):
        plain = self.path("plain")
        with open(plain, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n")
        for command, why in ((plain, "it is not executable"), (self.folder, "it is no file"),
                             (self.path("absent"), "No such file"), ("no-such-program", "no folder of PATH")):
            self.assertIn(why, harness.run("work", "q", "--", command).stderr)


class Drains(Work):
    def test_a_rate_is_waited_for(self):
        self.client.call("QUEUE", "SET", "q", "rate", "20/s")
        for i in range(5):
            self.enqueue(f"{i}\n")
        done = self.drain("cat")
        self.assertEqual(done.stdout.split(), list("01234"))
        self.assertRegex(done.stderr, r'the queue "q": \d ready jobs?, held by a limit \(concurrency none, rate 20/s\): waiting')

    def test_a_space_s_rate_is_waited_for(self):
        self.client.call("SPACE", "SET", "q", "s", "rate", "20/s")
        for i in range(3):
            self.enqueue(f"{i}\n", "SPACE", "s")
        self.assertEqual(self.drain("cat", options=["--space", "s"]).stdout.split(), list("012"))

    def test_a_slot_that_another_worker_has_is_waited_for(self):
        self.client.call("QUEUE", "SET", "q", "concurrency", "1")
        self.enqueue("first")
        receipt = to_map(self.client.call("LEASE", "q")[0])["receipt"]
        self.enqueue("second\n")
        worker = self.worker("cat", options=["--drain"])
        self.assertIn("1 ready job, held by a limit (concurrency 1", read_line(worker.stderr))
        self.client.call("COMPLETE", receipt)
        self.assertEqual(read_line(worker.stdout), "second")
        self.assertEqual(worker.wait(harness.DEADLINE), 0)

    def test_a_pause_that_ends_is_waited_for(self):
        self.enqueue("x\n")
        self.client.call("QUEUE", "PAUSE", "q", "FOR", "700ms")
        done = self.drain("cat")
        self.assertEqual(done.stdout, "x\n")
        self.assertIn("a pause", done.stderr)

    def test_what_cannot_start_is_left_and_named(self):
        self.enqueue("x", queue="paused")
        self.client.call("QUEUE", "PAUSE", "paused")
        self.enqueue("x", queue="none")
        self.client.call("QUEUE", "SET", "none", "concurrency", "0")
        for space, option in (("a", ("pause", "yes")), ("b", ("concurrency", "0"))):
            self.enqueue("x", "SPACE", space, queue="spaces")
            self.client.call("SPACE", "SET", "spaces", space, *option)
        ran = self.enqueue("x", "SPACE", "c", queue="spaces")
        done = self.drain("true", queues=("paused", "none", "spaces", "absent"))
        self.assertEqual(done.stderr.splitlines(), [
            'vestq work: the queue "paused" is paused and gives no jobs out: 1 ready job left (vestq queue resume paused)',
            'vestq work: the queue "none" has concurrency 0 and gives no jobs out: 1 ready job left',
            'vestq work: the queue "spaces": 2 ready jobs left, of spaces that are paused or have concurrency 0 '
            '(vestq spaces spaces)',
            'vestq work: there is no queue "absent"'])
        self.assertIsNone(self.job(ran))

    def test_a_signal_ends_the_wait(self):
        self.client.call("QUEUE", "SET", "q", "rate", "0.001/s")
        for _ in range(2):
            self.enqueue("x")
        worker = self.worker("true", options=["--drain"])
        self.assertIn("waiting for them", read_line(worker.stderr))
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(harness.DEADLINE), 0)

    def test_a_queue_that_is_not_there_is_said_once_and_waited_for(self):
        worker = self.worker("cat", queues=("later",))
        self.assertEqual(read_line(worker.stderr), 'vestq work: there is no queue "later" yet: waiting for its first job')
        self.enqueue("here\n", queue="later")
        self.assertEqual(read_line(worker.stdout), "here")


class Silent(Work):
    def test_a_server_that_stops_answering_is_given_up(self):
        os.mkfifo(self.path("gate"))
        self.enqueue("x")
        worker = self.worker("sh", "-c", f"echo here; cat {self.path('gate')}",
                             options=["--lease", "300ms", "--timeout", "500ms", "--give-up", "500ms"])
        self.assertEqual(read_line(worker.stdout), "here")
        self.server.stop()
        try:
            lines = [read_line(worker.stderr) for _ in range(1)]
            self.assertRegex(lines[0], r"no connection to .*: no answer for 500ms \(--timeout\); trying again")
            with open(self.path("gate"), "w", encoding="utf-8"):
                pass
            self.assertEqual(worker.wait(harness.DEADLINE), 1)
            self.assertIn(b"giving up; 1 jobs are left unanswered", worker.stderr.read())
        finally:
            self.server.process.send_signal(signal.SIGCONT)

    def test_something_else_on_its_port_is_no_server(self):
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        self.addCleanup(listener.close)
        listener.listen()
        behind, web = socket.create_connection, threading.Event()

        def serve():
            while True:
                try:
                    front, _ = listener.accept()
                except OSError:
                    return
                if web.is_set():
                    front.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                    front.close()
                    continue
                back = behind(("127.0.0.1", self.server.port))
                threading.Thread(target=pump, args=(front, back), daemon=True).start()
                threading.Thread(target=pump, args=(back, front), daemon=True).start()
                pairs.extend((front, back))

        def pump(source, target):
            try:
                while data := source.recv(65536):
                    target.sendall(data)
            except OSError:
                pass

        pairs = []
        threading.Thread(target=serve, daemon=True).start()
        self.enqueue("x\n")
        worker = self.spawn("work", "q", "--give-up", "400ms", "--server", f"127.0.0.1:{port}", "--", "cat")
        self.assertEqual(read_line(worker.stdout), "x")
        web.set()
        for one in pairs:
            one.shutdown(socket.SHUT_RDWR)
        self.assertEqual(worker.wait(harness.DEADLINE), 1)
        errors = worker.stderr.read().decode()
        self.assertNotIn("connected to", errors)
        self.assertIn("giving up", errors)


if __name__ == "__main__":
    harness.main()
