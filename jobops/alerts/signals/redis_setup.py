"""Redis: whether it answers, forgets nothing, has room, and is the one that the database knows."""

from __future__ import annotations

from collections.abc import Iterator

from jobops.alerts.signals.base import YES_OR_NO, Reading, Signal
from jobops.alerts.sources import Sources


def away(sources: Sources) -> Iterator[Reading]:
    """Whether it answers."""
    title = "Redis does not answer: nothing starts, enqueues go to the outbox, running jobs go on"
    yield Reading("redis", float(not sources.redis_answers), title, path="/")


def memory(sources: Sources) -> Iterator[Reading]:
    """How full it is, as it counts before it refuses: without the buffers for replicas and the append-only file."""
    info = sources.redis_info
    most = int(info.get("maxmemory", 0))
    if most:
        used = int(info.get("used_memory", 0)) - int(info.get("mem_not_counted_for_evict", 0))
        share = max(0.0, used / most * 100)
        yield Reading("redis", share, f"Redis is at {share:.0f} % of its memory: soon it refuses new jobs", path="/")


def eviction(sources: Sources) -> Iterator[Reading]:
    """Whether a full Redis would drop jobs that wait."""
    policy = str(sources.redis_info.get("maxmemory_policy", "") or "noeviction")
    title = f"Redis evicts (maxmemory-policy {policy[:40]}): when it is full it drops jobs; set noeviction"
    yield Reading("redis", float(policy != "noeviction"), title, path="/")


def persistence(sources: Sources) -> Iterator[Reading]:
    """Whether a restart would lose jobs. A Redis that does not tell is not accused."""
    off = str(sources.redis_info.get("aof_enabled", 1)) == "0"
    title = "Redis keeps no append-only file: a restart loses jobs; set appendonly yes"
    yield Reading("redis", float(off), title, path="/")


def another_epoch(sources: Sources) -> Iterator[Reading]:
    """The last time that Redis turned out to be another one than before, for a day."""
    loss = sources.last_loss
    if loss is not None:
        title = "Redis was flushed or restored, or the database was: jobs that waited in a flushed Redis are gone"
        detail = "Limits and policies were pushed again and replays reopened; `manage.py doctor` says what is wrong yet"
        yield Reading(f"epoch={loss}", 1.0, title, detail=detail, path="/audit/?what=policies.push")


SIGNALS = (
    Signal(
        name="redis_away",
        title="Redis does not answer",
        unit=YES_OR_NO,
        threshold=0,
        clears_at=0,
        for_s=30,
        calm_s=30,
        severity="critical",
        about="Whether Redis answers; the web processes look, as the scheduler stands back without it.",
        read=away,
    ),
    Signal(
        name="redis_memory",
        title="Redis is nearly full",
        unit="% of maxmemory",
        threshold=85,
        clears_at=80,
        for_s=30,
        calm_s=300,
        severity="high",
        about="Memory that Redis uses, of that which it may.",
        read=memory,
    ),
    Signal(
        name="redis_eviction",
        title="Redis may drop jobs",
        unit=YES_OR_NO,
        threshold=0,
        clears_at=0,
        for_s=0,
        calm_s=60,
        severity="high",
        about="Whether maxmemory-policy is anything but noeviction.",
        read=eviction,
    ),
    Signal(
        name="redis_persistence",
        title="Redis keeps nothing on disk",
        unit=YES_OR_NO,
        threshold=0,
        clears_at=0,
        for_s=0,
        calm_s=60,
        severity="high",
        about="Whether the append-only file is off.",
        read=persistence,
    ),
    Signal(
        name="epoch_changed",
        title="Redis was flushed or restored",
        unit=YES_OR_NO,
        threshold=0,
        clears_at=0,
        for_s=0,
        calm_s=0,
        severity="critical",
        about="The cell's epoch in Redis was another one than the database knew, within the last day.",
        read=another_epoch,
    ),
)
