"""Which commands the power-cut test sends, with which options: the list that a run must have met.

A *form* is a command (`LEASE`), a command with one of its options (`LEASE BLOCK`), or a command in a group
(`EXEC: FAIL`). Each client counts the forms of what was answered with something else than an error; power_cuts.py prints the
sum over the run, and fails when a form of this list was never answered before a cut.
"""

_JOB = {"SPACE": 1, "PRIORITY": 1, "DELAY": 1, "AT": 1, "ATTEMPTS": 1, "BACKOFF": 1, "LEASE": 1, "EXPIRE": 1, "KEEP": 1,
        "TYPE": 1, "HEADER": 3}
_SLOT = {name: size for name, size in _JOB.items() if name not in ("DELAY", "AT")}

# Command: how many words stand before its options, and its options with the number of words each of them takes
# (REST: all that follow, COUNTED: as many as the next word says).
REST, COUNTED = -1, -2
COMMANDS = {
    "ENQUEUE": (3, {**_JOB, "UNIQUE": 1, "FOR": 1, "REPLACE": 0, "AFTER": COUNTED, "WAIT": 1}),
    "ENQUEUEMANY": (None, {**_JOB, "AFTER": COUNTED, "WAIT": 1}),
    "LEASE": (None, {"COUNT": 1, "BLOCK": 1, "FOR": 1, "WORKER": 1, "SPACE": 1}),
    "RENEW": (2, {"FOR": 1}),
    "CHECKPOINT": (3, {"FOR": 1}),
    "COMPLETE": (2, {"RESULT": 1}),
    "COMPLETEMANY": (None, {}),
    "FAIL": (2, {"REASON": 1, "DELAY": 1, "DEAD": 0}),
    "RELEASE": (2, {"DELAY": 1, "PRIORITY": 1}),
    "CANCEL": (2, {}),
    "REVOKE": (2, {}),
    "JOB": (2, {"PAYLOAD": 0}),
    "WAITFOR": (2, {"BLOCK": 1}),
    "PEEK": (2, {"STATE": 1, "SPACE": 1, "COUNT": 1, "CURSOR": 1, "PAYLOAD": 0}),
    "PROMOTE": (2, {}),
    "RESCHEDULE": (2, {"DELAY": 1, "AT": 1, "PRIORITY": 1}),
    "REDRIVE": (2, {"ID": 1, "COUNT": 1, "ALL": 0, "TO": 1, "RATE": 1}),
    "PURGE": (2, {"STATE": 1, "SPACE": 1, "ID": REST}),
    "QUEUES": (2, {"CURSOR": 1}),
    "QUEUE INFO": (3, {}),
    "QUEUE SET": (3, {name: 1 for name in (
        "lease", "attempts", "backoff", "keep", "order", "dead-keep", "dead-max", "concurrency", "space-concurrency", "rate",
        "burst", "ageing", "space-rate", "space-burst", "space-weight", "adaptive", "max-jobs",
        "max-bytes")}),
    "QUEUE PAUSE": (3, {"FOR": 1}),
    "QUEUE RESUME": (3, {}),
    "QUEUE DROP": (3, {}),
    "SPACES": (2, {"CURSOR": 1, "COUNT": 1}),
    "SPACE INFO": (4, {}),
    "SPACE SET": (4, {name: 1 for name in ("weight", "concurrency", "rate", "burst", "pause")}),
    "SPACE PAUSE": (4, {"FOR": 1}),
    "SPACE RESUME": (4, {}),
    "WORKERS": (2, {}),
    "SCHEDULE SET": (5, {"CRON": 1, "TZ": 1, "EVERY": 1, "MISSED": 1, **_SLOT, "UNIQUE": 1, "FOR": 1}),
    "SCHEDULE LIST": (2, {"CURSOR": 1, "COUNT": 1}),
    "SCHEDULE GET": (3, {}),
    "SCHEDULE DEL": (3, {}),
    "SCHEDULE PAUSE": (3, {}),
    "SCHEDULE RESUME": (3, {}),
    "SCHEDULE RUN": (3, {}),
    "SCHEDULE NEXT": (3, {"TZ": 1, "COUNT": 1}),
    "SET": (3, {"NX": 0, "IF": 1}),
    "GET": (2, {}),
    "MGET": (None, {}),
    "DEL": (None, {}),
    "EXISTS": (None, {}),
    "RANGE": (2, {"CURSOR": 1, "COUNT": 1}),
    "MULTI": (1, {}),
    "EXEC": (1, {}),
    "DISCARD": (1, {}),
    "EVENTS": (None, {}),
}
IN_A_GROUP = ("ENQUEUE", "ENQUEUEMANY", "COMPLETE", "COMPLETEMANY", "FAIL", "RELEASE", "RENEW", "CHECKPOINT", "CANCEL", "SET",
              "SET NX", "SET IF", "GET", "MGET", "EXISTS", "DEL", "RANGE")
FORMS = [form for name, (_, options) in COMMANDS.items() for form in (name, *(f"{name} {option}" for option in options))]
FORMS += [f"EXEC: {name}" for name in IN_A_GROUP]


def forms(words):
    """The forms of a command that was made of these words."""
    words = [word.decode("latin-1") if isinstance(word, bytes) else str(word) for word in words]
    name = words[0]
    if name in ("QUEUE", "SCHEDULE", "SPACE"):
        name = f"{name} {words[1]}"
    at, options = COMMANDS[name]
    if name == "ENQUEUEMANY":
        at = 3 + int(words[2])
    elif name == "LEASE":
        at = next(i for i in range(1, len(words)) if words[i] in options)
    elif at is None:
        at = len(words)
    found = [name]
    while at < len(words):
        found.append(f"{name} {words[at]}")
        size = options.get(words[at], 0)
        at = len(words) if size == REST else at + 1 + (1 + int(words[at + 1]) if size == COUNTED else size)
    return found
