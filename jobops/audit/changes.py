"""What changed, in words: field by field from what to what; of what is new, what it was made with. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LONGEST_SHOWN = 160
NOTHING = "none"


@dataclass(frozen=True, slots=True)
class Changed:
    """One field: what it was, and what it is; None where there was or is no such thing."""

    name: str
    was: str | None
    now: str | None


def changes_of(
    before: Mapping[str, Any], after: Mapping[str, Any], usual: Mapping[str, Any] | None = None
) -> list[Changed]:
    """Each field that changed, in the order of the row.

    Where nothing was before, only what says something is told: neither what is empty nor what is as ``usual``.
    """
    told = after if before else {name: value for name, value in after.items() if _says(name, value, usual or {})}
    return [
        Changed(
            name.replace("_", " "),
            value_words(before[name]) if name in before else None,
            value_words(told[name]) if name in told else None,
        )
        for name in {**before, **told}
    ]


def in_one_line(changes: Sequence[Changed]) -> str:
    """All of them: ``state open → discarded, cap 5 → none``; of what is new, ``weight 4, cap 2``."""
    return ", ".join(f"{change.name} {_from_to(change)}" for change in changes)


def value_words(value: Any) -> str:
    """A field's value as people read it, no longer than fits."""
    text = _words(value)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


def _says(name: str, value: Any, usual: Mapping[str, Any]) -> bool:
    # By identity: to Python, 0 is False too, and a 0 says something.
    is_empty = value is None or value is False or value in ("", [], {})
    return not is_empty and not (name in usual and usual[name] == value)


def _from_to(change: Changed) -> str:
    if change.now is None:
        return f"{change.was}, gone"
    return change.now if change.was is None else f"{change.was} → {change.now}"


def _words(value: Any) -> str:
    match value:
        case None | "":
            return NOTHING
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:g}"
        case str():
            return value
        case list() if all(isinstance(each, str) for each in value):
            return ", ".join(value) or NOTHING
        case dict() if all(isinstance(each, str | int | None) for each in value.values()):
            return ", ".join(f"{name} {_words(each)}" for name, each in value.items()) or NOTHING
    return json.dumps(value, ensure_ascii=False, default=str)
