"""I1: every live job stands in exactly one place. One pass over leases, delayed jobs, queues and job records.

In the order against which jobs travel: what was claimed while it was walked past is met less often, and what moved
since the walk began is not judged at all. Whatever looks wrong is looked at again, atomically.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from redis.exceptions import ResponseError

from jobops.doctor import walk
from jobops.doctor.deaths import recorded
from jobops.doctor.examination import unreadable
from jobops.doctor.findings import Finding
from jobops.doctor.seen import SeenIds
from jobops.doctor.site import Site
from jobops.doctor.suspects import Suspects, mend
from jobops.doctor.untold import Finished, untold
from jobops.doctor.verdicts import ENDED, LIVE
from jobops.engine import keys as rq
from jobops.engine.gates import read_gates
from jobops.engine.link import is_away

_RECORD = ("status", "jo_type", "jo_tenant", "jo_runnable", "jo_started", "jo_attempt", "jo_died", "jo_replay_of")


def check(site: Site) -> Iterator[Finding]:
    """Jobs in no place or in two, entries and leases without a job, deaths and ends of replays that nobody recorded."""
    began_ms = site.engine.scripts.now_ms()
    seen, suspects = SeenIds(), Suspects(site)
    for place in (_leases, _delayed, _waiting, _queues):
        yield from place(site, seen, suspects)
    seen.close()
    yield from _records(site, seen, suspects, began_ms)


def _leases(site: Site, seen: SeenIds, suspects: Suspects) -> Iterator[Finding]:
    engine = site.engine
    for chunk in walk.members(engine, engine.keys.leases()):
        seen.add(chunk)
        names = [name for raw in chunk if (name := walk.text(raw))]
        with engine.redis.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.hmget(engine.keys.lease(name), "tenant", "lane", "token")
                pipe.hget(rq.rq_job(name), "status")
            answers = walk.told(pipe.execute(raise_on_error=False))
        leases = [[part and walk.text(part) for part in lease or [None] * 3] for lease in answers[::2]]
        with engine.redis.pipeline(transaction=False) as pipe:
            for name, (tenant, lane, token) in zip(names, leases, strict=True):
                pipe.zscore(engine.keys.inflight(f"{tenant}"), name)
                pipe.zscore(rq.rq_wip(f"{tenant}.{lane}"), f"{name}:{token}")
            counted = walk.told(pipe.execute(raise_on_error=False))
        whole = zip(names, answers[1::2], counted[::2], counted[1::2], strict=True)
        yield from suspects.confirm({name: "" for name, status, *rest in whole if status != b"started" or None in rest})


def _delayed(site: Site, seen: SeenIds, suspects: Suspects) -> Iterator[Finding]:
    for chunk in walk.members(site.engine, rq.RQ_SCHEDULED):
        seen.add(chunk)
        yield from suspects.confirm(dict.fromkeys(_misplaced(site, chunk, {"status": b"scheduled"}), ""))


def _waiting(site: Site, seen: SeenIds, suspects: Suspects) -> Iterator[Finding]:
    for gate in read_gates(site.engine):
        right = {"status": b"rate_limited", "jo_waits": gate.name.encode()}
        for chunk in walk.members(site.engine, site.engine.keys.waiting(gate.name)):
            seen.add(chunk)
            odd = [*_misplaced(site, chunk, right), *_uncounted(site, chunk)]
            yield from suspects.confirm(dict.fromkeys(odd, ""))


def _uncounted(site: Site, chunk: list[bytes]) -> list[str]:
    """Ids that wait at a gate and are not among those that their queue counts."""
    origins = [walk.text(origin) for (origin,) in walk.fields(site.engine, chunk, "origin")]
    waiting = [(raw, origin) for raw, origin in zip(chunk, origins, strict=True) if walk.is_ours(origin)]
    with site.engine.redis.pipeline(transaction=False) as pipe:
        for raw, origin in waiting:
            pipe.zscore(site.engine.keys.held(*rq.split_queue(origin)), raw)
        scores = walk.told(pipe.execute(raise_on_error=False))
    return [walk.text(raw) for (raw, _), score in zip(waiting, scores, strict=True) if score is None]


def _queues(site: Site, seen: SeenIds, suspects: Suspects) -> Iterator[Finding]:
    for names in walk.queues(site.engine):
        for queue in names:
            site.looked_at["queues"] += 1
            try:
                for chunk in walk.waiting(site.engine, queue):
                    seen.add(chunk)
                    right = {"status": b"queued", "origin": queue.encode()}
                    yield from suspects.confirm(dict.fromkeys(_misplaced(site, chunk, right), queue))
            except ResponseError as error:
                if is_away(error):
                    raise
                yield unreadable("queue", queue, error)


def _misplaced(site: Site, chunk: list[bytes], right: dict[str, bytes]) -> list[str]:
    """Ids whose record does not say that they stand where they were met. What plain RQ put there is its own."""
    records = walk.fields(site.engine, chunk, *right, "jo_type", "created_at")
    odd = (
        walk.text(raw)
        for raw, (*told, job_type, created_at) in zip(chunk, records, strict=True)
        if told != list(right.values()) and (job_type or not created_at)
    )
    return [name for name in odd if name]


def _records(site: Site, seen: SeenIds, suspects: Suspects, began_ms: int) -> Iterator[Finding]:
    for chunk in walk.jobs(site.engine):
        records = walk.fields(site.engine, chunk, *_RECORD)
        now_ms = site.engine.scripts.now_ms()
        suspected: dict[str, str] = {}
        dead: list[tuple[str, int, str]] = []
        finished: list[Finished] = []
        for raw, (status, job_type, tenant, *times, attempt, died, replay_of) in zip(chunk, records, strict=True):
            name = walk.text(raw)
            if not (job_type and name):
                continue  # plain RQ's
            site.looked_at["jobs"] += 1
            moved = any(began_ms <= _number(at) <= now_ms for at in times)
            if not moved and _is_odd(status.decode(errors="replace"), seen.count(raw)):
                suspected[name] = ""
            if status == b"failed" and died:
                dead.append((name, _number(attempt), tenant.decode(errors="replace")))
            if status == b"finished" and replay_of:
                finished.append((name, walk.text(replay_of)))
        yield from suspects.confirm(suspected)
        yield from _unrecorded(site, dead)
        yield from untold(site, finished)


def _is_odd(status: str, count: int) -> bool:
    """Whether a job of this status that was met so often in the places may be wrong."""
    return count != 1 if status in LIVE else count > 0 and status in ENDED


def _unrecorded(site: Site, dead: list[tuple[str, int, str]]) -> Iterator[Finding]:
    """Deaths that are neither in the intake nor in the database. In this order: a death leaves the intake last."""
    with site.engine.redis.pipeline(transaction=False) as pipe:
        for name, attempt, _tenant in dead:
            pipe.zscore(site.engine.keys.dead(), f"{name}:{attempt}")
        scores = walk.told(pipe.execute(raise_on_error=False))
    gone = [each for each, score in zip(dead, scores, strict=True) if score is None]
    known = recorded([(name, attempt) for name, attempt, _tenant in gone]) if gone else set()
    for name, attempt, tenant in gone:
        if (name, attempt) not in known:
            text = f"it died in attempt {attempt}, and neither the dead intake nor the database knows"
            yield Finding("death_without_record", "job", name, text, tenant, partial(mend, site.engine, name, []))


def _number(raw: bytes) -> int:
    return int(raw) if raw.isdigit() and len(raw) < 17 else 0
