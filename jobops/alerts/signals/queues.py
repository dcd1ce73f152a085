"""Queues: how much waits and for how long, what retries, and what nobody will ever take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jobops.alerts.signals.base import Reading, Signal
from jobops.alerts.sources import Sources
from jobops.contracts.catalog.words import plural, span
from jobops.engine.records import QueueView
from jobops.metrics.condition import LATE_S, LATE_URGENT_S, RETRY_LIMIT_OF_ALL, RETRY_STARTS
from jobops.metrics.rows import retry_rate, total

DEEP = 10_000
OF_A_QUEUE = (frozenset({"tenant", "lane"}),)


def ages(sources: Sources) -> Iterator[Reading]:
    """The oldest waiting job of each lane, whosever it is; of a tenant by itself where a rule names tenants.

    A paused tenant's jobs wait because somebody chose so.
    """
    lanes: dict[str, list[QueueView]] = {}
    for queue in _waiting(sources):
        own = sources.limits.names("backlog_age", "tenant", {"tenant": queue.tenant, "lane": queue.lane})
        if own:
            yield _age(sources, queue, f"The oldest job of {queue.tenant} in {queue.lane} has waited", alone=True)
        else:
            lanes.setdefault(queue.lane, []).append(queue)
    for queues in lanes.values():
        oldest = max(queues, key=lambda queue: (queue.oldest_age_s or 0.0, queue.tenant))
        yield _age(sources, oldest, f"The oldest job in {oldest.lane}, of {oldest.tenant}, has waited", alone=False)


def depths(sources: Sources) -> Iterator[Reading]:
    """Each queue that has something in it."""
    for queue in _waiting(sources):
        yield Reading(
            subject=f"tenant={queue.tenant},lane={queue.lane}",
            value=queue.depth,
            title=f"{queue.tenant} has {plural(queue.depth, 'job')} waiting in {queue.lane}",
            detail="Other tenants do not wait for them",
            scope={"tenant": queue.tenant, "lane": queue.lane},
            path=f"/tenants/{queue.tenant}/",
        )


def retries(sources: Sources) -> Iterator[Reading]:
    """Retries by starts in the last minutes, of all together; of a tenant by itself where a rule names tenants."""
    counters = sources.counters
    for slug, own in counters.items():
        if sources.limits.names("retry_rate", "tenant", {"tenant": slug}) and own.starts >= RETRY_STARTS:
            rate = (retry_rate(own) or 0.0) * 100
            title = f"{rate:.1f} % of the starts of {slug} are retries"
            yield Reading(f"tenant={slug}", rate, title, scope={"tenant": slug}, path=f"/tenants/{slug}/")
    together = total(counters.values())
    if together.starts < RETRY_STARTS:
        return
    rate = (retry_rate(together) or 0.0) * 100
    worst, retried = _most_retried(sources)
    title = f"{rate:.1f} % of starts are retries" + (f"; most are {worst}" if worst else "")
    scope = {"job_type": worst} if worst else {}
    yield Reading("all", rate, title, scope=scope, detail=f"{retried:,} retries of {worst}" if worst else "", path="/")


def unserved(sources: Sources) -> Iterator[Reading]:
    """Queues that are nobody's: their lane is not one, or their name is not of a tenant and a lane."""
    for found in sources.stray_queues:
        yield Reading(f"queue={found.name}", found.depth, found.text, detail=f"Queue {found.name}", path="/")


def _waiting(sources: Sources) -> Iterator[QueueView]:
    if not sources.fleet.paused:
        for queue in sources.fleet.queues:
            if queue.depth and queue.tenant not in sources.paused_tenants:
                yield queue


def _age(sources: Sources, queue: QueueView, what: str, *, alone: bool) -> Reading:
    urgent = queue.lane == sources.urgent_lane
    waited = max(0.0, queue.oldest_age_s or 0.0)
    scope = {"tenant": queue.tenant, "lane": queue.lane}
    return Reading(
        subject=f"tenant={queue.tenant},lane={queue.lane}" if alone else f"lane={queue.lane}",
        value=waited,
        title=f"{what} for {span(waited)}",
        detail=f"{plural(queue.depth, 'job')} of {queue.tenant} wait there",
        scope=scope if alone else {"lane": queue.lane},
        path=f"/tenants/{queue.tenant}/",
        threshold=LATE_URGENT_S if urgent else None,
    )


def _most_retried(sources: Sources) -> tuple[str, int]:
    """The job type behind more than half of the retries; empty when there is none."""
    counts: Counter[str] = Counter({name: each.get("retries", 0) for name, each in sources.type_counters.items()})
    if not counts.total():
        return "", 0
    name, retried = counts.most_common(1)[0]
    return (name, retried) if retried * 2 > counts.total() else ("", 0)


SIGNALS = (
    Signal(
        name="backlog_age",
        title="Jobs wait too long",
        unit="seconds",
        threshold=LATE_S,
        clears_at=LATE_S * 0.8,
        for_s=30,
        calm_s=120,
        severity="high",
        about=f"The oldest waiting job of a lane; in the most urgent lane {LATE_URGENT_S:.0f} seconds are too long.",
        read=ages,
        parts=OF_A_QUEUE,
    ),
    Signal(
        name="depth",
        title="A deep queue",
        unit="jobs",
        threshold=DEEP,
        clears_at=DEEP * 0.8,
        for_s=300,
        calm_s=300,
        severity="normal",
        about="Jobs that wait in a tenant's queue, those at a limit too.",
        read=depths,
        parts=OF_A_QUEUE,
    ),
    Signal(
        name="retry_rate",
        title="Many retries",
        unit="% of starts",
        threshold=RETRY_LIMIT_OF_ALL * 100,
        clears_at=RETRY_LIMIT_OF_ALL * 80,
        for_s=60,
        calm_s=300,
        severity="normal",
        about=f"Retries by starts over the last five minutes, once there were {RETRY_STARTS} starts.",
        read=retries,
        parts=(frozenset({"tenant"}), frozenset({"job_type"})),
    ),
    Signal(
        name="unserved_queue",
        title="A queue that nobody serves",
        unit="jobs",
        threshold=0,
        clears_at=0,
        for_s=30,
        calm_s=60,
        severity="high",
        about="Jobs in a queue that is no tenant's and no lane's, and that no worker listens to.",
        read=unserved,
    ),
)
