"""What died lately, and which replays succeeded since then: counted, and nothing concluded from it. From the database
alone, and with a bound on the work, whatever storm there is."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Case, CharField, Count, F, Max, Q, Value, When
from django.db.models.functions import Left

from dlq.models import DeadLetter, DeadLetterGroup, GroupTenant, ReplayRun, State

LATELY = timedelta(minutes=5)
MOST = 500
"""Deaths of each state, and ends of replays, whose texts are compared: the newest."""

LOOKED_AT = 5_000
"""The same where the database counts and hands out no rows: so many that other causes hardly push these out."""

LONGEST_TEXT, LONGEST_SAID = 300, 200
"""Characters of an error that are read, and how many of them, without its numbers, are compared."""

ENDS = (ReplayRun.State.DIED, ReplayRun.State.SUCCEEDED)
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Lately:
    """How many letters died (again) in the last minutes, and how many replays succeeded ``since`` the newest of these
    deaths. ``more``, ``more_succeeded``: counting stopped there."""

    count: int = 0
    more: bool = False
    latest_at: datetime | None = None
    succeeded: int = 0
    since: datetime | None = None
    more_succeeded: bool = False


@dataclass(frozen=True, slots=True)
class _Seen:
    """A death, or a replay that succeeded."""

    letter_id: int
    at: datetime
    job_type: str
    error_class: str
    text: str
    succeeded: bool = False


def of_the_same(letter: DeadLetter, now: datetime, tenants: Collection[int] | None = None) -> Lately:
    """Of others of its job type with the same error class and the same message, but for the numbers in it.

    ``tenants``: only theirs; None: everybody's. Five queries.
    """
    own_at = max(filter(None, (letter.dead_at, letter.last_died_at)))
    error, said = letter.error[:LONGEST_TEXT], _said(letter.error)

    def is_same(one: _Seen) -> bool:
        if one.letter_id == letter.pk or (one.job_type, one.error_class) != (letter.job_type, letter.error_class):
            return False
        return one.text == error or _said(one.text) == said

    return _counted(is_same, now, tenants, own_at, letter)


def of_these_types(names: Collection[str], now: datetime, tenants: Collection[int] | None = None) -> Lately:
    """Of these job types, whatever they died of; else as ``of_the_same``. Seven queries."""
    return _by_database(Q(job_type__in=names), Q(letter__job_type__in=names), now, tenants)


def of_this_cause(
    group_id: int, now: datetime, tenants: Collection[int] | None = None, letter: DeadLetter | None = None
) -> Lately:
    """Of this group, whatever became of its letters by now; else as ``of_the_same``. ``letter``: the one that the
    others are compared with. Eight queries at most."""
    own_at = max(filter(None, (letter.dead_at, letter.last_died_at))) if letter is not None else None
    first, again = Q(group=group_id), Q(letter__group=group_id)
    if letter is not None:
        first, again = first & ~Q(pk=letter.pk), again & ~Q(letter=letter.pk)
    found = _by_database(first, again, now, tenants, own_at)
    return found if found.count or not found.more else _as_kept(found, group_id, now, tenants, own_at)


def _as_kept(
    found: Lately, group_id: int, now: datetime, tenants: Collection[int] | None, own_at: datetime | None
) -> Lately:
    """None was among those that were looked at: when the newest died is kept with the group."""
    kept = DeadLetterGroup.objects.filter(pk=group_id)
    shares = GroupTenant.objects.filter(group=group_id, tenant__in=tenants or ())
    newest = (kept if tenants is None else shares).aggregate(at=Max("last_seen_at"))["at"]
    if newest is None or newest <= now - LATELY:
        return replace(found, more=False)
    # The one that others are compared with may be the newest itself: then nobody knows.
    return replace(found, count=1, latest_at=newest) if own_at is None or newest > own_at else found


def _by_database(
    first: Q, again: Q, now: datetime, tenants: Collection[int] | None, own_at: datetime | None = None
) -> Lately:
    """``first``: which letters count; ``again``: the same of runs."""
    lately = now - LATELY
    letters = DeadLetter.objects.filter(dead_at__gt=lately).order_by("-dead_at", "-pk")
    if tenants is not None:
        letters, again = letters.filter(tenant__in=tenants), again & Q(letter__tenant__in=tenants)
    # State by state, as the indexes begin with it: so each count stops after its newest rows.
    by_state = [
        letters.filter(state=state)
        .annotate(at=Case(When(first, then=F("dead_at"))))[:LOOKED_AT]
        .aggregate(looked=Count("pk"), count=Count("at"), latest=Max("at"))
        for state in State
    ]
    # A letter that died for the first time in these minutes is counted with those.
    before = Q(letter__dead_at__lte=lately)
    died = _runs(lately, again & Q(state=ReplayRun.State.DIED), before)
    latest = max(filter(None, (died["latest"], *(each["latest"] for each in by_state))), default=None)
    since = max(filter(None, (latest, own_at)), default=None)
    worked = _runs(since or lately, again & Q(state=ReplayRun.State.SUCCEEDED))
    return Lately(
        died["letters"] + sum(each["count"] for each in by_state),
        any(each["looked"] == LOOKED_AT for each in (died, *by_state)),
        latest,
        worked["letters"] if since else 0,
        since,
        worked["looked"] == LOOKED_AT,
    )


def _runs(since: datetime, counts: Q, counts_letters: Q | None = None) -> dict[str, Any]:
    """Of the newest ends since then: how many letters they are of, and when the newest was."""
    runs = ReplayRun.objects.filter(ended_at__gt=since).order_by("-ended_at", "-pk")
    letters = counts & counts_letters if counts_letters is not None else counts
    # Picked out after the newest were taken: by a filter, the database might read through every one.
    at, of = Case(When(counts, then=F("ended_at"))), Case(When(letters, then=F("letter_id")))
    looked = runs.annotate(at=at, of=of)[:LOOKED_AT]
    return looked.aggregate(looked=Count("pk"), letters=Count("of", distinct=True), latest=Max("at"))


def _counted(
    counts: Callable[[_Seen], bool],
    now: datetime,
    tenants: Collection[int] | None,
    own_at: datetime,
    like: DeadLetter,
) -> Lately:
    lately = now - LATELY
    first, more_first = _first_deaths(lately, tenants, like)
    ends, more_ends = _ends(min(lately, own_at), tenants, like)
    seen = [one for one in (*first, *ends) if counts(one)]
    died: dict[int, datetime] = {}
    for one in seen:
        if not one.succeeded and one.at > lately:
            died[one.letter_id] = max(one.at, died.get(one.letter_id, one.at))
    latest = max(died.values(), default=None)
    since = max(filter(None, (latest, own_at)))
    worked = {one.letter_id for one in seen if one.succeeded and one.at > since}
    return Lately(len(died), more_first or more_ends, latest, len(worked), since, more_ends)


def _first_deaths(since: datetime, tenants: Collection[int] | None, like: DeadLetter) -> tuple[list[_Seen], bool]:
    """Whatever became of the letters by now; and whether there may be more."""
    letters = DeadLetter.objects.filter(dead_at__gt=since).order_by("-dead_at", "-pk")
    if tenants is not None:
        letters = letters.filter(tenant__in=tenants)
    rows = letters.annotate(text=_text("", like)).values_list("pk", "dead_at", "job_type", "error_class", "text")
    # State by state, as the indexes begin with it: so each read stops after its newest rows.
    by_state = [list(rows.filter(state=state)[:MOST]) for state in State]
    seen = [_Seen(*row) for found in by_state for row in found]
    return seen, any(len(found) == MOST for found in by_state)


def _ends(since: datetime, tenants: Collection[int] | None, like: DeadLetter) -> tuple[list[_Seen], bool]:
    """Deaths and successes of replays; and whether there may be more."""
    runs = ReplayRun.objects.filter(ended_at__gt=since).order_by("-ended_at", "-pk")
    kind = ("letter__job_type", "letter__error_class", "text")
    rows = runs.annotate(text=_text("letter__", like)).values_list(
        "letter_id", "ended_at", *kind, "state", "letter__tenant"
    )
    # The newest of all, and only then those that count: picked out by the database, it might read through every one.
    found = list(rows[:MOST])
    seen = [
        _Seen(pk, at, job_type, error_class, text, state == ReplayRun.State.SUCCEEDED)
        for pk, at, job_type, error_class, text, state, tenant in found
        if state in ENDS and (tenants is None or tenant in tenants)
    ]
    return seen, len(found) == MOST


def _text(prefix: str, like: DeadLetter) -> Case:
    """The beginning of the error, read only of those whose job type and error class are this letter's."""
    same = {f"{prefix}job_type": like.job_type, f"{prefix}error_class": like.error_class}
    start = Left(F(f"{prefix}error"), LONGEST_TEXT)
    return Case(When(**same, then=start), default=Value(""), output_field=CharField())


def _said(text: str) -> str:
    """The text without its numbers; those of a mail address are a part of whom it is about."""
    words = text[:LONGEST_TEXT].split()
    return " ".join(word if "@" in word else _NUMBER.sub("#", word) for word in words)[:LONGEST_SAID]
