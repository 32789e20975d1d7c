#!/usr/bin/env python3
"""What people and programs are shown of bytes: control characters escaped for people, every byte for programs."""

import json

import harness
from harness import DaemonCase, to_map

BAD = "a\nb\x1b[2J\x07\u009b\u00e4\x7f"
SHOWN = "a\\nb\\x1b[2J\\x07\\xc2\\x9b\u00e4\\x7f"


class Shown(DaemonCase):
    def setUp(self):
        super().setUp()
        self.ident = self.client.call("ENQUEUE", "q", BAD, "SPACE", BAD, "TYPE", BAD, "KEEP", "1h", "HEADER", "1", BAD, BAD).decode()
        self.receipt = to_map(self.client.call("LEASE", "q", "WORKER", BAD)[0])["receipt"]

    def plain(self, *words, **more):
        out = self.vestq(*words, **more).stdout
        for bad in "\x1b\x07\u009b\x7f\t":
            self.assertNotIn(bad, out, words)
        return out

    def test_no_control_character_of_a_job_reaches_a_terminal(self):
        for words in (["peek", "q", "--state", "leased"], ["job", self.ident, "--payload"], ["workers"], ["spaces", "q"],
                      ["space", "info", "q", BAD]):
            with self.subTest(words=words):
                self.assertIn(SHOWN, self.plain(*words))
        self.assertEqual(len(self.plain("peek", "q", "--state", "leased").splitlines()), 2)
        self.assertEqual(len(self.plain("workers").splitlines()), 2)
        self.assertEqual(len(self.plain("spaces", "q").splitlines()), 2)
        self.assertNotIn("b", [line.split(" ")[0] for line in self.plain("job", self.ident).splitlines()])

    def test_nor_of_a_reason_or_a_result(self):
        tail = self.spawn("tail", "--server", self.server.address)
        while b"cmd=events" not in self.client.call("CLIENT", "LIST").lower():
            self.assertIsNone(tail.poll())
        self.client.call("FAIL", self.receipt, "REASON", BAD, "DELAY", "0")
        while "failed" not in (line := harness.read_line(tail.stdout)):
            pass
        self.assertTrue(line.endswith("reason: " + SHOWN), line)
        self.assertIn("last-error: " + SHOWN, self.plain("peek", "q"))
        receipt = to_map(self.client.call("LEASE", "q")[0])["receipt"]
        self.client.call("COMPLETE", receipt, "RESULT", b"\xff" + BAD.encode())
        self.assertIn("\\xff" + SHOWN, self.plain("waitfor", self.ident))

    def test_json_has_text_as_text_and_base64_only_of_what_is_no_utf_8(self):
        for result in ("a\nb\n", "\x1b[31mred\x1b[0m", "\n" * 50, "\0", "\u009b\ufffd\U0001f600", ""):
            self.client.call("ENQUEUE", "r", "x", "KEEP", "1h")
            job = to_map(self.client.call("LEASE", "r")[0])
            self.client.call("COMPLETE", job["receipt"], "RESULT", result)
            shown = json.loads(self.vestq("waitfor", job["id"].decode(), "--json").stdout)
            self.assertEqual(shown.get("result", ""), result)
            self.assertNotIn("result-base64", shown)
        self.client.call("FAIL", self.receipt, "REASON", b"\xc3(")
        shown = json.loads(self.vestq("job", self.ident, "--json", "--payload").stdout)
        self.assertEqual((shown["payload"], shown["space"], shown["type"], shown["last-error-base64"]), (BAD, BAD, BAD, "wyg="))
        for words in (["job"], ["waitfor"], ["peek"], ["lease"], ["tail"]):
            self.assertIn("no UTF-8", " ".join(harness.run(*words, "--help").stdout.split()), words)


if __name__ == "__main__":
    harness.main()
