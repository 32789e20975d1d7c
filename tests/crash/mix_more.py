"""The random commands of the power-cut test about queues, schedules, the application's data, and groups."""

import os

import mix

ZONE = "Europe/Berlin" if os.path.exists("/usr/share/zoneinfo/Europe/Berlin") else "UTC"
SHARED = [f"shared:{i}" for i in range(6)]
# Values of QUEUE SET on the queue `options`; QUEUE INFO shows them as the second column says.
OPTION_VALUES = {
    "lease": {"1500ms": "1500ms", "2s": "2s"},
    "attempts": {"7": 7, "9": 9, "default": 25},
    "backoff": {"fixed:60ms": "fixed:60ms", "list:20ms,80ms": "list:20ms,80ms"},
    "keep": {"0": "0", "1h": "1h", "default": "0"},
    "dead-keep": {"1h": "1h", "2d": "2d"},
    "dead-max": {"100000": 100000, "default": 1000000},
    "concurrency": {"50": 50, "none": "none"},
    "space-concurrency": {"50": 50, "default": "none"},
    "rate": {"1000": "1000/s", "none": "none"},
    "burst": {"100": 100, "default": 1},
    "ageing": {"200ms": "200ms", "none": "none"},
    "space-rate": {"500": "500/s", "none": "none"},
    "space-burst": {"50": 50, "60": 60},
    "space-weight": {"2": 2, "5": 5},
    "adaptive": {"20:60": "20:60", "none": "none"},
    "max-jobs": {"100000": 100000, "none": "none"},
    "max-bytes": {"1GiB": 1 << 30, "none": "none"},
}
# The same of SPACE SET, of one space there.
SPACE_VALUES = {
    "weight": {"3": 3, "7": 7},
    "concurrency": {"40": 40, "none": "none"},
    "rate": {"700": "700/s", "none": "none"},
    "burst": {"30": 30, "40": 40},
}


