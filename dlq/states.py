"""What can happen to a letter: one table of events, for the services, the buttons and the intake alike."""

from dataclasses import dataclass
from enum import StrEnum

from dlq.models import State
from tenants.roles import Action


class Event(StrEnum):
    """What can happen to a letter. The first three are what people do; the others what becomes of a replay."""

    REPLAY = "replay"
    DISCARD = "discard"
    UNDO = "undo"
    SUCCEEDED = "succeeded"
    DIED = "died"
    CAME_BACK = "came back"  # its replay was cancelled, refused, coalesced or lost


@dataclass(frozen=True, slots=True)
class Transition:
    """From where an event leads where, and which permission a person needs for it (None: nobody does it by hand)."""

    sources: frozenset[State]
    target: State
    action: Action | None = None


TRANSITIONS: dict[Event, Transition] = {
    Event.REPLAY: Transition(frozenset({State.OPEN}), State.REPLAYING, Action.REPLAY),
    Event.DISCARD: Transition(frozenset({State.OPEN}), State.DISCARDED, Action.DISCARD),
    Event.UNDO: Transition(frozenset({State.DISCARDED}), State.OPEN, Action.UNDO),
    # From open and discarded too: of a replay that was taken for lost, or that a restored database does not know.
    Event.SUCCEEDED: Transition(frozenset({State.REPLAYING, State.OPEN, State.DISCARDED}), State.RESOLVED),
    Event.DIED: Transition(frozenset({State.REPLAYING, State.OPEN}), State.OPEN),
    Event.CAME_BACK: Transition(frozenset({State.REPLAYING}), State.OPEN),
}


def allows(state: str, event: Event) -> bool:
    """Whether the event can happen to a letter in this state."""
    return state in TRANSITIONS[event].sources


def events_of(state: str) -> list[Event]:
    """What a person can do to a letter in this state, in the order of the buttons."""
    return [event for event, transition in TRANSITIONS.items() if transition.action and state in transition.sources]


def why_not(state: str, event: Event) -> str:
    """Why the event cannot happen to a letter in this state, in words that follow "skipped:"; empty if it can."""
    if allows(state, event):
        return ""
    return {
        State.OPEN: "it is open, not discarded",
        State.REPLAYING: "already being replayed",
        State.RESOLVED: "already resolved",
        State.DISCARDED: "already discarded",
    }.get(State(state), f"it is {state}")
