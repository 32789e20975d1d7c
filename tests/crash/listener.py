#!/usr/bin/env python3
"""A reader of EVENTS in the power-cut test: what it heard must hold across every cut.

    listener.py PORT LOG NUMBER

It waits for the daemon, and ends, as client.py does. One line of JSON an event, as those of client.py, of the kind `event`: `t0` and
`t1` are when it came.
"""

import sys

import client
import harness


class Listener(client.Client):
    def __init__(self, port, log, number):
        super().__init__(port, log, 0, number)

    def listen(self):
        connection = harness.Resp(self.port)
        try:
            began = client.now_ms()
            connection.call("EVENTS")
            self.forms["EVENTS"] += 1
            self.note({"kind": "events"}, began, t1=round(client.now_ms(), 3), reply="OK")
            while True:
                if not connection.file.peek():
                    return
                _, name, fields = connection.read()
                fields = {key: client.text(value) for key, value in harness.to_map(fields).items()}
                now = round(client.now_ms(), 3)
                what = {"kind": "event", "name": client.text(name)}
                what.update((key, fields[key]) for key in ("queue", "id", "attempt", "count") if key in fields)
                self.note(what, now, t1=now, reply="OK")
        finally:
            connection.close()

    def run(self):
        while self.wait_for_daemon():
            self.conn, self.n = self.conn + 1, 0
            self.note({"kind": "up"}, client.now_ms())
            try:
                self.listen()
            except (OSError, ValueError):
                pass
        self.note({"kind": "forms"}, client.now_ms(), reply=dict(self.forms))
        self.log.close()


if __name__ == "__main__":
    Listener(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])).run()
