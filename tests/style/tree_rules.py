#!/usr/bin/env python3
"""Rules for the text of the tree, beyond what a compiler sees.

TREE-1  no leftovers: a to-do mark belongs into an issue
TREE-2  no path of one machine in a committed file
TREE-3  no package registry's host name: packages come by the machine's own configuration
TREE-4  scripts in tools/, .ci/ and tests/ with a #! line can be executed
"""

import os
import re
import subprocess
import sys

# Written in pieces, so that this file does not fail its own rules.
LEFTOVER = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X"]) + r")\b")
MACHINE = re.compile(r"(?<![\w.])/(" + "|".join(["wo" + "rk", "ho" + "me/[a-z]", "ro" + "ot"]) + r")(/|\b)")
HOSTS = [".".join(labels) for labels in (
    ("registry", "npmjs", "org"), ("pypi", "org"), ("files", "pythonhosted", "org"), ("deb", "debian", "org"),
    ("proxy", "golang", "org"), ("crates", "io"), ("archive", "ubuntu", "com"))]
BINARY = re.compile(rb"\x00")


def files(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], stdout=subprocess.PIPE, check=False)
    return [name for name in listed.stdout.decode().split("\0") if name]


def check_line(line):
    if LEFTOVER.search(line):
        yield "TREE-1", "a leftover mark"
    if MACHINE.search(line):
        yield "TREE-2", "a path of one machine"
    for host in HOSTS:
        if host in line:
            yield "TREE-3", f"names {host}"


def check_tree(root):
    problems, seen = [], 0
    for name in files(root):
        path = os.path.join(root, name)
        if name == "LICENSE" or not os.path.isfile(path) or os.path.islink(path):
            continue
        with open(path, "rb") as file:
            content = file.read()
        if BINARY.search(content[:8192]):
            continue
        seen += 1
        for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
            problems += [f"{name}:{number}: {rule}: {why}" for rule, why in check_line(line)]
        script = content.startswith(b"#!") and name.split("/")[0] in ("tools", ".ci", "tests")
        if script and not os.access(path, os.X_OK):
            problems.append(f"{name}: TREE-4: has a #! line and is not executable")
    return problems, seen


def self_test():
    wrong = {"TREE-1": "// TO" + "DO: later", "TREE-2": "cd /wo" + "rk/main", "TREE-3": f"curl https://{HOSTS[1]}/simple"}
    problems = [f"self-test: {rule} did not fail on: {line}" for rule, line in wrong.items()
                if rule not in [found for found, _ in check_line(line)]]
    for line in ["vestq work hello -- cat", "net/" + "wo" + "rk/x", "the root of the tree"]:
        if list(check_line(line)):
            problems.append(f"self-test: {list(check_line(line))} on: {line}")
    return problems


def main():
    root = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
    problems = self_test()
    found, seen = check_tree(root)
    for problem in problems + found:
        print(f"tree: {problem}")
    if seen == 0:
        print("tree: no git checkout here, the files were not looked at")
    print(f"tree: {seen} files looked at, {len(problems) + len(found)} wrong")
    return 1 if problems or found else 0


if __name__ == "__main__":
    sys.exit(main())
