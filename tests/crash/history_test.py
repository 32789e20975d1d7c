#!/usr/bin/env python3
"""The judges of the power-cut test name each kind of fault that is planted into a small history, and nothing in one without it.

Each place where a judge accuses somebody must be reached by one of the faults: a judgment that cannot be shown to fail is none.
"""

import ast
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "tools"))
import commands  # noqa: E402
import faults_of_jobs  # noqa: E402
import faults_of_rest  # noqa: E402
import history  # noqa: E402
import judges  # noqa: E402
import planted  # noqa: E402

JUDGES = ("judge_life", "judge_time", "judge_states", "judge_data", "judge_queues")
FAULTS = faults_of_jobs.FAULTS + faults_of_rest.FAULTS


def accusations():
    """Where a judge says something: (file, line)."""
    found = set()
    for name in JUDGES:
        with open(os.path.join(HERE, f"{name}.py"), encoding="utf-8") as file:
            for node in ast.walk(ast.parse(file.read())):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "say":
                    found.add((f"{name}.py", node.lineno))
    return found


class JudgeTest(unittest.TestCase):
    reached = set()

    def judge(self, lines, final):
        told = history.History.say

        def say(self, *words):
            frame = sys._getframe(1)
            JudgeTest.reached.add((os.path.basename(frame.f_code.co_filename), frame.f_lineno))
            told(self, *words)

        history.History.say = say
        try:
            return judges.judge(planted.history_of(lines), history.Final(**final))
        finally:
            history.History.say = told

    def test_each_fault_is_named_and_nothing_else(self):
        for name, sentence, bad, good, final in FAULTS:
            with self.subTest(fault=sentence):
                bad_final, good_final = final if isinstance(final, tuple) else (final, final)
                findings = self.judge(bad, bad_final)
                self.assertEqual({finding.split(":", 1)[0] for finding in findings}, {name}, findings)
                self.assertEqual(self.judge(good, good_final), [])

    def test_each_accusation_is_reached_by_a_fault(self):
        for _, _, bad, _, final in FAULTS:
            self.judge(bad, final[0] if isinstance(final, tuple) else final)
        self.assertEqual(accusations() - self.reached, set())

    def test_each_name_of_the_list_has_a_fault(self):
        listed = {line.split()[0] for line in judges.__doc__.splitlines() if line.startswith("    ") and line[4:5].strip()}
        self.assertEqual(listed, {fault[0] for fault in FAULTS})

    def test_good_histories(self):
        for lines, final in faults_of_jobs.GOOD:
            self.assertEqual(self.judge(lines, final), [])


class FormsTest(unittest.TestCase):
    def test_words_are_counted_by_command_and_options(self):
        for words, forms in (
                ("ENQUEUE q p UNIQUE k FOR 1s REPLACE AFTER 2 7 8 KEEP 1h",
                 "ENQUEUE,ENQUEUE UNIQUE,ENQUEUE FOR,ENQUEUE REPLACE,ENQUEUE AFTER,ENQUEUE KEEP"),
                ("ENQUEUEMANY q 2 p p DELAY 1s", "ENQUEUEMANY,ENQUEUEMANY DELAY"),
                ("LEASE a b COUNT 2 SPACE s", "LEASE,LEASE COUNT,LEASE SPACE"),
                ("PURGE q ID 1 2 3", "PURGE,PURGE ID"), ("QUEUE SET q rate 5", "QUEUE SET,QUEUE SET rate"),
                ("SET k v IF o", "SET,SET IF"), ("MGET a b", "MGET"), ("WORKERS", "WORKERS"),
                ("SCHEDULE SET n q p EVERY 1s HEADER 1 k v", "SCHEDULE SET,SCHEDULE SET EVERY,SCHEDULE SET HEADER")):
            self.assertEqual(commands.forms(words.split()), forms.split(","))
            self.assertLessEqual(set(forms.split(",")), set(commands.FORMS))


if __name__ == "__main__":
    unittest.main()