class MoreCommands:
    """What a client sends beside commands about jobs. REQUIRES: those of JobCommands, and read (key: value), ranges."""

    # Queues.

    def queues(self):
        more = ["CURSOR", "0"] if self.chance(0.5) else []
        yield ["QUEUES", "*", *more], {"kind": "queues"}

    def queue_info(self):
        queue = self.random.choice(mix.QUEUES)
        yield ["QUEUE", "INFO", queue], {"kind": "info", "queue": queue}

    def queue_set(self):
        words, values = [], {}
        for name in self.random.sample(sorted(OPTION_VALUES), self.random.randrange(1, 4)):
            value = self.random.choice(sorted(OPTION_VALUES[name]))
            words += [name, value]
            values[name] = OPTION_VALUES[name][value]
        yield ["QUEUE", "SET", mix.OPTIONS, *words], {"kind": "queue-set", "queue": mix.OPTIONS, "values": values}

    def drop(self):
        """With what only an empty queue takes behind it: mostly it still is."""
        yield ["QUEUE", "DROP", mix.DROPPED], {"kind": "drop", "queue": mix.DROPPED}
        yield (["QUEUE", "SET", mix.DROPPED, "backoff", mix.BACKOFF, "lease", f"{mix.LEASE_MS}ms"],
               {"kind": "queue-set", "queue": mix.DROPPED, "values": {}})
        order = self.random.choice(("time", "priority"))
        yield (["QUEUE", "SET", mix.DROPPED, "order", order],
               {"kind": "queue-set", "queue": mix.DROPPED, "values": {"order": order}})

    def pause(self):
        length = self.random.randrange(100, 600) if self.chance(0.5) else None
        yield (["QUEUE", "PAUSE", mix.PAUSED, *(["FOR", f"{length}ms"] if length else [])],
               {"kind": "pause", "queue": mix.PAUSED, "length": length})

    def resume(self):
        yield ["QUEUE", "RESUME", mix.PAUSED], {"kind": "resume", "queue": mix.PAUSED}

    def space_set(self):
        if self.chance(0.3):
            return (yield from self.space_pause("SET"))
        words, values = [], {}
        for name in self.random.sample(sorted(SPACE_VALUES), self.random.randrange(1, 4)):
            value = self.random.choice(sorted(SPACE_VALUES[name]))
            words += [name, value]
            values[name] = SPACE_VALUES[name][value]
        yield (["SPACE", "SET", mix.OPTIONS, mix.SPACES[0], *words],
               {"kind": "space-set", "queue": mix.OPTIONS, "space": mix.SPACES[0], "values": values})

    def space_pause(self, verb="PAUSE"):
        space, length = self.random.choice(mix.SPACES), self.random.randrange(100, 600) if self.chance(0.5) else None
        what = {"kind": "pause", "queue": mix.PAUSED, "space": space, "length": length}
        if verb == "PAUSE":
            yield ["SPACE", "PAUSE", mix.PAUSED, space, *(["FOR", f"{length}ms"] if length else [])], what
        elif self.chance(0.5):
            yield ["SPACE", "SET", mix.PAUSED, space, "pause", f"{length}ms" if length else "yes"], what
        else:
            yield ["SPACE", "SET", mix.PAUSED, space, "pause", "no"], {"kind": "resume", "queue": mix.PAUSED, "space": space}

    def space_resume(self):
        space = self.random.choice(mix.SPACES)
        yield ["SPACE", "RESUME", mix.PAUSED, space], {"kind": "resume", "queue": mix.PAUSED, "space": space}

    def space_info(self):
        queue, space = self.random.choice(mix.SPACED), mix.SPACES[0]
        yield ["SPACE", "INFO", queue, space], {"kind": "space-info", "queue": queue, "space": space}

    def spaces(self):
        more = (["COUNT", "3"] if self.chance(0.5) else []) + (["CURSOR", "0"] if self.chance(0.5) else [])
        yield ["SPACES", self.random.choice(mix.SPACED), *more], {"kind": "spaces"}

    def workers(self):
        queue = self.random.choice([*mix.PLAIN, None])
        yield ["WORKERS", *([queue] if queue else [])], {"kind": "workers", "queue": queue}

    # Schedules: two of each client alone, beside those that power_cuts.py sets.

    def schedule_set(self):
        name, uid = self.schedule(), self.uid()
        what = {"kind": "schedule-set", "name": name, "uid": uid}
        if self.chance(0.2):
            words = ["CRON", "* * * * *", *(["TZ", ZONE] if self.chance(0.6) else [])]
        else:
            what["every"] = self.random.randrange(900, 3000)
            words = ["EVERY", f"{what['every']}ms"]
        if self.chance(0.6):
            words += ["MISSED", self.random.choice(("once", "skip", "all"))]
        for option, value in (("SPACE", "space-1"), ("PRIORITY", "3"), ("ATTEMPTS", "4"), ("BACKOFF", "fixed:50ms"),
                              ("LEASE", "2s"), ("EXPIRE", "1h"), ("KEEP", "1s"), ("TYPE", "slot")):
            if self.chance(0.2):
                words += [option, value]
        if self.chance(0.2):
            words += ["HEADER", "1", "header", "slot"]
        if self.chance(0.2):
            words += ["UNIQUE", f"slot-{uid}", *(["FOR", "1s"] if self.chance(0.5) else [])]
        yield ["SCHEDULE", "SET", name, mix.SLOTS[-1], mix.payload_of(uid, 10), *words], what

    def schedule(self):
        return f"dynamic-{self.number}-{self.random.randrange(2)}"

    def about_schedule(self, verb, name=None):
        name = name or self.schedule()
        yield ["SCHEDULE", verb, name], {"kind": f"schedule-{verb.lower()}", "name": name}

    def schedule_del(self):
        return self.about_schedule("DEL")

    def schedule_pause(self):
        return self.about_schedule("PAUSE")

    def schedule_resume(self):
        return self.about_schedule("RESUME")

    def schedule_get(self):
        return self.about_schedule("GET")

    def schedule_run(self):
        return self.about_schedule("RUN", self.random.choice((None, "all")))

    def schedule_list(self):
        more = (["COUNT", "3"] if self.chance(0.5) else []) + (["CURSOR", "0"] if self.chance(0.5) else [])
        yield ["SCHEDULE", "LIST", *more], {"kind": "schedule-list"}

    def schedule_next(self):
        count = self.random.randrange(1, 4)
        more = ["COUNT", str(count)] if self.chance(0.7) else []
        yield (["SCHEDULE", "NEXT", "* * * * *", *(["TZ", ZONE] if self.chance(0.5) else []), *more],
               {"kind": "schedule-next", "count": count if more else 1})

    # Data: five keys of each client alone, and some that all of them change.

    def own_key(self):
        return f"client-{self.number}:{self.random.randrange(5)}"

    def some_key(self):
        return self.random.choice(SHARED) if self.chance(0.5) else self.own_key()

    def data_set(self):
        key, value, dice = self.some_key(), self.uid(), self.random.random()
        known = {"kind": "set", "key": key, "value": value}
        if dice < 0.25:
            yield ["SET", key, value, "NX"], {**known, "nx": True}
        elif dice < 0.6 and self.read.get(key) is not None:
            yield ["SET", key, value, "IF", self.read[key]], {**known, "if": self.read[key]}
        else:
            yield ["SET", key, value], known

    def data_get(self):
        key = self.some_key()
        yield ["GET", key], {"kind": "get", "key": key}

    def some_keys(self):
        return self.random.sample([*SHARED, *(f"client-{self.number}:{i}" for i in range(5))], 3)

    def data_many(self):
        keys = self.some_keys()
        yield ["MGET", *keys], {"kind": "mget", "keys": keys}

    def data_exists(self):
        keys = self.some_keys()
        yield ["EXISTS", *keys], {"kind": "exists", "keys": keys}

    def data_del(self):
        keys = self.some_keys()[:self.random.randrange(1, 3)]
        yield ["DEL", *keys], {"kind": "del", "keys": keys}

    def data_range(self):
        """A page, or the one behind a page seen before: `after` is the last key of that one."""
        prefix, after, more = self.random.choice((f"client-{self.number}:", "shared:", "group:")), None, []
        count = self.random.randrange(1, 5)
        if self.ranges and self.chance(0.5):
            prefix, after, cursor = self.ranges.pop()
            more = ["CURSOR", cursor]
        yield (["RANGE", prefix, *more, "COUNT", str(count)], {"kind": "range", "prefix": prefix, "after": after})

    # Groups.

    def group(self):
        """A key that tells whether it happened, and some of what may stand in one: all or nothing."""
        uid = self.uid()
        members = [(["SET", f"group:{uid}", uid], {"kind": "set-group", "key": f"group:{uid}", "value": uid})]
        makers = [self.group_job, self.group_job, self.enqueue_unique, self.enqueue_many, self.enqueue_after, self.end_lease,
                  self.end_lease, self.checkpoint, self.renew, self.cancel, self.data_set, self.data_set, self.data_get,
                  self.data_many, self.data_exists, self.data_del, self.data_range, self.group_tight]
        for make in self.random.sample(makers, self.random.randrange(1, 5)):
            members += list(make() or [])
        self.random.shuffle(members)
        yield None, {"kind": "group", "uid": uid, "members": members}

    def group_job(self):
        yield self.new_job(mix.GROUPS)

    def group_tight(self):
        """Where that has no room, and no end of a lease of that queue makes it, the whole group is refused."""
        yield self.new_job(mix.TIGHT)

    def discarded(self):
        """A group that is forgotten: nothing of it may ever be seen."""
        yield None, {"kind": "discarded", "members": [self.new_job(mix.GROUPS), *self.data_set()]}
