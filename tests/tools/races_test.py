#!/usr/bin/env python3
"""Groups beside commands that change their queue under them: a group happens wholly or not at all, and nothing else."""

import os
import random
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

ROUNDS = 40


class Races(harness.Case):
    def setUp(self):
        super().setUp()
        self.server = self.daemon("--cores", "2", "--durability", "os")
        # The kernel hands connections over the cores: with several, the group and its rival are on both sides.
        self.clients = [self.server.client() for _ in range(4)]
        for client in self.clients:
            self.addCleanup(client.close)

    def leased(self, client, jobs, *options):
        for i in range(jobs):
            client.send("ENQUEUE", "q", "x", "SPACE", "s", *(f"{word}{i}" if word == "key-" else word for word in options))
        for _ in range(jobs):
            client.read()
        held = []
        while batch := client.call("LEASE", "q", "COUNT", "1000", "FOR", "1m"):
            held += [harness.to_map(job)["receipt"] for job in batch]
        return held

    def complete_together(self, client, receipts):
        """EXEC's answer: an array, or the error."""
        client.send("MULTI")
        for receipt in receipts:
            client.send("COMPLETE", receipt)
        client.send("EXEC")
        for _ in range(1 + len(receipts)):
            client.read()
        try:
            return client.read()
        except harness.RespError as error:
            return str(error)

    def race(self, options, *rival, before=("PING",)):
        chance = random.Random(1)
        for _ in range(ROUNDS):
            client, other = chance.sample(self.clients, 2)
            client.call(*before)
            receipts = self.leased(client, 400, *options)
            ended = []
            thread = threading.Thread(target=lambda: ended.append(self.complete_together(client, receipts)))
            thread.start()
            for _ in range(chance.randrange(120)):  # some time, without sleeping
                other.call("PING")
            other.call(*rival)
            thread.join()
            self.assertIsNone(self.server.process.poll(), self.server.log_text())
            if isinstance(ended[0], list):
                self.assertEqual(ended[0], [b"OK"] * len(receipts))
            else:
                self.assertRegex(ended[0], "^EXECABORT .*LEASELOST")
        self.assertEqual(self.server.end()[0], 0)
        done = harness.run("check", self.server.data)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_drop(self):
        self.race(("UNIQUE", "key-"), "QUEUE", "DROP", "q")

    def test_a_drop_of_kept_jobs(self):
        self.race(("KEEP", "1h"), "QUEUE", "DROP", "q")

    def test_an_option_that_changes_what_completing_does(self):
        self.race((), "QUEUE", "SET", "q", "keep", "1h", before=("QUEUE", "SET", "q", "keep", "default"))

    def test_a_purge(self):
        self.race(("UNIQUE", "key-"), "PURGE", "q")

    def test_a_group_does_not_cancel_what_it_waits_for(self):
        client = self.clients[0]
        parent = client.call("ENQUEUE", "p", "x")
        for commands, error in ((
                (("ENQUEUE", "c", "x", "AFTER", "1", parent), ("CANCEL", parent)), "^EXECABORT .*BUSY an earlier command"),
                ((("CANCEL", parent), ("ENQUEUE", "c", "x", "AFTER", "1", parent)), None)):
            client.call("MULTI")
            for words in commands:
                client.call(*words)
            if error:
                with self.assertRaisesRegex(harness.RespError, error):
                    client.call("EXEC")
            else:
                self.assertEqual(client.call("EXEC")[0], 1)


if __name__ == "__main__":
    harness.main()
