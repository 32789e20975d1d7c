#!/usr/bin/env python3
"""The power goes again and again while several clients run a random mix of all commands; then their logs are judged.

    power_cuts.py [--cuts N] [--clients N] [--seed N] [--durability MODE] [--without KINDS]
                  [--sigkill | --fallback] [--keep FOLDER]
    power_cuts.py --judge FOLDER

Each cut: the daemon is stopped (an answer that leaves while the power goes is none given before), its file system is shut
down without a flush, mounted again, and the daemon starts on what is left. Before the clients go on, the counters of every
queue are compared with full listings (observer.py). Every tenth time `vestq check` reads the store in between. At the end
everything is drained, and the clients' own logs are judged (history.py names what is), as is that each command of commands.py
was answered: with each of its options, and in a group where it may stand in one.

Power cuts need root and a loop device. Without them this skips (77), and a second CTest entry, power_cuts_sigkill_only, runs the
same with --fallback: the daemon is killed instead. So CTest's own lines say which of the two ran. With
VESTQ_REQUIRE_POWER_CUTS=1 a disk that cannot be had is a failure; .ci/run sets that for root, so that a machine that has always
cut the power does not stop doing so unseen. --sigkill kills in any case.

With `--durability os` acknowledged jobs must be lost: that shows that the cuts cut and the judge sees (the test runs this
too, see CMakeLists.txt). Status 0: nothing found (with another durability than sync: something found); 77: skipped.
"""

import argparse
import collections
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
import commands  # noqa: E402
import harness  # noqa: E402
import history  # noqa: E402
import judges  # noqa: E402
import mix  # noqa: E402
from disk import Disk  # noqa: E402
from observer import Observer, check  # noqa: E402

DRAIN_DEADLINE = 60.0
BURSTS = (10, 60)  # of commands, between two cuts
CUTS_FOR_ALL_FORMS = 50  # in fewer the rarest commands may not come up
# Schedules that no client changes: their jobs are counted slot by slot.
SCHEDULES = {
    "all": ("EVERY", "900ms", "MISSED", "all"),
    "once": ("EVERY", "1s", "MISSED", "once"),
    "skip": ("EVERY", "1100ms", "MISSED", "skip"),
    "cron": ("CRON", "* * * * *", "MISSED", "all"),
    "unique": ("EVERY", "400ms", "UNIQUE", "one"),
}
OPTIONS = {"limited": ("concurrency", mix.CONCURRENCY), "rated": ("rate", mix.RATE, "burst", mix.BURST), mix.KEPT: ("keep", "1h"),
           mix.TIGHT: ("max-jobs", mix.MAX_JOBS, "max-bytes", mix.MAX_BYTES)}


def say(text):
    print(f"power_cuts: {text}", flush=True)


