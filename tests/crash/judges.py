"""Judges what clients saw against what vestq promises (net/PROTOCOL.md). Findings begin with one of these names:

    LOST        every acknowledged job is at the end completed, cancelled, dead, lapsed, purged or drained, and no answer says
                before that there is none; what an event tells of is there
    INVENTED    every delivered or listed job was sent by somebody, once, and its payload is whole
    FIELDS      a job has the space, type, headers, priority, attempts and options that it was given
    AGAIN       nothing is seen alive after it was completed, cancelled or purged; each of these happens once
    EXCLUSIVE   no job is delivered, and no receipt honoured by another's doing, while its holder's lease certainly lasts; none is
                honoured afterwards, none refused while it lasts; fences only grow
    ATTEMPTS    a delivery counts; no attempt is beyond the limit; FAIL says retry or dead, and after how long, as they say
    RENEW       RENEW and CHECKPOINT answer the length that was asked for, LEASE grants it
    EARLY       nothing comes before its time: of DELAY, AT, back-off, RELEASE, FAIL, RESCHEDULE, REPLACE, REDRIVE at a rate; no
                child before its parents are complete
    EXPIRE      nothing is delivered after its EXPIRE, or gone before it
    PAUSE       nothing is delivered while its queue, or its space, is paused
    LIMIT       no more leases at a time, and no more starts in a span, than the queue allows
    ORDER       LEASE takes the most urgent, then the oldest
    STATE       JOB, PEEK and WAITFOR, CANCEL and REVOKE, WORKERS and QUEUES say what may be so
    NUMBER      PURGE and REDRIVE answer what may have been there; QUEUE INFO counts what was answered
    UNIQUE      two jobs never hold one key, and no key is held by nothing; REPLACE brings the newest payload
    CHECKPOINT  a delivery brings the last acknowledged checkpoint, or one sent after it
    RESULT      a kept result is the one that was acknowledged, wherever it is read
    GROUP       all of a group or nothing
    DATA        reads see the last acknowledged value, or one sent after it; NX and IF are compare-and-set; a RANGE has each key
    ROOM        no more jobs and bytes stand in a queue than it allows, and none is refused where there is room
    OPTIONS     QUEUE INFO and SPACE INFO show what was set
    SCHEDULE    one job a slot, none missed but by policy; GET, RUN, DEL, LIST and NEXT say what may be so
    EVENT       what an event says holds across every cut, and ends are ends

Not judged: order in queues that several clients share (across cores it is not exact), the spread over spaces, when at the
latest a job comes, `bytes` and ages of QUEUE INFO, and the jitter of back-offs beyond its bounds.
"""

import history
import judge_data
import judge_life
import judge_queues
import judge_states
import judge_time


def judge(ops, final):
    """Findings, empty for a good history."""
    seen = history.History(sorted(ops, key=lambda op: op.t0), final)
    for module in (judge_life, judge_time, judge_states, judge_data, judge_queues):
        module.judge(seen)
    return seen.findings
