#!/usr/bin/env python3
"""The main job on real input: files of this machine are hashed through the queue while things die.

At least 5,000 files under /usr/include and /usr/share become jobs whose payload is the path. Four `vestq work` processes
hash them. On the way a worker gets SIGKILL, the daemon gets SIGKILL, and once the power is cut under the daemon's file
system (where this test may mount one; elsewhere it says that it skipped that). At the end

    * the digests are those that sha256sum gives directly
    * no job is lost: each path has a digest, the queue is empty, `vestq check` finds nothing
    * a job that ran twice had its lease end, its worker killed, or its COMPLETE unanswered at a cut

VESTQ names the program, VESTQ_MAIN_JOB_FILES the number of files. The daemon listens on a port that the kernel picks.
"""

import os
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness  # noqa: E402
from disk import Disk  # noqa: E402

FILES = int(os.environ.get("VESTQ_MAIN_JOB_FILES", "5000"))
WORKERS = 4
LEASE = "3s"
DEADLINE = 400.0

# What a worker runs: one record, written at once, to the file of its worker.
COMMAND = ('IFS= read -r path; digest=$(sha256sum < "$path") || exit 1; '
           'printf "%s %s %s %s\\n" "$VESTQ_ID" "$VESTQ_ATTEMPT" "${digest%% *}" "$path" >> "$RECORDS"')
EVENT = re.compile(r"job (\d+) attempt (\d+): (.*)")


def say(text):
    print(f"main_job: {text}", flush=True)


def check(holds, text):
    if not holds:
        raise AssertionError(text)


def pick_files(wanted):
    """So many readable files, in a fixed order."""
    found = []
    for top in ("/usr/include", "/usr/share", "/usr/lib"):
        for folder, folders, names in os.walk(top):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(folder, name)
                try:
                    info = os.lstat(path)
                    path.encode("ascii")
                except (OSError, UnicodeEncodeError):
                    continue
                plain = stat.S_ISREG(info.st_mode) and info.st_size < 4 << 20 and os.access(path, os.R_OK)
                if plain and not set(path) & set("\n\\"):
                    found.append(path)
                if len(found) == wanted:
                    return found
    return found


def digests_of(paths):
    digests = {}
    for at in range(0, len(paths), 500):
        out = subprocess.run(["sha256sum", "--", *paths[at:at + 500]], stdout=subprocess.PIPE, check=True).stdout
        for line in out.decode().splitlines():
            digest, path = line.split("  ", 1)
            digests[path] = digest
    return digests


class Worker:
    """One `vestq work`; `events` are (id, attempt, what) in the order of its log."""

    def __init__(self, number, folder, server):
        self.number, self.killed, self.events, self.text = number, False, [], b""
        self.records = os.path.join(folder, f"records.{number}")
        self.process = subprocess.Popen(
            [harness.PROGRAM, "work", "files", "--concurrency", "2", "--lease", LEASE, "--worker", f"worker-{number}",
             "--verbose", "--server", server, "--", "sh", "-c", COMMAND],
            env={**os.environ, "RECORDS": self.records}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0)

    def read(self):
        """Takes what is in the pipe; False at its end. Gives the number of newly completed jobs."""
        piece = os.read(self.process.stderr.fileno(), 65536)
        self.text += piece
        *lines, self.text = self.text.split(b"\n")
        done = 0
        for line in lines:
            match = EVENT.search(line.decode(errors="replace"))
            if match:
                self.events.append((match.group(1), int(match.group(2)), match.group(3)))
                done += match.group(3) == "completed"
        return bool(piece), done

    def read_all(self):
        """Takes what is in the pipe now."""
        while select.select([self.process.stderr], [], [], 0)[0] and self.read()[0]:
            pass

    def busy(self):
        """Its log says that all its slots run a command."""
        ended = {(ident, attempt) for ident, attempt, what in self.events if what != "started"}
        return sum(what == "started" and (ident, attempt) not in ended for ident, attempt, what in self.events) == 2


