#!/usr/bin/env python3
"""Spans and numbers at the edges of their ranges, over RESP (case B05): each is kept exactly or refused with an error
that names it, a refused one leaves nothing, and an idle server with all of them stays idle."""

import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
CENTURY = 36500 * UNITS["d"]
WEEK = 7 * UNITS["d"]
NUMBERS = [0, 1, 2147483, 2147484, 4294967, 4294968, 31536000, 2147483647, 2147483648, 4294967295, 4294967296, 9223372036,
           9223372036854775, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**64 + 1, -1, -1800000001]
MALFORMED = ["+5s", "5.5s", "1e9s", "0x10s", "", "s", "5 s", "5S", "30", "1s1s", "٣s", "0s0"]


def spans(low, high):
    """(text, milliseconds or None where it must be refused): around the borders and at famous numbers."""
    texts = {f"{number}{unit}": number * size for number in NUMBERS for unit, size in UNITS.items()}
    for border in (low, high):
        for ms in (border - 1, border, border + 1):
            texts[f"{ms}ms"] = ms
    return [(text, ms if low <= ms <= high else None) for text, ms in sorted(texts.items())]


def milliseconds(text):
    """Of a span as QUEUE INFO shows it."""
    unit = text.lstrip("0123456789")
    return int(text[:len(text) - len(unit)]) * UNITS.get(unit, 1)


