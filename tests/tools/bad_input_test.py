#!/usr/bin/env python3
"""The program under bad input: a wrong option, address or data directory gives one clear line on stderr, an exit status
that is not 0, and nothing is changed."""

import os
import re
import shutil
import signal
import socket
import subprocess
import unittest

import harness
from harness import Case, run, tree_hash


class WrongOptions(Case):
    def refused(self, words, text, status=2):
        with self.subTest(words=words):
            done = run(*words, cwd=self.folder)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(text, done.stderr)
            self.assertNotIn("listening", done.stdout)
            self.assertEqual(os.listdir(self.folder), [], "something was left on disk")

    def test_serve_refuses_them_and_makes_nothing(self):
        for words, text in [
                (["--memory", "many"], "is not a size"),
                (["--memory", "-1"], "memory"),
                (["--memory", "1MiB"], "at least 16MiB"),
                (["--memory", "99999999999999999999GiB"], "is not a size"),
                (["--durability", "sometimes"], "sync, interval:50ms or os"),
                (["--durability", "interval:50"], "needs a unit"),
                (["--durability", "interval:0"], "1ms to 1h"),
                (["--io", "magic"], "auto, uring or epoll"),
                (["--resp", "7733"], "HOST:PORT"),
                (["--resp", "127.0.0.1:65536"], "HOST:PORT"),
                (["--resp", "127.0.0.1:-1"], "HOST:PORT"),
                (["--resp", ":7733"], "HOST:PORT"),
                (["--cores", "0"], "must be 1 to 64"),
                (["--cores", "-1"], "must be 1 to 64"),
                (["--cores", "65"], "1 to 64"),
                (["--cores", "two"], "cores"),
                (["--cores", "3", "--lanes", "2"], "more than --lanes 2"),
                (["--lanes", "0"], "must be 1 to 1024"),
                (["--lanes", "1025"], "1 to 1024"),
                (["--lanes", "99999999999999999999"], "must be 1 to 1024"),
                (["--max-leased", "0"], "must be 1 to 1000000000"),
                (["--max-leased", "-5"], "must be 1 to 1000000000"),
                (["--max-leased", "18446744073709551616"], "must be 1 to 1000000000"),
                (["--max-payload", "much"], "--max-payload: \"much\" is not a size"),
                (["--max-payload", "1KiB"], "must be 64KiB to 16MiB"),
                (["--max-payload", "17MiB"], "must be 64KiB to 16MiB: with --memory 256MiB a sixteenth of it"),
                (["--max-payload", "65MiB", "--memory", "2GiB"], "must be 64KiB to 64MiB"),
                (["--data", ""], "--data"),
                (["--no-such-option"], "--no-such-option"),
                (["surplus"], "surplus")]:
            self.refused(["serve", *words], text)

    def test_other_sub_commands_refuse_them(self):
        for words, text in [
                ([], "vestq: a sub-command is missing; there are: serve, "),
                (["dance"], 'vestq: there is no sub-command "dance"; there are: serve, '),
                (["schedule", "dance"], 'vestq schedule: there is no sub-command "dance"; there are: set, get, '),
                (["queue"], "vestq queue: a sub-command is missing; there are: list, info, set, "),
                (["queue", "--json"], "vestq queue: a sub-command stands before \"--json\"; there are: list, "),
                (["enqueue"], "vestq enqueue: QUEUE is required; `vestq enqueue --help` tells more"),
                (["queue", "set", "q"], "vestq queue set: "),
                (["peek", "q", "--odd"], "vestq peek: "),
                (["serve", "--odd"], "vestq serve: "),
                ([], "vestq: "),
                (["enqueue", "q"], "PAYLOAD, --stdin, --file or --lines"),
                (["enqueue", "q", "a", "--stdin"], "PAYLOAD, --stdin, --file or --lines"),
                (["enqueue", "q", "a", "--server", "nowhere"], "HOST:PORT"),
                (["work", "q"], "--"),
                (["work", "q", "--"], "--"),
                (["work", "--", "true"], "QUEUE"),
                (["work", "q", "--concurrency", "0", "--", "true"], "1 to 1000"),
                (["work", "q", "--concurrency", "1001", "--", "true"], "1 to 1000"),
                (["work", "q", "--lease", "30", "--", "true"], "30s"),
                (["work", "q", "--lease", "1ms", "--", "true"], "100ms to 7d"),
                (["work", "q", "--server", "x", "--", "true"], "HOST:PORT"),
                (["work", "q", "--", "/no/such/program"], "cannot be executed"),
                (["work", "q", "--", "/tmp"], "cannot be executed"),
                (["work", "q", "--", "/etc/passwd"], "cannot be executed"),
                (["work", "q", "--", "no-such-program-anywhere"], "cannot be executed"),
                (["purge", "q", "--state", ""], "--state: its value is empty"),
                (["enqueue", "q", "--together", "a"], "--lines"),
                (["fail", "1.1.1", "--dead", "--delay", "1s"], "--delay"),
                (["complete"], "RECEIPT"),
                (["complete", "1.1.1", "2.1.1", "--result", "x"], "one result"),
                (["lease"], "QUEUE"),
                (["call"], "WORD"),
                (["enqueue", "q", "a", "--unique", ""], "--unique: its value is empty"),
                (["queue", "pause", "q", "--for", ""], "--for: its value is empty"),
                (["redrive", "q", "--id", ""], "--id: its value is empty"),
                (["peek", "", "--count", "1"], "QUEUE: its value is empty"),
                (["stats", "--server", "x"], "HOST:PORT"),
                (["export", "--server", "x"], "HOST:PORT"),
                (["export", "--format", "xml"], "json"),
                (["export", "--state", "done"], "dead"),
                (["export", "--state", "dead", "--format", "fdb"], "no vesting time"),
                (["export", "--tuple-version", "one"], "--tuple-version"),
                (["export", "--tuple-version", "5"], "--format fdb"),
                (["import", "--server", "x"], "HOST:PORT"),
                (["import", "--window", "5"], "5s"),
                (["import", "--format", "fdb", "--redrive"], "dead letters"),
                (["schedule", "next", "30", "2", "*", "*", "*"],
                 "vestq schedule next: not expected: 2 * * *; words that belong together stand in quotes; "),
                (["enqueue", "q", "x", "--prio", "5"], "vestq enqueue: not expected: --prio 5; "),
                (["check"], "DIR")]:
            self.refused(words, text)

    def test_a_duration_without_its_unit_is_the_same_mistake_everywhere(self):
        for words in (["enqueue", "q", "x", "--lease", "5"], ["enqueue", "q", "x", "--delay", "5"],
                      ["enqueue", "q", "x", "--unique", "k", "--for", "5"], ["enqueue", "q", "x", "--keep", "5"],
                      ["work", "q", "--lease", "5", "--", "true"], ["work", "q", "--give-up", "5", "--", "true"],
                      ["waitfor", "1", "--at-most", "5"], ["lease", "q", "--block", "5"], ["lease", "q", "--for", "5"],
                      ["renew", "1.1.1", "--for", "5"], ["fail", "1.1.1", "--delay", "5"], ["release", "1.1.1", "--delay", "5"],
                      ["checkpoint", "x", "--receipt", "1.1.1", "--for", "5"], ["queue", "pause", "q", "--for", "5"],
                      ["space", "pause", "q", "s", "--for", "5"], ["reschedule", "1", "--delay", "5"],
                      ["schedule", "set", "s", "q", "x", "--every", "5"], ["stats", "--timeout", "5"]):
            self.refused(words, "'5': a duration needs its unit: write 5s or 5ms")
            self.refused(words, words[-4] + ": '5'" if words[0] == "work" else words[-2] + ": '5'")

    def test_options_that_contradict_each_other_are_told_before_a_server_is_asked(self):
        for words in (["enqueue", "q", "x", "--delay", "1s", "--at", "2030-01-01T00:00:00Z"],
                      ["enqueue", "q", "x", "--replace"], ["enqueue", "q", "x", "--for", "1m"],
                      ["schedule", "set", "s", "q", "x", "--every", "5m", "--cron", "@daily"],
                      ["schedule", "set", "s", "q", "x", "--every", "5m", "--tz", "UTC"],
                      ["schedule", "set", "s", "q", "x"], ["fail", "1.1.1", "--delay", "1s", "--dead"],
                      ["reschedule", "1", "--delay", "1s", "--at", "2030-01-01T00:00:00Z"]):
            self.refused(words, "vestq " + " ".join(words[:2] if words[0] == "schedule" else words[:1]) + ": ")

    def test_an_address_that_cannot_be_had_is_told_before_a_store_is_made(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            self.refused(["serve", "--resp", f"127.0.0.1:{taken.getsockname()[1]}"], "in use", 1)
        self.refused(["serve", "--resp", "203.0.113.7:7733"], "cannot listen", 1)
        self.refused(["serve", "--resp", "no-such-host.invalid:7733"], "does not resolve", 1)

    def test_a_server_that_is_not_there_is_named(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.refused(["enqueue", "q", "a", "--server", f"127.0.0.1:{port}"], f"127.0.0.1:{port}", 1)
        self.refused(["stats", "--server", f"127.0.0.1:{port}"], f"127.0.0.1:{port}", 1)
        self.refused(["export", "--server", f"127.0.0.1:{port}"], f"127.0.0.1:{port}", 1)
        self.refused(["import", "--server", f"127.0.0.1:{port}"], f"127.0.0.1:{port}", 1)

    def test_help_and_version_succeed(self):
        for words in (["--help"], ["--version"]):
            done = run(*words)
            self.assertEqual(done.returncode, 0, words)
            self.assertIn("vestq", done.stdout)

    def subs(self, *words):
        """The sub-commands that --help lists."""
        section = run(*words, "--help").stdout.partition("Subcommands:\n")[2].partition("\n\n")[0]
        return re.findall(r"(?m)^  (\S+)", section)

    def test_each_sub_command_has_help_with_an_example_exit_statuses_and_json(self):
        commands = [[name] for name in self.subs()]
        self.assertGreater(len(commands), 20)
        commands = [inner for outer in commands for inner in [[*outer, name] for name in self.subs(*outer)] or [outer]]
        self.assertIn(["schedule", "next"], commands)
        for words in commands:
            with self.subTest(words=words):
                done = run(*words, "--help")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, "Examples?[:,]")
                self.assertIn("  vestq " + words[0], done.stdout)
                self.assertIn("Exit status: ", done.stdout)
                self.assertIn("--json", done.stdout)


class WrongDirectories(Case):
    def filled(self, *options, jobs=50, how=signal.SIGTERM):
        """A store with some jobs that nobody has open."""
        daemon = self.daemon(*options)
        client = daemon.client()
        for i in range(jobs):
            client.call("ENQUEUE", "q", b"payload %d " % i + b"x" * 500)
        client.close()
        daemon.end(how)
        return self.path()

    def refused(self, data, text, status=1, options=(), also_check=True):
        before = tree_hash(data)
        done = run("serve", "--data", data, "--resp", "127.0.0.1:0", *options)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertRegex(done.stderr, text)
        self.assertEqual(tree_hash(data), before, "serve changed the directory")
        if also_check:
            done = run("check", data)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertEqual(tree_hash(data), before, "check changed the directory")

    def test_a_foreign_directory(self):
        os.mkdir(self.path())
        with open(self.path() + "/letters.txt", "w", encoding="utf-8") as file:
            file.write("not ours")
        self.refused(self.path(), "(?i)not a vestq|foreign")

    def test_another_program_s_rocksdb(self):
        data = self.filled()
        os.remove(data + "/VESTQ")
        self.refused(data, "(?i)not a vestq|foreign")

    def test_a_newer_format(self):
        data = self.filled()
        with open(data + "/VESTQ", "r+b") as file:
            text = file.read()
            changed = text.replace(b"1", b"2", 1) if b"1" in text else b"\x02" + text[1:]
            file.seek(0)
            file.write(changed)
        self.refused(data, "format 2")

    def test_a_file_instead_of_a_directory(self):
        with open(self.path(), "w", encoding="utf-8") as file:
            file.write("a file")
        done = run("serve", "--data", self.path(), "--resp", "127.0.0.1:0")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(self.path(), done.stderr)

    def test_a_directory_whose_parent_is_missing(self):
        done = run("serve", "--data", self.path("no/such/place"), "--resp", "127.0.0.1:0")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_locked_one(self):
        daemon = self.daemon()
        client = daemon.client()
        client.call("ENQUEUE", "q", "a job")
        self.refused(self.path(), "(?i)another process|in use|locked")
        self.assertEqual(client.call("PING"), b"PONG")
        client.close()
        self.assertEqual(daemon.end()[0], 0)

    def test_other_lanes_than_the_store_s(self):
        self.refused(self.filled("--lanes", "4", "--cores", "1"), "lanes", 2, ["--lanes", "8"], also_check=False)

    def test_more_cores_than_lanes(self):
        self.refused(self.filled("--lanes", "2", "--cores", "1"), "cores", 2, ["--cores", "3"], also_check=False)

    def test_fewer_lanes_than_processors_is_no_reason_to_refuse(self):
        data = self.filled("--lanes", "1")
        daemon = self.daemon(data=data)
        self.assertEqual(daemon.end()[0], 0)

    def test_a_bit_flip_in_the_log(self):
        data = self.filled(how=signal.SIGKILL)
        logs = sorted(name for name in os.listdir(data) if name.endswith(".log"))
        path = os.path.join(data, max(logs, key=lambda name: os.path.getsize(os.path.join(data, name))))
        with open(path, "r+b") as file:
            file.seek(os.path.getsize(path) // 2)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 0x10]))
        self.refused(data, "(?i)acknowledged|damaged|checksum")
        done = run("serve", "--help")
        self.assertIn("--accept-data-loss", done.stdout)

    def test_a_damaged_manifest(self):
        data = self.filled()
        manifest = next(name for name in os.listdir(data) if name.startswith("MANIFEST"))
        with open(os.path.join(data, manifest), "r+b") as file:
            file.seek(20)
            file.write(b"\xff" * 8)
        self.refused(data, ".")

    def test_a_missing_current_file(self):
        data = self.filled()
        os.remove(data + "/CURRENT")
        self.refused(data, ".")

    def test_one_on_a_read_only_file_system(self):
        if not harness.can_mount(self.folder):
            self.skipTest("this test may not mount here")
        data = self.filled()
        place = self.path("readonly")
        os.mkdir(place)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", place], check=True)
        self.addCleanup(subprocess.run, ["umount", place], check=False)
        shutil.copytree(data, place + "/data")
        subprocess.run(["mount", "-o", "remount,ro", place], check=True)
        self.refused(place + "/data", "(?i)read-only", also_check=False)

    def test_check_of_a_good_one_changes_nothing(self):
        data = self.filled()
        before = tree_hash(data)
        done = run("check", data)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("50 ready", done.stdout)
        self.assertIn("every invariant holds", done.stdout)
        self.assertEqual(tree_hash(data), before)

    def test_check_of_one_whose_daemon_was_killed(self):
        data = self.filled(how=signal.SIGKILL)
        before = tree_hash(data)
        done = run("check", "--json", data)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn('"ready":50', done.stdout)
        self.assertEqual(tree_hash(data), before)

    def test_check_of_nothing(self):
        done = run("check", self.path("absent"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("absent", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])


class FullDisk(Case):
    def test_the_daemon_exits_and_opens_again_when_there_is_room(self):
        if not harness.can_mount(self.folder):
            self.skipTest("this test may not mount here")
        place = self.path("disk")
        os.mkdir(place)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", place], check=True)
        self.addCleanup(subprocess.run, ["umount", place], check=False)
        daemon = self.daemon(data=place + "/data")
        client, acknowledged, last = daemon.client(), 0, ""
        try:
            for _ in range(2000):
                client.call("ENQUEUE", "q", os.urandom(50_000))
                acknowledged += 1
        except (harness.RespError, ConnectionError) as error:
            last = str(error)
        self.assertLess(acknowledged, 1000, "the disk did not fill up")
        self.assertEqual(daemon.process.wait(harness.DEADLINE), 3, daemon.log_text())
        self.assertIn("the store has failed: cannot write to the log", daemon.log_text())
        self.assertNotIn("assert", daemon.log_text(), last)

        subprocess.run(["mount", "-o", "remount,size=256m", place], check=True)
        again = self.daemon(data=place + "/data")
        client, found = again.client(), 0
        while jobs := client.call("LEASE", "q", "COUNT", "100"):
            found += len(jobs)
        # One more may be there: the one whose answer never came.
        self.assertIn(found, (acknowledged, acknowledged + 1))
        client.close()
        self.assertEqual(again.end()[0], 0)


if __name__ == "__main__":
    harness.main()
