#!/usr/bin/env python3
"""The judge of the crash test finds each kind of fault planted into a small history, and nothing in a good one."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import history  # noqa: E402


def op(kind, t0, t1=None, reply=None, error=None, client=0, **what):
    line = {"client": client, "t0": t0, "op": {"kind": kind, **what}}
    if error is not None:
        line["error"] = error
    elif t1 is not None:
        line["t1"], line["reply"] = t1, reply
    return history.Op(line)


def enqueue(t0, ident, uid, queue="plain", answered=True, **what):
    return op("enqueue", t0, t0 + 1 if answered else None, ident, queue=queue, uid=uid, **{"delay": 0, **what})


def lease(t0, ident, uid, queue="plain", attempt=1, claim=1, length=1000, checkpoint="", whole=True, attempts=25):
    job = {"receipt": f"{ident}.1.{claim}", "id": ident, "queue": queue, "attempt": attempt, "attempts": attempts,
           "uid": uid, "whole": whole, "checkpoint": checkpoint}
    return op("lease", t0, t0 + 1, [job], length=length)


def complete(t0, ident, claim=1, answered=True, **what):
    return op("complete", t0, t0 + 1 if answered else None, "OK", receipt=f"{ident}.1.{claim}", id=ident,
              **{"result": None, **what})


LIFE = [enqueue(0, "1", "a"), lease(10, "1", "a"), complete(20, "1")]


class JudgeTest(unittest.TestCase):
    def judge(self, *ops, **final):
        return history.Judge(sorted(ops, key=lambda item: item.t0), history.Final(**final)).run()

    def assert_finds(self, name, *ops, **final):
        findings = self.judge(*ops, **final)
        self.assertTrue(findings, "nothing was found")
        self.assertEqual({finding.split(":", 1)[0] for finding in findings}, {name}, findings)

    def test_good_histories(self):
        for ops, final in (
                (LIFE, {}),
                ([enqueue(0, "1", "a")], {"dead": ["1"]}),
                ([enqueue(0, "1", "a"), lease(10, "1", "a"), lease(1100, "1", "a", attempt=2, claim=2),
                  complete(1200, "1", claim=2, answered=False)], {}),
                ([enqueue(0, "1", "a", answered=False), lease(10, "1", "a"), complete(20, "1")], {}),
                ([enqueue(0, "1", "a", queue="purged"), op("purge", 5, 6, 1, queue="purged")], {}),
                ([*LIFE, op("set", 0, 1, "OK", key="k", value="v"), op("set", 2, key="k", value="w")], {"keys": {"k": "w"}}),
                ([*LIFE, enqueue(30, "2", "b", key="u", window=0), lease(40, "2", "b"), complete(50, "2"),
                  enqueue(60, "3", "c", key="u", window=0), lease(70, "3", "c"), complete(80, "3")], {})):
            self.assertEqual(self.judge(*ops, **final), [])

    def test_a_lost_job(self):
        self.assert_finds("LOST", enqueue(0, "1", "a"))
        self.assert_finds("LOST", enqueue(0, "1", "a"), lease(10, "1", "a"))

    def test_what_nobody_sent(self):
        self.assert_finds("INVENTED", *LIFE, lease(10, "2", "x"))
        self.assert_finds("INVENTED", enqueue(0, "1", "a"), lease(10, "1", "a", whole=False), complete(20, "1"))
        self.assert_finds("INVENTED", enqueue(0, "1", "a"), lease(10, "1", "a", queue="other"), complete(20, "1"))
        self.assert_finds("INVENTED", *LIFE, lease(10, "2", "a"))

    def test_a_second_end(self):
        self.assert_finds("AGAIN", *LIFE, lease(30, "1", "a", attempt=2, claim=2))
        self.assert_finds("AGAIN", *LIFE, op("cancel", 30, 31, 1, id="1"))
        self.assert_finds("AGAIN", enqueue(0, "1", "a", queue="purged"), op("purge", 5, 6, 1, queue="purged"),
                          lease(10, "1", "a", queue="purged"))

    def test_two_holders(self):
        self.assert_finds("EXCLUSIVE", enqueue(0, "1", "a"), lease(10, "1", "a"), lease(500, "1", "a", attempt=2, claim=2),
                          complete(600, "1", claim=2))
        self.assert_finds("EXCLUSIVE", enqueue(0, "1", "a"), lease(10, "1", "a", claim=2),
                          lease(1500, "1", "a", attempt=2, claim=1), complete(1600, "1"))

    def test_renewals_and_ends_move_the_end_of_a_lease(self):
        again = [lease(1500, "1", "a", attempt=2, claim=2), complete(1600, "1", claim=2)]
        self.assertEqual(self.judge(enqueue(0, "1", "a"), lease(10, "1", "a"), *again), [])
        renewed = op("renew", 900, 901, 1000, receipt="1.1.1", id="1", length=1000)
        self.assert_finds("EXCLUSIVE", enqueue(0, "1", "a"), lease(10, "1", "a"), renewed, *again)
        failed = op("fail", 950, 951, ["retry", 0], receipt="1.1.1", id="1", dead=False)
        self.assertEqual(self.judge(enqueue(0, "1", "a"), lease(10, "1", "a"), renewed, failed, *again), [])

    def test_attempts(self):
        self.assert_finds("ATTEMPTS", enqueue(0, "1", "a"), lease(10, "1", "a", attempt=4, attempts=3), complete(20, "1"))
        self.assert_finds("ATTEMPTS", enqueue(0, "1", "a"), lease(10, "1", "a"), lease(1500, "1", "a", claim=2),
                          complete(1600, "1", claim=2))

    def test_too_early(self):
        self.assert_finds("EARLY", enqueue(0, "1", "a", delay=100), lease(10, "1", "a"), complete(20, "1"))
        child = enqueue(2, "2", "b", parents=["1"])
        self.assert_finds("EARLY", enqueue(0, "1", "a"), child, lease(10, "2", "b"), complete(11, "2"),
                          lease(20, "1", "a"), complete(30, "1"))

    def test_two_holders_of_a_key(self):
        self.assert_finds("UNIQUE", enqueue(0, "1", "a", key="u", window=0), enqueue(5, "2", "b", key="u", window=0),
                          lease(10, "1", "a"), complete(20, "1"), lease(30, "2", "b"), complete(40, "2"))
        self.assert_finds("UNIQUE", enqueue(0, "1", "a", key="u", window=500), lease(10, "1", "a"), complete(20, "1"),
                          enqueue(100, "2", "b", key="u", window=0), lease(110, "2", "b"), complete(120, "2"))

    def test_a_checkpoint_of_before(self):
        def saved(t0, value, answered=True):
            return op("checkpoint", t0, t0 + 1 if answered else None, 1000, receipt="1.1.1", id="1", value=value, length=1000)
        for checkpoint, good in (("two", True), ("three", True), ("one", False), ("", False)):
            ops = [enqueue(0, "1", "a"), lease(10, "1", "a"), saved(20, "one"), saved(30, "two"), saved(40, "three", False),
                   lease(2000, "1", "a", attempt=2, claim=2, checkpoint=checkpoint), complete(2010, "1", claim=2)]
            self.assertEqual(self.judge(*ops) == [], good, checkpoint)

    def test_half_a_group(self):
        parts = [enqueue(0, "1", "a", group="g"), enqueue(0, "2", "b", group="g")]
        both = [lease(10, "1", "a"), complete(20, "1"), lease(10, "2", "b"), complete(20, "2")]
        half = [enqueue(0, None, uid, group="g", answered=False) for uid in "ab"] + both[:2]
        whole = op("group", 0, 1, "OK", uid="g")
        self.assertEqual(self.judge(whole, *parts, *both, keys={"group:g": "g"}), [])
        self.assert_finds("GROUP", whole, *parts, *both)
        unknown = [enqueue(0, None, "a", group="g", answered=False), enqueue(0, None, "b", group="g", answered=False)]
        self.assertEqual(self.judge(op("group", 0, uid="g"), *unknown), [])
        self.assert_finds("GROUP", op("group", 0, uid="g"), *unknown, keys={"group:g": "g"})
        self.assert_finds("GROUP", op("group", 0, uid="g"), *half, keys={"group:g": "g"})
        self.assert_finds("GROUP", op("group", 0, uid="g"), *half)

    def test_data_and_results(self):
        self.assert_finds("DATA", op("set", 0, 1, "OK", key="k", value="v"))
        self.assert_finds("DATA", op("set", 0, 1, "OK", key="k", value="v"), op("get", 2, 3, None, key="k"),
                          keys={"k": "v"})
        kept = [enqueue(0, "1", "a", queue="kept"), lease(10, "1", "a", queue="kept"), complete(20, "1", result="r")]
        self.assertEqual(self.judge(*kept, results={"1": "r"}), [])
        self.assert_finds("RESULT", *kept)


if __name__ == "__main__":
    unittest.main()
