#!/usr/bin/env python3
"""`vestq work`: what a command gets, what its end means, renewals, lost leases, signals, and a server that goes away."""

import json
import os
import re
import select
import signal
import socket
import threading
import unittest

import harness
from harness import Case, read_line, to_map


class CuttingProxy:
    """Passes bytes between a worker and the server; cuts the connection on which the first COMPLETE was sent before its
    answer gets through. Refuses nothing."""

    def __init__(self, port):
        self.port_behind = port
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen()
        self.port = self.listener.getsockname()[1]
        self.cuts = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                front, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(front,), daemon=True).start()

    def serve(self, front):
        back = socket.create_connection(("127.0.0.1", self.port_behind))
        asked = False
        with front, back:
            while True:
                for ready in select.select([front, back], [], [])[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    if ready is front:
                        asked = asked or (self.cuts == 0 and b"COMPLETE" in data)
                        back.sendall(data)
                    elif asked:
                        self.cuts += 1  # the server has carried it out: this is its answer
                        return
                    else:
                        front.sendall(data)

    def close(self):
        self.listener.close()


class Work(Case):
    def setUp(self):
        super().setUp()
        self.server = self.daemon()
        self.client = self.server.client()

    def enqueue(self, payload, *options, queue="q"):
        return self.client.call("ENQUEUE", queue, payload, *options)

    def job(self, ident):
        return to_map(self.client.call("JOB", ident))

    def worker(self, *command, options=(), queue="q", address=None, **more):
        return self.spawn("work", queue, *options, "--server", address or self.server.address, "--", *command, **more)

    def drain(self, *command, options=(), queue="q"):
        done = harness.run("work", queue, *options, "--drain", "--server", self.server.address, "--", *command)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def end(self, worker, how=signal.SIGTERM):
        worker.send_signal(how)
        out, err = worker.communicate(timeout=harness.DEADLINE)
        return worker.returncode, out.decode(), err.decode()

    def until(self, ident, state):
        """Asks until the job is in that state; bounded by the deadline of each answer and a count."""
        for _ in range(200_000):
            job = self.job(ident)
            if (job["state"].decode() if job else "gone") == state:
                return job
        self.fail(f"job {ident} did not become {state}: {job}")

    def test_the_payload_is_on_stdin_and_the_end_completes(self):
        idents = [self.enqueue(f"payload {i}\n") for i in range(20)]
        done = self.drain("cat", options=["--concurrency", "4"])
        self.assertEqual(sorted(done.stdout.splitlines()), sorted(f"payload {i}" for i in range(20)))
        self.assertEqual([self.job(i) for i in idents], [None] * 20)

    def test_json_counts_at_the_end(self):
        for text in ("good", "bad", "good"):
            self.enqueue(text, "ATTEMPTS", "1")
        done = self.drain("sh", "-c", '[ "$(cat)" = good ]', options=["--json"])
        self.assertEqual(json.loads(done.stderr.splitlines()[-1]),
                         {"completed": 2, "failed": 1, "lost": 0, "released": 0})

    def test_the_job_is_in_the_environment(self):
        ident = self.enqueue("x", "SPACE", "tenant", "ATTEMPTS", "7", "PRIORITY", "3").decode()
        done = self.drain("sh", "-c", "env | grep ^VESTQ_ | sort", queue="q")
        lines = dict(line.split("=", 1) for line in done.stdout.splitlines())
        receipt = lines.pop("VESTQ_RECEIPT")
        self.assertTrue(receipt.startswith(ident + "."), receipt)
        self.assertEqual(lines, {"VESTQ_SERVER": self.server.address, "VESTQ_ID": ident, "VESTQ_QUEUE": "q", "VESTQ_SPACE": "tenant", "VESTQ_ATTEMPT": "1",
                                 "VESTQ_ATTEMPTS": "7", "VESTQ_PRIORITY": "3"})

    def test_type_headers_and_checkpoint_are_in_the_environment(self):
        self.enqueue("x", "TYPE", "resize", "HEADER", "5", "trace-id", "a b", "n", "1", "N", "2", b"\xff", "odd", "zero", b"\0")
        done = self.drain("sh", "-c", "env | grep -e ^VESTQ_HEADER_ -e ^VESTQ_TYPE | sort")
        self.assertEqual(done.stdout.splitlines(), ["VESTQ_HEADER_N=2", "VESTQ_HEADER_TRACE_ID=a b", "VESTQ_HEADER__=odd",
                                                    "VESTQ_TYPE=resize"])

    def test_stdout_becomes_the_result(self):
        ident = self.enqueue("x", "KEEP", "1h")
        done = self.drain("sh", "-c", r"printf 'a\0\377\n'", options=["--result"])
        self.assertEqual((done.stdout, self.job(ident)["result"]), ("", b"a\0\xff\n"))
        largest = self.enqueue("x", "KEEP", "1h")
        self.drain("head", "-c", str(1 << 20), "/dev/zero", options=["--result"])
        self.assertEqual(self.job(largest)["result"], bytes(1 << 20))

    def test_a_result_that_is_too_long_fails_the_job_and_a_failure_has_none(self):
        ident = self.enqueue("x", "KEEP", "1h", "BACKOFF", "fixed:1h")
        self.drain("head", "-c", str(8 << 20), "/dev/zero", options=["--result"])
        self.assertIn(b"longer than the largest RESULT, 1048576 bytes", self.job(ident)["last-error"])
        failed = self.enqueue("x", "BACKOFF", "fixed:1h")
        done = self.drain("sh", "-c", "echo half; echo why >&2; exit 1", options=["--result"])
        self.assertEqual((done.stdout, self.job(failed)["last-error"]), ("", b"why (exit status 1)"))

    def test_only_jobs_of_one_space(self):
        mine, other = self.enqueue("x", "SPACE", "mine"), self.enqueue("x", "SPACE", "other")
        none = self.enqueue("x")
        self.drain("true", options=["--space", "mine"])
        self.assertEqual((self.job(mine), self.job(other)["state"], self.job(none)["state"]), (None, b"ready", b"ready"))
        self.drain("true", options=["--space", ""])
        self.assertEqual((self.job(none), self.job(other)["state"]), (None, b"ready"))

    def test_a_command_saves_a_checkpoint_and_the_next_delivery_finds_it(self):
        ident = self.enqueue("x", "BACKOFF", "fixed:0")
        done = self.drain("sh", "-c", f'echo "at $VESTQ_CHECKPOINT"; [ -n "$VESTQ_CHECKPOINT" ] || '
                          f'{{ {harness.PROGRAM} checkpoint "page 17"; exit 1; }}')
        self.assertEqual(done.stdout.splitlines(), ["at ", "at page 17"])
        self.assertIsNone(self.job(ident))

    def test_checkpoint_by_hand(self):
        self.enqueue("x")
        receipt = to_map(self.client.call("LEASE", "q")[0])["receipt"].decode()
        words = ["checkpoint", "--receipt", receipt, "--server", self.server.address]
        done = harness.run(*words, "--stdin", "--json", "--for", "2m", stdin=b"\0\xff")
        self.assertGreater(json.loads(done.stdout)["lease-left"], 60_000, done.stderr)
        self.assertEqual(self.job(receipt.split(".")[0])["checkpoint"], b"\0\xff")
        self.assertEqual(harness.run(*words, "").returncode, 0)
        self.assertNotIn("checkpoint", self.job(receipt.split(".")[0]))
        self.assertEqual(harness.run(*words).returncode, 2)
        self.assertIn("65536", harness.run(*words, "--stdin", stdin=b"x" * 70_000).stderr)
        self.client.call("COMPLETE", receipt)
        late = harness.run(*words, "x")
        self.assertEqual(late.returncode, 1)
        self.assertIn("LEASELOST", late.stderr)
        self.assertIn("--receipt", harness.run("checkpoint", "x", env={}).stderr)

    def test_the_server_of_the_environment_stands_in_for_the_option(self):
        ident = harness.run("enqueue", "q", "x", env={"VESTQ_SERVER": self.server.address}).stdout.strip()
        self.assertEqual(self.job(ident)["state"], b"ready")

    def test_a_server_that_was_never_there_is_an_error(self):
        self.server.end()
        for options in ([], ["--drain"]):
            done = harness.run("work", "q", *options, "--server", self.server.address, "--", "true")
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, f"^vestq work: cannot reach {self.server.address}: ")

    def test_a_server_that_stays_away_is_given_up(self):
        worker = self.worker("cat", options=["--give-up", "300ms"])
        self.enqueue("shows that it works\n")
        self.assertEqual(read_line(worker.stdout), "shows that it works")
        self.server.end(signal.SIGKILL)
        self.assertEqual(worker.wait(harness.DEADLINE), 1)
        self.assertIn(b"for 300ms: giving up", worker.stderr.read())

    def test_drain_says_what_a_paused_queue_has_left(self):
        ident = self.enqueue("x")
        self.client.call("QUEUE", "PAUSE", "q")
        self.assertRegex(self.drain("true").stderr, '"q" is paused and gives no jobs out: 1 ready job left')
        self.assertEqual(self.job(ident)["state"], b"ready")
        self.assertIn('no queue "mial"', self.drain("true", queue="mial").stderr)

    def test_a_failing_command_fails_the_job_with_the_tail_of_stderr(self):
        ident = self.enqueue("x", "BACKOFF", "fixed:1h")
        self.drain("sh", "-c", "echo first >&2; echo it went wrong >&2; exit 3")
        job = self.job(ident)
        self.assertEqual((job["state"], job["attempt"]), (b"scheduled", 1))
        self.assertEqual(job["last-error"], b"first\nit went wrong (exit status 3)")

    def test_a_long_stderr_is_cut_to_its_end(self):
        ident = self.enqueue("x", "BACKOFF", "fixed:1h")
        self.drain("sh", "-c", "seq 1 20000 >&2; echo the end >&2; exit 1")
        reason = self.job(ident)["last-error"].decode()
        self.assertLessEqual(len(reason), 4096)
        self.assertGreater(len(reason), 4000)
        self.assertTrue(reason.endswith("20000\nthe end (exit status 1)"), reason[-80:])

    def test_a_command_that_a_signal_ends_fails(self):
        ident = self.enqueue("x", "BACKOFF", "fixed:1h")
        self.drain("sh", "-c", "kill -9 $$")
        self.assertEqual(self.job(ident)["last-error"], b"killed by signal 9 (Killed)")

    def test_used_up_attempts_make_it_a_dead_letter(self):
        ident = self.enqueue("x", "ATTEMPTS", "2", "BACKOFF", "fixed:0")
        self.drain("false")
        self.assertEqual(self.job(ident)["state"], b"dead")

    def test_large_payloads_to_commands_that_read_them_or_do_not(self):
        payload = os.urandom(900_000)
        idents = [self.enqueue(payload) for _ in range(3)]
        self.drain("true")
        self.assertEqual([self.job(i) for i in idents], [None] * 3)
        ident = self.enqueue(payload)
        self.assertEqual(self.drain("sh", "-c", "wc -c").stdout.strip(), str(len(payload)))
        self.assertIsNone(self.job(ident))

    def test_lines_of_several_commands_stay_whole(self):
        for i in range(30):
            self.enqueue(str(i))
        done = self.drain("sh", "-c", 'n=$(cat); for i in $(seq 50); do printf "%s-" "$n"; printf "%s\n" "$n"; done',
                          options=["--concurrency", "8"])
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 1500)
        self.assertEqual([line for line in lines if len(set(line.split("-"))) != 1], [])

    def test_a_process_that_was_left_behind_holds_up_nobody(self):
        ident = self.enqueue("x")
        done = self.drain("sh", "-c", "sleep 600 & echo $!")
        self.assertIsNone(self.job(ident))
        os.kill(int(done.stdout), signal.SIGKILL)

    def test_a_command_longer_than_its_lease_is_renewed(self):
        ident = self.enqueue("x", "LEASE", "300ms")
        self.drain("sleep", "1.5")
        self.assertIsNone(self.job(ident))
        info = to_map(self.client.call("QUEUE", "INFO", "q"))
        self.assertEqual((info["leases"], info["expired"]), (1, 0))

    def test_a_lost_lease_kills_the_whole_process_group(self):
        ident = self.enqueue("x")
        worker = self.worker("sh", "-c", "sleep 600 & echo $$ $!; wait", options=["--lease", "300ms"])
        pids = [int(word) for word in read_line(worker.stdout).split()]
        self.assertEqual(self.client.call("CANCEL", ident), 1)
        for pid in pids:
            self.assertTrue(harness.wait_gone(pid, 10), f"process {pid} still runs")
        status, _, errors = self.end(worker)
        self.assertEqual(status, 0)
        self.assertIn(f"job {ident.decode()} attempt 1: lease lost", errors)

    def test_sigterm_finishes_what_runs_and_leases_no_more(self):
        os.mkfifo(self.path("gate"))
        first = self.enqueue("first")
        worker = self.worker("sh", "-c", f"cat; echo; cat {self.path('gate')}")
        self.assertEqual(read_line(worker.stdout), "first")
        second = self.enqueue("second")
        worker.send_signal(signal.SIGTERM)
        self.assertIn("SIGTERM", read_line(worker.stderr))
        self.assertEqual(self.job(first)["state"], b"leased")
        with open(self.path("gate"), "w", encoding="utf-8"):
            pass
        self.assertEqual(worker.wait(harness.DEADLINE), 0)
        self.assertIsNone(self.job(first))
        self.assertEqual((self.job(second)["state"], self.job(second)["attempt"]), (b"ready", 0))

    def test_sigterm_ends_a_waiting_worker_at_once(self):
        worker = self.worker("cat")
        ident = self.enqueue("shows that it waits\n")
        self.assertEqual(read_line(worker.stdout), "shows that it waits")
        self.until(ident, "gone")
        self.assertEqual(self.end(worker)[0], 0)
        later = self.enqueue("nobody takes this")
        self.assertEqual(self.job(later)["state"], b"ready")

    def test_a_second_sigterm_kills_the_command_and_gives_the_job_back(self):
        ident = self.enqueue("x")
        worker = self.worker("sh", "-c", "echo $$; exec sleep 600")
        pid = int(read_line(worker.stdout))
        worker.send_signal(signal.SIGTERM)
        self.assertIn("SIGTERM", read_line(worker.stderr))
        status, _, errors = self.end(worker)
        self.assertEqual(status, 0, errors)
        self.assertTrue(harness.wait_gone(pid, 10))
        self.assertEqual((self.job(ident)["state"], self.job(ident)["attempt"]), (b"ready", 0))

    def test_a_killed_worker_takes_its_command_with_it_and_the_job_comes_back(self):
        ident = self.enqueue("x")
        worker = self.worker("sh", "-c", "echo $$; exec sleep 600", options=["--lease", "500ms"])
        pid = int(read_line(worker.stdout))
        worker.kill()
        self.assertTrue(harness.wait_gone(pid, 10), "the command outlived its worker")
        leased = to_map(self.client.call("LEASE", "q", "BLOCK", "20s")[0])
        self.assertEqual((leased["id"], leased["attempt"]), (ident, 2))

    def test_a_server_that_comes_back_finds_the_worker_renewing(self):
        os.mkfifo(self.path("gate"))
        ident = self.enqueue("x")
        worker = self.worker("sh", "-c", f"echo here; cat {self.path('gate')}", options=["--lease", "5s"])
        self.assertEqual(read_line(worker.stdout), "here")
        self.server.end(signal.SIGKILL)
        self.server.start()
        self.client = self.server.client()
        job = self.job(ident)
        self.assertEqual((job["state"], job["attempt"]), (b"leased", 1))
        with open(self.path("gate"), "w", encoding="utf-8"):
            pass
        self.until(ident, "gone")
        self.assertEqual(self.end(worker)[0], 0)

    def test_an_unanswered_complete_is_asked_again(self):
        proxy = CuttingProxy(self.server.port)
        self.addCleanup(proxy.close)
        ident = self.enqueue("x")
        worker = self.worker("echo", "done", address=f"127.0.0.1:{proxy.port}")
        lines = []
        while "carried out" not in (lines or [""])[-1]:
            lines.append(read_line(worker.stderr))
            self.assertTrue(lines[-1], lines)
        self.assertEqual(proxy.cuts, 1)
        self.assertTrue([line for line in lines if "COMPLETE unanswered" in line], lines)
        self.assertIsNone(self.job(ident))
        self.assertEqual(self.end(worker)[0], 0)

    def test_a_lease_that_the_server_refuses_ends_the_worker(self):
        worker = self.worker("cat", options=["--worker", "w" * 201])
        self.assertEqual(worker.wait(harness.DEADLINE), 1)
        self.assertRegex(worker.stderr.read().decode(), re.compile("LEASE: RANGE"))

    def tearDown(self):
        self.client.close()
        super().tearDown()


if __name__ == "__main__":
    harness.main()
