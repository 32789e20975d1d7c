#!/usr/bin/env python3
"""Case B24 over RESP: limit 1 and eleven at once, or limit 1 and none for ever. Real workers, real signals, a real
daemon that is killed; the rules themselves, on several cores and under random mixes, stand in tests/engine/limits_test.cc.
"""

import os
import random
import signal

import cases_test
import harness


class B24Limits(cases_test.Cases):
    def limit(self, *words):
        self.assertEqual(self.client.call("QUEUE", "SET", "q", *words), b"OK")

    def leased(self):
        return self.info()["leased"]

    def take(self, count=100, lease="1h"):
        jobs = self.client.call("LEASE", "q", "COUNT", count, "FOR", lease) or []
        return [harness.to_map(job)["receipt"] for job in jobs]

    def waiter(self, *options):
        """A connection whose LEASE waits. It has arrived once its server counts it."""
        client, before = self.connect(), self.info()["waiters"]
        client.send("LEASE", "q", "BLOCK", "30s", "FOR", "1h", *options)
        while self.info()["waiters"] == before:
            pass
        return client

    def receipt(self, waiter):
        return harness.to_map(waiter.read()[0])["receipt"]

    def test_a_worker_that_is_killed(self):
        self.limit("concurrency", "1")
        for _ in range(3):
            self.enqueue()
        worker = self.spawn("work", "q", "--lease", "1s", "--server", self.server.address, "--", "sh", "-c",
                            "tail -f /dev/null & echo $!; wait")
        child = int(harness.read_line(worker.stdout))
        waiting = self.waiter()
        self.assertEqual((self.take(), self.leased()), ([], 1))
        worker.kill()
        worker.wait()
        os.kill(child, signal.SIGKILL)
        receipt = self.receipt(waiting)  # when its lease has ended
        self.assertEqual((self.take(), self.leased()), ([], 1))
        self.assertEqual(self.client.call("COMPLETE", receipt), b"OK")

    def test_a_late_complete_frees_nothing(self):
        self.limit("concurrency", "1")
        for _ in range(12):
            self.enqueue()
        late = self.take(lease="200ms")[0]
        for _ in range(10):
            now = self.lease("q", "BLOCK", "30s", "FOR", "1h")["receipt"]
            self.assertRegex(self.error("COMPLETE", late), "^LEASELOST ")
            self.assertEqual((self.take(), self.leased()), ([], 1))
            self.client.call("RENEW", now, "FOR", "200ms")  # and never again
            late = now

    def test_the_server_is_killed_while_slots_are_held(self):
        for limit in (1, 5):
            self.limit("concurrency", limit)
            for _ in range(10):
                self.enqueue()
            held = self.take()
            self.assertEqual(len(held), limit)
            for how in (signal.SIGKILL, signal.SIGTERM):
                self.restart(how)
                self.assertEqual((self.take(), self.leased()), ([], limit))
            self.assertEqual(self.client.call("COMPLETE", held[0]), b"OK")
            held = held[1:] + self.take()
            self.assertEqual(len(held), limit)
            self.assertEqual(self.client.call("COMPLETEMANY", *held), [1] * limit)
            self.client.call("PURGE", "q")

    def test_every_end_by_hand_frees_one_slot_and_wakes_one(self):
        self.limit("concurrency", "1")
        for _ in range(20):
            self.enqueue()
        receipt = self.take()[0]
        for end in (lambda r: ("CANCEL", r.split(b".")[0]), lambda r: ("FAIL", r, "DEAD"),
                    lambda r: ("FAIL", r, "DELAY", "1h"), lambda r: ("RELEASE", r, "DELAY", "1h"),
                    lambda r: ("REVOKE", r.split(b".")[0]), lambda r: ("PURGE", "q", "ID", r.split(b".")[0]),
                    lambda r: ("PURGE", "q", "STATE", "leased"), lambda r: ("COMPLETE", r)):
            waiting = self.waiter()
            self.client.call(*end(receipt))
            receipt = self.receipt(waiting)
            self.assertEqual((self.take(), self.leased()), ([], 1))

    def test_a_limit_that_changes(self):
        self.limit("concurrency", "5")
        for _ in range(20):
            self.enqueue()
        held = self.take()
        self.assertEqual(len(held), 5)
        self.limit("concurrency", "2")
        for _ in range(3):
            self.assertEqual(self.take(), [])
            self.client.call("COMPLETE", held.pop())
        self.assertEqual(self.take(), [])
        self.client.call("COMPLETE", held.pop())
        held += self.take()
        self.assertEqual(len(held), 2)
        waiting = self.waiter()
        self.limit("concurrency", "5")
        held.append(self.receipt(waiting))
        held += self.take()
        self.assertEqual(len(held), 5)
        self.limit("concurrency", "0")
        self.client.call("COMPLETEMANY", *held)
        self.assertEqual(self.take(), [])
        waiting = self.waiter()
        self.limit("concurrency", "none")
        self.receipt(waiting)
        self.assertEqual(len(self.take()), 10)

    def test_random_mixes(self):
        rng, limit, ran, held = random.Random(24), 3, 0, []
        self.limit("concurrency", limit)
        for _ in range(300):
            self.enqueue()
        for step in range(600):
            dice = rng.random()
            if dice < 0.5:
                new = self.take(rng.randint(1, 3))
                held += new
                self.assertTrue(not new or len(held) <= limit, step)
            elif dice < 0.8 and held:
                self.client.call("COMPLETE", held.pop(rng.randrange(len(held))))
                ran += 1
            elif dice < 0.9 and held:
                self.client.call("RELEASE", held.pop())
            elif dice < 0.98:
                limit = rng.randint(0, 5)
                self.limit("concurrency", limit)
            elif dice > 0.99:
                self.restart()
            self.assertEqual(self.leased(), len(held))
        self.limit("concurrency", "none")
        ran += sum(self.client.call("COMPLETEMANY", *held)) if held else 0
        rest = self.take(1000)
        ran += sum(self.client.call("COMPLETEMANY", *rest))
        self.assertEqual((ran, self.leased()), (300, 0))


if __name__ == "__main__":
    harness.main()
