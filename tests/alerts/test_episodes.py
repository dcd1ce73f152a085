"""Episodes: when one begins, goes on and ends, with instants that the test gives."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from jobops.alerts.models import Alert, Channel, Delivery, Pending
from tests.alerts.rounds import alert, at, channel, evaluate, signal, told

pytestmark = pytest.mark.django_db


def test_over_the_threshold_it_fires_at_the_threshold_it_does_not() -> None:
    evaluate(0, 100)
    assert not Alert.objects.exists()
    evaluate(1, 101)
    assert (alert().state, alert().since, alert().value, alert().threshold) == ("firing", at(1), 101, 100)
    assert (alert().key, alert().owner, alert().title) == ("depth:acme", "payments", "acme has 101 jobs")


def test_it_must_hold_for_long_enough_and_one_dip_begins_anew() -> None:
    kind = signal(for_s=300)
    for minute, value in ((0, 500), (4.9, 500)):
        evaluate(minute, value, kind)
    assert not Alert.objects.exists()
    evaluate(4.95, 99, kind)
    assert not Pending.objects.exists()
    evaluate(5, 500, kind)
    evaluate(9.9, 500, kind)
    assert not Alert.objects.exists()
    evaluate(10, 500, kind)
    assert alert().since == at(10)
    assert not Pending.objects.exists()


def test_what_was_over_before_a_restart_counts_on() -> None:
    """The clock is in the database: here nothing but rows lies between the rounds."""
    evaluate(0, 500, signal(for_s=300))
    assert Pending.objects.get().since == at(0)
    evaluate(5, 500, signal(for_s=300))
    assert alert().state == "firing"


def test_a_source_that_cannot_be_read_fires_nothing_and_ends_nothing() -> None:
    kind = signal(for_s=60)
    evaluate(0, 500, kind)
    for minute in (1, 2, 3):
        evaluate(minute, None, kind)
    assert not Alert.objects.exists()
    evaluate(4, 500, kind)
    opened = alert()
    for minute in range(5, 60):
        evaluate(minute, None, kind)
    assert (alert().resolved_at, alert().calm_since, alert().pk) == (None, None, opened.pk)


def test_it_is_over_when_it_was_calm_for_long_enough_and_says_so_once() -> None:
    channel()
    evaluate(0, 500)
    evaluate(1, 95)  # between: neither
    assert alert().calm_since is None
    evaluate(2, 90)
    assert (alert().calm_since, alert().resolved_at) == (at(2), None)
    evaluate(2.5, 90)
    evaluate(3, 90)
    assert (alert().state, alert().resolved_at) == ("resolved", at(3))
    evaluate(4, 90)
    assert told() == ["fired", "resolved"]


def test_a_subject_of_which_nothing_is_left_to_read_is_calm() -> None:
    evaluate(0, {"acme": 500, "beta": 500})
    evaluate(1, {"beta": 500})
    evaluate(1 + 5, {"beta": 500})  # as long as the signal itself says
    assert dict(Alert.objects.values_list("key", "state")) == {"depth:acme": "resolved", "depth:beta": "firing"}


def test_back_over_its_threshold_while_it_calms_down_it_goes_on() -> None:
    channel()
    evaluate(0, 500)
    evaluate(1, 10)
    evaluate(1.5, 500)
    assert alert().calm_since is None
    evaluate(2, 10)
    assert alert().resolved_at is None
    assert told() == ["fired"]


def test_ma_03_a_value_that_dances_around_the_threshold_is_one_episode() -> None:
    channel()
    for minute in range(31):
        evaluate(minute, 101 if minute % 2 else 99)
    assert (alert().state, told()) == ("firing", ["fired"])
    evaluate(31, 0)
    evaluate(33, 0)
    assert told() == ["fired", "resolved"]


def test_a_value_that_dances_across_both_thresholds_is_one_episode_too() -> None:
    channel()
    for minute in range(60):
        evaluate(minute / 2, 150 if minute % 2 else 0)
    assert told() == ["fired"]
    assert Alert.objects.count() == 1


def test_the_next_episode_of_the_same_subject_is_another_one() -> None:
    channel()
    for minute, value in ((0, 500), (1, 0), (3, 0), (10, 500)):
        evaluate(minute, value)
    assert sorted(Alert.objects.values_list("state", flat=True)) == ["firing", "resolved"]
    assert told() == ["fired", "resolved", "fired"]


def test_what_fires_below_its_threshold_clears_above_it() -> None:
    kind = signal(name="sla_forecast", threshold=60, clears_at=90, under=True)
    evaluate(0, 60, kind)
    assert not Alert.objects.exists()
    evaluate(1, 59, kind)
    evaluate(2, 89, kind)
    assert alert().calm_since is None
    evaluate(3, 90, kind)
    evaluate(4, 90, kind)
    assert alert().state == "resolved"


def test_what_may_not_begin_an_episode_goes_on_with_one() -> None:
    evaluate(0, 500, opens=False)
    assert not Alert.objects.exists()
    evaluate(1, 500)
    evaluate(2, 500, opens=False)
    evaluate(10, 500, opens=False)
    assert alert().state == "firing"


def test_what_is_shown_follows_what_is_read_but_a_number_alone_is_written_rarely() -> None:
    evaluate(0, 500)
    evaluate(0.5, 501, owner="exports")
    assert (alert().title, alert().owner, alert().value) == ("acme has 501 jobs", "exports", 501)
    Alert.objects.update(title="acme has 502 jobs")
    evaluate(0.6, 502, owner="exports")
    assert alert().value == 501
    evaluate(2, 502, owner="exports")
    assert (alert().value, alert().seen_at) == (502, at(2))


def test_a_number_that_is_none_fires_nothing() -> None:
    evaluate(0, float("nan"))
    assert not Alert.objects.exists()


def test_a_clock_that_is_set_back_keeps_nothing_from_firing_nor_from_ending() -> None:
    kind = signal(name="retry_rate", for_s=300)
    evaluate(60, 500, kind)
    for minute in (0, 5):
        evaluate(minute, 500, kind)
    assert alert().since == at(5)
    evaluate(65, 0, kind)
    for minute in (6, 11):
        evaluate(minute, 0, kind)
    assert alert().resolved_at == at(11)


@pytest.mark.parametrize(
    ("subject", "fields"),
    [
        ("a\0b", {}),
        ("\ud800", {}),
        ("acme", {"scope": {"job_type": "a\0b"}}),
        ("acme", {"scope": {"job_type": "\ud800"}}),
        ("acme", {"owner": "a\0\udfff"}),
    ],
)
def test_whatever_bytes_a_subject_is_made_of_it_and_the_others_are_told_of(
    subject: str, fields: dict[str, Any]
) -> None:
    channel(team="")
    kind = signal(for_s=60)
    for minute in (0, 2):
        evaluate(minute, {subject: 500, "other": 500}, kind, **fields)
    assert Alert.objects.count() == 2
    for each in Delivery.objects.all():
        assert json.dumps(each.message, ensure_ascii=False).encode()


def test_the_end_of_many_compares_no_alert_with_every_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    channel(kind="pagerduty", secret="x" * 32)
    many = {f"t{number}": 500.0 for number in range(200)}
    evaluate(0, many)
    evaluate(1, {})
    compared = []
    equal = Alert.__eq__

    def counted(self: Alert, other: object) -> bool:
        compared.append(self)
        return equal(self, other)

    monkeypatch.setattr(Alert, "__eq__", counted)
    evaluate(9, {})
    assert told().count("resolved") == len(many)
    assert len(compared) < len(many)


STEPS = st.lists(
    st.tuples(st.sampled_from([0, 50, 90, 95, 100, 101, 500, None]), st.sampled_from([0.1, 0.5, 1, 2, 7])),
    min_size=1,
    max_size=40,
)


@hypothesis_settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS, st.sampled_from([0, 60, 300]), st.sampled_from([0, 60, 300]))
def test_whatever_it_reads_each_episode_is_told_once_and_ends_calm(
    steps: list[tuple[float | None, float]], for_s: int, calm_s: int
) -> None:
    for table in (Delivery, Alert, Pending):
        table.objects.all().delete()
    if not Channel.objects.exists():
        channel()
    kind, minute, seen = signal(for_s=for_s, calm_s=calm_s), 0.0, []
    for value, pause in steps:
        evaluate(minute, value, kind)
        seen.append((at(minute), value))
        minute += pause
        assert Alert.objects.filter(resolved_at__isnull=True).count() <= 1
    for each in Alert.objects.all():
        # Over for the whole of for_s before it began, and calm for the whole of calm_s before it ended.
        assert _since(seen, each.since, lambda value: value > 100) >= for_s
        if each.resolved_at is not None:
            assert _since(seen, each.resolved_at, lambda value: value <= 90) >= calm_s
        events = list(Delivery.objects.filter(alert=each).values_list("event", flat=True))
        assert events.count("fired") == 1
        assert events.count("resolved") == (each.resolved_at is not None)


def _since(seen: list[tuple[object, float | None]], until: object, holds: object) -> float:
    """For how many seconds up to that instant all that was read was so; what was not read says nothing."""
    first = None
    for when, value in seen:
        if when > until:  # type: ignore[operator]
            break
        if value is not None:
            first = (first or when) if holds(value) else None  # type: ignore[operator]
    assert first is not None
    return (until - first).total_seconds()  # type: ignore[operator]
