"""What power_cuts.py itself asks of the daemon: when it is up again and no client is there yet, and when all is over.

Whatever it sees goes into a log of its own, as that of a client, so that history.py judges it too.
"""

import client
import harness
import history
import mix

LIVE = [state for state in mix.STATES if state != "done"]
COUNTERS = ("enqueued", "leases", "completed", "failed", "released", "expired", "died", "cancelled", "lapsed", "dropped",
            "duplicates", "waiters", "bytes")
TRIES = 8


def check(holds, text):
    if not holds:
        raise AssertionError(text)


class Observer:
    """One connection, and a log. `compared` and `moving` count queues that stood still while they were counted, and that did not."""

    def __init__(self, port, log, number, queues):
        self.port, self.queues = port, queues
        self.client = client.Client(port, log, 0, number)
        self.compared, self.moving = 0, 0
        self.resp = None

    def connect(self):
        if self.resp:
            self.resp.close()
        self.resp = harness.Resp(self.port)
        self.client.conn, self.client.n = self.client.conn + 1, 0

    def call(self, what, *words):
        """A command that is judged as a client's."""
        began = client.now_ms()
        reply = self.resp.call(*words)
        self.client.note(what, began, t1=round(client.now_ms(), 3), reply=client.short(what["kind"], reply))
        return reply

    def read_or_none(self):
        """An answer, or None where there is no such queue."""
        try:
            return self.resp.read()
        except harness.RespError as error:
            check(str(error).startswith("NOTFOUND"), str(error))
            return None

    def infos(self, queues):
        for queue in queues:
            self.resp.send("QUEUE", "INFO", queue)
        infos = {queue: harness.to_map(self.read_or_none()) for queue in queues}
        for queue, info in infos.items():
            for name in (*mix.STATES, *COUNTERS):
                check(info is None or info[name] >= 0, f"QUEUE INFO {queue}: {name} is {info and info[name]}")
        return {queue: info for queue, info in infos.items() if info}

    def listings(self, queues):
        """Ids of all jobs, by (queue, state); what lives is noted as seen."""
        wanted = [(queue, state) for queue in queues for state in mix.STATES]
        began = client.now_ms()
        for queue, state in wanted:
            self.resp.send("PEEK", queue, "STATE", state, "COUNT", "1000")
        pages = [self.read_or_none() or [b"0", []] for _ in wanted]
        found = {}
        for (queue, state), (cursor, jobs) in zip(wanted, pages):
            jobs = list(jobs)
            while cursor != b"0":
                cursor, more = self.resp.call("PEEK", queue, "STATE", state, "COUNT", "1000", "CURSOR", cursor)
                jobs += more
            found[queue, state] = [harness.to_map(job)["id"].decode() for job in jobs]
            if state in LIVE and jobs:
                self.client.note({"kind": "peek", "queue": queue, "state": state, "space": None}, began,
                                 t1=round(client.now_ms(), 3), reply=client.short("peek", [cursor, jobs]))
        return found

    def compare(self):
        """The counts of QUEUE INFO are those of a full listing, wherever nothing moved meanwhile."""
        left = list(self.queues)
        for _ in range(TRIES):
            before, found, after = self.infos(left), self.listings(left), self.infos(left)
            still = [queue for queue in left if self.of_states(before, queue) == self.of_states(after, queue)]
            for queue in still:
                for state, number in self.of_states(before, queue).items():
                    ids = found[queue, state]
                    check(number == len(ids), f"{queue}: {number} jobs are {state}, a full listing has {len(ids)}: {ids}")
                    check(len(set(ids)) == len(ids), f"{queue}: a listing has a job that is {state} twice: {ids}")
            self.compared += len(still)
            left = [queue for queue in left if queue not in still]
            if not left:
                return
        self.moving += len(left)

    def room(self):
        """No more than fits has survived."""
        info = self.infos([mix.TIGHT]).get(mix.TIGHT)
        if info is None:
            return  # lost with all that was not synced; whether it may be, the judge of options says
        jobs = sum(info[state] for state in ("ready", "scheduled", "waiting", "leased"))
        check(jobs <= mix.MAX_JOBS and info["unfinished-bytes"] <= mix.MAX_BYTES,
              f"{jobs} jobs of {info['unfinished-bytes']} bytes stand in {mix.TIGHT} after a cut")

    @staticmethod
    def of_states(infos, queue):
        return {state: infos[queue][state] for state in mix.STATES} if queue in infos else {}

    def look(self):
        """After a start, before any client is there."""
        self.connect()
        self.compare()
        self.room()
        self.schedules()

    def schedules(self):
        for name in history.STATIC:
            self.call({"kind": "schedule-get", "name": name}, "SCHEDULE", "GET", name)

    def final(self):
        """What is there when everything was drained."""
        dead, results, keys = [], {}, {}
        self.compare()
        check(self.moving == 0 or self.compared > 0, "no queue stood still")
        for (_, state), ids in self.listings(self.queues).items():
            dead += ids if state == "dead" else []
            for ident in ids if state == "done" else []:
                job = harness.to_map(self.resp.call("JOB", ident))
                if job:
                    results[ident] = job.get("result", b"").decode("latin-1")
        cursor = b"0"
        while True:
            cursor, page = self.resp.call("RANGE", "", "CURSOR", cursor, "COUNT", "1000")
            keys.update({page[i].decode("latin-1"): page[i + 1].decode("latin-1") for i in range(0, len(page), 2)})
            if cursor == b"0":
                break
        infos = {queue: {name: client.text(value) for name, value in info.items()}
                 for queue, info in self.infos(self.queues).items()}
        return history.Final(dead, keys, results, infos)

    def close(self):
        if self.resp:
            self.resp.close()
        self.client.log.close()
