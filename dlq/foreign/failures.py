"""What the text of an exception says, as RQ stores it: class, message, frames, and why the job gave up. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from dlq.models import Reason

_FRAME = re.compile(r'^  File "[^"\n]*", line \d+, in .*$')
_HEAD = "Traceback (most recent call last):"
_LINKS = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
_RAISED = re.compile(r"([A-Za-z_][\w.]*)(?::[ \n]?(.*))?", re.DOTALL)
_MARKS = re.compile(r"^    [ ~^]+$")
_REPEATED = re.compile(r"^  \[Previous line repeated \d+ more times?\]$")

# What RQ itself writes where there is no traceback.
_LOST = ("AbandonedJobError", "Work-horse terminated unexpectedly", "Work-horse process was terminated unexpectedly")
_TIMEOUTS = ("JobTimeoutException", "HorseMonitorTimeoutException")
_UNRESOLVABLE = ("DeserializationError", "ModuleNotFoundError", "ImportError")
_NO_FUNCTION = "Invalid attribute name"


class Failure(NamedTuple):
    """``error_class`` with its module, where the text has it; ``error``: what it said."""

    reason: Reason
    error_class: str
    error: str
    traceback: str


def failure_of(text: str, hide: Callable[[str], str] = lambda text: text) -> Failure:
    """What the text says; ``hide`` is applied to all that was said, and to no frame or line of code."""
    told = text.strip("\n")
    blocks = _messages(told)
    if blocks is None:
        return Failure(_lost_or_spent(told), _lost_class(told), hide(told), "")
    last = _RAISED.fullmatch(blocks[-1])
    error_class, error = (last[1], (last[2] or "").strip()) if last else ("", blocks[-1])
    return Failure(_reason(error_class, error, told), error_class, hide(error), _rebuilt(told, hide))


def _messages(text: str) -> list[str] | None:
    """What each error of the chain said, its class first; None of what is no traceback."""
    said = ["\n".join(block) for is_said, block in _parts(text) if is_said]
    said = [block.strip("\n") for block in said if block.strip()]
    return said if said and _HEAD in text else None


def _rebuilt(text: str, hide: Callable[[str], str]) -> str:
    parts = []
    for is_said, lines in _parts(text):
        block = "\n".join(lines)
        parts.append(_hidden(block, hide) if is_said else block)
    return "\n".join(parts)


def _hidden(block: str, hide: Callable[[str], str]) -> str:
    raised = _RAISED.fullmatch(block.strip("\n"))
    if raised is None or not raised[2]:
        # A class alone is nobody's secret; whatever else it is may be.
        return block if raised else hide(block)
    return f"{raised[1]}: {hide(raised[2])}" + "\n" * (len(block) - len(block.rstrip("\n")))


def _parts(text: str) -> list[tuple[bool, list[str]]]:
    """The lines in blocks: (whether the block is what an error said, its lines)."""
    parts: list[tuple[bool, list[str]]] = []
    said, was_frame = True, False
    for line in text.split("\n"):
        if line == _HEAD or line in _LINKS:
            is_said, said, was_frame = False, line in _LINKS, False
        elif said:
            is_said = True
        elif _FRAME.match(line):
            is_said, was_frame = False, True
        elif was_frame and (line.startswith("    ") or _REPEATED.match(line)):
            # The line of code, and the marks below it.
            is_said, was_frame = False, bool(_MARKS.match(line)) or not line.startswith("    ") or _is_code(parts)
        else:
            is_said = said = True
        if not parts or parts[-1][0] != is_said:
            parts.append((is_said, []))
        parts[-1][1].append(line)
    return parts


def _is_code(parts: list[tuple[bool, list[str]]]) -> bool:
    """Whether the line before was a frame's, so that this one is its code, and marks may follow."""
    return bool(parts) and not parts[-1][0] and bool(_FRAME.match(parts[-1][1][-1]))


def _reason(error_class: str, error: str, text: str) -> Reason:
    name = error_class.rpartition(".")[2]
    if name in _TIMEOUTS:
        return Reason.TIMEOUT
    if name in _UNRESOLVABLE and _in_rq(text):
        return Reason.UNRESOLVABLE
    if error.startswith(_NO_FUNCTION) and _in_rq(text):
        return Reason.UNRESOLVABLE
    return _lost_or_spent(f"{name} {error}") if name in _LOST else Reason.EXHAUSTED


def _in_rq(text: str) -> bool:
    """Whether RQ did not find the function, or could not read what it was to be called with: no job ran."""
    return "in import_attribute" in text or "DeserializationError" in text


def _lost_or_spent(text: str) -> Reason:
    return Reason.WORKER_LOST if any(mark in text for mark in _LOST) else Reason.EXHAUSTED


def _lost_class(text: str) -> str:
    return "WorkerLost" if _lost_or_spent(text) is Reason.WORKER_LOST else ""
