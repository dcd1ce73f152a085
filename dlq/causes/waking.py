"""What a group's state becomes by itself when its counts have changed. Changes the object, and writes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dlq.models import DeadLetterGroup

GroupState = DeadLetterGroup.State

STATE_FIELDS = (
    "state", "state_by", "state_at", "snoozed_until", "snoozed_to_deaths", "snoozed_to_tenants",
    "reopened_at", "reopened_from", "reopenings",
)  # fmt: skip
"""The fields that a change of the state writes."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A change of the state that nobody made. ``action``: what the audit calls it, empty where that is no news;
    ``why``: in words."""

    action: str
    before: str
    why: str


def turn(group: DeadLetterGroup, *, died: bool, first: bool, at: datetime, by: str) -> Turn | None:
    """Have the state fit the counts, which are new; answers what changed.

    ``died``: a death is among what changed them; ``first``: there had been none before. An acknowledged group stays
    acknowledged while it goes on: people know of it.
    """
    before = group.state
    if group.undrained == 0:
        if before == GroupState.DRAINED:
            return None
        set_state(group, GroupState.DRAINED, at=at, by=by)
        return Turn("group.drain", before, "Nothing of it is left to be drained.")
    if before == GroupState.DRAINED:
        set_state(group, GroupState.ACTIVE, at=at, by=by)
        if first:
            return Turn("", before, "")
        if died:
            _reopened(group, before, at)
        return Turn("group.reopen", before, "It happened again." if died else "A letter of it is open again.")
    why = _outgrown(group) if died and before == GroupState.SNOOZED else ""
    if not why:
        return None
    set_state(group, GroupState.ACTIVE, at=at, by=by)
    _reopened(group, before, at)
    return Turn("group.reopen", before, why)


def set_state(group: DeadLetterGroup, state: str, *, at: datetime, by: str) -> None:
    """Have the group be in this state, with no snooze left of the one before."""
    group.state, group.state_by, group.state_at = state, by, at
    group.snoozed_until = group.snoozed_to_deaths = group.snoozed_to_tenants = None


def _reopened(group: DeadLetterGroup, before: str, at: datetime) -> None:
    group.reopened_at, group.reopened_from, group.reopenings = at, before, group.reopenings + 1


def _outgrown(group: DeadLetterGroup) -> str:
    """Why a snoozed group wakes; empty if it does not."""
    if group.snoozed_to_deaths is not None and group.deaths >= group.snoozed_to_deaths:
        return f"It grew to {group.deaths:,} deaths."
    if group.snoozed_to_tenants is not None and group.tenants >= group.snoozed_to_tenants:
        return f"It hit one more tenant; {group.tenants:,} by now."
    return ""
