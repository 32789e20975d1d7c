#!/usr/bin/env python3
"""The documents agree with the tree.

DOC-1  an invariant's id that stands in a product folder has a row in a table of ARCHITECTURE.md
DOC-2  an id with a row there occurs in the code or in the tests
DOC-3  each command in the table of net/command.cc is described in net/PROTOCOL.md
DOC-4  files and folders that a document names exist, and so do the headings that its links point at

`--self-test` proves that each rule can fail.
"""

import os
import re
import sys

PRODUCT = ["engine", "keycodec", "lanes", "lease", "net", "tools"]
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "tests/README.md", "bench/README.md", "bench/LOG.md",
             "keycodec/FORMAT.md", "net/PROTOCOL.md", "tools/EXPORT.md"]
ID = re.compile(r"\b([A-Z]{2,}-[0-9]+)\b")
# Names of the same form that are nobody's invariant: standards, algorithms, other people's numbers.
FOREIGN = re.compile(r"^(SHA|UTF|CVE|RFC|ISO|FNV|SSH|IEEE|RESP|LZ|MD|PR)-")
ROW = re.compile(r"^\|\s*([A-Z]{2,}-[0-9]+)\s*\|", re.M)
COMMAND = re.compile(r'CommandSpec\{"([A-Z]+)"')
TOPS = r"(?:\.ci|bench|cmake|engine|keycodec|lanes|lease|net|tests|tools)"
# A path from the root of the tree. Not behind a slash, a word, or `-I`; a name with `*` or `{` is a pattern.
PATH = re.compile(r"(?<![\w./-])(" + TOPS + r"/[A-Za-z0-9_./-]*[A-Za-z0-9_])(?![\w{*<])")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.M | re.S)


def ids_in(text):
    return {name for name in ID.findall(text) if not FOREIGN.match(name)}


def check_ids(product, tests, architecture):
    """`product` and `tests` map a file's name to its text."""
    rows = ROW.findall(architecture)
    for name in sorted({name for name in rows if rows.count(name) > 1}):
        yield f"ARCHITECTURE.md: DOC-1: {name} has more than one row"
    used = {}
    for path, text in sorted(product.items()):
        for name in ids_in(text):
            used.setdefault(name, path)
    for name, path in sorted(used.items()):
        if name not in rows:
            yield f"{path}: DOC-1: {name} has no row in ARCHITECTURE.md"
    known = set(used).union(*(ids_in(text) for text in tests.values()))
    for name in sorted(set(rows) - known):
        yield f"ARCHITECTURE.md: DOC-2: {name} occurs nowhere in the code or the tests"


def check_commands(table, protocol):
    names = COMMAND.findall(table)
    if not names:
        yield "net/command.cc: DOC-3: no command was found in it"
    for name in names:
        if not re.search(r"\b" + name + r"\b", protocol):
            yield f"net/PROTOCOL.md: DOC-3: the command {name} is not described"


def anchors(text):
    """The anchors that headings get, as the common renderers make them."""
    for line in FENCE.sub("", text).splitlines():
        match = re.match(r"#+\s+(.*?)\s*$", line)
        if match:
            plain = re.sub(r"[`*_]|\[|\]\([^)]*\)", "", match.group(1)).lower()
            yield re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def check_names(document, text, exists, read):
    """`exists` and `read` take a path from the root of the tree."""
    for name in sorted(set(PATH.findall(text))):
        if not exists(name):
            yield f"{document}: DOC-4: names {name}, which does not exist"
    for target in sorted(set(LINK.findall(FENCE.sub("", text)))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(document), path)) if path else document
        if not exists(path):
            yield f"{document}: DOC-4: links to {target}, which does not exist"
        elif anchor and anchor not in anchors(read(path)):
            yield f"{document}: DOC-4: links to {target}, a heading that does not exist"


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def texts(root, folders):
    found = {}
    for top in folders:
        for folder, inside, names in os.walk(os.path.join(root, top)):
            inside[:] = sorted(name for name in inside if name not in ("build", "node_modules", "__pycache__"))
            for name in sorted(names):
                path = os.path.join(folder, name)
                if os.path.relpath(path, root) != "tests/style/docs_test.py" and not name.endswith((".json", ".pyc")):
                    found[os.path.relpath(path, root)] = read(path)
    return found


def check_tree(root):
    product, tests = texts(root, PRODUCT), texts(root, ["tests"])
    problems = list(check_ids(product, tests, read(os.path.join(root, "ARCHITECTURE.md"))))
    problems += check_commands(product["net/command.cc"], product["net/PROTOCOL.md"])
    for document in DOCUMENTS:
        path = os.path.join(root, document)
        if not os.path.exists(path):
            problems.append(f"{document}: DOC-4: is missing")
            continue
        problems += check_names(document, read(path), lambda name: os.path.exists(os.path.join(root, name)),
                                lambda name: read(os.path.join(root, name)))
    return problems, len(product) + len(tests) + len(DOCUMENTS)


def self_test():
    table = "| LEASE-1 | one | a | b |\n| LEASE-2 | two | a | b |\n"
    code = {"lease/a.h": "// LEASE-1 holds, by SHA-256 and UTF-8", "lease/b.cc": 'CHECK(x, "LEASE-2: two");'}
    text = "See tools/run, [the format](keycodec/FORMAT.md#keys) and build/release/tests/x.\n"
    there = {"tools/run", "keycodec/FORMAT.md"}
    heading = "# Format\n\n## Keys\n"
    cases = [
        (None, check_ids(code, {}, table)),
        ("DOC-1", check_ids({**code, "net/c.h": "// POLL-9"}, {}, table)),
        ("DOC-1", check_ids(code, {}, table + "| LEASE-1 | again | a | b |\n")),
        ("DOC-2", check_ids(code, {}, table + "| GONE-1 | three | a | b |\n")),
        (None, check_ids(code, {"tests/t.cc": "SIM-1"}, table + "| SIM-1 | three | a | b |\n")),
        (None, check_commands('CommandSpec{"PING", -1', "`PING [text]`")),
        ("DOC-3", check_commands('CommandSpec{"PING", -1', "SHOPPING")),
        ("DOC-3", check_commands("nothing", "PING")),
        (None, check_names("README.md", text, there.__contains__, lambda name: heading)),
        ("DOC-4", check_names("README.md", "tools/gone", there.__contains__, lambda name: heading)),
        ("DOC-4", check_names("README.md", "[x](GONE.md)", there.__contains__, lambda name: heading)),
        ("DOC-4", check_names("README.md", "[x](keycodec/FORMAT.md#values)", there.__contains__, lambda name: heading)),
    ]
    problems = []
    for number, (rule, found) in enumerate(cases):
        found = list(found)
        if (rule is None) == bool(found) or (rule and f": {rule}: " not in found[0]):
            problems.append(f"self-test: case {number}: expected {rule}, got {found}")
    return problems, len(cases)


def main():
    root = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
    problems, seen = self_test() if "--self-test" in sys.argv[1:] else check_tree(root)
    for problem in problems:
        print(f"docs: {problem}")
    print(f"docs: {seen} looked at, {len(problems)} wrong")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
