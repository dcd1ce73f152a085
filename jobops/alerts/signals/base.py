"""What a signal is, and what it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jobops.alerts.sources import Sources

YES_OR_NO = "yes or no"
"""The unit of what is so or is not: 1 or 0, and no threshold to choose."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a signal reads of one subject, which with the signal's name is the key of its alert.

    ``title``: what is wrong if it is over the threshold, in one sentence. ``scope``: what rules and silences match
    (tenant, lane, job_type, team, group). ``owner`` empty: the default team. ``severity`` empty and ``threshold`` None:
    the signal's. ``opens`` False: goes on with an episode, but begins none. ``known_by``: who deals with it already.
    """

    subject: str
    value: float
    title: str
    scope: Mapping[str, Any] = field(default_factory=dict)
    owner: str = ""
    detail: str = ""
    path: str = ""
    due_at: datetime | None = None
    severity: str = ""
    threshold: float | None = None
    opens: bool = True
    known_by: str = ""


@dataclass(frozen=True, slots=True)
class Signal:
    """One thing that is watched.

    It fires when its value has been over ``threshold`` (``under``: below it) for ``for_s`` seconds, and is over when it
    has been at or beyond ``clears_at`` for ``calm_s`` seconds: between the two nothing changes. ``threshold`` None: off
    unless a rule sets one. ``about``: what it reads, for people. ``overruled_by``: a worse signal of the same subject,
    after which nobody needs to hear that this one is over. ``parts``: what of a scope its readings have at once; empty:
    they are of the whole system.
    """

    name: str
    title: str
    unit: str
    threshold: float | None
    clears_at: float | None
    for_s: int
    calm_s: int
    severity: str
    about: str
    read: Callable[[Sources], Iterable[Reading]]
    under: bool = False
    overruled_by: str = ""
    parts: tuple[frozenset[str], ...] = ()
