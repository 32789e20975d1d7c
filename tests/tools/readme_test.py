#!/usr/bin/env python3
"""The first minutes of README.md, done as they are printed: each command in a clean folder, and what it prints.

In an expected line any number stands for any other, except that ids and receipts must be the same throughout; a line `…`
stands for any number of lines. The daemon has a port of its own: VESTQ_SERVER says so to `vestq`, and 7733 is
replaced where it stands.
"""

import os
import re
import shutil
import subprocess

import harness
from harness import Case

README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "README.md")
PROMPT = "127.0.0.1:7733> "


def blocks(heading):
    """The fenced blocks of a section."""
    with open(README, encoding="utf-8") as file:
        section = file.read().partition("\n## " + heading + "\n")[2].partition("\n## ")[0]
    return re.findall(r"(?ms)^```\n(.*?)^```$", section)


def sessions(block, prompt):
    """[(command, expected lines)] of what was typed behind a prompt."""
    steps = []
    for line in block.splitlines():
        if line.startswith(prompt):
            steps.append((line[len(prompt):], []))
        elif steps:
            steps[-1][1].append(line)
    return steps


def shape(lines):
    """A regular expression for the output that these lines show."""
    parts = []
    for line in lines:
        if line == "…":
            parts.append(r"(?:.*\n)*?")
        else:
            words = [re.sub(r"\d+", r"\\d+", re.escape(word)) for word in line.split()]
            parts.append(r"[ \t]*" + r"[ \t]+".join(words) + r"[ \t]*\n")
    return "".join(parts)


class FirstMinutes(Case):
    def setUp(self):
        super().setUp()
        self.server = self.daemon(data=self.path("daemon"))
        self.clean = self.path("clean")
        os.mkdir(self.clean)
        programs = self.path("bin")
        os.mkdir(programs)
        os.symlink(os.path.abspath(harness.PROGRAM), os.path.join(programs, "vestq"))
        self.env = dict(os.environ, PATH=programs + ":" + os.environ["PATH"], VESTQ_SERVER=self.server.address)

    def shell(self, steps):
        """The steps in one shell; [what each printed]."""
        script = "".join(f"{command}\nprintf '\\0'\n" for command, _ in steps)
        done = subprocess.run(["bash", "-e"], input=script.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              cwd=self.clean, env=self.env, timeout=harness.DEADLINE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout.decode(errors="replace"))
        return done.stdout.decode().split("\0")[:-1]

    def test_commands_print_what_is_printed_there(self):
        seen = 0
        for block in blocks("First minutes"):
            steps = [step for step in sessions(block, "$ ") if "redis-cli" not in step[0]]
            if not steps or not shutil.which("jq") and "jq" in block:
                continue
            for (command, expected), printed in zip(steps, self.shell(steps), strict=True):
                self.assertRegex(printed, "^" + shape(expected) + "$", command)
                seen += 1
        self.assertGreater(seen, 5)
        self.assertEqual(os.listdir(self.clean), [])

    def test_the_session_of_redis_cli(self):
        if not shutil.which("redis-cli"):
            self.skipTest("no redis-cli")
        block = next(block for block in blocks("First minutes") if "redis-cli -3" in block)
        same = {}  # what stands for an id or a receipt of the README
        for command, expected in sessions(block, PROMPT):
            command = re.sub(r"\d[\d.]*", lambda found: same.get(found.group(), found.group()), command)
            done = subprocess.run(["redis-cli", "-3", "--no-raw", "-p", str(self.server.port)],
                                  input=command.encode() + b"\n", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=harness.DEADLINE, check=True)
            printed = done.stdout.decode()
            self.assertRegex(printed, "^" + shape(expected) + "$", command)
            for there, here in zip(re.findall(r'"([\d.]+)"', "\n".join(expected)), re.findall(r'"([\d.]+)"', printed)):
                self.assertEqual(same.setdefault(there, here), here, command)
        self.assertGreaterEqual(len(same), 2)

    def test_help_shows_commands_that_there_are(self):
        help_text = harness.run("--help").stdout
        for name in re.findall(r"(?m)^  vestq (\w+)", help_text):
            self.assertEqual(harness.run(name, "--help").returncode, 0, name)

    def test_each_sub_command_that_a_document_names_is_there(self):
        known = set(re.findall(r"(?m)^  (\w+) ", harness.run("--help").stdout.partition("Subcommands:\n")[2]))
        for document in ("README.md", "net/PROTOCOL.md", "tools/EXPORT.md"):
            with open(os.path.join(os.path.dirname(README), document), encoding="utf-8") as file:
                text = file.read()
            fenced = "".join(re.findall(r"(?ms)^```\w*\n(.*?)^```$", text))
            named = set(re.findall(r"`vestq (\w+)", text) + re.findall(r"(?m)(?:^|\| |\()vestq (\w+)", fenced))
            self.assertEqual(named - known, set(), document)


if __name__ == "__main__":
    harness.main()