class Run:
    def __init__(self, options, folder, disk):
        self.options, self.folder, self.disk = options, folder, disk
        self.random = random.Random(options.seed)
        self.daemon = harness.Daemon(os.path.join(self.disk.mount, "data"), "--durability", options.durability,
                                     log=os.path.join(folder, "daemon.log"))
        self.logs, self.clients, self.listener, self.findings = [], [], None, []
        self.since, self.spent = time.monotonic(), collections.Counter()  # seconds by phase
        self.observer = Observer(self.daemon.port, self.new_log("observer"), options.clients,
                                 [*mix.QUEUES, *map(mix.order_queue, range(options.clients))])

    def new_log(self, name):
        self.logs.append(os.path.join(self.folder, f"{name}.log"))
        return self.logs[-1]

    def spawn(self, script, *words):
        return subprocess.Popen([sys.executable, os.path.join(HERE, script), str(self.daemon.port), *map(str, words)],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def set_up(self):
        resp = self.daemon.client()
        for queue in self.observer.queues:
            resp.call("QUEUE", "SET", queue, "backoff", mix.BACKOFF, "lease", f"{mix.LEASE_MS}ms", *OPTIONS.get(queue, ()))
        for name, when in SCHEDULES.items():
            resp.call("SCHEDULE", "SET", name, f"slots-{name}", mix.payload_of(f"slot-{name}", 0), *when)
        resp.close()
        for number in range(self.options.clients):
            self.clients.append(self.spawn("client.py", self.new_log(f"client-{number}"), self.options.seed * 1000 + number,
                                           number, self.options.without))
        self.listener = self.spawn("listener.py", self.new_log("events"), self.options.clients + 1)
        self.wait_for_clients()
        self.tell_clients()

    def wait_for_clients(self):
        """Until none of them has a connection, so that nothing moves but by the daemon itself."""
        for process in (self.listener, *self.clients):
            said = b""
            while b"-" not in said:
                ready, _, _ = select.select([process.stdout], [], [], harness.DEADLINE)
                said = process.stdout.read(64) if ready else b""
                check(said, "a client has ended by itself, or does not see that the daemon is gone")

    def tell_clients(self):
        for process in (self.listener, *self.clients):
            process.stdin.write(b"+")

    def spend(self, name):
        """Adds the time since the last call to what is said of the run's phases."""
        now = time.monotonic()
        self.spent[name] += now - self.since
        self.since = now

    def let_run(self):
        """Until the clients have had answers to some bursts of commands, however fast this machine is, and a moment longer."""
        bursts, daemon = self.random.randrange(*BURSTS), self.daemon.process.stdout
        streams = {process.stdout for process in self.clients}
        while bursts > 0:
            ready, _, _ = select.select([daemon, *streams], [], [], harness.DEADLINE)
            check(ready and daemon not in ready, "the daemon has ended by itself, or does not answer")
            for stream in ready:
                said = stream.read(64)
                check(said and b"-" not in said, "a client has ended by itself, or lost its connection")
                bursts -= len(said)
        ended, _, _ = select.select([daemon], [], [], self.random.uniform(0, 0.4))
        check(not ended, "the daemon has ended by itself")
        self.spend("load")

    def cut(self, with_check):
        if self.disk.device:
            self.daemon.stop()
            self.disk.cut_power()
            self.daemon.end(signal.SIGKILL)
            self.disk.unmount()
            self.disk.remount()
        else:
            self.daemon.end(signal.SIGKILL)
        self.wait_for_clients()
        if with_check:
            self.check_store()
        self.spend("cut")
        self.daemon.start()
        self.spend("start")
        self.observer.look()
        self.spend("look")
        self.tell_clients()

    def check_store(self):
        done = harness.run("check", self.daemon.data)
        check(done.returncode == 0, f"vestq check: {done.stdout}{done.stderr}")

    def end_schedules(self):
        for name in SCHEDULES:
            try:
                self.observer.call({"kind": "schedule-pause", "name": name}, "SCHEDULE", "PAUSE", name)
            except harness.RespError as error:
                self.findings.append(f"LOST: the schedule {name} was acknowledged: {error}")
        self.observer.schedules()
        for number in range(self.options.clients):
            for name in (f"dynamic-{number}-0", f"dynamic-{number}-1"):
                self.observer.call({"kind": "schedule-del", "name": name}, "SCHEDULE", "DEL", name)

    def drain(self):
        """Redrives what is dead, leases and completes until nothing is left."""
        observer = self.observer
        observer.connect()
        self.end_schedules()
        observer.call({"kind": "resume", "queue": mix.PAUSED}, "QUEUE", "RESUME", mix.PAUSED)
        for space in mix.SPACES:
            observer.call({"kind": "resume", "queue": mix.PAUSED, "space": space}, "SPACE", "RESUME", mix.PAUSED, space)
        # What is dead there may be more than has room.
        observer.call({"kind": "queue-set", "queue": mix.TIGHT, "values": {}},
                      "QUEUE", "SET", mix.TIGHT, "max-jobs", "none", "max-bytes", "none")
        until = time.monotonic() + DRAIN_DEADLINE
        stay = {}  # queue: its dead letters that a redrive leaves, since another job holds their unique key
        while True:
            infos = observer.infos(observer.queues)
            if not any(info[state] for info in infos.values() for state in ("ready", "scheduled", "waiting", "leased")):
                return
            left = {queue: {state: info[state] for state in mix.STATES if info[state]} for queue, info in infos.items()}
            check(time.monotonic() < until, f"not drained within {DRAIN_DEADLINE} s: {left}")
            for queue, info in infos.items():
                # Children of parents that are gone stay dead; those of dead parents wait for them.
                if info["dead"] and info["dead"] != stay.get(queue) and queue != mix.CHILDREN:
                    stay[queue] = info["dead"] - observer.call({"kind": "redrive", "queue": queue}, "REDRIVE", queue, "ALL")
            for queues in (observer.queues[:20], observer.queues[20:]):
                jobs = observer.call({"kind": "lease", "length": 30000, "queues": queues, "count": 500}, "LEASE", *queues,
                                     "COUNT", "500", "BLOCK", "100ms", "FOR", "30s")
                for job in map(harness.to_map, jobs or []):
                    receipt, ident = job["receipt"].decode(), job["id"].decode()
                    observer.call({"kind": "complete", "receipt": receipt, "id": ident, "result": f"result of {ident}"},
                                  "COMPLETE", receipt, "RESULT", f"result of {ident}")

    def run(self):
        self.set_up()
        for number in range(1, self.options.cuts + 1):
            self.let_run()
            self.cut(with_check=number % 10 == 0)
        self.let_run()
        for process in self.clients:
            process.stdin.close()
            check(process.wait(harness.DEADLINE) == 0, "a client did not end well")
        self.listener.stdin.close()
        self.drain()
        self.spend("drain")
        final = self.observer.final()
        final.write(os.path.join(self.folder, "final.json"))
        self.observer.close()
        check(self.daemon.end()[0] == 0, "the daemon did not exit 0")
        check(self.listener.wait(harness.DEADLINE) == 0, "the listener did not end well")
        self.check_store()
        ops = history.read_logs(self.logs)
        self.report(ops)
        findings = self.findings + judges.judge(ops, final)
        self.spend("judge")
        say("seconds: " + ", ".join(f"{name} {seconds:.1f}" for name, seconds in self.spent.items()))
        return findings

    def report(self, ops):
        refused = collections.Counter(op.error.split(" ", 1)[0] for op in ops if op.error)
        say(f"{len(ops)} commands and events, {sum(op.open for op in ops)} cut off; refused: {dict(sorted(refused.items()))}")
        say(f"counters and full listings compared: {self.observer.compared} times, "
            f"{self.observer.moving} times a queue did not stand still")
        malformed = [op for op in ops if op.error and op.error.startswith(("ERR", "RANGE"))]
        check(not malformed, f"{len(malformed)} commands were malformed: {malformed[:3]}")
        counts = collections.Counter()
        for op in ops:
            if op.kind == "forms":
                counts.update(op.reply)
        say("answered, by command:")
        for form in commands.FORMS:
            print(f"  {counts[form]:7}  {form}")
        missing = [form for form in commands.FORMS if not counts[form]]
        if missing and (self.options.cuts >= CUTS_FOR_ALL_FORMS and not self.options.without):
            self.findings.append(f"MIX: never answered in this run: {', '.join(missing)}")
        elif missing:
            say(f"not met in this short run: {', '.join(missing)}")

    def close(self):
        for process in filter(None, (self.listener, *self.clients)):
            if process.poll() is None:
                process.kill()
                process.wait()
        self.daemon.close()
        self.disk.close()


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--cuts", type=int, default=int(os.environ.get("VESTQ_POWER_CUTS", "100")))
    parser.add_argument("--clients", type=int, default=3)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("VESTQ_CRASH_SEED", "1")))
    parser.add_argument("--durability", default="sync")
    parser.add_argument("--without", default="", help="kinds of commands to leave out, such as group,purge")
    parser.add_argument("--sigkill", action="store_true", help="kill the daemon instead of cutting the power")
    parser.add_argument("--fallback", action="store_true", help="the same, and only where the power cannot be cut")
    parser.add_argument("--keep", help="leaves logs in this folder")
    parser.add_argument("--judge", metavar="FOLDER", help="runs nothing: judges the logs that a run left in this folder")
    return parser.parse_args()


