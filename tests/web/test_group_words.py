"""The words, links, times and charts of causes, without a database where they are pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dlq.errors import InvalidAction
from dlq.group_filters import GroupFilter
from dlq.models import DeadLetterGroup
from jobops.web import group_words as words
from jobops.web.group_charts import columns
from jobops.web.list_links import in_list, shows_causes
from jobops.web.selectors.group_counts import GroupCounts, Tally
from jobops.web.selectors.letter_counts import Found
from jobops.web.until import until_of

NOW = datetime(2026, 3, 12, 3, 14, tzinfo=UTC)


def counts(letters: int, causes: int, largest: list[int], late: int = 0, jobs: tuple[str, ...] = ()) -> GroupCounts:
    tally = Tally(letters, causes)
    return GroupCounts(tally, tally, overdue=Found(late), largest=largest, late_jobs=jobs)


def test_the_title_and_what_is_under_it_say_where_most_of_it_is() -> None:
    found = counts(4012, 7, [3184, 534, 271], 212, ("exports.build_export",))
    assert words.title(GroupFilter(), found, staff=True) == "4,012 dead letters, 7 causes"
    assert words.lede(found, staff=True) == (
        "Three causes hold 3,989 of them. 212 are past their deadline", "exports.build_export"
    )  # fmt: skip
    assert words.lede(counts(100, 7, [95, 1, 1]), staff=True)[0] == "One cause holds 95 of them."
    assert words.lede(counts(30, 3, [10, 10, 10], 1, ("a", "b")), staff=True) == ("1 is past its deadline", "")
    assert words.lede(counts(30, 9, [4, 4, 4]), staff=True)[0].startswith("Jobs that gave up.")
    assert words.title(GroupFilter(), counts(0, 0, []), staff=True) == "No dead letter is to be drained."
    assert words.title(GroupFilter(), counts(0, 0, []), staff=False) == "None of your jobs failed for good."
    assert words.title(GroupFilter(q="x"), counts(3, 1, []), staff=True) == "3 dead letters of 1 cause match"
    assert words.title(GroupFilter(q="x"), counts(0, 0, []), staff=True) == "No cause matches."


def test_a_snoozed_cause_says_until_when() -> None:
    group = DeadLetterGroup(state="snoozed", snoozed_until=NOW + timedelta(hours=5))
    assert words.state_note(group, NOW) == "until 08:14"
    assert words.state_note(DeadLetterGroup(state="snoozed", snoozed_to_deaths=4000), NOW) == "until 4,000 deaths"
    assert words.state_note(DeadLetterGroup(state="snoozed", snoozed_to_tenants=3), NOW) == "until another tenant"
    assert words.state_note(DeadLetterGroup(state="active", snoozed_until=NOW), NOW) == ""


def test_a_cause_has_always_a_title() -> None:
    assert words.title_of(DeadLetterGroup(pk=7)) == "Cause 7"
    assert words.title_of(DeadLetterGroup(pk=7, job_type="a.b")) == "a.b"


@pytest.mark.parametrize(
    ("query", "by", "link"),
    [
        ("", "cause", "?"),
        ("", "one", "?by=one"),
        ("owner=a", "one", "?by=one&owner=a"),
        ("status=resolved", "one", "?status=resolved"),
        ("status=drained", "cause", "?status=drained"),
        ("status=all", "cause", "?by=cause&status=all"),
        ("group=7", "one", "?group=7"),
    ],
)
def test_links_name_their_list_where_it_is_not_clear(query: str, by: str, link: str) -> None:
    assert in_list(query, by) == link
    asked = dict(part.split("=") for part in link[1:].split("&") if part)
    assert shows_causes(asked) == (by == "cause")


def test_until_when_is_read_in_the_zone_of_whoever_asks() -> None:
    assert until_of({"for": "4h"}, "for", NOW) == NOW + timedelta(hours=4)
    assert until_of({"for": "morning"}, "for", NOW).isoformat() == "2026-03-13T08:00:00+00:00"
    assert until_of({"for": "1h", "at": "2026-03-16T09:00"}, "for", NOW).isoformat() == "2026-03-16T09:00:00+00:00"
    for wrong in ({}, {"for": "1y"}, {"at": "soon"}, {"at": "2026-13-40T00:00"}):
        with pytest.raises(InvalidAction):
            until_of(wrong, "for", NOW)


def test_a_chart_keeps_a_floor_and_leaves_out_what_is_nothing() -> None:
    low, high = columns([0, 1], ""), columns([0, 100, 50], "")
    assert [one.height for one in low.columns] == ["5.4"]
    assert [one.height for one in high.columns] == ["27.0", "13.5"]
    assert columns([], "").columns == []
