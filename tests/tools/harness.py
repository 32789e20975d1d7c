"""What the tests of the program share: a daemon on a port that the kernel picks, a small RESP client, deadlines.

Nothing here sleeps: a test waits for a line, an answer or the end of a process, each with a deadline. Processes are ended
by their own ids.
"""

import hashlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.environ.get("VESTQ") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "release", "vestq")
DEADLINE = 60.0


class RespError(Exception):
    """An error reply."""


class Resp:
    """One connection. Answers are bytes, ints, None or lists."""

    def __init__(self, port, timeout=DEADLINE):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.file = self.socket.makefile("rb")

    def send(self, *words):
        out = [b"*%d\r\n" % len(words)]
        for word in words:
            word = word if isinstance(word, bytes) else str(word).encode()
            out.append(b"$%d\r\n%s\r\n" % (len(word), word))
        self.socket.sendall(b"".join(out))

    def read(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the connection ended")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest
        if kind == b"-":
            raise RespError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            if int(rest) < 0:
                return None
            data = self.file.read(int(rest) + 2)
            if len(data) != int(rest) + 2:
                raise ConnectionError("the connection ended")
            return data[:-2]
        if kind == b"*":
            return None if int(rest) < 0 else [self.read() for _ in range(int(rest))]
        raise ValueError(f"not RESP: {line!r}")

    def call(self, *words):
        self.send(*words)
        return self.read()

    def close(self):
        self.file.close()
        self.socket.close()


def to_map(flat):
    """A flat array of keys and values as a dict with text keys."""
    return None if flat is None else {flat[i].decode(): flat[i + 1] for i in range(0, len(flat), 2)}


def read_line(stream, deadline=DEADLINE):
    """A line of an unbuffered pipe without its end; '' at the end of the stream."""
    line, until = b"", time.monotonic() + deadline
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([stream], [], [], max(0, until - time.monotonic()))
        if not ready:
            raise TimeoutError(f"no line within {deadline} s, only {line!r}")
        piece = os.read(stream.fileno(), 1)
        if not piece:
            break
        line += piece
    return line.decode(errors="replace").rstrip("\n")


def wait_gone(pid, deadline=DEADLINE):
    """True once the process has ended."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        ready, _, _ = select.select([fd], [], [], deadline)
        return bool(ready)
    finally:
        os.close(fd)


def run(*words, stdin=b"", deadline=DEADLINE, **more):
    """The program with these words; a CompletedProcess with text."""
    done = subprocess.run([PROGRAM, *words], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=deadline, check=False, **more)
    done.stdout, done.stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    return done


def tree_hash(folder):
    """Names, kinds, sizes and contents of everything below a folder."""
    digest = hashlib.sha256()
    for path, folders, names in sorted(os.walk(folder)):
        folders.sort()
        for name in sorted(names) + folders:
            full = os.path.join(path, name)
            digest.update(os.path.relpath(full, folder).encode() + b"\0" + str(os.lstat(full).st_mode).encode())
            if os.path.isfile(full):
                with open(full, "rb") as file:
                    digest.update(file.read())
    return digest.hexdigest()


def sockets_on(port):
    """Lines of /proc/net/tcp for a port of this machine: who else has it."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        return [line.split()[1:4] for line in file if f":{port:04X} " in line]


class Daemon:
    """`vestq serve` on a data directory, its log in a file beside it."""

    def __init__(self, data, *options, port=0, log=None, env=None):
        # The port stays ours while the daemon is down: bound here and never listened on.
        self.holder = socket.socket()
        self.holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.holder.bind(("127.0.0.1", port))
        self.data, self.options, self.port = data, options, self.holder.getsockname()[1]
        self.process, self.env = None, env
        self.log = log or data.rstrip("/") + ".log"
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [PROGRAM, "serve", "--data", self.data, "--resp", f"127.0.0.1:{self.port}", *self.options],
                stdout=subprocess.PIPE, stderr=log, bufsize=0, env=self.env)
        line = read_line(self.process.stdout)
        if line != f"listening resp {self.address}":
            status, _ = self.end()
            raise RuntimeError(f"the daemon did not start (status {status}, {line!r}): {self.log_text()}"
                               f"sockets on its port: {sockets_on(self.port)}")

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def client(self):
        return Resp(self.port)

    def log_text(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def stop(self):
        """SIGSTOP, and waits until every thread stands: none of them answers anything after that."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)

    def end(self, how=signal.SIGTERM):
        """Signals it and gives its exit status and how long it took."""
        began = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(how)
        status = self.process.wait(DEADLINE)
        self.process.stdout.close()
        return status, time.monotonic() - began

    def close(self):
        if self.process.poll() is None:
            self.end(signal.SIGKILL)
        self.holder.close()


class Case(unittest.TestCase):
    """A test with a folder of its own and daemons that are ended with it."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="vestq-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.processes = []
        self.addCleanup(self.end_processes)

    def end_processes(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()

    def path(self, name="data"):
        return os.path.join(self.folder, name)

    def daemon(self, *options, data=None, port=0, env=None):
        daemon = Daemon(data or self.path(), *options, port=port, env=env)
        self.addCleanup(daemon.close)
        return daemon

    def spawn(self, *words, **more):
        process = subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, **more)
        self.processes.append(process)
        return process


class DaemonCase(Case):
    """A Case with a daemon (`server`), a connection to it (`client`), and the sub-commands that talk to it."""

    def setUp(self):
        super().setUp()
        self.server = self.daemon()
        self.client = self.server.client()
        self.addCleanup(self.client.close)

    def vestq(self, *words, status=0):
        """The program with these words and --server, which must end with this status."""
        done = run(*words, "--server", self.server.address)
        self.assertEqual(done.returncode, status, done.stderr)
        return done



def can_mount(folder):
    """True where this process may mount (root outside a restricted container)."""
    if os.geteuid() != 0:
        return False
    probe = tempfile.mkdtemp(dir=folder)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", probe], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False)
    if done.returncode == 0:
        subprocess.run(["umount", probe], check=False)
    os.rmdir(probe)
    return done.returncode == 0


def main():
    unittest.main(verbosity=2, argv=[sys.argv[0]] + sys.argv[1:])
