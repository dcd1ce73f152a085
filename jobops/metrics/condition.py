"""A tenant's condition in one word, from its own numbers only.

What other tenants do never enters: so a tenant's own page and the overview agree, and neither tells of the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

FLOOD_DEPTH = 100
"""Fewer waiting jobs than this are never called a flood."""
LATE_S, LATE_URGENT_S = 600.0, 60.0
"""A job that has waited longer is late: in the lane with the largest share sooner than in the others."""
RETRY_LIMIT, RETRY_LIMIT_OF_ALL, RETRY_STARTS = 0.10, 0.05, 20
"""More retries by starts than this are too many, of one tenant and of all together, once there were enough starts."""


@dataclass(frozen=True, slots=True)
class Signs:
    """What a condition is judged by. Counts cover the page's window; ``cap`` None: no limit."""

    paused: bool = False
    intake_closed: bool = False
    overdue: int = 0
    depth: int = 0
    running: int = 0
    cap: int | None = None
    ended: int = 0
    oldest_urgent_s: float = 0.0
    oldest_s: float = 0.0
    starts: int = 0
    retries: int = 0


class Condition(Enum):
    """In the order of urgency: the first that holds is shown."""

    FLOODING = "flooding"
    LATE = "late"
    AT_CAP = "at_cap"
    PAUSED = "paused"
    RETRYING = "retrying"
    CLOSED = "closed"
    OVERDUE = "overdue"
    CALM = "calm"

    @property
    def rank(self) -> int:
        """0 is the worst."""
        return list(Condition).index(self)


def is_late(signs: Signs) -> bool:
    """Something has waited longer than its lane allows."""
    return signs.oldest_urgent_s > LATE_URGENT_S or signs.oldest_s > LATE_S


def is_retrying(starts: int, retries: int, limit: float = RETRY_LIMIT) -> bool:
    """Retries are more than a few, and enough was started to say so."""
    return starts >= RETRY_STARTS and retries > starts * limit


def condition_of(signs: Signs) -> Condition:
    """The most urgent condition that holds. A paused tenant's backlog is no flood: somebody chose it.

    Flooding: more waits than ended in the whole window, so that it would take longer than that to clear.
    """
    if signs.paused:
        return Condition.PAUSED
    if signs.depth >= FLOOD_DEPTH and signs.depth > signs.ended:
        return Condition.FLOODING
    if is_late(signs):
        return Condition.LATE
    if signs.cap is not None and signs.depth and signs.running >= signs.cap:
        return Condition.AT_CAP
    if is_retrying(signs.starts, signs.retries):
        return Condition.RETRYING
    if signs.intake_closed:
        return Condition.CLOSED
    return Condition.OVERDUE if signs.overdue else Condition.CALM
