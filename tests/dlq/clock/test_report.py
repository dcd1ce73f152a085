"""The drain report, held against a plain reckoning over all letters."""

from __future__ import annotations

import random
import statistics
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlq.clock.breaches import breached_causes
from dlq.clock.draining import marks
from dlq.clock.forecast import span_of
from dlq.clock.pauses import pause
from dlq.clock.period import Period, last
from dlq.clock.report import Figures, report
from dlq.clock.report_rows import COLUMNS, report_rows
from dlq.clock.standing import letter_standing
from dlq.models import DeadLetter, DeadLetterGroup, ReplayRun
from jobops.web.report_words import drained_words
from tests.dlq.clock.clocks import group, letter, spans
from tests.dlq.letters import unsaved

pytestmark = pytest.mark.django_db
NOW = timezone.now().replace(microsecond=0)
WEEK = last("7d", NOW)
TEAMS = ("billing", "ops", "exports")


def ago(hours: float) -> datetime:
    return NOW - timedelta(hours=hours)


def drained(dead: float, at: float, state: str = "resolved", **fields: Any) -> DeadLetter:
    """A letter that died and was drained so many hours ago."""
    it = letter(ago(dead), state=state, **fields)
    for name, value in marks(it, ago(at)).items():
        setattr(it, name, value)
    it.save()
    return it


def run(of: DeadLetter, state: str, hours: float, number: int = 1) -> None:
    ReplayRun.objects.create(letter=of, number=number, job_id=f"{of.pk}-{number}", state=state, ended_at=ago(hours))


def some_letters(count: int, dice: random.Random) -> None:
    """Of three teams, drained or not, in time or late, some of them paused; with whole minutes, so that some are
    drained at the very instant at which they were due."""
    made = []
    for _ in range(count):
        dead = ago(dice.randrange(0, 20 * 24 * 60) / 60)
        hours = dice.choice((1, 4, 48))
        it = unsaved(None, owner=dice.choice(TEAMS), dead_at=dead, due_at=dead + timedelta(hours=hours))
        it.sla_s = hours * 3600
        if dice.random() < 0.3:
            begun = dead + timedelta(minutes=dice.randrange(300))
            pause(it, at=begun, until=begun + timedelta(minutes=dice.randrange(1, 5000)), reason="r")
        at = dead + timedelta(minutes=dice.choice((7, 60, 240, dice.randrange(9000))))
        if dice.random() < 0.7 and at < NOW:
            it.state = dice.choice(("resolved", "discarded"))
            for name, value in marks(it, at).items():
                setattr(it, name, value)
        made.append(it)
    DeadLetter.objects.bulk_create(made)


def plainly(period: Period, owner: str) -> dict[str, Any]:
    """The same, letter by letter."""
    its = [it for it in DeadLetter.objects.all() if it.owner == owner]
    in_it = [it for it in its if it.drained_at and period.since <= it.drained_at < period.until]
    times = [it.drain_s for it in in_it if it.drain_s is not None]
    waits = [it for it in its if not it.drained_at or it.drained_at >= period.until]
    return {
        "replayed": sum(it.state == "resolved" for it in in_it),
        "discarded": sum(it.state == "discarded" for it in in_it),
        "drained_late": sum(letter_standing(it, NOW).late for it in in_it),
        "left_late": sum(it.due_at <= period.until and it.dead_at < period.until for it in waits),
        "open": sum(it.is_undrained for it in its),
        "overdue": sum(it.is_undrained and it.due_at <= NOW for it in its),
        "median_s": statistics.median(times),
        "p95_s": pytest.approx(statistics.quantiles(times, n=20, method="inclusive")[18]),
    }


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_is_what_a_plain_reckoning_says(seed: int) -> None:
    some_letters(400, random.Random(seed))
    past = Period("custom", ago(12 * 24), ago(5 * 24), ago(12 * 24).date(), ago(5 * 24).date())
    for period in (WEEK, past):
        found = report(period, NOW)
        for owner in TEAMS:
            figures, expected = found.teams[owner], plainly(period, owner)
            assert {name: getattr(figures, name) for name in expected} == expected, (owner, period)
        assert found.total.drained == sum(each.drained for each in found.teams.values())
        assert found.total.breaches > 0


def test_percentiles_of_all_teams_are_those_of_all_letters() -> None:
    some_letters(300, random.Random(5))
    times = list(
        DeadLetter.objects.filter(drained_at__gte=WEEK.since, drained_at__lt=NOW).values_list("drain_s", flat=True)
    )
    total = report(WEEK, NOW).total
    assert total.median_s == statistics.median(times)
    assert total.p95_s == pytest.approx(statistics.quantiles(times, n=20, method="inclusive")[18])


def test_a_breach_stays_one_whatever_was_paused_after_it() -> None:
    it = letter(ago(9))
    pause(it, at=ago(3), until=NOW + timedelta(days=9), reason="too late")
    for name, value in marks(it, ago(1)).items():
        setattr(it, name, value)
    it.state = "resolved"
    it.save()
    assert it.drained_at is not None
    assert it.drained_at < it.due_at
    figures = report(WEEK, NOW).teams["billing"]
    assert (figures.drained, figures.drained_late, figures.median_s, figures.kept) == (1, 1, 6 * 3600, 0.0)


def test_what_was_drained_in_a_pause_that_began_in_time_is_no_breach() -> None:
    it = letter(ago(9))
    pause(it, at=ago(7), until=ago(2), reason="r")
    for name, value in marks(it, ago(4)).items():
        setattr(it, name, value)
    it.state = "resolved"
    it.save()
    assert report(WEEK, NOW).teams["billing"].breaches == 0


