"""What bench/workload and bench/compare share: starting servers on one core, the load generator on another, the
machine's description, and a RESP client of a few lines. Standard library only."""
import ctypes
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


class BenchError(Exception):
    """Ends the run with a message; nothing measured so far counts."""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def median(values):
    ordered = sorted(values)
    n = len(ordered)
    if n == 0:
        return 0.0
    return ordered[n // 2] if n % 2 else (ordered[n // 2 - 1] + ordered[n // 2]) / 2


def mount_of(path):
    """(device, mount point, file system type) that holds the path."""
    path = os.path.realpath(path)
    best = ("", "", "")
    with open("/proc/mounts") as f:
        for line in f:
            device, point, kind = line.split()[:3]
            inside = path == point or path.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(best[1]):
                best = (device, point, kind)
    return best


def block_stat_of(path):
    """The sysfs stat file of the block device under the path, or an empty string (overlay, network)."""
    dev = os.stat(path).st_dev
    stat = "/sys/dev/block/%d:%d/stat" % (os.major(dev), os.minor(dev))
    return os.path.realpath(stat) if os.path.exists(stat) else ""


def fdatasync_us(path, rounds=300):
    """p50 and p99 of appending 4 KiB and fdatasync, in microseconds."""
    name = os.path.join(path, "fdatasync.probe")
    fd = os.open(name, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    took = []
    try:
        for _ in range(rounds):
            os.write(fd, b"x" * 4096)
            begin = time.perf_counter_ns()
            os.fdatasync(fd)
            took.append((time.perf_counter_ns() - begin) / 1000)
    finally:
        os.close(fd)
        os.unlink(name)
    took.sort()
    return took[len(took) // 2], took[len(took) * 99 // 100]


def command_output(args):
    try:
        return subprocess.run(args, capture_output=True, text=True, timeout=20).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def machine(path):
    cpu = "unknown"
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                cpu = line.split(":", 1)[1].strip()
                break
    p50, p99 = fdatasync_us(path)
    commit = command_output(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"]) or "unknown"
    dirty = command_output(["git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no"])
    return {
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)),
        "kernel": os.uname().release,
        "file_system": mount_of(path)[2],
        "fdatasync_p50_us": round(p50, 1),
        "fdatasync_p99_us": round(p99, 1),
        "load_average": os.getloadavg()[0],
        "commit": commit + ("+changes" if dirty else ""),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def pin(core):
    """For preexec_fn: this core only, and end when the benchmark ends however it does."""
    libc = ctypes.CDLL(None)

    def run():
        os.sched_setaffinity(0, {core})
        libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    return run


class Server:
    """One running server with its own data directory; `stop` or `kill` ends it."""

    def __init__(self, args, port=None, core=0, log=None, port_line=None):
        self.log = open(log, "ab") if log else subprocess.DEVNULL
        self.started = time.monotonic()
        self.process = subprocess.Popen(args, stdin=subprocess.DEVNULL, stderr=self.log,
                                        stdout=subprocess.PIPE if port_line else self.log,
                                        preexec_fn=pin(core))
        self.args = args
        self.port = port
        try:
            if port_line:
                self._read_port(port_line)
            self._wait_until_listening()
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self):
        return self.process.pid

    def _read_port(self, pattern):
        for raw in self.process.stdout:
            found = re.match(pattern, raw.decode(errors="replace").strip())
            if found:
                self.port = int(found.group(1))
                return
        raise BenchError("%s ended (status %s) before it listened; see its log in the data directory" %
                         (" ".join(self.args), self.process.wait()))

    def _wait_until_listening(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise BenchError("%s ended with status %d" % (" ".join(self.args), self.process.returncode))
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise BenchError("%s does not listen" % " ".join(self.args))

    def stop(self):
        self._end(signal.SIGTERM)

    def kill(self):
        self._end(signal.SIGKILL)

    def _end(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
        if self.log is not subprocess.DEVNULL:
            self.log.close()
            self.log = subprocess.DEVNULL

    def memory_bytes(self):
        """(resident now, most so far)."""
        values = {}
        with open("/proc/%d/status" % self.pid) as f:
            for line in f:
                if line.startswith(("VmRSS:", "VmHWM:")):
                    values[line.split(":")[0]] = int(line.split()[1]) * 1024
        return values.get("VmRSS", 0), values.get("VmHWM", 0)

    def cpu_seconds(self):
        """CPU used so far by all threads, exited ones too (10 ms ticks)."""
        with open("/proc/%d/stat" % self.pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def written_bytes(self):
        with open("/proc/%d/io" % self.pid) as f:
            for line in f:
                if line.startswith("write_bytes:"):
                    return int(line.split()[1])
        return 0


class Load:
    """The load generator, pinned to its core. Any wrong answer raises BenchError."""

    def __init__(self, program, core, block_stat):
        self.program = program
        self.core = core
        self.block_stat = block_stat
        self.run_number = 0

    def args(self, server, protocol, **options):
        self.run_number += 1
        args = [self.program, "--protocol", protocol, "--port", str(server.port), "--pid", str(server.pid),
                "--cpu", str(self.core), "--run", str(self.run_number)]
        if self.block_stat:
            args += ["--block-stat", self.block_stat]
        for name, value in options.items():
            if value is True:
                args.append("--" + name)
            elif value is not False and value is not None:
                args += ["--" + name, str(value)]
        return args

    def run(self, server, protocol, timeout=1800, **options):
        args = self.args(server, protocol, **options)
        done = subprocess.run(args, capture_output=True, text=True, timeout=timeout)
        if done.returncode != 0:
            raise BenchError("%s\n  %s" % (" ".join(args), done.stderr.strip() or done.stdout.strip()))
        return json.loads(done.stdout)


class Resp:
    """A blocking RESP2 client: call("LEASE", "q") -> reply. An error reply raises BenchError."""

    def __init__(self, port, timeout=120):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.file = self.socket.makefile("rb")

    def call(self, *words):
        encoded = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.socket.sendall(b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in encoded))
        return self._read()

    def _read(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise BenchError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise BenchError("answered: " + rest.decode(errors="replace"))
        if kind == b"+":
            return rest.decode()
        if kind == b":":
            return int(rest)
        if kind in b"$=":
            length = int(rest)
            return None if length < 0 else self.file.read(length + 2)[:-2]
        if kind in b"*%":
            length = int(rest)
            if length < 0:
                return None
            return [self._read() for _ in range(length * (2 if kind == b"%" else 1))]
        if kind == b"_":
            return None
        raise BenchError("not RESP: %r" % line)

    def info(self):
        """INFO as a dictionary of strings."""
        text = self.call("INFO")
        lines = (text.decode() if isinstance(text, bytes) else text).splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line and not line.startswith("#"))

    def close(self):
        self.file.close()
        self.socket.close()


def fresh_dir(path):
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def markdown(header, rows):
    """A Markdown table, aligned so that it also reads as text."""
    cells = [header] + [[str(c) for c in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]

    def line(row):
        return "| " + " | ".join(c.ljust(w) if i == 0 else c.rjust(w)
                                 for i, (c, w) in enumerate(zip(row, widths))) + " |"
    rule = "|" + "|".join("-" * (w + 2) if i == 0 else "-" * (w + 1) + ":" for i, w in enumerate(widths)) + "|"
    return "\n".join([line(cells[0]), rule] + [line(row) for row in cells[1:]])


def say(text=""):
    print(text, flush=True)


def note(text):
    print(text, file=sys.stderr, flush=True)
