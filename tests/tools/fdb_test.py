#!/usr/bin/env python3
"""`vestq export` and `import` with --format fdb: keys byte for byte, round trips, what is refused, the scripts of the docs."""

import base64
import json
import os
import random
import re
import subprocess
import sys
import time

import harness
from harness import DaemonCase, to_map

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "EXPORT.md")


def element(value):
    """An element of FoundationDB's tuple layer, written from its design/tuple.md."""
    if isinstance(value, int):
        size = (abs(value).bit_length() + 7) // 8
        if value >= 0:
            return bytes([0x14 + size]) + value.to_bytes(size, "big")
        return bytes([0x14 - size]) + (value + 256 ** size - 1).to_bytes(size, "big")
    code, data = (b"\x01", value) if isinstance(value, bytes) else (b"\x02", value.encode())
    return code + data.replace(b"\0", b"\0\xff") + b"\0"


def pack(*elements):
    return b"".join(element(value) for value in elements)


def line(key, value=b"x"):
    return json.dumps({"key": key.hex(), "value": base64.b64encode(value).decode()}, separators=(",", ":"))


# The examples of the tuple layer's own binding, with priorities that can be carried.
GOLDEN = [
    (("queue", 1, "gc", "b1", 1700000000000, 0, b"\x00\x01\xff\xfe"),
     "02717565756500150102676300026231001a018bcfe56800140100ff01fffe00"),
    (("queue", 1, "lifecycle", "t\0x", 255, 5, b"\x00\x01\x02\x03"),
     "0271756575650015" "01026c6966656379636c6500027400ff780015ff15050100ff01020300"),
    (("queue", 1, "gc", "b1", 256, 300, b"\xff\xff"), "0271756575650015010267630002623100160100" "16012c01ffff00"),
]


