"""The words of the list of dead letters: its title, its tabs, what a row's state is called. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dlq.filters import ALL_STATUS, UNDRAINED_STATUS, LetterFilter
from dlq.group_filters import SHARED, GroupFilter
from dlq.models import BulkAction, DeadLetter, State
from dlq.searchable import left_out
from dlq.text import one_line
from jobops.web.formats import listed, plural
from jobops.web.letter_page_words import LOOKS, OWN_LOOKS
from jobops.web.selectors.letter_counts import OVERDUE, Counts, Found, at_tab, tab_of
from jobops.web.words import Look, letters_title, own_letters_title

STATES = LOOKS | {State.OPEN: Look("Open", "ring", "")}
OWN_STATES = OWN_LOOKS | {State.OPEN: Look("Did not work", "alert-circle", "")}
Kind = BulkAction.Kind
TABS = (UNDRAINED_STATUS, OVERDUE, State.REPLAYING.value, State.RESOLVED.value, State.DISCARDED.value)
NAMES = {
    UNDRAINED_STATUS: "To drain",
    OVERDUE: "Overdue",
    State.OPEN.value: "Open",
    State.REPLAYING.value: "Replaying",
    State.RESOLVED.value: "Resolved",
    State.DISCARDED.value: "Discarded",
    ALL_STATUS: "All states",
}
OWN_NAMES = NAMES | {
    UNDRAINED_STATUS: "Did not work",
    OVERDUE: "Late",
    State.REPLAYING.value: "Trying again",
    State.RESOLVED.value: "Worked later",
    State.DISCARDED.value: "Given up",
}
LONGEST_NOTE = 80
DIED_AGAIN = re.compile(r"Replay \d+ died again\b")
LONGEST_SIGN, MOST_SIGNS = 20, 3


@dataclass(frozen=True, slots=True)
class Act:
    """A button over the list."""

    kind: str
    word: str
    icon: str
    danger: bool = False


ACTS = {
    Kind.REPLAY.value: Act("replay", "Replay", "refresh"),
    Kind.DISCARD.value: Act("discard", "Discard", "trash", danger=True),
    Kind.UNDO.value: Act("undo", "Open again", "arrow-back-up"),
}
OWN_ACTS = ACTS | {
    Kind.REPLAY.value: Act("replay", "Try again", "refresh"),
    Kind.DISCARD.value: Act("discard", "Give up", "trash", danger=True),
}


@dataclass(frozen=True, slots=True)
class Tab:
    """One tab over the list; ``found``: how many stand behind it, None where nobody has counted."""

    name: str
    label: str
    query: str
    current: bool
    found: Found | None


def state_look(letter: DeadLetter, *, staff: bool) -> Look:
    """How a letter's state looks in a row."""
    return (STATES if staff else OWN_STATES)[State(letter.state)]


def state_note(letter: DeadLetter) -> str:
    """What a row says under its state, for staff: what the last replay came to, or why it was discarded."""
    text = letter.discard_reason if letter.state == State.DISCARDED else letter.note
    if letter.state == State.OPEN and DIED_AGAIN.match(text):
        return "died again"  # Of what, the row says in front.
    return one_line(text, LONGEST_NOTE) if letter.state in (State.OPEN, State.DISCARDED) else ""


def again(letter: DeadLetter, *, staff: bool) -> str:
    """How often it was sent back to run; the empty string if never."""
    if not letter.replays:
        return ""
    return plural(letter.replays, "replay") if staff else f"and {letter.replays:,} again"


def tabs(asked: LetterFilter, counts: Counts, *, staff: bool) -> list[Tab]:
    """The tabs; each keeps whatever else is asked for. One that only the address names is there too."""
    here = tab_of(asked)
    names = [*TABS, *([here] if here not in TABS else [])]
    words = NAMES if staff else OWN_NAMES
    return [
        Tab(
            name,
            words[name],
            at_tab(asked, name).as_query(),
            name == here,
            counts.here if name == here else counts.by_tab.get(name),
        )
        for name in names
    ]


