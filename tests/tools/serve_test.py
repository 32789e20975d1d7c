#!/usr/bin/env python3
"""`vestq serve` as a process: signals, what it prints, and that answered jobs are there after a restart."""

import json
import signal
import unittest

import harness
from harness import Case


class Signals(Case):
    def check_stop(self, how, daemon):
        status, took = daemon.end(how)
        self.assertEqual(status, 0, daemon.log_text())
        self.assertLess(took, 1.0, "stopping took longer than a second")

    def test_sigterm_stops_an_idle_daemon(self):
        self.check_stop(signal.SIGTERM, self.daemon())

    def test_sigint_too(self):
        self.check_stop(signal.SIGINT, self.daemon())

    def test_with_clients_that_wait_and_clients_that_said_half_a_command(self):
        for io in ("uring", "epoll"):
            with self.subTest(io=io):
                daemon = self.daemon("--io", io, data=self.path(io))
                clients = [daemon.client() for _ in range(50)]
                for client in clients[:25]:
                    client.send("LEASE", "nothing", "BLOCK", "0")
                for client in clients[25:]:
                    client.socket.sendall(b"*3\r\n$7\r\nENQUEUE\r\n$1\r\nq\r\n$1000\r\nhalf")
                self.check_stop(signal.SIGTERM, daemon)
                for client in clients:
                    client.close()

    def test_a_second_signal_does_not_break_it(self):
        daemon = self.daemon()
        client = daemon.client()
        for i in range(2000):
            client.send("ENQUEUE", "q", f"job {i}")
        daemon.process.send_signal(signal.SIGINT)
        daemon.process.send_signal(signal.SIGTERM)
        self.check_stop(signal.SIGTERM, daemon)
        client.close()

    def test_what_was_answered_before_any_signal_is_there_afterwards(self):
        daemon = self.daemon()
        for how in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
            client = daemon.client()
            kept = client.call("ENQUEUE", "q", f"before {how}")
            client.close()
            daemon.end(how)
            daemon.start()
            client = daemon.client()
            jobs = client.call("LEASE", "q", "COUNT", "10")
            self.assertEqual([harness.to_map(job)["id"] for job in jobs], [kept])
            self.assertEqual(client.call("COMPLETE", harness.to_map(jobs[0])["receipt"]), b"OK")
            client.close()

    def test_port_0_lets_the_kernel_pick(self):
        process = self.spawn("serve", "--data", self.path(), "--resp", "127.0.0.1:0")
        line = harness.read_line(process.stdout)
        self.assertRegex(line, r"^listening resp 127\.0\.0\.1:[1-9][0-9]*$")
        client = harness.Resp(int(line.rsplit(":", 1)[1]))
        self.assertEqual(client.call("PING"), b"PONG")
        client.close()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(harness.DEADLINE), 0)

    def test_json_says_where_it_listens(self):
        process = self.spawn("serve", "--data", self.path(), "--resp", "127.0.0.1:0", "--json")
        address = json.loads(harness.read_line(process.stdout))["listening"]["resp"]
        self.assertRegex(address, r"^127\.0\.0\.1:[1-9][0-9]*$")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(harness.DEADLINE), 0)

    def test_it_listens_before_it_says_so_and_once_only(self):
        daemon = self.daemon()
        client = daemon.client()
        self.assertEqual(client.call("PING"), b"PONG")
        client.close()
        daemon.process.send_signal(signal.SIGTERM)
        self.assertEqual(harness.read_line(daemon.process.stdout), "")
        self.assertEqual(daemon.end()[0], 0)


class Stats(Case):
    def test_it_shows_queues_and_the_server(self):
        daemon = self.daemon()
        client = daemon.client()
        client.call("ENQUEUE", "alpha", "one")
        client.call("ENQUEUE", "alpha", "two", "DELAY", "1h")
        client.call("ENQUEUE", "beta", "three")
        client.call("LEASE", "beta")
        done = harness.run("stats", "--server", daemon.address)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^alpha +1 +1 +0 +0 +0\b")
        self.assertRegex(done.stdout, r"(?m)^beta +0 +0 +0 +1 +0\b")
        done = harness.run("stats", "alpha", "--json", "--server", daemon.address)
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = json.loads(done.stdout)
        self.assertEqual((shown["queues"][0]["queue"], shown["queues"][0]["ready"]), ("alpha", 1))
        for name in ("uptime_in_seconds", "used_memory", "cores", "syncs", "tcp_port"):
            self.assertIsInstance(shown["server"][name], int, name)
        self.assertIsInstance(shown["server"]["lease_us_p50"], (int, float))
        for name in ("vestq_version", "run_id", "path", "durability"):
            self.assertIsInstance(shown["server"][name], str, name)
        self.assertNotIn("beta", done.stdout)
        self.assertEqual(harness.run("stats", "gamma", "--server", daemon.address).returncode, 1)
        client.close()


if __name__ == "__main__":
    harness.main()
