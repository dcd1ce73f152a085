"""A job's or a letter's arguments as its page shows them: of many the first ones, and long ones cut."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dlq.text import visible
from jobops.contracts import masking
from jobops.contracts.secret_values import DOTS
from jobops.web.formats import plural

MOST_LINES = 50
LONGEST_VALUE = 600
"""Characters of one value on the page."""


@dataclass(frozen=True, slots=True)
class ArgumentLine:
    """``hidden``: the whole value is masked; ``masked``: at least a part of it. ``note``: how much a cut value had."""

    name: str
    text: str
    masked: bool
    hidden: bool
    note: str


@dataclass(frozen=True, slots=True)
class Arguments:
    """``more``: how many arguments did not fit on the page."""

    lines: Sequence[ArgumentLine]
    more: int


def arguments_of(listed: Sequence[masking.Argument] | None) -> Arguments | None:
    """The arguments for the page; None for those that cannot be read."""
    if listed is None:
        return None
    return Arguments([_line(one) for one in listed[:MOST_LINES]], max(0, len(listed) - MOST_LINES))


def _line(one: masking.Argument) -> ArgumentLine:
    text = visible(json.dumps(one.value, ensure_ascii=False, default=str))
    hidden = one.masked and one.value == DOTS
    if len(text) <= LONGEST_VALUE:
        return ArgumentLine(one.name, text, one.masked, hidden, "")
    return ArgumentLine(one.name, f"{text[:LONGEST_VALUE]} …", one.masked, hidden, _size(one.value, text))


def _size(value: object, text: str) -> str:
    if isinstance(value, Mapping):
        return plural(len(value), "entry", "entries")
    if isinstance(value, list | tuple):
        return plural(len(value), "item")
    return plural(len(text), "character")