def what_without(options, disk):
    """The status of a run that is none, or None: where the power cannot be cut, or where it can and a fallback was asked for."""
    if disk.device:
        if options.fallback:
            say("skipped: here power_cuts cuts the power itself")
            return 77
        return None
    if options.sigkill or options.fallback:
        return None if options.durability == "sync" else 77  # kills lose nothing that was written
    required = os.environ.get("VESTQ_REQUIRE_POWER_CUTS") == "1"
    say(f"{'FAILED' if required else 'skipped'}: no file system can be mounted here ({disk.refused})")
    return 1 if required else 77


def main():
    options = parse()
    if options.judge:
        logs = [os.path.join(options.judge, name) for name in os.listdir(options.judge) if name.endswith(".log")]
        final = history.Final.read(os.path.join(options.judge, "final.json"))
        findings = judges.judge(history.read_logs([path for path in logs if os.path.basename(path) != "daemon.log"]), final)
        for finding in findings:
            say(finding)
        return 1 if findings else 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that mounts and processes do not stay behind
    began = time.monotonic()
    folder = tempfile.mkdtemp(prefix="vestq-crash-")
    disk = Disk(folder, wanted=not options.sigkill)
    how = "power cuts" if disk.device else "kills (SIGKILL only, no power was cut)"
    findings, run = [], None
    try:
        without = what_without(options, disk)
        if without is not None:
            return without
        run = Run(options, folder, disk)
        findings = run.run()
    except (AssertionError, RuntimeError, TimeoutError, ConnectionError, harness.RespError) as error:
        findings = [f"{type(error).__name__}: {error}"]
        if run:
            findings.append("the daemon's log ends with:\n" + run.daemon.log_text()[-3000:])
    finally:
        if run:
            run.close()
        else:
            disk.close()
        if options.keep:
            shutil.copytree(folder, options.keep, dirs_exist_ok=True, ignore=shutil.ignore_patterns("disk*"))
        shutil.rmtree(folder, ignore_errors=True)
    return tell(options, how, findings, time.monotonic() - began)


def tell(options, how, findings, seconds):
    line = f"{options.cuts} {how}, seed {options.seed}, durability {options.durability}: {len(findings)} findings, {seconds:.0f} s"
    if options.durability == "sync":
        for finding in findings[:20]:
            say(finding)
        say(line)
        return 1 if findings else 0
    lost = [finding for finding in findings if finding.startswith("LOST")]
    say(f"{len(lost)} acknowledged jobs were lost, as they must be here")
    say(line)
    return 0 if lost else 1


if __name__ == "__main__":
    sys.exit(main())
