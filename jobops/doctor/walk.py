"""Walking what may be large, a bounded portion at a time. Nothing here uses KEYS or reads a whole list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jobops.engine import keys as rq
from jobops.engine.client import Engine
from jobops.engine.lanes import known_lanes
from jobops.engine.link import is_away
from tenants.models import Tenant

CHUNK = 1000
TENANTS = 500

_JOB = rq.rq_job("").encode()
_QUEUE = rq.rq_queue("").encode()


def queues(engine: Engine) -> Iterator[list[str]]:
    """Names of ``<tenant>.<lane>`` queues: those that RQ's list has, then those of known tenants that it lacks.

    Queues of other names are plain RQ's, and none of ours.
    """
    for members in _pages(lambda cursor: engine.redis.sscan(rq.RQ_QUEUES, cursor=cursor, count=CHUNK)):
        names = (text(member.removeprefix(_QUEUE)) for member in members if member.startswith(_QUEUE))
        if chunk := [name for name in names if name and is_ours(name)]:
            yield chunk
    lanes = list(known_lanes(engine))
    for tenants in tenants_by_chunk():
        names_ = [f"{tenant.slug}.{lane}" for tenant in tenants for lane in lanes]
        listed: Any = engine.redis.smismember(rq.RQ_QUEUES, [rq.rq_queue(name) for name in names_])
        if chunk := [name for name, is_listed in zip(names_, listed, strict=True) if not is_listed]:
            yield chunk


def is_ours(queue: str) -> bool:
    """Whether a queue's name is ``<tenant>.<lane>``."""
    try:
        rq.split_queue(queue)
    except ValueError:
        return False
    return True


def waiting(engine: Engine, queue: str) -> Iterator[list[bytes]]:
    """The ids in a queue, the newest portion first.

    From its end, as jobs are taken from its front: that moves no id that is still to be read. Ids that are added
    meanwhile push the same ones into view again; they are left out.
    """
    before: list[bytes] = []
    last = -1
    while True:
        chunk: Any = engine.redis.lrange(rq.rq_queue(queue), last - CHUNK + 1, last)
        if not chunk:
            return
        fresh = _without_overlap(chunk, before)
        if fresh:
            yield fresh
        before, last = chunk, last - CHUNK


def _without_overlap(chunk: list[bytes], before: list[bytes]) -> list[bytes]:
    if not before or before[0] not in chunk:
        return chunk
    place = chunk.index(before[0])
    return chunk[:place] if chunk[place:] == before[: len(chunk) - place] else chunk


def members(engine: Engine, key: str) -> Iterator[list[bytes]]:
    """The members of a sorted set, in no order; one that moves meanwhile may come twice."""
    for pairs in _pages(lambda cursor: engine.redis.zscan(key, cursor=cursor, count=CHUNK)):
        yield [member for member, _score in pairs]


def busy_tenants(engine: Engine) -> Iterator[str]:
    """Slugs of tenants with jobs in flight."""
    for page in _pages(lambda cursor: engine.redis.sscan(engine.keys.busy(), cursor=cursor, count=CHUNK)):
        yield from filter(None, map(text, page))


def jobs(engine: Engine) -> Iterator[list[bytes]]:
    """Ids of all jobs that Redis holds a record of, ended ones among them."""
    for keys in _pages(lambda cursor: engine.redis.scan(cursor=cursor, match=_JOB + b"*", count=CHUNK)):
        yield [key.removeprefix(_JOB) for key in keys]


def _pages(scan: Callable[[int], Any]) -> Iterator[Any]:
    """What a walk by cursor finds, page by page; an empty page is left out."""
    cursor, page = scan(0)
    while True:
        if page:
            yield page
        if not cursor:
            return
        cursor, page = scan(cursor)


def fields(engine: Engine, ids: Sequence[bytes], *names: str) -> list[list[bytes]]:
    """Of each job these fields of its record; what is missing, or no record of a job, is empty."""
    with engine.redis.pipeline(transaction=False) as pipe:
        for job_id in ids:
            pipe.hmget(_JOB + job_id, *names)
        answers = pipe.execute(raise_on_error=False)
    return [[b""] * len(names) if answer is None else [value or b"" for value in answer] for answer in told(answers)]


def told(answers: Sequence[Any]) -> list[Any]:
    """A pipeline's answers, None for what a key of another form refused. Raises when Redis itself refuses."""
    for answer in answers:
        if isinstance(answer, Exception) and is_away(answer):
            raise answer
    return [None if isinstance(answer, Exception) else answer for answer in answers]


def tenants_by_chunk() -> Iterator[list[Tenant]]:
    """All tenants, by key."""
    after = 0
    while chunk := list(Tenant.objects.filter(pk__gt=after).order_by("pk")[:TENANTS]):
        yield chunk
        after = chunk[-1].pk


def text(raw: bytes) -> str:
    """As text; empty for what is none, which is no name of ours."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return ""
