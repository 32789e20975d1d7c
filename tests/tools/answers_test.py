#!/usr/bin/env python3
"""What answers, or does not: a listener that is silent, one that is no vestq; and payloads of the greatest size."""

import os
import socket
import threading
import time

import harness
from harness import Case, DaemonCase, to_map


class Listener:
    """Accepts, reads, and says `banner` to whatever comes; None says nothing."""

    def __init__(self, banner):
        self.banner = banner
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.open = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                front, _ = self.listener.accept()
            except OSError:
                return
            self.open.append(front)
            threading.Thread(target=self.serve, args=(front,), daemon=True).start()

    def serve(self, front):
        while True:
            try:
                if not front.recv(65536):
                    return
                if self.banner is not None:
                    front.sendall(self.banner)
            except OSError:
                return

    def close(self):
        self.listener.close()
        for front in self.open:
            front.close()


COMMANDS = (["stats"], ["enqueue", "q", "x"], ["enqueue", "q", "--lines"], ["enqueue", "q", "--lines", "--together"], ["job", "1"],
            ["cancel", "1"], ["peek", "q"], ["queue", "info", "q"], ["queue", "set", "q", "attempts=1"], ["purge", "q"],
            ["queue", "drop", "q"], ["redrive", "q", "--all"], ["waitfor", "1"], ["lease", "q"], ["lease", "q", "--block", "0"],
            ["tail"], ["workers"], ["spaces", "q"], ["space", "info", "q", "s"], ["schedule", "list"], ["export"], ["import"],
            ["call", "PING"], ["complete", "1.1.1"], ["work", "q", "--drain"], ["work", "q"])


class Foreign(Case):
    def ask(self, address, words, *more):
        command = ["--", "true"] if words[0] == "work" else []
        return harness.run(*words, "--server", address, *more, *command, stdin=b'{"queue":"q","payload":"x"}\n')

    def test_a_listener_that_never_answers(self):
        silent = Listener(None)
        self.addCleanup(silent.close)
        for words in COMMANDS:
            with self.subTest(words=words):
                began = time.monotonic()
                done = self.ask(silent.address, words, "--timeout", "50ms")
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertRegex(done.stderr, f"(?m)^vestq {words[0]}.*no answer from {silent.address} within 50ms \\(--timeout\\)")
                self.assertLess(time.monotonic() - began, 20)

    def test_what_is_no_vestq_is_told_as_such(self):
        web = Listener(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        self.addCleanup(web.close)
        for words in COMMANDS:
            with self.subTest(words=words):
                done = self.ask(web.address, words)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertRegex(done.stderr, f"(?m)^vestq {words[0]}.*{web.address}: what answers there is no vestq")

    def test_another_server_of_redis_s_protocol(self):
        redis = Listener(b"-ERR unknown command 'STATS', with args beginning with: \r\n")
        self.addCleanup(redis.close)
        done = self.ask(redis.address, ["stats"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("what listens there is no vestq, or an older one", done.stderr)


class Payloads(Case):
    def test_max_payload_is_the_limit_and_the_error_names_it(self):
        daemon = self.daemon("--max-payload", "4MiB")
        client = daemon.client()
        self.addCleanup(client.close)
        payload = os.urandom(4 << 20)
        ident = client.call("ENQUEUE", "q", payload)
        with self.assertRaisesRegex(harness.RespError, "TOOBIG an argument of 4194305 bytes exceeds the limit of 4194304"):
            client.call("ENQUEUE", "q", payload + b"x")
        self.assertIn(b"max_payload:4194304", client.call("INFO"))
        daemon.end()
        daemon.start()
        again = daemon.client()
        self.addCleanup(again.close)
        job = to_map(again.call("LEASE", "q")[0])
        self.assertEqual((job["id"], job["payload"] == payload), (ident, True))
        self.assertEqual(again.call("COMPLETE", job["receipt"]), b"OK")

    def test_a_lower_limit_than_before_gives_out_what_is_there(self):
        daemon = self.daemon()
        client = daemon.client()
        ident = client.call("ENQUEUE", "q", bytes(1 << 20))
        client.close()
        daemon.options = ("--max-payload", "64KiB")
        daemon.end()
        daemon.start()
        client = daemon.client()
        self.addCleanup(client.close)
        self.assertEqual(to_map(client.call("LEASE", "q")[0])["id"], ident)
        with self.assertRaisesRegex(harness.RespError, "exceeds the limit of 65536"):
            client.call("ENQUEUE", "q", bytes(65537))


class ServersWords(DaemonCase):
    def test_what_the_server_refuses_as_a_mistake_is_one_here_too_in_options(self):
        for words, text in ((["enqueue", "q", "x", "--backoff", "odd"], "vestq enqueue: --backoff 'odd': "),
                            (["enqueue", "q q", "x"], "vestq enqueue: queue name 'q q': "),
                            (["enqueue", "q", "x", "--priority", "-1"], "vestq enqueue: RANGE --priority"),
                            (["queue", "set", "q", "lease=30"], "vestq queue set: lease '30': a duration needs its unit"),
                            (["schedule", "set", "s", "q", "x", "--cron", "odd"], "vestq schedule set: "),
                            (["peek", "q", "--state", "odd"], "vestq peek: --state 'odd': "),
                            (["waitfor", "x"], "vestq waitfor: "), (["fail", "x"], "vestq fail: ")):
            with self.subTest(words=words):
                self.assertTrue(self.vestq(*words, status=2).stderr.startswith(text), self.vestq(*words, status=2).stderr)
        self.assertIn("ERR DELAY", self.vestq("call", "ENQUEUE", "q", "x", "DELAY", "5", status=2).stderr)


if __name__ == "__main__":
    harness.main()
