"""One value that commands write: which of them an observer may have seen.

A regular register: every read may give the newest value that was certainly written before it, or any that was being written
meanwhile, and nothing older. Keys of the application's data, options, schedules and payloads under REPLACE are judged so.
"""

import bisect

from history import before


class Register:
    """One value that commands write, of which each says what it wrote and when: which values may an observer have seen?"""

    def __init__(self, first=None):
        self.first = first
        self.writes = []        # (command, value), by the time when they were sent
        self.sent, self.longest = [], 0

    def write(self, op, value):
        at = bisect.bisect_right(self.sent, op.t0)
        self.sent.insert(at, op.t0)
        self.writes.insert(at, (op, value))
        self.longest = max(self.longest, op.end - op.t0)

    def but(self, op):
        """Without what this command writes."""
        other = Register(self.first)
        for write, value in self.writes:
            if (write.client, write.conn, write.n, write.t0) != (op.client, op.conn, op.n, op.t0):
                other.write(write, value)
        return other

    def allowed(self, seen):
        """The values that the command `seen` may have found: written before its answer, and not certainly overwritten before it
        was sent."""
        found, last, newest = [], None, {}  # when the last write that was over was sent; the newest of each connection
        for i in range(bisect.bisect_left(self.sent, seen.end) - 1, -1, -1):
            op, value = self.writes[i]
            if last is not None and op.t0 < last - self.longest:
                return [v for o, v in found if not self.hidden(o, last, newest)]
            if before(seen, op):
                continue
            found.append((op, value))
            if op.certain and before(op, seen):
                last = op.t0 if last is None else max(last, op.t0)
                newest[op.client, op.conn] = max(newest.get((op.client, op.conn), -1), op.n)
        return [v for o, v in found if not self.hidden(o, last, newest)] + ([self.first] if last is None else [])

    @staticmethod
    def hidden(op, last, newest):
        return last is not None and (op.end < last or op.n < newest.get((op.client, op.conn), -1))
