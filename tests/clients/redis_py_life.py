"""The life of a job through redis-py, as it is: redis_py_life.py PORT."""

import sys
import threading

import redis

port = int(sys.argv[1])
r = redis.Redis(port=port)


def lease(*args):
    """The leased jobs as dictionaries (RESP2: flat lists)."""
    jobs = r.execute_command("LEASE", *args)
    if jobs is None:
        return []
    return [dict(zip(j[0::2], j[1::2])) for j in jobs]


assert r.ping()
assert r.info()["redis_version"] == "7.0.0"
payload = bytes(range(256))
job_id = r.execute_command("ENQUEUE", "py", payload, "PRIORITY", 5, "ATTEMPTS", 2)
job, = lease("py")
assert job[b"id"] == job_id and job[b"payload"] == payload and job[b"priority"] == 5, job
assert 0 < r.execute_command("RENEW", job[b"receipt"], "FOR", "1m") <= 60000
assert r.execute_command("FAIL", job[b"receipt"], "DELAY", "0") == [b"retry", 0]
try:
    r.execute_command("COMPLETE", job[b"receipt"])
    raise AssertionError("a receipt that is over was taken")
except redis.ResponseError as error:
    assert str(error).startswith("LEASELOST"), error
job, = lease("py", "BLOCK", "5s")
assert job[b"attempt"] == 2
assert r.execute_command("FAIL", job[b"receipt"], "REASON", "twice") == [b"dead", 0]
assert r.execute_command("CANCEL", job_id) == 1
assert r.execute_command("JOB", job_id) is None
assert lease("py") == []

# A pipeline without MULTI.
with r.pipeline(transaction=False) as pipe:
    for i in range(200):
        pipe.execute_command("ENQUEUE", "py", f"job {i}")
    for i in range(200):
        pipe.execute_command("LEASE", "py")
    replies = pipe.execute()
jobs = [dict(zip(j[0][0::2], j[0][1::2])) for j in replies[200:]]
assert [j[b"id"] for j in jobs] == replies[:200]
assert [j[b"payload"] for j in jobs] == [f"job {i}".encode() for i in range(200)]
assert r.execute_command("COMPLETEMANY", *[j[b"receipt"] for j in jobs]) == [1] * 200

# A pipeline as it is by default: MULTI ... EXEC, all of it or nothing.
r.execute_command("ENQUEUE", "py", "step 1")
job, = lease("py")
with r.pipeline() as pipe:
    pipe.execute_command("COMPLETE", job[b"receipt"])
    pipe.execute_command("ENQUEUE", "py", "step 2", "SPACE", "acme")
    pipe.set("py:result", payload)
    pipe.get("py:result")
    replies = pipe.execute()
assert replies[0] == b"OK" and replies[2] in (True, b"OK") and replies[3] == payload, replies
with r.pipeline() as pipe:
    pipe.set("py:result", "never")
    pipe.execute_command("COMPLETE", job[b"receipt"])
    try:
        pipe.execute()
        raise AssertionError("a group with a lost lease was carried out")
    except redis.exceptions.ExecAbortError as error:
        assert "command 2 (COMPLETE): LEASELOST" in str(error), error
assert r.get("py:result") == payload
with r.pipeline() as pipe:
    pipe.execute_command("LEASE", "py", "BLOCK", "1s")
    try:
        pipe.execute()
        raise AssertionError("LEASE was taken between MULTI and EXEC")
    except redis.ResponseError as error:
        assert "not allowed between MULTI and EXEC" in str(error), error
job, = lease("py")
assert job[b"payload"] == b"step 2" and r.execute_command("COMPLETE", job[b"receipt"]) == b"OK"
with r.pipeline() as pipe:
    try:
        pipe.watch("py:result")
        raise AssertionError("WATCH was taken")
    except redis.ResponseError as error:
        assert "SET key value IF old" in str(error), error

# A worker that waits, on a connection of its own.
got = []
worker = threading.Thread(target=lambda: got.extend(lease("py", "BLOCK", "30s")))
worker.start()
r.execute_command("ENQUEUE", "py", "wake up")
worker.join(30)
assert got and got[0][b"payload"] == b"wake up", got
assert r.execute_command("COMPLETE", got[0][b"receipt"]) == b"OK"

# WAITFOR holds its connection, as LEASE does.
job_id = r.execute_command("ENQUEUE", "py", "x", "KEEP", "1m")
ended = []
waiter = threading.Thread(target=lambda: ended.append(r.execute_command("WAITFOR", job_id, "BLOCK", "30s")))
waiter.start()
job, = lease("py")
assert r.execute_command("COMPLETE", job[b"receipt"], "RESULT", "42") == b"OK"
waiter.join(30)
done = dict(zip(ended[0][0::2], ended[0][1::2]))
assert done[b"state"] == b"done" and done[b"result"] == b"42", done

# EVENTS in RESP2: arrays without end, on a connection of their own.
events = redis.Connection(port=port)
events.connect()
events.send_command("EVENTS", "py")
assert events.read_response() == b"OK"
job_id = r.execute_command("ENQUEUE", "py", "x")
job, = lease("py", "WORKER", "w")
assert r.execute_command("COMPLETE", job[b"receipt"]) == b"OK"
for kind in (b"enqueued", b"leased", b"completed"):
    word, name, fields = events.read_response()
    fields = dict(zip(fields[0::2], fields[1::2]))
    assert (word, name, fields[b"id"]) == (b"event", kind, job_id), (word, name, fields)
events.send_command("JOB", job_id)
try:
    events.read_response()
    raise AssertionError("JOB while listening in RESP2")
except redis.ResponseError as error:
    assert "only EVENTS" in str(error), error
events.send_command("RESET")
assert events.read_response() == b"RESET"
events.disconnect()
