"""What an edited replay changed, for people; and its secrets, which its error may repeat."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dlq.argument_text import text_of
from dlq.models import DeadLetter, ReplayRun
from dlq.payloads import secrets_in, stored_arguments
from dlq.redirects import Redirects, type_of
from jobops.contracts import masking, registry
from jobops.contracts.job_type import JobType
from jobops.contracts.secret_values import DOTS, Secrets

if TYPE_CHECKING:
    from dlq.endings import Ending


@dataclass(frozen=True, slots=True)
class Changed:
    """One argument that an edit changed. ``was`` and ``now``: JSON text, None where it is not given. ``masked``: a part
    of one of them is hidden, or all of it."""

    name: str
    was: str | None
    now: str | None
    masked: bool


def changes_of(
    letter: DeadLetter,
    payload: str,
    *,
    mask: bool = True,
    redirects: Redirects | None = None,
    replaced: Collection[str] = (),
) -> list[Changed]:
    """How these arguments differ from the letter's own, by name; masked as on the letter's page. No value that is
    hidden in one of the two shows in the other. ``redirects``: as ``type_of`` takes them; ``replaced``: names of what
    is told of also where nothing differs, so that nobody learns by that what was masked."""
    own = registry.resolve(letter.job_type) if letter.job_type else None
    target = own or type_of(letter, redirects)
    secrets = _both(letter.job_type, letter.payload, payload) if mask else masking.NO_SECRETS
    was, now = _named(target, letter.payload), _named(target, payload)
    found = []
    for name in dict.fromkeys([*was, *now]):
        is_told = mask and name in replaced
        if name in was and name in now and text_of(was[name]) == text_of(now[name]) and not is_told:
            continue
        shown = [_shown(own, target, name, each, secrets, mask=mask) for each in (was, now)]
        texts = [text for text, _ in shown]
        found.append(Changed(name, texts[0], texts[1], any(hidden for _, hidden in shown)))
    return found


def secrets_of_run(letter: DeadLetter, job_id: str) -> Secrets:
    """What to hide of the run that this job is: the secrets of the letter's arguments, and of those it was given."""
    payloads = letter.runs.filter(job_id=job_id).exclude(payload="").values_list("payload", flat=True)
    edited = payloads.first()
    return _both(letter.job_type, letter.payload, edited) if edited else secrets_in(letter.job_type, letter.payload)


def without_edits(letter: DeadLetter, run: ReplayRun, ending: Ending) -> Ending:
    """The ending of an edited run as its letter may tell it, which knows its own arguments only.

    What is secret in the others is masked for good, and how far it got is left out: the next plain replay runs with
    the letter's own arguments, and must not resume where those of the edit led.
    """
    if not run.payload:
        return ending
    secrets = secrets_in(letter.job_type, run.payload)
    told = ending.told
    if told is not None:
        told = copy.copy(told)
        told.error = masking.masked_text(told.error, secrets)
        told.traceback = masking.masked_text(told.traceback, secrets)
        told.history = [_attempt(attempt, secrets) for attempt in told.history]
        told.checkpoint, told.checkpoint_at = "", None
        told.progress_done = told.progress_total = None
    return replace(ending, told=told, error=masking.masked_text(ending.error, secrets))


def _attempt(attempt: Mapping[str, Any], secrets: Secrets) -> dict[str, Any]:
    return {**attempt, "error": masking.masked_text(str(attempt.get("error") or ""), secrets)}


def _both(job_type: str, one: str, other: str) -> Secrets:
    first = secrets_in(job_type, one) if one else masking.NO_SECRETS
    second = secrets_in(job_type, other)
    return Secrets([*first.values, *second.values], instead=first.instead or second.instead)


def _named(job_type: JobType | None, payload: str) -> dict[str, Any]:
    args, kwargs = stored_arguments(payload) or ((), {})
    if job_type is not None:
        return job_type.named_arguments(args, kwargs)
    return {**{f"args[{number}]": value for number, value in enumerate(args)}, **kwargs}


def _shown(
    own: JobType | None, target: JobType | None, name: str, values: Mapping[str, Any], secrets: Secrets, *, mask: bool
) -> tuple[str | None, bool]:
    """The value as text, and whether anything of it is hidden. Where the letter's own type is not known, all is."""
    if name not in values:
        return None, False
    if not mask:
        return text_of(values[name]), False
    if own is None or (target is not None and target.redacts(name)):
        return DOTS, True
    argument = masking.shown_arguments(own, (), {name: values[name]}, secrets=secrets)[0]
    return (DOTS if argument.value == DOTS else text_of(argument.value)), argument.masked
