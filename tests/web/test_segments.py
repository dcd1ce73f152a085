"""The bar of a bulk action, and what can be done from within a message. Pure."""

from __future__ import annotations

import pytest

from jobops.web.message_acts import act_of
from jobops.web.segments import NARROWEST, Part, label, segments


def widths(*counts: int) -> list[float]:
    parts = [Part("ok", str(n), count) for n, count in enumerate(counts)]
    return [float(each.width.rstrip("%")) for each in segments(parts)]


def test_parts_stand_side_by_side_in_proportion_and_fill_the_bar() -> None:
    assert widths(30, 50, 20) == [30, 50, 20]
    assert [each.x for each in segments([Part("ok", "a", 1), Part("run", "b", 3)])] == ["0.00%", "25.00%"]


def test_the_smallest_part_can_be_seen_and_an_empty_one_is_not_there() -> None:
    assert widths(99_999, 0, 1) == [100 - NARROWEST, NARROWEST]
    assert sum(widths(100_000, 1, 1, 1)) == pytest.approx(100, abs=0.05)
    assert widths(0, 0) == []


def test_the_bar_says_in_words_what_it_shows() -> None:
    assert label([Part("ok", "Succeeded", 1858), Part("run", "Running", 0)]) == "1,858 succeeded"
    assert label([]) == "nothing"


@pytest.mark.parametrize(
    ("tags", "undo", "url"),
    [
        ("undo:letter:58112", True, "/dlq/58112/undo/"),
        ("some undo:bulk:318 success", True, "/dlq/bulk/318/undo/"),
        ("see:bulk:318", False, "/dlq/replays/318/"),
    ],
)
def test_a_message_offers_what_its_tags_say(tags: str, undo: bool, url: str) -> None:
    act = act_of(tags)
    assert act is not None
    assert (act.undo, act.url) == (undo, url)


@pytest.mark.parametrize("tags", ["", "success", "undo:tenant:1", "undo:letter:x", "undo:letter:" + "9" * 30])
def test_other_tags_offer_nothing(tags: str) -> None:
    assert act_of(tags) is None
