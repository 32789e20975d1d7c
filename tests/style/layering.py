#!/usr/bin/env python3
"""Reads the #include lines of the tree and fails on one that goes against the layers.

The layers, bottom up (a folder may include its own files and those below it):

    engine/base <- keycodec <- {lanes, lease} <- engine <- net <- tools      bench, tests: everything

LAYER-1  nothing includes upwards
LAYER-2  lanes and lease do not include each other
LAYER-3  among product folders only engine includes RocksDB
LAYER-4  among product folders only net includes liburing
LAYER-5  the pure folders (engine/base, keycodec, lanes, lease) include no system header: no clock, thread, file, socket
LAYER-6  in quotes stand files of the tree, by their path from the root, and they exist (RocksDB's may stand in quotes too)
LAYER-7  a source file with a header of its name includes that first: so the header is known to include what it needs

Long files are reported, never failed on. `--self-test` proves that each rule can fail.
"""

import os
import re
import sys

PRODUCT = {
    "engine/base": {"engine/base"},
    "keycodec": {"engine/base", "keycodec"},
    "lanes": {"engine/base", "keycodec", "lanes"},
    "lease": {"engine/base", "keycodec", "lease"},
    "engine": {"engine/base", "keycodec", "lanes", "lease", "engine"},
    "net": {"engine/base", "keycodec", "lanes", "lease", "engine", "net"},
    "tools": {"engine/base", "keycodec", "lanes", "lease", "engine", "net", "tools"},
}
FREE = {"bench", "tests"}
PURE = {"engine/base", "keycodec", "lanes", "lease"}
# What a pure folder has no use for: it is handed `now`, starts nothing and reads nothing.
IMPURE_HEADERS = re.compile(
    r"^(chrono|ctime|time\.h|thread|mutex|shared_mutex|condition_variable|future|semaphore|latch|barrier|fstream"
    r"|filesystem|iostream|unistd\.h|fcntl\.h|poll\.h|pthread\.h|sys/.*|linux/.*|netinet/.*|arpa/.*)$")
LINE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
LONG_FILE = 400


def folder_of(path):
    """The layer of a file of the tree, None outside all of them."""
    if path.startswith("engine/base/"):
        return "engine/base"
    top = path.split("/", 1)[0]
    return top if "/" in path and (top in PRODUCT or top in FREE) else None


def wrong_include(path, quote, included, exists):
    """None, or (rule, why) when `path` must not include `included`."""
    here = folder_of(path)
    there = folder_of(included)
    if there is None and quote == '"' and not included.startswith("rocksdb/"):
        return "LAYER-6", "is not a path from the root of the tree"
    if there is not None and quote == '"' and not exists(included):
        return "LAYER-6", "does not exist"
    if here not in PRODUCT:
        return None
    if included.startswith("rocksdb/") and here != "engine":
        return "LAYER-3", "only engine/ includes RocksDB"
    if (included.startswith("liburing") or included == "linux/io_uring.h") and here != "net":
        return "LAYER-4", "only net/ includes liburing"
    if here in PURE and quote == "<" and IMPURE_HEADERS.match(included):
        return "LAYER-5", f"{here} is pure: no clock, thread, file or socket"
    if there is None or quote == "<" or there in PRODUCT[here]:
        return None
    if {here, there} == {"lanes", "lease"}:
        return "LAYER-2", "lanes and lease do not include each other"
    return "LAYER-1", f"{here} stands below {there}"


def check_first(path, text, exists):
    own = path[:-len(".cc")] + ".h" if path.endswith(".cc") else None
    first = next((match.group(2) for match in map(LINE.match, text.splitlines()) if match), None)
    if own and folder_of(path) in PRODUCT and exists(own) and first != own:
        yield f"{path}:1: LAYER-7: includes {first} before {own}"


def check_text(path, text, exists):
    for number, line in enumerate(text.splitlines(), 1):
        match = LINE.match(line)
        if match:
            wrong = wrong_include(path, match.group(1), match.group(2), exists)
            if wrong:
                yield f"{path}:{number}: {wrong[0]}: includes {match.group(2)}: {wrong[1]}"


def tree(root):
    for top in sorted({name.split("/")[0] for name in PRODUCT} | FREE):
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders[:] = sorted(f for f in folders if f not in ("node_modules", "build") and not f.startswith("."))
            for name in sorted(names):
                if name.endswith((".h", ".cc")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def check_tree(root):
    problems, files = [], 0
    for path in tree(root):
        files += 1
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        for check in (check_first, check_text):
            problems += check(path, text, lambda name: os.path.exists(os.path.join(root, name)))
        if text.count("\n") > LONG_FILE:
            print(f"layering: note: {path} has {text.count(chr(10))} lines, over {LONG_FILE} is asking to be two things")
    if files == 0:
        problems.append(f"{root}: no source files found")
    return problems, files


def self_test():
    cases = [
        ("LAYER-1", "keycodec/keys.cc", '#include "engine/store.h"'),
        ("LAYER-1", "engine/store.cc", '#include "net/server.h"'),
        ("LAYER-1", "net/server.cc", '#  include "tools/serve.h"'),
        ("LAYER-2", "lanes/lane.cc", '#include "lease/backoff.h"'),
        ("LAYER-2", "lease/table.cc", '#include "lanes/lane.h"'),
        ("LAYER-3", "net/server.cc", "#include <rocksdb/db.h>"),
        ("LAYER-3", "tools/check.cc", '#include "rocksdb/db.h"'),
        ("LAYER-4", "engine/core.cc", "#include <liburing.h>"),
        ("LAYER-5", "lease/table.cc", "#include <chrono>"),
        ("LAYER-5", "lanes/lane.h", "#include <sys/epoll.h>"),
        ("LAYER-6", "net/server.cc", '#include "server.h"'),
        (None, "engine/store.cc", "#include <rocksdb/db.h>"),
        (None, "engine/store.cc", '#include "rocksdb/db.h"'),
        (None, "net/ring.cc", "#include <liburing.h>"),
        (None, "net/server.cc", '#include "engine/engine.h"'),
        (None, "tests/sim/world.cc", "#include <rocksdb/env.h>"),
        (None, "bench/micro/codec.cc", '#include "keycodec/keys.h"'),
        (None, "engine/base/time.h", "#include <cstdint>"),
    ]
    problems = []
    for rule, path, line in cases:
        found = list(check_text(path, line + "\n", lambda name: True))
        if (rule is None) == bool(found) or (rule and f": {rule}: " not in found[0]):
            problems.append(f"self-test: {path} with {line}: expected {rule}, got {found}")
    for first, fails in (("engine/store.h", False), ("vector", True)):
        found = list(check_first("engine/store.cc", f"#include <{first}>\n#include <vector>\n", lambda name: True))
        if fails != any("LAYER-7" in line for line in found):
            problems.append(f"self-test: engine/store.cc with {first} first: got {found}")
    gone = list(check_text("net/server.cc", '#include "engine/gone.h"\n', lambda name: False))
    if not gone or "LAYER-6" not in gone[0]:
        problems.append("self-test: a file that does not exist was not noticed")
    return problems, len(cases) + 3


def main():
    root = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
    problems, seen = self_test() if "--self-test" in sys.argv[1:] else check_tree(root)
    for problem in problems:
        print(f"layering: {problem}")
    print(f"layering: {seen} looked at, {len(problems)} wrong")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
