"""The texts and numbers that stand in a pickle, read off its instructions: nothing of it is ever built or run. Pure."""

from __future__ import annotations

import pickletools
from typing import NamedTuple

MOST_BYTES = 512 * 1024
MOST_STEPS = 100_000
"""Instructions that are looked at; of a pickle with more, nothing is known."""

_TEXT = "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"
_LINE_OF_TWO = "GLOBAL", "INST"


class Pickled(NamedTuple):
    """``function``: what stands where RQ writes the function's name; ``values``: all texts and numbers but that one,
    and but the names of classes."""

    function: str
    values: tuple[str, ...]


def read_pickle(data: bytes) -> Pickled | None:
    """What stands in a pickle; None for what is none, or is too large to be looked through."""
    if not data or len(data) > MOST_BYTES:
        return None
    found: list[str] = []
    recent: list[int] = []
    try:
        for step, (code, value, _place) in enumerate(pickletools.genops(data)):
            if step > MOST_STEPS:
                return None
            if code.name in _TEXT:
                recent.append(len(found))
                found.append(str(value))
            elif code.name == "STACK_GLOBAL":
                # The two before it name a class. (One that is named again is fetched, and stands here no more.)
                for place in recent[-2:]:
                    found[place] = ""
            elif code.name not in _LINE_OF_TWO:
                found += _forms(value)
            if code.name not in (*_TEXT, "MEMOIZE", "BINPUT", "LONG_BINPUT", "PUT", "FRAME", "PROTO"):
                recent.clear()
    except Exception:  # noqa: BLE001 - bytes that are no pickle fail in every way there is
        return None
    return Pickled(found[0] if found else "", tuple(value for value in found[1:] if value))


def _forms(value: object) -> list[str]:
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, bytes | bytearray):
        return [bytes(value).decode("utf-8", "backslashreplace"), repr(bytes(value))[2:-1]]
    if isinstance(value, str):  # protocol 0 and STRING write text in other ways too
        return [value]
    if isinstance(value, int) and abs(value) < 2**64:
        return [str(value)]
    return [repr(value)] if isinstance(value, float) else []
