"""Supervisors and their slots, as the pages count and list them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from jobops.engine.client import Engine
from jobops.engine.registrations import LOST_AFTER
from jobops.engine.worker_views import SlotView, SupervisorView

MOST_LEASES = 500
RECENT_S, YOUNG_S = 10.0, 30
"""A worker that was to be heard of so many seconds ago may be there; Redis that runs for less has just started."""


@dataclass(frozen=True, slots=True)
class Crew:
    """How many living slots there are, how many have a job, and how many workers (supervisors) run them.

    ``orphans``: jobs under lease whose worker is gone; they go on within ``orphans_s`` seconds. ``silent_s``: since
    when nobody has reported, where that is so recent that they may still be there. ``young``: Redis has just started.
    """

    slots: int = 0
    busy: int = 0
    workers: int = 0
    lost: int = 0
    orphans: int = 0
    orphans_s: float = 0.0
    silent_s: float | None = None
    young: bool = False


@dataclass(frozen=True, slots=True)
class SlotLine:
    """A slot and the tenant whose job it runs (empty when idle, or when that cannot be told)."""

    slot: SlotView
    tenant: str
    job_type: str


def read_crew(engine: Engine, supervisors: Sequence[SupervisorView], running: int, now: datetime) -> Crew:
    """The sums, and what is wrong with them; asks Redis more only where they do not add up.

    ``running``: jobs under lease; ``now``: on Redis's clock. Raises ``redis.RedisError``.
    """
    crew = crew_of(supervisors)
    if running > crew.busy:
        gone = _orphans(engine, supervisors)
        left_s = max((expiry_ms / 1000 - now.timestamp() for expiry_ms in gone), default=0.0)
        # A sweep each second finds what has expired.
        crew = replace(crew, orphans=len(gone), orphans_s=max(0.0, left_s) + 1)
    if supervisors and not crew.slots:
        silent = [(now - one.heartbeat_at).total_seconds() for one in supervisors]
        recent = [s for s, one in zip(silent, supervisors, strict=True) if s <= LOST_AFTER * one.heartbeat_s + RECENT_S]
        info: Any = engine.redis.info("server")
        young = int(info.get("uptime_in_seconds", YOUNG_S)) < YOUNG_S
        crew = replace(crew, silent_s=min(recent, default=None), young=young)
    return crew


def _orphans(engine: Engine, supervisors: Sequence[SupervisorView]) -> list[float]:
    """When the leases end (ms) that no living worker holds."""
    living = [one for one in supervisors if one.state != "lost"]
    slots = {slot.name for one in living for slot in one.slots if slot.state != "lost"}
    ids = {one.id for one in living}
    leases: Any = engine.redis.zrange(engine.keys.leases(), 0, MOST_LEASES - 1, withscores=True)
    with engine.redis.pipeline(transaction=False) as pipe:
        for job, _ in leases:
            pipe.hget(engine.keys.lease(job.decode()), "worker")
        holders = [(holder or b"").decode(errors="replace") for holder in pipe.execute()]
    # A slot that was born a moment ago is not in its supervisor's list yet; of a slot that died under a living one
    # the supervisor takes care at once. A lease that ended between the two reads has no holder.
    return [
        expiry
        for (_, expiry), holder in zip(leases, holders, strict=True)
        if holder and holder not in slots and holder.rpartition("-")[0] not in ids
    ]


def crew_of(supervisors: Sequence[SupervisorView]) -> Crew:
    """The sums. Lost supervisors count for themselves only: their slots run nothing any more."""
    living = [one for one in supervisors if one.state != "lost"]
    slots = [slot for one in living for slot in one.slots if slot.state != "lost"]
    return Crew(
        slots=len(slots),
        busy=sum(slot.state == "busy" for slot in slots),
        workers=len(living),
        lost=len(supervisors) - len(living),
    )
