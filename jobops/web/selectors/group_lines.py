"""The rows of the list of causes: each with its clock, its chart and its state, in a constant number of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from dlq.clock.forecast import Forecast, forecasts
from dlq.clock.overdue import Overdue, overdue_up_to
from dlq.clock.standing import Kind, Standing, group_standings
from dlq.models import DeadLetter, DeadLetterGroup
from dlq.owners.several import other_teams
from jobops.web import clock_words, group_words
from jobops.web.formats import SOON_S, due, number
from jobops.web.group_charts import Columns, columns
from jobops.web.job_words import plain_name
from jobops.web.selectors.group_numbers import Numbers, deaths_by_ten_minutes
from jobops.web.selectors.letter_rows import error_of, light
from jobops.web.words import Look
from tenants.access import AnyUser, sees_all

TONES = {Kind.BREACHED: "danger", Kind.WARNING: "warn"}
NO_LATE = Overdue(0, 0)
MOST_LATE, MOST_LATE_EACH = 10_000, 1_000
"""Late letters of one cause, and of each of many, are counted this far."""


@dataclass(frozen=True, slots=True)
class GroupLine:
    """A row. ``numbers`` are those of whoever looks; ``chart`` None: it would tell of other tenants.

    ``due``: the clock in a few words, ``note``: what comes of it. ``tags``: what else is to be known, in a word each.
    ``teams``: how many other teams than its owner have letters of it.
    """

    group: DeadLetterGroup
    title: str
    numbers: Numbers
    late: int
    chart: Columns | None
    due_look: Look
    due: str
    note: str
    state: Look
    until: str
    tags: Sequence[str]
    standing: Standing | None = None
    forecast: Forecast | None = None
    teams: int = 0


def lines_of(
    user: AnyUser,
    groups: Sequence[DeadLetterGroup],
    numbers: Mapping[int, Numbers],
    now: datetime,
    scope: Sequence[int] | None,
) -> list[GroupLine]:
    """The rows of these causes. ``scope``: the tenants whose numbers are told; None: everybody's."""
    ids = [group.pk for group in groups]
    late = overdue_up_to(MOST_LATE if len(ids) == 1 else MOST_LATE_EACH, ids, now, scope)
    if not sees_all(user):
        titles = own_titles([numbers[pk].newest for pk in ids])
        return [_own_line(group, numbers[group.pk], titles, late.get(group.pk, NO_LATE), now) for group in groups]
    clocks = group_standings(groups, now)
    rates = forecasts(groups, now) if scope is None else {}
    deaths = deaths_by_ten_minutes(ids, now) if scope is None else None
    reasons, teams = _reasons(groups), other_teams(ids, scope)
    made = []
    for group in groups:
        has, stands = numbers[group.pk], clocks.get(group.pk)
        if scope is not None:
            stands = _of_own_due(stands, has, now)
        made.append(
            _line(
                group,
                has,
                stands,
                rates.get(group.pk),
                late.get(group.pk, NO_LATE),
                None if deaths is None else deaths.get(group.pk, [0] * 2),
                group_words.tags(group, reasons.get(group.sample_id or 0, ""), now),
                teams.get(group.pk, 0),
                now,
            )
        )
    return made


def own_titles(letter_ids: Sequence[int | None]) -> dict[int, str]:
    """Letter → its error on one line, for a cause in the words of one's own letter of it. One query."""
    letters = light(DeadLetter.objects.filter(pk__in=[pk for pk in letter_ids if pk is not None]))
    return {letter.pk: error_of(letter) for letter in letters}


def _line(
    group: DeadLetterGroup,
    has: Numbers,
    stands: Standing | None,
    rate: Forecast | None,
    late: Overdue,
    deaths: Sequence[int] | None,
    tags: Sequence[str],
    teams: int,
    now: datetime,
) -> GroupLine:
    look = clock_words.LOOKS[stands.kind] if stands else group_words.NO_CLOCK
    paused = stands is not None and stands.kind is Kind.PAUSED
    label = f"Deaths in each 10 minutes of 6 hours; {number(has.undrained)} open now"
    return GroupLine(
        group=group,
        title=group_words.title_of(group),
        numbers=has,
        late=late.late,
        chart=None if deaths is None else columns(deaths, label, TONES.get(stands.kind, "mark") if stands else "mark"),
        due_look=look,
        due=clock_words.due_words(stands, has.due_at, now) if stands else "",
        note=clock_words.pause_words(group.clock_paused_until, group.clock_pause_reason, now)
        if paused
        else clock_words.standing_line(stands, rate, overdue=late.late, soon=late.soon),
        state=group_words.LOOKS[group_words.State(group.state)],
        until=group_words.state_note(group, now),
        tags=tags,
        standing=stands,
        forecast=rate,
        teams=teams,
    )


def _own_line(
    group: DeadLetterGroup, has: Numbers, titles: Mapping[int, str], late: Overdue, now: datetime
) -> GroupLine:
    """For a tenant's people: their numbers, in words of their own letters, and nothing of what our team does."""
    left = (has.due_at - now).total_seconds() if has.due_at else None
    kind = Kind.ON_TRACK if left is None or left >= SOON_S else Kind.WARNING if left > 0 else Kind.BREACHED
    note = f"our team is late with {number(late.late)}" if late.late else ""
    return GroupLine(
        group=group,
        title=titles.get(has.newest or 0) or f"{plain_name(group.job_type)} did not work",
        numbers=has,
        late=late.late,
        chart=None,
        due_look=replace(clock_words.LOOKS[kind], word=""),
        due=due(has.due_at, now) if has.due_at else "",
        note=note,
        state=group_words.own_state(has),
        until="",
        tags=(),
    )


def _of_own_due(stands: Standing | None, has: Numbers, now: datetime) -> Standing | None:
    """The clock of a cause as one tenant's letters show it: theirs may be due later."""
    if stands is None or has.due_at is None or stands.kind is Kind.PAUSED:
        return stands if has.due_at is not None else None
    left = has.due_at - now
    if left <= timedelta(0):
        return Standing(Kind.BREACHED, 1.0, late=True)
    return Standing(Kind.WARNING if left.total_seconds() < SOON_S else Kind.ON_TRACK, 0.0, late=False)


def _reasons(groups: Sequence[DeadLetterGroup]) -> dict[int, str]:
    samples = [group.sample_id for group in groups if group.sample_id is not None]
    return dict(DeadLetter.objects.filter(pk__in=samples).values_list("pk", "reason"))