class Fdb(DaemonCase):
    def export(self, *more, server=None, status=0):
        done = harness.run("export", "--format", "fdb", *more, "--server", (server or self.server).address)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def load(self, lines, *more, server=None, status=0):
        done = harness.run("import", "--format", "fdb", *more, "--json", "--server", (server or self.server).address,
                           stdin="".join(one + "\n" for one in lines).encode())
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_golden_keys_there_and_back(self):
        lines = []
        for elements, key in GOLDEN:
            self.assertEqual(pack(*elements).hex(), key)
            lines.append(line(bytes.fromhex(key), b"\x00\xff payload"))
        self.assertEqual(json.loads(self.load(lines).stdout), {"imported": 3, "there": 0, "held": 0, "skipped": 0})
        self.assertEqual(sorted(self.export().stdout.splitlines()), sorted(lines))
        job = to_map(self.client.call("LEASE", "lifecycle")[0])
        self.assertEqual((job["space"], job["priority"], job["payload"]), (b"t\0x", 5, b"\x00\xff payload"))
        self.assertEqual(dict(zip(job["headers"][0::2], job["headers"][1::2])),
                         {b"fdb-id": b"\x00\x01\x02\x03", b"fdb-vesting": b"255"})

    def test_a_golden_key_of_version_0_there_and_back(self):
        elements = ("queue", 0, "lifecycle", "t\0x", 255, 5, b"\x00\x01\x02\x03")
        key = "02717565756500" "14" "026c6966656379636c6500" "027400ff7800" "15ff" "1505" "0100ff01020300"
        self.assertEqual(pack(*elements).hex(), key)
        pair = line(bytes.fromhex(key), b"\x00\xff")
        self.assertIn("version: 0 is not 1 (--tuple-version)", self.load([pair], status=1).stderr)
        self.assertEqual(json.loads(self.load([pair], "--tuple-version", "0").stdout)["imported"], 1)
        self.assertEqual(self.export("--tuple-version", "0").stdout.splitlines(), [pair])

    # Example 2 of the tuple layer's: there is no priority below 0 here, and none is made up.
    def test_a_golden_key_with_a_priority_that_cannot_be_carried(self):
        key = "02717565756500" "1501" "02676300" "0200" "14" "13fe" "0100"
        self.assertEqual(pack("queue", 1, "gc", "", 0, -1, b"").hex(), key)
        refused = self.load([line(bytes.fromhex(key))], status=1)
        self.assertIn("line 1: priority: -1 is outside 0 to 4294967295", refused.stderr)
        self.assertEqual(json.loads(refused.stdout)["imported"], 0)
        self.assertEqual(self.export().stdout, "")

    def test_a_jobs_own_key(self):
        now = int(time.time() * 1000)
        ident = self.client.call("ENQUEUE", "gc", b"\x00p", "SPACE", "b1", "PRIORITY", "7", "AT", now + 3_600_000)
        bad_space = self.client.call("ENQUEUE", "gc", "q", "SPACE", b"a\xff\0")
        got = sorted(self.export("--tuple-version", "3").stdout.splitlines())
        enqueued = to_map(self.client.call("JOB", bad_space))["enqueued"]
        want = [line(pack("queue", 3, "gc", "b1", now + 3_600_000, 7, int(ident).to_bytes(8, "big")), b"\x00p"),
                line(pack("queue", 3, "gc", b"a\xff\0", enqueued, 1024, int(bad_space).to_bytes(8, "big")), b"q")]
        self.assertEqual(got, sorted(want))

    def test_two_daemons_give_the_same_bytes(self):
        chance = random.Random(11)
        for i in range(300):
            options = ["SPACE", chance.choice(["", "a", "b\0", b"\xff\xfe", "\u00e4"]), "PRIORITY", chance.randrange(2000)]
            if i % 3 == 0:
                options += ["DELAY", f"{chance.randrange(1, 50)}h"]
            self.client.call("ENQUEUE", chance.choice(["gc", "mail"]), chance.randbytes(chance.randrange(200)), *options)
        leased = self.client.call("LEASE", "gc", "COUNT", "20", "FOR", "2h")
        first = self.export().stdout.splitlines()
        self.assertEqual(len(first), 300)
        other = self.daemon(data=self.path("other"))
        self.assertEqual(json.loads(self.load(first, server=other).stdout)["imported"], 300)
        self.assertEqual(sorted(self.export(server=other).stdout.splitlines()), sorted(first))
        # A job that is leased at the one vests at the other when that lease ends.
        client = other.client()
        self.addCleanup(client.close)
        self.assertEqual(to_map(client.call("QUEUE", "INFO", "gc"))["scheduled"]
                         + to_map(client.call("QUEUE", "INFO", "mail"))["scheduled"], 100 + sum(
                             1 for job in leased if to_map(job)["deadline"]))
        deadlines = {to_map(job)["id"]: to_map(job)["deadline"] for job in leased}
        _, jobs = client.call("PEEK", "gc", "STATE", "scheduled", "COUNT", "1000")
        for job in map(to_map, jobs):
            source = str(int.from_bytes(job["headers"][1], "big")).encode()
            if source in deadlines:
                self.assertLessEqual(abs(job["vests"] - deadlines.pop(source)), 2000)
        self.assertEqual(deadlines, {})

    def test_random_keys_there_and_back(self):
        chance = random.Random(12)
        spaces = ["", "b1", "\0", "\0\u00ff", "\u07ff\U0010ffff", "x" * 200, b"\xff", b"\x80\0\xff"]
        lines = set()
        for _ in range(500):
            lines.add(line(pack("queue", 1, chance.choice(["gc", "!~", "q" * 200]), chance.choice(spaces),
                                chance.choice([0, 1, 255, 256, 1_600_000_000_000, 4_000_000_000_000, 2 ** 48 - 1]),
                                chance.choice([0, 1, 255, 256, 65535, 65536, 2 ** 32 - 1]),
                                chance.choice([chance.randbytes(chance.randrange(17)), "id-\u00e9-\0",
                                               bytes(chance.randrange(9))])),
                           chance.randbytes(chance.randrange(30))))
        self.load(sorted(lines))
        self.assertEqual(set(self.export().stdout.splitlines()), lines)

    def test_a_job_that_went_on_has_its_own_time_and_keeps_its_id(self):
        self.load([line(pack("queue", 1, "gc", "", 1700000000000, 9, b"id"), b"x")])
        job = to_map(self.client.call("LEASE", "gc")[0])
        self.client.call("FAIL", job["receipt"], "DELAY", "1h")
        vests = to_map(self.client.call("JOB", job["id"]))["vests"]
        found = json.loads(self.export().stdout)["key"]
        self.assertIn(found, [pack("queue", 1, "gc", "", vests + d, 9, b"id").hex() for d in range(-200, 201)])
        self.client.call("PROMOTE", job["id"])
        self.assertEqual(json.loads(self.export().stdout)["key"], pack("queue", 1, "gc", "", 1700000000000, 9, b"id").hex())

    def test_what_cannot_be_carried_is_named_with_its_line(self):
        good = ["queue", 1, "gc", "s", 5, 6, b"id"]

        def other(index, value):
            return line(pack(*good[:index], value, *good[index + 1:]))

        prefix = pack(*good[:6])
        bad = [
            ("", None),  # empty lines are nothing
            ("nonsense", "an object"),
            ("[1]", "an object"),
            ('{"key":"0","value":""}', "key: hexadecimal is expected"),
            ('{"key":"zz","value":""}', "key: hexadecimal is expected"),
            ('{"value":""}', "key: hexadecimal is expected"),
            ('{"key":"","value":"QQ"}', "value: base64 is expected"),
            ('{"key":"","value":"QR=="}', "value: base64 is expected"),
            ('{"key":"","value":7}', "value: base64 is expected"),
            ('{"key":"","value":""}', "a tuple of 0 elements"),
            (line(pack(*good, 1)), "a tuple of 8 elements"),
            (line(prefix + b"\x05\x00"), "a nested tuple is not carried"),
            (line(prefix + b"\x30" + bytes(16)), "a UUID is not carried"),
            (line(prefix + b"\x01ab"), "ends early"),
            (other(0, "tasks"), 'the first element: "queue" is expected'),
            (other(0, b"queue"), "the first element: a byte string stands there, a string is expected"),
            (other(1, 2), "version: 2 is not 1 (--tuple-version)"),
            (other(1, "1"), "version: a string stands there, an integer is expected"),
            (other(2, ""), "taskType: "),
            (other(2, "q" * 201), "taskType: "),
            (other(2, "a b"), "taskType: "),
            (other(2, "\u00e4"), "taskType: "),
            (other(2, 7), "taskType: an integer stands there"),
            (other(3, "s" * 201), "itemSpace: "),
            (other(3, b"text"), "itemSpace: a byte string stands there"),
            (other(3, 5), "itemSpace: an integer stands there"),
            (other(4, -1), "vestingMs: -1 is outside 0 to 281474976710655"),
            (other(4, 2 ** 48), "vestingMs: 281474976710656 is outside"),
            (other(4, "5"), "vestingMs: a string stands there"),
            (other(5, -1), "priority: -1 is outside 0 to 4294967295"),
            (other(5, 2 ** 32), "priority: 4294967296 is outside"),
            (other(6, 17), "id: an integer stands there"),
            (line(pack(*good), bytes(2 << 20)), "TOOBIG"),
        ]
        lines = [line(pack(*good))] + [text for text, _ in bad] + [line(pack(*good), b"another")]
        done = self.load(lines, "--skip-bad")
        self.assertEqual(json.loads(done.stdout), {"imported": 2, "there": 0, "held": 0, "skipped": len(bad) - 1})
        for number, (text, why) in enumerate(bad, 2):
            said = [one for one in done.stderr.splitlines() if f" line {number}: " in one]
            self.assertEqual(len(said), 0 if why is None else 1, (number, text, done.stderr))
            if why is not None:
                self.assertIn(why, said[0])
                stopped = self.load([lines[0], text], status=1)
                self.assertIn("line 2: ", stopped.stderr)
                self.assertIn(why, stopped.stderr)
                self.assertEqual(json.loads(stopped.stdout)["there"], 1)

    def test_what_export_cannot_carry(self):
        big = self.client.call("ENQUEUE", "gc", bytes(100_001)).decode()
        self.client.call("ENQUEUE", "gc", bytes(100_000))
        self.assertIn(f"job {big}: a payload of 100001 bytes", self.export(status=1).stderr)
        done = self.export("--skip-bad")
        self.assertEqual(len(done.stdout.splitlines()), 1)
        self.assertIn("1 skipped", done.stderr)
        self.assertIn("json", self.export("--state", "dead", status=2).stderr)


