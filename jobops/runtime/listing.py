"""Lists of jobs for people, from wherever jobs of a state are. Bounded reads; nothing here trusts what a job holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from dlq.models import DeadLetter
from jobops.context.models import OutboxEntry
from jobops.engine import keys as rq
from jobops.engine.jobs import ListState, list_jobs, read_jobs
from jobops.engine.lanes import of_every_lane
from jobops.engine.queues import active_tenants
from jobops.engine.records import JobView
from jobops.runtime.engine import get_engine
from jobops.runtime.lookup import view_of_letter, view_of_row
from tenants.models import Tenant

LIVE = ("started", "queued", "waiting", "scheduled", "outbox")
STATES = (*LIVE, "succeeded", "discarded", "dead", "cancelled", "coalesced")
PAGE = 100
MOST_SCANNED = 10_000
"""Delayed jobs stand in one set for all tenants; a list for one tenant looks at no more than so many."""


def jobs(*, tenant: str | None = None, state: str | None = None, limit: int = 50) -> list[JobView]:
    """Up to ``limit`` jobs of one state (None: the live ones), of one tenant or of all.

    Raises KeyError for an unknown state.
    """
    states = (state,) if state else LIVE
    return list(islice((job for name in states for job in _SOURCES[name](tenant, limit)), limit))


def total(*, tenant: str | None = None, state: str | None = None) -> int | None:
    """How many jobs `jobs` would list without a limit; None where only reading them all would tell."""
    counts = [_COUNTS[name](tenant) if name in _COUNTS else None for name in ((state,) if state else LIVE)]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _queued(tenant: str | None, limit: int) -> Iterator[JobView]:
    return _of_queues(tenant, "queued", "queued", active=True)


def _waiting(tenant: str | None, limit: int) -> Iterator[JobView]:
    return _of_queues(tenant, "waiting", "waiting", active=True)


def _started(tenant: str | None, limit: int) -> Iterator[JobView]:
    return _of_queues(tenant, "started", "started", active=True)


def _succeeded(tenant: str | None, limit: int) -> Iterator[JobView]:
    return _of_queues(tenant, "finished", "succeeded")


def _discarded(tenant: str | None, limit: int) -> Iterator[JobView]:
    return _of_queues(tenant, "finished", "discarded")


def _cancelled(tenant: str | None, limit: int) -> Iterator[JobView]:
    yield from _rows(tenant, OutboxEntry.State.CANCELLED)
    yield from _of_queues(tenant, "cancelled", "cancelled")


def _coalesced(tenant: str | None, limit: int) -> Iterator[JobView]:
    return _rows(tenant, OutboxEntry.State.COALESCED)


def _outbox(tenant: str | None, limit: int) -> Iterator[JobView]:
    yield from _rows(tenant, OutboxEntry.State.PARKED)
    yield from _rows(tenant, OutboxEntry.State.WAITING)


def _dead(tenant: str | None, limit: int) -> Iterator[JobView]:
    letters = DeadLetter.objects.order_by("-dead_at", "-id")
    if tenant is not None:
        letters = letters.filter(tenant_slug=tenant)
    seen = set()
    for letter in letters[:limit]:
        if letter.job_id not in seen:
            seen.add(letter.job_id)
            yield view_of_letter(letter)
    # Those that the intake has not taken into the table yet.
    yield from (job for job in _of_queues(tenant, "failed", "dead") if job.id not in seen)


def _scheduled(tenant: str | None, limit: int) -> Iterator[JobView]:
    engine = get_engine()
    for start in range(0, MOST_SCANNED, PAGE):
        page = engine.redis.zrange(rq.RQ_SCHEDULED, start, start + PAGE - 1)
        if not page:
            return
        ids = [member.decode(errors="backslashreplace") for member in page if isinstance(member, bytes)]
        for job in read_jobs(engine, ids):
            if tenant is None or job.tenant == tenant:
                yield job


def _rows(tenant: str | None, state: str) -> Iterator[JobView]:
    rows = OutboxEntry.objects.filter(state=state).order_by("created_at", "pk")
    if tenant is not None:
        rows = rows.filter(tenant=tenant)
    return (view_of_row(row) for row in rows.iterator(chunk_size=PAGE))


def _count_rows(tenant: str | None, *states: str) -> int:
    rows = OutboxEntry.objects.filter(state__in=states)
    return (rows if tenant is None else rows.filter(tenant=tenant)).count()


def _count_scheduled(tenant: str | None) -> int | None:
    engine = get_engine()
    count = int(engine.redis.zcard(rq.RQ_SCHEDULED))
    return count if tenant is None or not count else None


def _count_active(tenant: str | None, kind: ListState) -> int:
    key_of, count = _KINDS[kind]
    with get_engine().redis.pipeline(transaction=False) as pipe:
        for queue in _queue_names(tenant, active=True):
            getattr(pipe, count)(key_of(queue))
        return sum(pipe.execute())


def _queue_names(tenant: str | None, *, active: bool) -> Iterator[str]:
    engine = of_every_lane(get_engine())
    if tenant is not None:
        slugs: Iterable[str] = [tenant]
    elif active:
        slugs = active_tenants(engine)
    else:
        slugs = Tenant.objects.order_by("slug").values_list("slug", flat=True).iterator(chunk_size=1000)
    return (f"{slug}.{lane}" for slug in slugs for lane in engine.lanes)


def _of_queues(tenant: str | None, kind: ListState, state: str, *, active: bool = False) -> Iterator[JobView]:
    for queue in _not_empty(_queue_names(tenant, active=active), kind):
        start = 0
        while page := list_jobs(get_engine(), queue, state=kind, offset=start, limit=PAGE):
            start += PAGE
            yield from (job for job in page if job.state == state)


def _not_empty(queues: Iterator[str], kind: ListState) -> Iterator[str]:
    key_of, count = _KINDS[kind]
    while some := list(islice(queues, 500)):
        yield from _with_entries(some, key_of, count)


def _with_entries(queues: Sequence[str], key_of: Callable[[str], str], count: str) -> list[str]:
    with get_engine().redis.pipeline(transaction=False) as pipe:
        for queue in queues:
            getattr(pipe, count)(key_of(queue))
        return [queue for queue, entries in zip(queues, pipe.execute(), strict=True) if entries]


def _held(queue: str) -> str:
    return get_engine().keys.held(*rq.split_queue(queue))


_KINDS: dict[ListState, tuple[Callable[[str], str], str]] = {
    "queued": (rq.rq_queue, "llen"),
    "waiting": (_held, "zcard"),
    "started": (rq.rq_wip, "zcard"),
    "finished": (rq.rq_finished, "zcard"),
    "failed": (rq.rq_failed, "zcard"),
    "cancelled": (rq.rq_canceled, "zcard"),
}
_SOURCES: dict[str, Callable[[str | None, int], Iterator[JobView]]] = {
    "started": _started,
    "queued": _queued,
    "waiting": _waiting,
    "scheduled": _scheduled,
    "outbox": _outbox,
    "succeeded": _succeeded,
    "discarded": _discarded,
    "dead": _dead,
    "cancelled": _cancelled,
    "coalesced": _coalesced,
}
_COUNTS: dict[str, Callable[[str | None], int | None]] = {
    "started": lambda tenant: _count_active(tenant, "started"),
    "queued": lambda tenant: _count_active(tenant, "queued"),
    "waiting": lambda tenant: _count_active(tenant, "waiting"),
    "scheduled": _count_scheduled,
    "outbox": lambda tenant: _count_rows(tenant, OutboxEntry.State.PARKED, OutboxEntry.State.WAITING),
    "coalesced": lambda tenant: _count_rows(tenant, OutboxEntry.State.COALESCED),
}
