"""A letter's cause, and how its drain clock stands, as its page tells of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from dlq.access import groups_visible_to
from dlq.clock.forecast import forecasts
from dlq.clock.standing import Kind, letter_standing
from dlq.models import UNDRAINED, DeadLetter, DeadLetterGroup
from jobops.web import clock_words
from jobops.web.group_words import stands_words, title_of
from jobops.web.selectors.group_numbers import numbers_of, own_numbers
from jobops.web.words import Look
from tenants.access import AnyUser, sees_all, tenants_visible_to


@dataclass(frozen=True, slots=True)
class Cause:
    """The group, what it is called (empty for who may not read that), how many undrained letters of it this person
    sees, and whether this letter is the oldest of them. ``stands``: who deals with it, or will; for staff."""

    group: DeadLetterGroup
    title: str
    undrained: int
    is_oldest: bool
    stands: str = ""


@dataclass(frozen=True, slots=True)
class Clock:
    """How the clock looks, what it says in a few words, and what comes of the letter's cause at this rate."""

    look: Look
    due: str
    forecast: str
    pause: str
    is_paused: bool


def cause_of(user: AnyUser, letter: DeadLetter) -> Cause | None:
    """The letter's cause; None of one that has none yet. Three queries at most."""
    group = groups_visible_to(user).filter(pk=letter.group_id).first() if letter.group_id is not None else None
    if group is None:
        return None
    staff = sees_all(user)
    has = numbers_of(group)
    others = DeadLetter.objects.filter(group=group, state__in=UNDRAINED, pk__lt=letter.pk)
    if not staff:
        own = list(tenants_visible_to(user).values_list("pk", flat=True))
        numbers = own_numbers(own, [group.pk]).get(group.pk)
        if numbers is None:
            return None
        has, others = numbers, others.filter(tenant__in=own)
    oldest = letter.is_undrained and not others.order_by().exists()
    stands = stands_words(group, timezone.now()) if staff else ""
    return Cause(group, title_of(group) if staff else "", has.undrained, oldest, stands)


def clock_of(letter: DeadLetter, now: datetime, *, staff: bool) -> Clock | None:
    """The clock of an undrained letter; None of a drained one. Two queries, for the forecast of its cause.

    That our team has paused it is told to our team only."""
    if not letter.is_undrained:
        return None
    stands = letter_standing(letter, now)
    if not staff:
        look = clock_words.LOOKS[Kind.ON_TRACK if stands.kind is Kind.PAUSED else stands.kind]
        return Clock(look, clock_words.due_words(stands, letter.due_at, now), "", "", is_paused=False)
    group = letter.group if letter.group_id is not None else None
    rate = forecasts([group], now).get(group.pk) if group is not None else None
    return Clock(
        clock_words.LOOKS[stands.kind],
        clock_words.due_words(stands, letter.due_at, now),
        clock_words.forecast_words(stands, rate),
        clock_words.pause_words(letter.clock_paused_until, letter.clock_pause_reason, now),
        is_paused=stands.kind is Kind.PAUSED,
    )