class EdgesTest(harness.DaemonCase):
    def refused(self, *words):
        with self.assertRaises(harness.RespError, msg=words) as caught:
            self.client.call(*words)
        return str(caught.exception)

    def each_span(self, low, high, accept, refuse):
        """`accept(text, ms)` sends a command that must work and returns what was kept; `refuse(text)` gives words."""
        for text, ms in spans(low, high):
            with self.subTest(text=text):
                if ms is None:
                    self.assertRegex(self.refused(*refuse(text)), "^RANGE ")
                else:
                    began = time.monotonic()
                    kept = accept(text, ms)
                    ran = int((time.monotonic() - began) * 1000) + 2  # what is left has run on until it was asked
                    self.assertTrue(kept == ms or (isinstance(kept, tuple) and ms - ran <= kept[0] <= ms), (kept, ms, ran))
        for text in MALFORMED:
            with self.subTest(text=text):
                self.assertRegex(self.refused(*refuse(text)), "^ERR ")

    def job(self, ident):
        return harness.to_map(self.client.call("JOB", ident))

    def lease(self, queue):
        return harness.to_map(self.client.call("LEASE", queue, "FOR", "1h")[0])["receipt"]

    def test_delay(self):
        def accept(text, ms):
            job = self.job(self.client.call("ENQUEUE", "q", "p", "DELAY", text))
            self.assertLessEqual(abs(job["vests"] - job["enqueued"] - ms), 2)  # two clocks, each in whole milliseconds
            return (job.get("vests-in", 0),)
        self.each_span(0, CENTURY, accept, lambda text: ("ENQUEUE", "none", "p", "DELAY", text))
        self.assertRegex(self.refused("QUEUE", "INFO", "none"), "^NOTFOUND ")

    def test_lease_lengths(self):
        ident = self.client.call("ENQUEUE", "q", "p", "ATTEMPTS", "0")

        def by_lease(text, _):
            job = harness.to_map(self.client.call("LEASE", "q", "FOR", text)[0])
            self.client.call("REVOKE", ident)
            return (job["lease-left"],)
        self.each_span(100, WEEK, by_lease, lambda text: ("LEASE", "q", "FOR", text))
        receipt = self.lease("q")
        for words in (("RENEW", receipt), ("CHECKPOINT", receipt, "bytes")):
            def longer(text, ms, words=words):
                left = self.client.call(*words, "FOR", text)
                self.client.call("RENEW", receipt, "FOR", "1h")  # the next command may take longer than this one lasts
                return (left,)
            self.each_span(100, WEEK, longer, lambda text, words=words: (*words, "FOR", text))
        self.assertEqual(self.client.call("COMPLETE", receipt), b"OK")

    def test_fail_and_release(self):
        self.client.call("ENQUEUE", "q", "p", "ATTEMPTS", "0")

        def fail(text, _):
            receipt = self.lease("q")
            ident = receipt.split(b".")[0]
            state, left = self.client.call("FAIL", receipt, "DELAY", text)
            self.assertEqual(state, b"retry")
            self.client.call("PROMOTE", ident)
            return (left,)

        def release(text, ms):
            receipt = self.lease("q")
            ident = receipt.split(b".")[0]
            self.client.call("RELEASE", receipt, "DELAY", text)
            left = self.job(ident).get("vests-in", 0)
            self.client.call("PROMOTE", ident)
            return (left,)
        receipt = self.lease("q")
        refuse_fail = lambda text: ("FAIL", receipt, "DELAY", text)  # noqa: E731
        refuse_release = lambda text: ("RELEASE", receipt, "DELAY", text)  # noqa: E731
        for text in MALFORMED:
            self.assertRegex(self.refused(*refuse_fail(text)), "^ERR ")
            self.assertRegex(self.refused(*refuse_release(text)), "^ERR ")
        self.client.call("RELEASE", receipt)  # nothing of that has ended the lease
        for accept, refuse in ((fail, refuse_fail), (release, refuse_release)):
            self.each_span(0, CENTURY, accept, refuse)

    def test_reschedule(self):
        ident = self.client.call("ENQUEUE", "q", "p", "DELAY", "1h")

        def accept(text, ms):
            self.client.call("RESCHEDULE", ident, "DELAY", text)
            return (self.job(ident).get("vests-in", 0),)
        self.each_span(0, CENTURY, accept, lambda text: ("RESCHEDULE", ident, "DELAY", text))

    def test_options_of_jobs(self):
        """A schedule gives back what was set."""
        for option, field, low, high in (("EXPIRE", "expire", 1, CENTURY), ("KEEP", "keep", 0, CENTURY),
                                         ("LEASE", "lease", 100, WEEK), ("FOR", "unique-for", 1, CENTURY)):
            def words(text, option=option):
                more = ("UNIQUE", "k", "FOR", text) if option == "FOR" else (option, text)
                return ("SCHEDULE", "SET", "s", "q", "p", "EVERY", "36500d", *more)

            def accept(text, ms, field=field, words=words):
                self.client.call(*words(text))
                kept = harness.to_map(self.client.call("SCHEDULE", "GET", "s")).get(field, 0)
                self.client.call("SCHEDULE", "DEL", "s")
                return kept if ms else ms
            self.each_span(low, high, accept, words)
            self.assertIsNone(self.client.call("SCHEDULE", "GET", "s"))

    def test_options_of_queues(self):
        for option, low, high in (("lease", 100, WEEK), ("keep", 0, CENTURY), ("dead-keep", 0, CENTURY)):
            def accept(text, _, option=option):
                self.client.call("QUEUE", "SET", "q", option, text)
                return milliseconds(harness.to_map(self.client.call("QUEUE", "INFO", "q"))[option].decode())
            self.each_span(low, high, accept, lambda text, option=option: ("QUEUE", "SET", "none", option, text))

        def pause(text, _):
            self.client.call("QUEUE", "PAUSE", "q", "FOR", text)
            return (harness.to_map(self.client.call("QUEUE", "INFO", "q"))["paused"],)
        self.each_span(1, CENTURY, pause, lambda text: ("QUEUE", "PAUSE", "none", "FOR", text))
        self.assertRegex(self.refused("QUEUE", "INFO", "none"), "^NOTFOUND ")

    def test_every(self):
        def accept(text, _):
            self.client.call("SCHEDULE", "SET", "s", "q", "p", "EVERY", text)
            every = harness.to_map(self.client.call("SCHEDULE", "GET", "s"))["every"]
            self.client.call("SCHEDULE", "DEL", "s")
            return every
        self.each_span(100, CENTURY, accept, lambda text: ("SCHEDULE", "SET", "none", "q", "p", "EVERY", text))
        self.assertIsNone(self.client.call("SCHEDULE", "GET", "none"))

    def test_run_at(self):
        now = int(time.time() * 1000)
        for at in (0, now - 365 * UNITS["d"], 10**12):
            self.assertEqual(self.job(self.client.call("ENQUEUE", "q", "p", "AT", str(at)))["state"], b"ready", at)
        for at in (now + UNITS["h"], 2**47, 2**48 - 1):
            job = self.job(self.client.call("ENQUEUE", "q", "p", "AT", str(at)))
            self.assertEqual(job["vests"], at)
            self.assertLessEqual(job["vests-in"], at - now)
        for at in (2**48, 10**18, 2**63, 2**64, -1):
            self.assertRegex(self.refused("ENQUEUE", "none", "p", "AT", str(at)), "^(RANGE|ERR) ", at)
        self.assertRegex(self.refused("QUEUE", "INFO", "none"), "^NOTFOUND ")

    def test_numbers(self):
        for option, high in (("PRIORITY", 2**32 - 1), ("ATTEMPTS", 10**9)):
            for number in [*NUMBERS, high - 1, high, high + 1]:
                words = ("ENQUEUE", "q" if 0 <= number <= high else "none", "p", option, str(number))
                if 0 <= number <= high:
                    self.assertEqual(self.job(self.client.call(*words))[option.lower()], number)
                else:
                    self.assertRegex(self.refused(*words), "^RANGE ", (option, number))
            for text in ("+5", "5.5", "1e9", "0x10", "", "٣", "05"):
                self.assertRegex(self.refused("ENQUEUE", "none", "p", option, text), "^ERR ", (option, text))
        self.assertRegex(self.refused("QUEUE", "INFO", "none"), "^NOTFOUND ")

    def test_waits_block(self):
        """A wait of any length blocks, and gets the job that comes."""
        self.client.call("QUEUE", "SET", "w", "lease", "1h")
        for span in ("2147s", "2148s", "2147483s", "2147484s", "4294967295ms", "4294967s", "36500d", "0"):
            waiter = self.server.client()
            waiter.send("LEASE", "w", "BLOCK", span)
            until = time.monotonic() + harness.DEADLINE
            while harness.to_map(self.client.call("QUEUE", "INFO", "w"))["waiters"] == 0:
                self.assertLess(time.monotonic(), until)
            ident = self.client.call("ENQUEUE", "w", "p")
            self.assertEqual(harness.to_map(waiter.read()[0])["id"], ident)
            waiter.close()

    def test_waits_for_a_job(self):
        ident = self.client.call("ENQUEUE", "q", "p", "DELAY", "1h")
        for span in ("2147483s", "4294967295ms", "36500d", "0"):
            waiter = self.server.client()
            waiter.send("WAITFOR", ident, "BLOCK", span)
            with self.assertRaises(TimeoutError):
                waiter.socket.settimeout(0.05)
                waiter.read()
            waiter.close()
        self.assertIsNone(self.client.call("WAITFOR", ident, "BLOCK", "1ms"))

    def test_kept_through_time_and_restart(self):
        """Each span that was taken is read back, a little later, and after a kill."""
        vests = {}
        for text, ms in spans(0, CENTURY):
            if ms is not None and ms > 600_000:
                ident = self.client.call("ENQUEUE", "q", "p", "DELAY", text)
                vests[ident] = self.job(ident)["enqueued"] + ms
        for _ in range(2):
            self.assertIsNone(self.client.call("LEASE", "q", "BLOCK", "1s"))
            for ident, at in vests.items():
                job = self.job(ident)
                self.assertEqual(job["state"], b"scheduled")
                self.assertLessEqual(abs(job["vests"] - at), 2, job)
            self.client.close()
            self.server.end(signal.SIGKILL)
            self.server.start()
            self.client = self.server.client()
            self.addCleanup(self.client.close)

    def test_idle_with_all_of_them(self):
        """Below 2 % of a core in ten seconds with all of them pending."""
        waiting = []
        for text, ms in spans(0, CENTURY):
            if ms is not None and ms > 600_000:
                self.client.call("ENQUEUE", "q", "p", "DELAY", text, "EXPIRE", "36500d", "UNIQUE", text, "FOR", text)
                self.client.call("QUEUE", "PAUSE", f"paused-{ms}", "FOR", text)
                self.client.call("ENQUEUE", f"retried-{ms}", "p")
                receipt = self.lease(f"retried-{ms}")
                self.client.call("FAIL", receipt, "DELAY", text)
                self.client.call("SCHEDULE", "SET", f"every-{ms}", "q", "p", "EVERY", text)
                waiting.append(self.server.client())
                waiting[-1].send("LEASE", f"paused-{ms}", "BLOCK", text)
                self.addCleanup(waiting[-1].close)
        for at in (2**47, 2**48 - 1):
            self.client.call("ENQUEUE", "q", "p", "AT", str(at))
        for rate in ("0.000001", "0.5", "1000000"):
            self.client.call("QUEUE", "SET", f"rated-{rate}", "rate", rate)
            self.client.call("ENQUEUEMANY", f"rated-{rate}", "2", "p", "p")
            self.client.call("LEASE", f"rated-{rate}", "COUNT", "2", "FOR", "1h")

        def ticks():
            with open(f"/proc/{self.server.process.pid}/stat", encoding="ascii") as file:
                return sum(int(field) for field in file.read().rsplit(")", 1)[1].split()[11:13])
        self.client.call("PING")
        before = ticks()
        with self.assertRaises(TimeoutError):  # it says nothing
            harness.read_line(self.server.process.stdout, deadline=10.0)
        self.assertLess(ticks() - before, 0.02 * 10 * os.sysconf("SC_CLK_TCK"))


if __name__ == "__main__":
    harness.main()
