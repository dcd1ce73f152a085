"""Values of arguments as people read and type them: JSON, with what JSON has no form for under a name of its own.

A ``datetime`` is ``{"$datetime": "2026-11-30T09:00:00+00:00"}``; ``$date``, ``$decimal`` and ``$uuid`` likewise. An
object of the caller's own that would read as one of these stands in ``{"$dict": …}``. Nothing is evaluated or imported.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NoReturn
from uuid import UUID

from dlq.errors import InvalidAction
from jobops.engine.payload import MAX_DEPTH

MARK = "$"
DICT = "$dict"
ONE_LINE = 72
"""Characters of a list or an object that still stands in one line."""

_WRITTEN: dict[type, tuple[str, Callable[[Any], str]]] = {
    datetime: ("$datetime", datetime.isoformat),
    date: ("$date", date.isoformat),
    Decimal: ("$decimal", str),
    UUID: ("$uuid", str),
}
_READ: dict[str, tuple[Callable[[str], Any], str]] = {
    "$datetime": (datetime.fromisoformat, "2026-11-30T09:00:00+00:00"),
    "$date": (date.fromisoformat, "2026-11-30"),
    "$decimal": (Decimal, "12.50"),
    "$uuid": (UUID, "0c6f6a7e-8a52-4a5e-9b0e-2f7f3d1c9a10"),
}
KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", list: "a list",
         dict: "an object", type(None): "null", datetime: "a datetime", date: "a date", Decimal: "a decimal",
         UUID: "a UUID"}  # fmt: skip
"""What each type is called."""


def text_of(value: Any) -> str:
    """The value as text that ``value_of`` reads as the same value; every sign in it can be seen."""
    plain = _plain(value)
    text = json.dumps(plain, ensure_ascii=False)
    if len(text) > ONE_LINE and isinstance(plain, list | dict):
        text = json.dumps(plain, ensure_ascii=False, indent=2)
    # JSON has an escape for whatever stands in a string, and nothing else outside of one than what can be seen.
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)


def value_of(text: str, name: str) -> Any:
    """The value of an argument that is called ``name``. Raises ``InvalidAction`` with its name and what is wrong."""
    try:
        read = json.loads(text, object_pairs_hook=_once_each, parse_constant=_no_constant)
        return _typed(read, 0)
    except json.JSONDecodeError as error:
        quoted = '; text stands in quotes, such as "abc"' if text[:1].isalpha() else ""
        raise InvalidAction(name, f"is no JSON at line {error.lineno}, character {error.colno}{quoted}") from None
    except _Fault as fault:
        raise InvalidAction(name, str(fault)) from None
    except RecursionError:
        raise InvalidAction(name, f"is nested more than {MAX_DEPTH} levels deep") from None
    except ValueError:  # the only one left: digits that Python does not turn into a number
        raise InvalidAction(name, "holds a whole number of more than 4,000 digits; pass it as text") from None


def kind_of(value: Any) -> str:
    """What a value is, in words: ``a whole number``."""
    return KINDS.get(type(value), type(value).__name__)


class _Fault(ValueError):
    """What is wrong with a value, in words that follow its name."""


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        packed = {key: _plain(each) for key, each in value.items()}
        return {DICT: packed} if _is_marked(packed) else packed
    if type(value) in _WRITTEN:
        mark, write = _WRITTEN[type(value)]
        return {mark: write(value)}
    return value


def _typed(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise _Fault(f"is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, list):
        return [_typed(each, depth + 1) for each in value]
    if not isinstance(value, dict):
        return value
    if not _is_marked(value):
        return {key: _typed(each, depth + 1) for key, each in value.items()}
    mark, inner = next(iter(value.items()))
    if mark == DICT:
        if not isinstance(inner, dict):
            raise _Fault(f"{DICT} stands before an object")
        return {key: _typed(each, depth + 1) for key, each in inner.items()}
    if mark not in _READ:
        known = ", ".join([*_READ, DICT])
        raise _Fault(f'{mark[:40]} is none of {known}; an object with such a key is written {{"{DICT}": {{…}}}}')
    return _marked(mark, inner)


def _marked(mark: str, inner: Any) -> Any:
    read, example = _READ[mark]
    if isinstance(inner, str):
        try:
            return read(inner)
        except (ValueError, ArithmeticError):
            pass
    raise _Fault(f'{mark} must be text such as "{example}"')


def _is_marked(value: dict[str, Any]) -> bool:
    return len(value) == 1 and next(iter(value)).startswith(MARK)


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for number, (key, _) in enumerate(pairs) if key in dict(pairs[:number]))
        raise _Fault(f"has the key {twice[:40]} twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise _Fault(f"{name} is no JSON; pass null or text")
