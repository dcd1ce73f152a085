"""Which buttons a dead letter's page shows, and why one that is shown cannot be pressed: from the table of its states
and the table of roles."""

from __future__ import annotations

from dataclasses import dataclass

from dlq.errors import NotReplayable
from dlq.foreign.homes import homes_of, why_unknown
from dlq.foreign.names import may_be_foreign
from dlq.models import DeadLetter, Reason, State
from dlq.replaying import replay_job
from dlq.states import TRANSITIONS, Event, events_of
from tenants.access import Allowed, AnyUser, can, sees_all
from tenants.roles import Action

CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Button:
    """``event``: replay, discard, undo or cancel. ``reason``: why it cannot be pressed; empty if it can. ``primary``:
    it is what the page suggests."""

    event: str
    reason: str = ""
    primary: bool = False

    @property
    def url_name(self) -> str:
        """Where pressing it posts to."""
        return f"letter-{self.event}"


def buttons_of(user: AnyUser, letter: DeadLetter) -> list[Button]:
    """The buttons for this letter as it is now, the likeliest first."""
    found = [
        Button(event.value, _why_not(user, letter, event), _is_primary(letter, event))
        for event in events_of(letter.state)
    ]
    if letter.state == State.REPLAYING:
        found.append(Button(CANCEL, refusal(user, _may_cancel(user, letter))))
    return found


def _may_cancel(user: AnyUser, letter: DeadLetter) -> Allowed:
    allowed = can(user, Action.CANCEL, letter.tenant)
    if allowed and may_be_foreign(letter.job_id):
        return Allowed(False, "It runs in the queue of another RQ installation: take it out there.")
    return allowed


def _is_primary(letter: DeadLetter, event: Event) -> bool:
    # Poison dies again as it is, and nobody should be drawn into trying.
    return event is Event.UNDO or (event is Event.REPLAY and letter.reason != Reason.POISON)


def _why_not(user: AnyUser, letter: DeadLetter, event: Event) -> str:
    action = TRANSITIONS[event].action
    allowed = can(user, action, letter.tenant) if action else Allowed(False)
    if not allowed:
        return refusal(user, allowed)
    return _why_not_replayable(letter, staff=sees_all(user)) if event is Event.REPLAY else ""


def refusal(user: AnyUser, allowed: Allowed) -> str:
    """Why this person may not, in their words; empty if they may."""
    if allowed or sees_all(user):
        return allowed.reason
    return "Our team does this for you: your account may look at it, not act on it."


def _why_not_replayable(letter: DeadLetter, *, staff: bool) -> str:
    try:
        replay_job(letter)
        for letter_id, home in homes_of([letter]).items():
            if why := why_unknown(home.source):
                raise NotReplayable(letter_id, why)
    except NotReplayable as error:
        why = f"{error.why[:1].upper()}{error.why[1:]}".rstrip(".")
        return f"{why}." if staff else "It cannot be tried again as it is. Our team looks after it."
    return ""
