"""The text of the rules: what is read, and what is said about what cannot be."""

from __future__ import annotations

import pytest

from dlq.owners.globs import covers, matcher, overlap
from dlq.owners.parsing import LONGEST_TEXT, MOST_RULES, parse_rules

TEXT = """# the wider ones first

job=billing.*   ->   payments
tenant=acme-*,globex queue=*.bulk -> night shift sla=1h30m
reason=timeout error=*TimeoutError -> payments severity=high sla=4h  # paged
* -> operations
"""


def test_a_text_is_read_line_by_line() -> None:
    parsed = parse_rules(TEXT)
    assert list(parsed.faults) == []
    assert [(rule.line, rule.condition, rule.team, rule.sla_s, rule.severity) for rule in parsed.rules] == [
        (3, "job=billing.*", "payments", None, "normal"),
        (4, "tenant=acme-*,globex queue=*.bulk", "night shift", 5400, "normal"),
        (5, "reason=timeout error=*TimeoutError", "payments", 14400, "high"),
        (6, "*", "operations", None, "normal"),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("job=a", "must have one -> between its conditions and its team, such as job=billing.* -> payments sla=4h"),
        ("job=a -> b -> c", "must have one ->"),
        ("-> payments", "has no condition before ->; write * for all dead letters"),
        ("job=a ->", "names no team after ->"),
        ("owner=a -> b", "'owner=a' is no condition; those are job=…, tenant=…, queue=…, reason=…, error=…"),
        ("billing -> b", "'billing' is no condition"),
        ("* job=a -> b", "'*' is no condition"),
        ("job=a job=b -> c", "job= stands twice; give all its patterns to one, job=one,other"),
        ("job= -> b", "'job=' lacks a pattern"),
        ("job=a,,b -> c", "lacks a pattern"),
        ("job=a -> b/c", "'b/c' is no team's name"),
        ("job=a -> " + "x" * 51, "is no team's name"),
        ("job=a -> b sla=soon", "sla=soon: 'soon' is not a duration; write it as"),
        ("job=a -> b sla=0s", "sla=0s must be from 1s to 3650d"),
        ("job=a -> b sla=99999d", "is longer than 3650 days"),
        ("job=a -> b severity=loud", "severity=loud must be one of low, normal, high, critical"),
        ("job=a -> b sla=1h sla=2h", "sla= stands twice"),
        ("job=a -> b page=1", "'page=1' after the team must be sla=… or severity=…"),
        ("job=a -> b sla=1h c", "'c' after the team must be sla=… or severity=…"),
        ("job=a\u202e -> b", "holds characters that cannot be seen"),
        ("job=" + "a" * 1000 + " -> b", "longer than 1,000 characters"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line_and_what_is_right(line: str, said: str) -> None:
    parsed = parse_rules(f"job=good -> payments\n\n{line}\n* -> operations")
    assert [fault.line for fault in parsed.faults] == [3]
    assert parsed.faults[0].fatal
    assert said in str(parsed.faults[0])
    assert str(parsed.faults[0]).startswith("line 3: ")
    assert [rule.line for rule in parsed.rules] == [1, 4]


def test_a_text_that_is_too_long_is_refused_as_a_whole() -> None:
    assert "are too many; at most 100,000" in str(parse_rules("#" * (LONGEST_TEXT + 1)).faults[0])
    assert "1,001 rules are too many" in str(parse_rules("job=a -> b\n" * (MOST_RULES + 1)).faults[0])
    assert parse_rules("").rules == []


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("billing.*", ["billing.", "billing.send"], ["billing", "xbilling.a", "Billing.a"]),
        ("*.bulk", ["acme.bulk", ".bulk"], ["bulk", "acme.bulk2"]),
        ("*", ["", "a"], []),
        ("a*b*a", ["aba", "abba", "axxbyya"], ["aa", "ab", "aab"]),
        ("ab*ba", ["abba", "abxba"], ["aba"]),
        ("**", ["", "x"], []),
        ("a.c", ["a.c"], ["abc"]),
        ("[ab]", ["[ab]"], ["a"]),
    ],
)
def test_a_star_is_any_text_and_nothing_else_is(pattern: str, yes: list[str], no: list[str]) -> None:
    fits = matcher(pattern)
    assert [text for text in yes if not fits(text)] == []
    assert [text for text in no if fits(text)] == []


def test_a_pattern_of_many_stars_takes_no_time() -> None:
    assert not matcher("*a" * 400 + "*b")("a" * 5000)


@pytest.mark.parametrize(
    ("wide", "narrow", "answer"),
    [
        ("*", "a*", True),
        ("a*", "ab*", True),
        ("ab*", "a*", False),
        ("*.bulk", "acme.bulk", True),
        ("a*b*", "a*cb*", True),
        ("a*a", "a", False),
        ("a", "a", True),
        ("a", "*", False),
        ("*a*", "*b*", False),
    ],
)
def test_one_pattern_covers_another(wide: str, narrow: str, answer: bool) -> None:
    assert covers(wide, narrow) is answer


@pytest.mark.parametrize(
    ("one", "other", "answer"),
    [("a*", "*b", True), ("a*", "b*", False), ("acme.*", "*.bulk", True), ("*.x", "*.y", False), ("", "*", True)],
)
def test_two_patterns_overlap(one: str, other: str, answer: bool) -> None:
    assert overlap(one, other) is answer
    assert overlap(other, one) is answer
