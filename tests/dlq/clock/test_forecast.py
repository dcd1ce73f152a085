"""What comes of a group at the rate of its last minutes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dlq.clock.forecast import Flow, Forecast, forecast, forecasts, span_of, team_forecasts
from tests.dlq.clock.clocks import group, spans

NOW = datetime(2026, 3, 12, 12, 10, tzinfo=UTC)
DUE = NOW + timedelta(hours=1)


def minutes(count: float) -> datetime:
    return NOW + timedelta(minutes=count)


def test_what_drains_faster_than_it_dies_is_drained_in_time() -> None:
    # 300 in 900 s, against 60 that died: the 80 are done after 300 s, and nothing breaches.
    assert forecast(80, DUE, [Flow(60, 300, 900)], NOW) == Forecast(None, 300.0, False)


def test_what_drains_too_slowly_breaches_when_it_is_due() -> None:
    assert forecast(1000, DUE, [Flow(0, 90, 900)], NOW) == Forecast(3600.0, 10_000.0, False)


def test_what_dies_faster_than_it_drains_is_never_drained_though_the_first_may_be_in_time() -> None:
    """Deaths to come are due later than those that are there."""
    assert forecast(80, DUE, [Flow(900, 300, 900)], NOW) == Forecast(None, None, False)
    assert forecast(8000, DUE, [Flow(900, 300, 900)], NOW) == Forecast(3600.0, None, False)


def test_of_what_nothing_was_drained_it_says_so() -> None:
    assert forecast(3, DUE, [Flow(5, 0, 900), Flow(9, 0, 3600)], NOW) == Forecast(3600.0, None, True)


def test_a_slow_drain_is_seen_over_the_hour() -> None:
    assert forecast(2, DUE, [Flow(0, 0, 900), Flow(0, 4, 3600)], NOW) == Forecast(None, 1800.0, False)


def test_what_has_breached_breaches_in_no_time_and_what_is_drained_has_no_forecast() -> None:
    assert forecast(1, minutes(-5), [Flow(0, 9, 900)], NOW).breaches_in == 0.0
    assert forecast(0, None, [Flow(0, 9, 900)], NOW) == Forecast(None, None, False)


@pytest.mark.parametrize(("minute", "begin"), [(0, 0), (4.99, 0), (5, 5), (59, 55)])
def test_a_span_begins_on_a_multiple_of_five_minutes(minute: float, begin: int) -> None:
    hour = datetime(2026, 3, 12, 12, tzinfo=UTC)
    assert span_of(hour + timedelta(minutes=minute)) == hour + timedelta(minutes=begin)


@pytest.mark.django_db
def test_rates_are_read_from_the_kept_counts_in_two_queries_however_many_groups() -> None:
    fast = group(open=600, due_at=DUE)
    spans(fast, {minutes(-10): (100, 400), minutes(-5): (50, 400), minutes(-40): (9000, 0)})
    slow = group(open=2, due_at=DUE, owner="ops")
    spans(slow, {minutes(-40): (0, 2), minutes(-20): (0, 1)})
    still = group(open=1, due_at=DUE, owner="ops", first_seen_at=minutes(-60 * 24 * 30))
    spans(still, {minutes(-60 * 24 * day): (2, 0) for day in range(1, 6)})
    others = [group(open=1, due_at=DUE) for _ in range(20)]
    with CaptureQueriesContext(
        connection,
    ) as queries:
        found = forecasts([fast, slow, still, *others], NOW)
    assert len(queries) == 2
    # 15 minutes back begins a span at 11:55: 900 seconds.
    assert found[fast.pk].drained_in == pytest.approx(600 / ((800 - 150) / 900))
    assert found[fast.pk].breaches_in is None
    assert (found[slow.pk].breaches_in, found[slow.pk].drained_in) == (None, pytest.approx(2 / (3 / 3600)))
    assert (found[still.pk].nothing_drained, found[still.pk].died_week, found[still.pk].as_usual) == (True, 10, True)
    assert found[fast.pk].as_usual is False


@pytest.mark.django_db
def test_what_does_not_die_any_more_is_drained_though_as_much_died_before() -> None:
    it = group(open=5, due_at=DUE)
    spans(it, {minutes(-15): (1800, 0), minutes(-5): (0, 1795)})
    assert forecasts([it], NOW)[it.pk] == Forecast(None, pytest.approx(5 / (1795 / 900)), False)
    assert team_forecasts(NOW)[it.owner].drained_in is not None
    spans(it, {minutes(-10): (1, 0)})
    it.spans.filter(at=minutes(-5)).update(deaths=1)
    assert forecasts([it], NOW)[it.pk].drained_in is None, "it still dies"


@pytest.mark.django_db
def test_the_rate_of_a_bulk_action_that_is_over_is_no_forecast() -> None:
    it = group(open=5, due_at=DUE)
    spans(it, {minutes(-15): (1800, 900), minutes(-10): (0, 895)})
    at = minutes(0)
    assert forecasts([it], minutes(-4))[it.pk].drained_in is not None, "five minutes have just begun"
    assert forecasts([it], at)[it.pk].still_s == 300.0
    assert forecasts([it], at)[it.pk].breaches_in == 3600.0
    assert forecasts([it], minutes(18))[it.pk] == Forecast(2520.0, None, False, still_s=23 * 60.0)
    assert team_forecasts(at)[it.owner].still_s == 300.0
    assert forecasts([it], minutes(61))[it.pk].nothing_drained
    # What is drained one by one is drained on: a pause between two is none.
    slow = group(open=5, due_at=DUE)
    spans(slow, {minutes(-50): (0, 1), minutes(-35): (0, 2), minutes(-10): (0, 1)})
    assert forecasts([slow], NOW)[slow.pk].drained_in is not None


@pytest.mark.django_db
def test_a_day_that_is_worse_than_its_week_is_not_as_usual() -> None:
    it = group(open=1, due_at=DUE, first_seen_at=minutes(-60 * 24 * 30))
    spans(it, {minutes(-60 * 24 * 3): (7, 0), minutes(-60): (40, 0)})
    assert forecasts([it], NOW)[it.pk].as_usual is False


@pytest.mark.django_db
def test_a_team_is_all_its_groups_together() -> None:
    for owner, drained in (("billing", 300), ("billing", 0), ("ops", 0)):
        spans(group(open=100, due_at=DUE, owner=owner), {minutes(-5): (0, drained)})
    group(owner="calm", open=0)
    with CaptureQueriesContext(connection) as queries:
        found = team_forecasts(NOW)
    assert len(queries) == 2
    assert set(found) == {"billing", "ops"}
    assert found["billing"].drained_in == pytest.approx(200 / (300 / 900))
    assert found["ops"].nothing_drained
    assert set(team_forecasts(NOW, ["ops"])) == {"ops"}