def test_replays_that_ran_in_vain_count_against_those_that_drained_and_no_others() -> None:
    it, other = drained(9, 5), letter(ago(9), owner="ops")
    drained(9, 5, "discarded")
    for number, state in enumerate(("succeeded", "died", "died", "lost", "cancelled", "refused", "coalesced"), 1):
        run(it, state, 5, number)
    run(it, "died", 24 * 8, 20)
    run(other, "died", 1)
    found = report(WEEK, NOW)
    billing = found.teams["billing"]
    assert (billing.replayed, billing.replays_failed, billing.replay_success) == (1, 3, 0.25)
    assert found.teams["ops"].replay_success == 0.0
    assert found.total.replay_success == 0.2


def test_what_its_contract_ended_is_drained_and_no_success() -> None:
    it, other = drained(9, 5), drained(9, 4)
    run(it, "discarded", 6, 1)
    run(it, "succeeded", 5, 2)
    run(other, "died", 7, 1)
    run(other, "discarded", 4, 2)
    run(letter(ago(9)), "discarded", 4, 1)
    found = report(WEEK, NOW)
    billing = found.teams["billing"]
    assert (billing.replayed, billing.by_contract, billing.succeeded, billing.replays_failed) == (2, 1, 1, 1)
    assert billing.replay_success == 0.5
    row = next(iter(report_rows(found)))
    assert (row["drained"], row["replayed"], row["ended_by_contract"], row["replay_success"]) == (2, 2, 1, 0.5)
    assert drained_words(billing) == "1 by a replay, 1 ended by contract, 0 discarded"


def test_causes_that_came_back_are_a_share_of_those_that_were_drained() -> None:
    states = DeadLetterGroup.State
    for _ in range(3):
        group(state=states.DRAINED, state_at=ago(5))
    group(state=states.ACTIVE, state_at=ago(2), reopened_at=ago(2), reopened_from=states.DRAINED)
    group(state=states.ACTIVE, state_at=ago(2), reopened_at=ago(2), reopened_from=states.SNOOZED)
    group(state=states.DRAINED, state_at=ago(24 * 8))
    group(state=states.ACTIVE, owner="ops")
    found = report(WEEK, NOW)
    billing = found.teams["billing"]
    assert (billing.causes_closed, billing.causes_reopened, billing.reopen_rate) == (4, 1, 0.25)
    assert "ops" not in found.teams


def test_without_anything_there_is_nothing_to_reckon_with() -> None:
    found = report(WEEK, NOW)
    assert (found.teams, found.total) == ({}, Figures())
    total = found.total
    assert (total.kept, total.median_s, total.p95_s, total.replay_success, total.reopen_rate) == (None,) * 5


def test_one_team_is_as_in_the_report_of_all() -> None:
    some_letters(200, random.Random(7))
    whole = report(WEEK, NOW)
    for owner in TEAMS:
        alone = report(WEEK, NOW, owner)
        assert (alone.teams, alone.total) == ({owner: whole.teams[owner]}, whole.teams[owner])


def test_the_number_of_queries_does_not_grow() -> None:
    counts = []
    for size in (10, 200):
        some_letters(size, random.Random(size))
        with CaptureQueriesContext(connection) as queries:
            report(WEEK, NOW)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 7


def test_breaches_lead_to_their_causes_the_worst_first() -> None:
    worst, less, none = group(title="a"), group(title="b"), group(title="c")
    for _ in range(3):
        drained(9, 1, group=worst)
    letter(ago(9), group=worst)
    letter(ago(9), group=less)
    drained(9, 8, group=none)
    found = breached_causes(WEEK, NOW)
    assert [(each.group.title, each.drained_late, each.left_late) for each in found] == [("a", 3, 1), ("b", 0, 1)]
    assert breached_causes(WEEK, NOW, "ops") == []
    assert len(breached_causes(WEEK, NOW, most=1)) == 1


def test_its_rows_have_all_columns_and_one_for_all_teams() -> None:
    some_letters(100, random.Random(9))
    rows = list(report_rows(report(WEEK, NOW)))
    assert [row["team"] for row in rows] == ["billing", "exports", "ops", "(all teams)"]
    assert all(tuple(row) == COLUMNS for row in rows)
    assert rows[-1]["drained"] == sum(row["drained"] for row in rows[:-1])
    assert len(list(report_rows(report(WEEK, NOW, "ops")))) == 1


def test_a_team_has_the_forecast_of_its_causes_and_one_without_anything_to_drain_none() -> None:
    for owner, died, drained_now in (("billing", 10, 300), ("ops", 0, 0), ("calm", 0, 5)):
        cause = group(owner=owner, open=100 if owner != "calm" else 0, due_at=NOW + timedelta(minutes=40))
        spans(cause, {span_of(NOW): (died, drained_now)})
        if owner == "calm":
            drained(1, 1, owner=owner, group=cause)
        else:
            letter(NOW, owner=owner, group=cause)
    found = {row["team"]: (row["breaches_in_s"], row["drained_in_s"]) for row in report_rows(report(WEEK, NOW))}
    assert found["ops"] == (2400, None)
    assert found["billing"][0] is None
    assert found["billing"][1] is not None
    assert found["calm"] == found["(all teams)"] == (None, None)
    assert report(WEEK, NOW, "ops").teams["ops"].forecast is not None