def of_causes(asked: LetterFilter) -> str:
    """The query string of the list by cause that comes nearest to this one."""
    return GroupFilter(**{name: getattr(asked, name) for name in SHARED}).as_query()


def is_drained(asked: LetterFilter) -> bool:
    """Whether nobody has to deal with what is listed any more."""
    return tab_of(asked) in (State.RESOLVED, State.DISCARDED)


def title(asked: LetterFilter, counts: Counts, *, staff: bool) -> str:
    """The list in one sentence."""
    only_tenant = LetterFilter(tenant=asked.tenant, sort=asked.sort) == asked
    if only_tenant and counts.by_tab:
        words = letters_title if staff else own_letters_title
        return words(counts.by_tab[UNDRAINED_STATUS].count, counts.by_tab[OVERDUE].count, asked.tenant)
    n, tab = counts.here, tab_of(asked)
    narrowed = LetterFilter(status=asked.status, overdue=asked.overdue, sort=asked.sort) != asked
    thing = _things(n, staff=staff)
    if narrowed or tab in (ALL_STATUS, State.OPEN, UNDRAINED_STATUS):
        return f"{thing} {'match' if n.count != 1 else 'matches'}." if n else f"No {_noun(1, staff=staff)} matches."
    one = n.count == 1
    ends = {
        OVERDUE: f"{'is' if one else 'are'} past {'its' if one else 'their'} deadline",
        State.REPLAYING.value: f"{'is' if one else 'are'} being {'replayed' if staff else 'tried again'}",
        State.RESOLVED.value: ("was" if one else "were") + " resolved" if staff else "worked later",
        State.DISCARDED.value: f"{'was' if one else 'were'} {'discarded' if staff else 'given up'}",
    }
    return f"{thing} {ends[tab]}." if n else f"No {_noun(1, staff=staff)} {_none(tab, staff=staff)}."


def lede(asked: LetterFilter, *, staff: bool) -> str:
    """What the list is, under its title."""
    if is_drained(asked):
        kept = "Nobody has to deal with these any more; they are kept for those who ask."
        return kept if staff else "These need nothing from you; they are kept for those who ask."
    if staff:
        return "Jobs that gave up. Each stays here, with an owner and a deadline, until it is drained."
    return "Jobs that failed for good. Our team looks after each of them."


def fault_text(faults: Mapping[str, str]) -> str:
    """What of the address was passed over; the empty string if nothing was."""
    return " ".join(f"“{name}” was passed over: {problem}." for name, problem in faults.items())


def search_note(asked: LetterFilter) -> str:
    """Which words of the search nobody looked for; the empty string if there are none."""
    signs = list(dict.fromkeys(left_out(asked.q)))
    if not signs:
        return ""
    named = listed([f"“{one_line(sign, LONGEST_SIGN)}”" for sign in signs[:MOST_SIGNS]])
    return f"A search goes by letters and digits: {named} {'counts' if len(signs) == 1 else 'count'} for nothing."


def searched_note(since: int | None, *, staff: bool) -> str:
    """That only some letters were searched; the empty string if all were. ``since``: the first of them."""
    if since is None:
        return ""
    return f"Only the newest {'dead letters' if staff else 'jobs'} were searched, from No. {since} on."


def _things(n: Found, *, staff: bool) -> str:
    return f"{n} {_noun(n.count, staff=staff)}"


def _noun(count: int, *, staff: bool) -> str:
    word = "dead letter" if staff else "job"
    return word if count == 1 else f"{word}s"


def _none(tab: str, *, staff: bool) -> str:
    return {
        OVERDUE: "is past its deadline",
        State.REPLAYING.value: "is being replayed" if staff else "is being tried again",
        State.RESOLVED.value: "was resolved" if staff else "worked later",
        State.DISCARDED.value: "was discarded" if staff else "was given up",
    }[tab]
