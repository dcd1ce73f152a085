"""What a second run of a dead job would mean: the sentence beside the replay button, and which of many to look at."""

from dataclasses import dataclass
from typing import Literal

from django.db.models import Q

from dlq.models import DeadLetter, Reason
from dlq.redirects import type_of
from jobops.contracts import registry

Tone = Literal["ok", "warn", "danger"]

# How an attempt ends that may have done its work all the same: it was cut off, and did not fail by itself.
_CUT_OFF = {"worker_lost": "worker lost", "timeout": "timed out"}


# What a guarded run says whose effect may have happened without a record of it.
_UNKNOWN = frozenset({"jobops.OutcomeUnknown", "jobops.EffectNotRecorded"})
_NOBODY_KNOWS = "nobody knows how an earlier run ended"


def is_unknown(error_class: str) -> bool:
    """Whether the run ended with this: nobody knows whether an earlier one took effect."""
    return error_class in _UNKNOWN


def may_have_run(prefix: str = "") -> Q:
    """Letters whose work may be done already, as a filter of what reaches them by ``prefix``: nobody knows how an
    earlier run ended; or the last one was cut off, and no contract says that a second one is safe."""
    unknown = Q((f"{prefix}error_class__in", sorted(_UNKNOWN)))
    cut_off = Q((f"{prefix}reason__in", sorted(_CUT_OFF)))
    return unknown | cut_off & ~Q((f"{prefix}job_type__in", sorted(_safe_types())))


def _safe_types() -> set[str]:
    types = [job_type for job_type in registry.all_types() if job_type.idempotent]
    return {name for job_type in types for name in (job_type.name, *job_type.aliases)}


@dataclass(frozen=True, slots=True)
class SecondRun:
    """``text``: one sentence for people; ``tone``: how much care it asks for."""

    tone: Tone
    text: str


def second_run(letter: DeadLetter) -> SecondRun:
    """What a replay of the letter means: safe by its contract, perhaps a second time, or nobody knows."""
    job_type = type_of(letter)
    unknown = is_unknown(letter.error_class)
    if unknown and (job_type is None or job_type.guard is None):
        return SecondRun("danger", f"May have taken effect: {_NOBODY_KNOWS}. A replay does it again.")
    if job_type is not None and job_type.idempotent and not unknown:
        return SecondRun("ok", f"Safe to repeat because {job_type.idempotent.rstrip('.')}.")
    cut_off = _cut_off(letter)
    if job_type is not None and job_type.guard is not None:
        if registry.resolve(letter.job_type) is None:
            # Records are kept by job type; an alias would find those of the old name, a redirect does not.
            why = f"{job_type.name} has no record of what ran under the old name"
            return SecondRun("danger", f"May have taken effect: {why}.")
        if not cut_off and not unknown:
            return SecondRun("ok", "Safe to repeat because its guard keeps what is done from being done again.")
        because = cut_off or _NOBODY_KNOWS
        text = f"May have taken effect: {because}. A replay does it again unless that is on record."
        return SecondRun("danger", text)
    if cut_off:
        return SecondRun("danger", f"May have taken effect: {cut_off}.")
    if job_type is None:
        return SecondRun("warn", "Whether it is safe to repeat is not known: its job type is not registered here.")
    return SecondRun("warn", "May repeat a part of its work: its contract does not say why a second run is safe.")


def _cut_off(letter: DeadLetter) -> str:
    """The newest attempt that was cut off, in words."""
    for attempt in reversed(letter.history):
        ended = _CUT_OFF.get(str(attempt.get("outcome") or ""))
        if ended:
            replay = f" of replay {attempt['replay']}" if attempt.get("replay") else ""
            return f"{ended} in attempt {attempt.get('n')}{replay}"
    if letter.reason in (Reason.WORKER_LOST, Reason.TIMEOUT):
        return f"{_CUT_OFF[letter.reason]} in attempt {letter.attempts}"
    return ""
