"""The list of dead letters, one by one. From the database alone: Redis may be away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import parse_qsl

from django.http import Http404
from django.utils import timezone

from dlq.access import letters_visible_to
from dlq.clock.standing import Kind, letter_standing
from dlq.filters import LetterFilter
from dlq.models import DeadLetter, State
from jobops.web import letter_words
from jobops.web.paging import Slice, slice_by_instant
from jobops.web.selectors.choosing import asked_of
from jobops.web.selectors.letter_counts import Asked, Counts, counts_of, searched
from jobops.web.selectors.letter_rows import LONG_TEXTS, error_of, light
from jobops.web.words import Look
from tenants.access import AnyUser, sees_all, tenants_visible_to

DRAINED = (State.RESOLVED, State.DISCARDED)


@dataclass(frozen=True, slots=True)
class LetterLine:
    """A row: the letter, what went wrong without what is secret, and how near its deadline is.

    ``note``: what stands under its state; ``again``: under its attempts.
    """

    letter: DeadLetter
    error: str
    overdue: bool
    soon: bool
    paused: bool
    look: Look
    note: str
    again: str


@dataclass(frozen=True, slots=True)
class LetterList:
    """One page of letters. ``faults``: what of the query string was passed over, and why.

    ``tenants``: the slugs among which this person's letters are, at most two of them. ``searched_since``: the id of the
    letter from which on was searched; None: in all of them.
    """

    staff: bool
    filter: LetterFilter
    faults: Mapping[str, str]
    tenants: Sequence[str]
    counts: Counts
    slice: Slice[DeadLetter]
    lines: Sequence[LetterLine]
    read_at: datetime
    searched_since: int | None = None

    @property
    def query(self) -> str:
        """What is asked for, as a query string without the place in the list."""
        return self.filter.as_query()

    @property
    def is_widened(self) -> bool:
        """Whether more is listed than whoever wrote the address meant; another order is no more."""
        return bool(set(self.faults) - {"sort"})

    @property
    def one_tenant(self) -> bool:
        """Whether it goes without saying whose letters these are."""
        return bool(self.filter.tenant) or (not self.staff and len(self.tenants) < 2)


def letter_list(user: AnyUser, params: Mapping[str, str]) -> LetterList:
    """The letters that this person may see and asks for, in a constant number of queries.

    Raises ``Http404`` when one of a tenant's people asks for a tenant that does not exist for them.
    """
    asked, faults = asked_of(user, params)
    letters, staff, now = letters_visible_to(user), sees_all(user), timezone.now()
    own = dict(() if staff else tenants_visible_to(user).values_list("pk", "slug"))
    if not staff and asked.tenant and asked.tenant not in own.values():
        raise Http404("No such tenant.")
    done = searched(letters, asked)
    counts = counts_of(done, None if staff else list(own))
    page = _page(done, asked, params, faults)
    lines = [line_of(letter, now, staff=staff) for letter in page.rows]
    return LetterList(staff, asked, faults, list(own.values())[:2], counts, page, lines, now, done.since)


def last_drained(user: AnyUser) -> DeadLetter | None:
    """Of the letters that are drained, the one that died last; for a list that is empty."""
    letters = letters_visible_to(user).defer(*LONG_TEXTS)
    newest = [letters.filter(state=state).order_by("-dead_at", "-pk").first() for state in DRAINED]
    return max((letter for letter in newest if letter), key=lambda letter: letter.dead_at, default=None)


def _page(done: Asked, asked: LetterFilter, params: Mapping[str, str], faults: Mapping[str, str]) -> Slice[DeadLetter]:
    # One read for each state, as each index begins with it.
    rows = [light(part) for part in done.parts()]
    newest = asked.sort == "newest"
    # What was passed over is passed over, and said, on the next page too.
    passed = {name: value for name, value in params.items() if name in faults or name == "by"}
    keep = passed | dict(parse_qsl(asked.as_query()))
    return slice_by_instant(rows, "dead_at" if newest else "due_at", params, keep, newest=newest)


def line_of(letter: DeadLetter, now: datetime, *, staff: bool) -> LetterLine:
    """The row of a letter that ``light`` has read."""
    stands = letter_standing(letter, now).kind
    return LetterLine(
        letter,
        error_of(letter),
        overdue=stands is Kind.BREACHED,
        soon=stands is Kind.WARNING,
        paused=stands is Kind.PAUSED and staff,
        look=letter_words.state_look(letter, staff=staff),
        note=letter_words.state_note(letter) if staff else "",
        again=letter_words.again(letter, staff=staff),
    )
