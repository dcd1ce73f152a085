"""The versions of the rules: the newest, all of them, and how two differ."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

from dlq.models import RuleSet


class DiffLine(NamedTuple):
    """``mark``: ``+`` new, ``-`` gone, a blank for what stayed, ``…`` for lines left out that stayed."""

    mark: str
    text: str


CONTEXT = 2


def newest_rules() -> RuleSet | None:
    """The version in force; None: no rules were ever saved."""
    return RuleSet.objects.order_by("-pk").first()


def diff(before: str, after: str) -> list[DiffLine]:
    """How the second text came from the first, with a little of what stayed around each change."""
    old, new = before.splitlines(), after.splitlines()
    found: list[DiffLine] = []
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(CONTEXT):
        if found:
            found.append(DiffLine("…", ""))
        for tag, a, b, c, d in group:
            if tag == "equal":
                found += (DiffLine(" ", line) for line in old[a:b])
            else:
                found += (DiffLine("-", line) for line in old[a:b])
                found += (DiffLine("+", line) for line in new[c:d])
    return found


def lines_changed(before: str, after: str) -> tuple[int, int]:
    """How many lines are new, and how many are gone."""
    marks = [line.mark for line in _changed(before, after)]
    return marks.count("+"), marks.count("-")


def _changed(before: str, after: str) -> Iterator[DiffLine]:
    return (line for line in diff(before, after) if line.mark in "+-")
