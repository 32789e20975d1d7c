#!/usr/bin/env python3
"""The power goes again and again while several clients run random commands of every kind; then their logs are judged.

    power_cuts.py [--cuts N] [--clients N] [--seed N] [--durability MODE] [--without KINDS]
                  [--keep FOLDER]

Each cut: the daemon is stopped (an answer that leaves while the power goes is none given before), its file system is shut
down without a flush, mounted again, and the daemon starts on what is left. Where this process may not mount one, the
daemon is killed instead, and the test says so. Every tenth time `vestq check` reads the store in between. At the end
everything is drained, all counters are compared with full listings, and tests/crash/history.py judges the clients' logs.

With `--durability os` acknowledged jobs must be lost: that shows that the cuts cut and the judge sees (the test runs this
too, see CMakeLists.txt). Status 0: nothing found (with another durability than sync: something found).
"""

import argparse
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tools"))
import client as crash_client  # noqa: E402
import harness  # noqa: E402
import history  # noqa: E402
from disk import Disk  # noqa: E402

STATES = ("ready", "scheduled", "waiting", "leased", "dead", "done")
DRAIN_DEADLINE = 60.0


def say(text):
    print(f"power_cuts: {text}", flush=True)


def check(holds, text):
    if not holds:
        raise AssertionError(text)


