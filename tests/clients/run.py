#!/usr/bin/env python3
"""Real clients of Redis, as they are, against a running vestq.

    tests/clients/run.py --vestq build/vestq --io uring|epoll [--only NAME ...] [--hiredis PROGRAM]

Starts `vestq serve` on a free port in a temporary folder, runs one script a client (redis-cli, hiredis, redis-py,
node-redis, ioredis), each the life of a job and what is peculiar to that client, and one that holds the keys of `vestq
export` against another encoder of FoundationDB's tuples (fdb-tuple); prints a line for each. Ends what
it started by its process id. Exit code 0: all passed; 1: one failed; 77: none failed, but one that was asked for with
--only could not be had (CTest: skipped).
"""

import argparse
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENT_TIMEOUT_S = 120
NODE_MAJOR = 20  # what the pinned packages ask for


class Missing(Exception):
    """A client that this machine does not have."""


class Server:
    def __init__(self, program, io, folder):
        self.process = subprocess.Popen(
            [program, "serve", "--data", os.path.join(folder, "data"), "--resp", "127.0.0.1:0", "--io", io],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.errors = []
        self.reader = threading.Thread(target=self._drain, daemon=True)
        self.reader.start()
        self.port = None
        for line in self.process.stdout:
            found = re.match(r"listening resp \S*:(\d+)", line)
            if found:
                self.port = found.group(1)
                break
        if self.port is None:
            self.process.wait()
            self.reader.join(10)
            text = "".join(self.errors)
            if io == "uring" and "io_uring" in text:
                print("skip  all: io_uring is refused here: " + text.strip())
                raise SystemExit(77)
            raise SystemExit("vestq did not start:\n" + text)
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def _drain(self):
        for line in self.process.stderr:
            self.errors.append(line)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "it had to be killed"
        return None if code == 0 else f"exit code {code}:\n" + "".join(self.errors)


def run(command, **more):
    result = subprocess.run(command, capture_output=True, text=True, timeout=CLIENT_TIMEOUT_S, **more)
    if result.returncode != 0:
        raise AssertionError(f"exit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def redis_cli(port, _options):
    program = shutil.which("redis-cli")
    if not program:
        raise Missing("redis-cli is not installed")

    def call(*args, resp3=False):
        return run([program, "-p", port] + (["-3"] if resp3 else []) + list(args)).rstrip("\n")

    def expect(got, wanted):
        if got != wanted:
            raise AssertionError(f"got {got!r}, expected {wanted!r}")

    expect(call("PING"), "PONG")
    job = call("ENQUEUE", "cli", "hello world", "PRIORITY", "3")
    fields = call("LEASE", "cli").split("\n")
    leased = dict(zip(fields[0::2], fields[1::2]))
    expect(leased["id"], job)
    expect(leased["payload"], "hello world")
    expect(leased["priority"], "3")
    assert 0 < int(call("RENEW", leased["receipt"], "FOR", "1m")) <= 60000
    expect(call("FAIL", leased["receipt"], "DELAY", "0", "REASON", "again").split("\n"), ["retry", "0"])
    assert call("COMPLETE", leased["receipt"]).startswith("LEASELOST")
    lines = call("LEASE", "cli", "BLOCK", "5s", resp3=True).split("\n")
    leased = dict(line.partition(" ")[::2] for line in lines)  # a map: a key and its value a line
    expect(leased["attempt"], "2")
    expect(call("COMPLETE", leased["receipt"]), "OK")
    expect(call("LEASE", "cli"), "")
    expect(call("JOB", job), "")
    assert "loading:0" in call("INFO", "persistence")
    assert call("NONSENSE").startswith("ERR unknown command 'NONSENSE'")
    assert call("ENQUEUE", "cli", "x", "DELAY", "30").startswith("ERR DELAY '30'")
    # Inline commands and COMMAND DOCS, as the interactive mode uses them.
    out = run([program, "-p", port], input='ENQUEUE cli "a \\"b\\""\nLEASE cli\nQUIT\n')
    assert 'a "b"' in out, out


def hiredis(port, options):
    if not options.hiredis or not os.path.exists(options.hiredis):
        raise Missing("--hiredis names no program (the target hiredis_life)")
    run([options.hiredis, port])


def redis_py(port, _options):
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import redis"], capture_output=True).returncode == 0:
            run([python, os.path.join(HERE, "redis_py_life.py"), port])
            return
    raise Missing("no Python with the module redis (Debian: python3-redis)")


def node_folder():
    """A folder with the pinned packages installed, kept for the next time."""
    if not shutil.which("npm"):
        raise Missing("npm is not installed")
    with open(os.path.join(HERE, "package-lock.json"), "rb") as lock:
        key = hashlib.sha256(lock.read()).hexdigest()[:16]
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(cache, "vestq", "clients-" + key)
    if os.path.exists(os.path.join(folder, "done")):
        return folder
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    beside = tempfile.mkdtemp(dir=os.path.dirname(folder))
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(os.path.join(HERE, name), beside)
    commands = [["npm", "ci", "--no-progress"]]
    if node_major("node") < NODE_MAJOR:
        commands.append(["npm", "install", "--no-save", "--no-progress", f"node@{NODE_MAJOR}"])
    for command in commands:
        result = subprocess.run(command, cwd=beside, capture_output=True, text=True, timeout=600)
        if result.returncode != 0:
            shutil.rmtree(beside)
            raise Missing("npm cannot get the packages: " + result.stderr.strip()[-300:])
    open(os.path.join(beside, "done"), "w").close()
    try:
        os.rename(beside, folder)
    except OSError:  # another run was faster
        shutil.rmtree(beside)
    return folder


def node_major(program):
    try:
        out = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
        return int(re.match(r"v(\d+)", out).group(1))
    except (OSError, AttributeError):
        return 0


def node_script(port, name, *more):
    folder = node_folder()
    node = "node"
    if node_major(node) < NODE_MAJOR:
        node = os.path.join(folder, "node_modules", "node", "bin", "node")
    # Beside its node_modules, where import finds them.
    for file in (name, "life.mjs"):
        shutil.copy(os.path.join(HERE, file), folder)
    run([node, os.path.join(folder, name), port, *more])


def node_redis(port, _options):
    node_script(port, "node_redis_life.mjs")


def ioredis(port, _options):
    node_script(port, "ioredis_life.mjs")


def fdb_tuple(port, options):
    node_script(port, "fdb_tuple.mjs", os.path.abspath(options.vestq))


CLIENTS = {"redis-cli": redis_cli, "hiredis": hiredis, "redis-py": redis_py, "node-redis": node_redis,
           "ioredis": ioredis, "fdb-tuple": fdb_tuple}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vestq", required=True)
    parser.add_argument("--io", default="auto", choices=["auto", "uring", "epoll"])
    parser.add_argument("--only", nargs="*", choices=sorted(CLIENTS))
    parser.add_argument("--hiredis", help="the program built from hiredis_life.c")
    options = parser.parse_args()
    failed = missing = 0
    with tempfile.TemporaryDirectory(prefix="vestq-clients-") as folder:
        server = Server(options.vestq, options.io, folder)
        try:
            for name in options.only or CLIENTS:
                try:
                    CLIENTS[name](server.port, options)
                    print(f"pass  {name}")
                except Missing as why:
                    missing += 1
                    print(f"skip  {name}: {why}")
                except Exception as why:  # whatever a client makes of it is its failure, and the others go on
                    failed += 1
                    print(f"FAIL  {name}: {why!r}")
        finally:
            trouble = server.stop()
        if trouble:
            failed += 1
            print(f"FAIL  vestq: {trouble}")
    if failed:
        return 1
    return 77 if missing and options.only else 0


if __name__ == "__main__":
    sys.exit(main())