class Scripts(DaemonCase):
    """The two scripts of the document, on a stand-in for FoundationDB's binding that keeps its pairs in a file."""

    STAND_IN = '''
import atexit, json, os, types
import tuple_layer
_path = os.environ["PAIRS"]
_pairs = {}
if os.path.exists(_path):
    with open(_path) as file:
        _pairs = {bytes.fromhex(k): bytes.fromhex(v) for k, v in json.load(file).items()}

class _Transaction:
    def __setitem__(self, key, value):
        assert len(key) <= 10_000 and len(value) <= 100_000
        _pairs[key] = value
    def get_range(self, begin, end, limit=0):
        keys = [key for key in sorted(_pairs) if begin <= key < end][:limit or None]
        return iter([types.SimpleNamespace(key=key, value=_pairs[key]) for key in keys])

def _save():
    with open(_path, "w") as file:
        json.dump({k.hex(): v.hex() for k, v in _pairs.items()}, file)
atexit.register(_save)
api_version = lambda version: None
open = lambda: object()
transactional = lambda act: lambda db, *args: act(_Transaction(), *args)
tuple = types.SimpleNamespace(range=lambda t: slice(tuple_layer.pack(*t) + b"\\x00", tuple_layer.pack(*t) + b"\\xff"))
'''.replace("with open(", "with __builtins__['open'](")

    def script(self, text, stdin=b""):
        environment = dict(os.environ, PAIRS=self.path("pairs"), PYTHONPATH=self.folder)
        done = subprocess.run([sys.executable, "-c", text], input=stdin, capture_output=True, env=environment,
                              timeout=harness.DEADLINE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout

    def test_they_load_and_dump_what_was_exported(self):
        with open(self.path("fdb.py"), "w", encoding="utf-8") as file:
            file.write(self.STAND_IN)
        with open(self.path("tuple_layer.py"), "w", encoding="utf-8") as file:
            file.write("import sys\nsys.path.append(%r)\nfrom fdb_test import pack\n" % os.path.dirname(
                os.path.abspath(__file__)))
        with open(DOCUMENT, encoding="utf-8") as file:
            load, dump = re.findall(r"^```python\n(.*?)^```", file.read(), re.M | re.S)
        for i in range(2500):
            self.client.call("ENQUEUE", "gc", b"%d \xff" % i * 60, "PRIORITY", i)
        lines = self.vestq("export", "--format", "fdb").stdout
        self.script(load, lines.encode())
        dumped = self.script(dump)
        pairs = [(one["key"], one["value"]) for one in map(json.loads, dumped.splitlines())]
        self.assertEqual(pairs, sorted((one["key"], one["value"]) for one in map(json.loads, lines.splitlines())))
        other = self.daemon(data=self.path("other"))
        done = harness.run("import", "--format", "fdb", "--server", other.address, stdin=dumped)
        self.assertEqual((done.returncode, done.stdout), (0, "2500 imported\n"), done.stderr)


if __name__ == "__main__":
    harness.main()
