"""A death's fingerprint: two with one fingerprint died of one cause. Pure, and the same in every process.

Made of the job type, the error's class, the frames of our own code (files and functions, no lines) and what of the
message is no detail of this death. What ends from outside, wherever it was just then, has no frames: a lost worker, a
time-out, a type that is not registered. A contract may say instead what is one cause.
"""

from __future__ import annotations

import hashlib
import logging
from typing import NamedTuple

from dlq.causes.frames import Trace, trace_of
from dlq.causes.volatile import GAP, lasting, texts_in
from dlq.models import DeadLetter, Reason
from dlq.payloads import Shown
from dlq.text import one_line

log = logging.getLogger(__name__)

TITLE_LENGTH = 300
_VERSION = "1"
"""Of what a fingerprint is made of: another one makes new groups of old causes."""

_FROM_OUTSIDE = (Reason.WORKER_LOST, Reason.TIMEOUT, Reason.UNRESOLVABLE)
_NO_TRACE = Trace((), ())
# Errors whose whole message is the name of something.
_NAMES = frozenset({"KeyError", "TemplateDoesNotExist"})
_SHORT = 12


class Print(NamedTuple):
    """``key``: 64 hexadecimal digits; ``title``: the error in one line for people, what varies taken out, never
    empty; ``culprit``: the innermost frame of our own code, in words."""

    key: str
    title: str
    culprit: str


def print_of(letter: DeadLetter, shown: Shown | None = None) -> Print:
    """The letter's fingerprint, by what it says now. ``shown``: the letter's, from whom has it. Never raises."""
    try:
        return _print_of(letter, Shown(letter) if shown is None else shown)
    except Exception:  # whatever a record holds, its death must be stored
        log.exception("the cause of the death of job %s is told by its class only", letter.job_id)
        name = letter.error_class or letter.reason
        return Print(_key(letter.job_type, name), one_line(name, TITLE_LENGTH) or "unknown error", "")


def _print_of(letter: DeadLetter, shown: Shown) -> Print:
    outside = letter.reason in _FROM_OUTSIDE
    trace = _NO_TRACE if outside else trace_of(letter.traceback, _package(shown))
    own = _own_key(letter, shown)
    if own:
        return Print(_key(letter.job_type, "by contract", own), one_line(own, TITLE_LENGTH), trace.culprit[:300])
    name = letter.error_class or str(letter.reason)
    said = "" if shown.hides_error else _said(letter, shown)
    key = _key(letter.job_type, name, *trace.raised, "at", *trace.frames, "says", said)
    return Print(key, _title(letter, said), trace.culprit[:300])


def _said(letter: DeadLetter, shown: Shown) -> str:
    values = texts_in([shown.stored[0], shown.stored[1]]) if shown.stored is not None else ()
    return lasting(shown.error, values, is_name=_last(letter.error_class) in _NAMES)


def _title(letter: DeadLetter, said: str) -> str:
    """What was said; with the class before it where that alone says little."""
    name = _last(letter.error_class) or Reason(letter.reason).label
    words = said.replace(GAP, "").strip()
    if not words:
        return one_line(name, TITLE_LENGTH)
    return one_line(f"{name}: {said}" if len(words) < _SHORT or " " not in words else said, TITLE_LENGTH)


def _own_key(letter: DeadLetter, shown: Shown) -> str:
    """What the job's contract says is one cause, as a line without secrets; empty if it says nothing."""
    if shown.job_type is None or shown.job_type.fingerprint is None or shown.stored is None:
        return ""
    named = shown.job_type.named_arguments(*shown.stored)
    try:
        own = shown.job_type.fingerprint(letter.error_class, letter.error, named)
    except Exception as error:  # noqa: BLE001 - a job's author may raise anything
        log.warning("fingerprint: that of %s raised %s: %s", letter.job_type, type(error).__name__, error)
        return ""
    if own is not None and not isinstance(own, str):
        log.warning("fingerprint: that of %s gave %r, which is no text", letter.job_type, type(own).__name__)
    return one_line(shown.text(own).strip(), TITLE_LENGTH) if isinstance(own, str) else ""


def _package(shown: Shown) -> str:
    if shown.job_type is None:
        return ""
    return str(getattr(shown.job_type.func, "__module__", "") or "").partition(".")[0]


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _key(*parts: str) -> str:
    told = "\x1f".join((_VERSION, *parts))
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
