"""Which bulk actions a list offers, and where this person may do them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dlq.access import BULK_ACTIONS, tenants_where
from dlq.filters import LetterFilter
from dlq.models import BulkAction, State
from dlq.states import TRANSITIONS, Event
from jobops.web.selectors.letter_buttons import refusal
from tenants.access import AnyUser, can, tenants_visible_to

Kind = BulkAction.Kind
ACTIONS = {kind.value: action for kind, action in BULK_ACTIONS.items()}
EVENTS = {Kind.REPLAY: Event.REPLAY, Kind.DISCARD: Event.DISCARD, Kind.UNDO: Event.UNDO}


@dataclass(frozen=True, slots=True)
class May:
    """Whether this person may do it somewhere; ``only_tenants``: the ids of where, None: everywhere."""

    allowed: bool
    reason: str = ""
    only_tenants: Sequence[int] | None = None

    def __bool__(self) -> bool:
        return self.allowed


def may_act(user: AnyUser, kind: str) -> May:
    """Where this person may do this to many letters at once, and if nowhere, why."""
    action = ACTIONS[kind]
    where = tenants_where(user, action)
    if where is None or where:
        return May(True, "", where)
    # The first tenant stands for all: who has several roles reads of one of them.
    return May(False, refusal(user, can(user, action, tenants_visible_to(user).order_by("slug").first())), where)


def kinds_for(asked: LetterFilter) -> list[str]:
    """What can happen to some of the letters that this filter means, in the order of the buttons."""
    states = set(asked.states)
    found = [kind for kind, event in EVENTS.items() if TRANSITIONS[event].sources & states]
    # On a list of everything a discard is taken back where it is seen: on the tab of those.
    return [kind.value for kind in found if kind != Kind.UNDO or states == {State.DISCARDED}]
