"""Numbers, ages and instants as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from jobops.web import formats

NOW = datetime(2026, 3, 12, 2, 14, 38, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (-3, "0 s"),
        (0.4, "0 s"),
        (12, "12 s"),
        (59.99, "59 s"),
        (60, "1 min"),
        (2471, "41 min"),
        (3600, "1 h"),
        (12_000, "3 h 20 min"),
        (93_600, "1 d 2 h"),
        (86_400 * 400, "400 d"),
    ],
)
def test_a_span_has_two_units_at_most_joined_by_no_break_spaces(seconds: float | None, text: str) -> None:
    """A clock that runs ahead makes an age negative: it counts as 0."""
    assert formats.duration(seconds) == text.replace(" ", formats.NBSP)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0, "0 ms"),
        (0.0081, "8 ms"),
        (0.9999, "1.0 s"),
        (1.23, "1.2 s"),
        (30, "30.0 s"),
        (59.97, "59 s"),
        (75, "1 min"),
    ],
)
def test_a_run_time_is_finer_than_an_age(seconds: float | None, text: str) -> None:
    assert formats.run_time(seconds) == text.replace(" ", formats.NBSP)


def test_numbers_are_grouped_and_what_is_none_is_a_dash() -> None:
    assert [formats.number(each) for each in (48_210, 0, 1283.6, None)] == ["48,210", "0", "1,284", "–"]
    assert [formats.percent(each) for each in (0.3394, 0.0, None)] == ["33.9", "0.0", "–"]


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (NOW, "03:14"),
        (NOW - timedelta(hours=4), "Wed 23:14"),
        (NOW + timedelta(days=4), "Mon 03:14"),
        (NOW - timedelta(days=40), "31 Jan 03:14"),
        (NOW - timedelta(days=400), "5 Feb 2025"),
    ],
)
def test_an_instant_is_as_short_as_it_can_be_told_apart_in_the_viewers_zone(at: datetime, text: str) -> None:
    with timezone.override(BERLIN):
        assert formats.clock(at, NOW) == text


def test_the_full_form_of_an_instant_names_its_zone() -> None:
    with timezone.override(BERLIN):
        assert formats.full_time(NOW) == "Thu 12 Mar 2026, 03:14:38 CET"
    with timezone.override(ZoneInfo("Asia/Kathmandu")):
        assert formats.full_time(NOW).endswith("07:59:38 UTC+05:45")
    assert formats.full_time(None) == ""


def test_a_deadline_is_ahead_or_late() -> None:
    assert formats.due(NOW + timedelta(minutes=40), NOW) == "Due in 40\N{NO-BREAK SPACE}min"
    assert formats.due(NOW - timedelta(minutes=33), NOW) == "33\N{NO-BREAK SPACE}min late"
    assert formats.ago(NOW - timedelta(seconds=12), NOW) == "12\N{NO-BREAK SPACE}s ago"


def test_counted_words_and_lists() -> None:
    assert [formats.plural(n, "job") for n in (0, 1, 1204)] == ["0 jobs", "1 job", "1,204 jobs"]
    assert formats.plural(2, "entry", "entries") == "2 entries"
    assert [formats.listed(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]
    assert (formats.spelled(4), formats.spelled(12)) == ("Four", "12")


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (datetime(2026, 3, 12, 2, 54, 12, tzinfo=UTC), "03:54:12"),
        (datetime(2026, 3, 11, 22, 59, 59, tzinfo=UTC), "Wed 11 Mar, 23:59:59"),
        (datetime(2025, 12, 1, 9, 0, 5, tzinfo=UTC), "1 Dec 2025, 10:00:05"),
        (None, "–"),
    ],
)
def test_a_moment_has_its_seconds_and_its_date_unless_that_is_today(at: datetime | None, text: str) -> None:
    with timezone.override("Europe/Berlin"):
        assert formats.moment(at, datetime(2026, 3, 12, 8, 0, tzinfo=UTC)) == text