class MainJob:
    def __init__(self, folder):
        self.folder = folder
        self.disk = Disk(folder)
        if self.disk.refused:
            say(f"no file system can be mounted here ({self.disk.refused}): the power cut is skipped")
        self.daemon = None
        self.workers = []
        self.completed = 0
        self.until = time.monotonic() + DEADLINE

    def start(self):
        self.daemon = harness.Daemon(os.path.join(self.disk.mount, "data"), log=os.path.join(self.folder, "daemon.log"))
        paths = pick_files(FILES)
        check(len(paths) >= FILES, f"only {len(paths)} files here, {FILES} are needed")
        done = harness.run("enqueue", "files", "--lines", "--server", self.daemon.address,
                           stdin="".join(path + "\n" for path in paths).encode())
        check(done.returncode == 0, f"enqueue failed: {done.stderr}")
        check(len(done.stdout.split()) == len(paths), "not every file has become a job")
        say(f"{len(paths)} files are jobs")
        self.workers = [Worker(i, self.folder, self.daemon.address) for i in range(WORKERS)]
        return paths

    def work_until(self, completed):
        """Reads the workers' logs until so many jobs are completed, or until the queue is empty."""
        while self.completed < completed:
            check(time.monotonic() < self.until, f"{self.completed} jobs completed within {DEADLINE} s, no more")
            reading = {w.process.stderr: w for w in self.workers if not w.killed}
            ready, _, _ = select.select(list(reading), [], [], 0.5)
            for stream in ready:
                alive, done = reading[stream].read()
                check(alive, f"worker {reading[stream].number} ended by itself")
                self.completed += done
            if not ready and self.left() == 0:
                return

    def left(self):
        client = self.daemon.client()
        info = harness.to_map(client.call("QUEUE", "INFO", "files"))
        client.close()
        check(info["dead"] == 0, "a job has become a dead letter")
        return info["ready"] + info["scheduled"] + info["leased"]

    def kill_worker(self):
        worker = self.workers[0]
        # It is to die with jobs in its hands: stopped first, so that what its log says stays true.
        worker.process.send_signal(signal.SIGSTOP)
        worker.read_all()
        while not worker.busy():
            worker.process.send_signal(signal.SIGCONT)
            self.work_until(self.completed + 1)
            worker.process.send_signal(signal.SIGSTOP)
            worker.read_all()
        worker.process.kill()
        worker.process.wait()
        worker.killed = True
        while worker.read()[0]:  # what it had logged
            pass
        self.completed = sum(event[2] == "completed" for w in self.workers for event in w.events)
        say(f"worker 0 was killed after {self.completed} jobs")

    def kill_daemon(self):
        self.daemon.end(signal.SIGKILL)
        self.daemon.start()
        say(f"the daemon was killed after {self.completed} jobs and started again")

    def cut_power(self):
        if not self.disk.device:
            say("power cut: skipped, no file system can be mounted here")
            return
        # Stopped first: an answer that leaves while the power goes is not one given before.
        self.daemon.stop()
        self.disk.cut_power()
        self.daemon.end(signal.SIGKILL)
        self.disk.unmount()
        self.disk.remount()
        self.daemon.start()
        say(f"the power was cut after {self.completed} jobs and the daemon started again")

    def finish(self):
        for worker in self.workers:
            if worker.killed:
                continue
            worker.process.send_signal(signal.SIGTERM)
            while worker.read()[0]:
                pass
            check(worker.process.wait(harness.DEADLINE) == 0, f"worker {worker.number} did not exit 0")
        client = self.daemon.client()
        info = harness.to_map(client.call("QUEUE", "INFO", "files"))
        client.close()
        check(self.daemon.end()[0] == 0, "the daemon did not exit 0")
        done = harness.run("check", self.daemon.data)
        check(done.returncode == 0, f"vestq check: {done.stdout}{done.stderr}")
        return info

    def verify(self, paths, info):
        records = []
        for worker in self.workers:
            if os.path.exists(worker.records):
                with open(worker.records, encoding="utf-8") as file:
                    records += [line.rstrip("\n").split(" ", 3) for line in file]
        expected = digests_of(paths)
        wrong = [path for _, _, digest, path in records if expected.get(path) != digest]
        check(not wrong, f"{len(wrong)} digests are wrong, the first of {wrong[:1]}")
        missing = set(paths) - {path for _, _, _, path in records}
        check(not missing, f"{len(missing)} jobs are lost, such as {sorted(missing)[:3]}")
        check(info["enqueued"] == len(paths), f"{info['enqueued']} jobs were enqueued, not {len(paths)}")
        say(f"{info['leases']} leases, {info['expired']} of them expired")
        self.verify_reruns(records)

    def verify_reruns(self, records):
        """Each run of a job but the last one must have ended in a way that allows another."""
        starts, endings = {}, {}
        for worker in self.workers:
            ended = set()
            for ident, attempt, what in worker.events:
                if what == "started":
                    starts.setdefault(ident, []).append(attempt)
                elif "lease lost" in what or "lease was over" in what or "unanswered" in what:
                    endings.setdefault((ident, attempt), what)
                    ended.add((ident, attempt))
                else:
                    ended.add((ident, attempt))
            if worker.killed:
                for ident, attempt, what in worker.events:
                    if what == "started" and (ident, attempt) not in ended:
                        endings[(ident, attempt)] = "its worker was killed"
        for ident, attempt, _, _ in records:  # one that the killed worker had no time to log
            if int(attempt) not in starts.get(ident, []):
                starts.setdefault(ident, []).append(int(attempt))
                endings[(ident, int(attempt))] = "its worker was killed"
        twice = {ident: sorted(attempts) for ident, attempts in starts.items() if len(attempts) > 1}
        for ident, attempts in twice.items():
            check(len(set(attempts)) == len(attempts), f"job {ident} was leased twice with one attempt: {attempts}")
            for attempt in attempts[:-1]:
                check((ident, attempt) in endings, f"job {ident} ran again after attempt {attempt}, whose lease had not "
                                                   "ended and whose COMPLETE was answered")
        say(f"{len(records)} records, {len(twice)} jobs ran more than once, each with its reason")

    def run(self):
        paths = self.start()
        self.work_until(FILES // 5)
        self.kill_worker()
        self.work_until(FILES * 2 // 5)
        self.kill_daemon()
        self.work_until(FILES * 3 // 5)
        self.cut_power()
        self.work_until(FILES * 2)
        self.verify(paths, self.finish())

    def close(self):
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.process.kill()
                worker.process.wait()
        if self.daemon:
            self.daemon.close()
        self.disk.close()


def main():
    began = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that mounts and processes do not stay behind
    folder = tempfile.mkdtemp(prefix="vestq-main-job-")
    job = MainJob(folder)
    try:
        job.run()
        say(f"all digests are right, no job is lost; {time.monotonic() - began:.0f} s")
        return 0
    except (AssertionError, RuntimeError, TimeoutError) as error:
        say(f"FAILED: {error}")
        if job.daemon:
            say("the daemon's log ends with:\n" + job.daemon.log_text()[-4000:])
        return 1
    finally:
        job.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
