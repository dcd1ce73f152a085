"""Supervisors and their slots, as the pages count and list them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobops.engine.worker_views import SlotView, SupervisorView


@dataclass(frozen=True, slots=True)
class Crew:
    """How many living slots there are, how many have a job, and how many workers (supervisors) run them."""

    slots: int = 0
    busy: int = 0
    workers: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True)
class SlotLine:
    """A slot and the tenant whose job it runs (empty when idle, or when that cannot be told)."""

    slot: SlotView
    tenant: str
    job_type: str


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