class Run:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.random = random.Random(options.seed)
        self.disk = Disk(folder)
        if self.disk.refused:
            say(f"no file system can be mounted here ({self.disk.refused}): SIGKILL instead of power cuts")
        self.daemon = harness.Daemon(os.path.join(self.disk.mount, "data"), "--durability", options.durability,
                                     log=os.path.join(folder, "daemon.log"))
        self.logs, self.clients, self.findings = [], [], []

    def set_up(self):
        resp = self.daemon.client()
        for queue in crash_client.QUEUES:
            resp.call("QUEUE", "SET", queue, "backoff", "fixed:100ms")
        resp.call("QUEUE", "SET", crash_client.KEPT, "keep", "1h")
        resp.call("SCHEDULE", "SET", "every", crash_client.SLOTS, "slot", "EVERY", "300ms")
        resp.close()
        for number in range(self.options.clients):
            log = os.path.join(self.folder, f"client-{number}.log")
            self.logs.append(log)
            self.clients.append(subprocess.Popen(
                [sys.executable, os.path.join(HERE, "client.py"), str(self.daemon.port), log,
                 str(self.options.seed * 1000 + number), str(number), self.options.without], stdin=subprocess.PIPE, bufsize=0))
        self.tell_clients()

    def tell_clients(self):
        for process in self.clients:
            check(process.poll() is None, "a client has ended by itself")
            process.stdin.write(b"+")

    def let_run(self):
        ended, _, _ = select.select([self.daemon.process.stdout], [], [], self.random.uniform(0.1, 0.6))
        check(not ended, "the daemon has ended by itself")

    def cut(self, with_check):
        if self.disk.device:
            self.daemon.stop()
            self.disk.cut_power()
            self.daemon.end(signal.SIGKILL)
            self.disk.unmount()
            self.disk.remount()
        else:
            self.daemon.end(signal.SIGKILL)
        if with_check:
            self.check_store()
        self.daemon.start()
        self.tell_clients()

    def check_store(self):
        done = harness.run("check", self.daemon.data)
        check(done.returncode == 0, f"vestq check: {done.stdout}{done.stderr}")

    def counts(self, resp):
        return {queue: info for queue in crash_client.QUEUES if (info := self.info(resp, queue))}

    @staticmethod
    def info(resp, queue):
        try:
            return harness.to_map(resp.call("QUEUE", "INFO", queue))
        except harness.RespError as error:
            check(str(error).startswith("NOTFOUND"), str(error))
            return None

    def listing(self, resp, queue, state):
        """Ids of all jobs of a queue in a state."""
        ids, cursor = [], b"0"
        while True:
            cursor, page = resp.call("PEEK", queue, "STATE", state, "COUNT", "1000", "CURSOR", cursor)
            ids += [harness.to_map(job)["id"].decode() for job in page]
            if cursor == b"0":
                return ids

    def drain(self):
        """Redrives what is dead, leases and completes until nothing is left; as a client with a log of its own."""
        log = os.path.join(self.folder, "drain.log")
        self.logs.append(log)
        drainer = crash_client.Client(self.daemon.port, log, 0, self.options.clients)
        resp = self.daemon.client()
        try:
            resp.call("SCHEDULE", "PAUSE", "every")
        except harness.RespError as error:
            self.findings.append(f"LOST: the schedule was acknowledged: {error}")
        until = time.monotonic() + DRAIN_DEADLINE
        stay = {}  # queue: its dead letters that a redrive leaves, since another job holds their unique key

        def call(what, *words):
            began = crash_client.now_ms()
            reply = resp.call(*words)
            drainer.note(what, began, t1=crash_client.now_ms(), reply=drainer.short(what, reply))
            return reply

        while True:
            counts = self.counts(resp)
            if not any(info[state] for info in counts.values() for state in ("ready", "scheduled", "waiting", "leased")):
                break
            left = {queue: {state: info[state] for state in STATES if info[state]} for queue, info in counts.items()}
            check(time.monotonic() < until, f"not drained within {DRAIN_DEADLINE} s: {left}")
            for queue, info in counts.items():
                # Children of parents that are gone stay dead; those of dead parents wait for them.
                if info["dead"] and info["dead"] != stay.get(queue) and queue != crash_client.CHILDREN:
                    done = call({"kind": "redrive", "queue": queue}, "REDRIVE", queue, "ALL")
                    stay[queue] = info["dead"] - done
            jobs = call({"kind": "lease", "length": 30000}, "LEASE", *crash_client.QUEUES, "COUNT", "500", "BLOCK", "200ms",
                        "FOR", "30s")
            for job in jobs or []:
                job = harness.to_map(job)
                receipt, ident = job["receipt"].decode(), job["id"].decode()
                call({"kind": "complete", "receipt": receipt, "id": ident, "result": f"result of {ident}"},
                     "COMPLETE", receipt, "RESULT", f"result of {ident}")
        drainer.log.close()
        resp.close()

    def final(self):
        """What is there at the end; compares counters with listings."""
        resp = self.daemon.client()
        dead, keys, results = [], {}, {}
        for queue, info in self.counts(resp).items():
            for state in STATES:
                ids = self.listing(resp, queue, state)
                check(info[state] == len(ids), f"{queue}: {info[state]} jobs are {state}, a full listing has {len(ids)}")
                if state == "dead":
                    dead += ids
                if state == "done":
                    for ident in ids:
                        job = harness.to_map(resp.call("JOB", ident))
                        results[ident] = job.get("result", b"").decode("latin-1")
        cursor = b"0"
        while True:
            cursor, page = resp.call("RANGE", "", "CURSOR", cursor, "COUNT", "1000")
            keys.update({page[i].decode("latin-1"): page[i + 1].decode("latin-1") for i in range(0, len(page), 2)})
            if cursor == b"0":
                break
        schedule = harness.to_map(resp.call("SCHEDULE", "GET", "every"))
        resp.close()
        return history.Final(dead, keys, results, schedule and schedule["fired"])

    def run(self):
        self.set_up()
        for number in range(1, self.options.cuts + 1):
            self.let_run()
            self.cut(with_check=number % 10 == 0)
        self.let_run()
        for process in self.clients:
            process.stdin.close()
            check(process.wait(harness.DEADLINE) == 0, "a client did not end well")
        self.drain()
        final = self.final()
        check(self.daemon.end()[0] == 0, "the daemon did not exit 0")
        self.check_store()
        ops = history.read_logs(self.logs)
        self.report(ops)
        return self.findings + history.Judge(ops, final).run()

    def report(self, ops):
        kinds = {}
        for op in ops:
            certain, unknown, refused = kinds.get(op.kind, (0, 0, 0))
            kinds[op.kind] = (certain + op.certain, unknown + op.open, refused + (op.error is not None))
        say(f"{len(ops)} commands: " + ", ".join(
            f"{kind} {a}+{b}?{f' -{c}' if c else ''}" for kind, (a, b, c) in sorted(kinds.items())))
        errors = sorted({op.error.split(" ", 1)[0] for op in ops if op.error})
        say(f"errors: {', '.join(errors) or 'none'}")
        refused = [op for op in ops if op.error and op.error.startswith(("ERR", "RANGE"))]
        check(not refused, f"{len(refused)} commands were malformed: {refused[:3]}")

    def close(self):
        for process in self.clients:
            if process.poll() is None:
                process.kill()
                process.wait()
        self.daemon.close()
        self.disk.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--cuts", type=int, default=int(os.environ.get("VESTQ_POWER_CUTS", "100")))
    parser.add_argument("--clients", type=int, default=3)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("VESTQ_CRASH_SEED", "1")))
    parser.add_argument("--durability", default="sync")
    parser.add_argument("--without", default="", help="kinds of commands to leave out, such as group,purge")
    parser.add_argument("--keep", help="leaves logs in this folder")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that mounts and processes do not stay behind
    began = time.monotonic()
    folder = tempfile.mkdtemp(prefix="vestq-crash-")
    run = Run(options, folder)
    if options.durability != "sync" and run.disk.refused:
        run.close()
        shutil.rmtree(folder, ignore_errors=True)
        say("skipped: kills lose nothing that was written")
        return 77
    cut = "power cuts" if run.disk.device else "kills"
    findings = []
    try:
        findings = run.run()
    except (AssertionError, RuntimeError, TimeoutError, ConnectionError, harness.RespError) as error:
        findings = [f"{type(error).__name__}: {error}", "the daemon's log ends with:\n" + run.daemon.log_text()[-3000:]]
    finally:
        run.close()
        if options.keep:
            shutil.copytree(folder, options.keep, dirs_exist_ok=True, ignore=shutil.ignore_patterns("disk*"))
        shutil.rmtree(folder, ignore_errors=True)
    say(f"{options.cuts} {cut}, seed {options.seed}, durability {options.durability}: {len(findings)} findings, "
        f"{time.monotonic() - began:.0f} s")
    if options.durability != "sync":
        lost = [finding for finding in findings if finding.startswith("LOST")]
        say(f"{len(lost)} acknowledged jobs were lost, as they must be here")
        return 0 if lost else 1
    for finding in findings[:20]:
        say(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
