"""A letter's arguments and errors as people may see them."""

import json
from dataclasses import dataclass
from typing import Any

from dlq.models import DeadLetter
from jobops.contracts import masking, registry
from jobops.engine.errors import InvalidJob
from jobops.engine.payload import decode


@dataclass(frozen=True, slots=True)
class MaskedTexts:
    """Where a letter tells at length what went wrong, without what is secret in its arguments."""

    traceback: str
    history: list[dict[str, Any]]


def shown_arguments(letter: DeadLetter) -> dict[str, Any] | None:
    """Arguments by name, with what is secret masked; None where there is nothing readable.

    Of a type that is no longer registered nobody knows what is secret: every value is masked.
    """
    stored = _stored(letter.payload)
    if stored is None:
        return None
    shown = masking.shown_arguments(registry.resolve(letter.job_type), *stored)
    return {argument.name: argument.value for argument in shown}


def shown_error(letter: DeadLetter) -> str:
    """The letter's error, masked."""
    return masking.masked_text(letter.error, secrets_in(letter.job_type, letter.payload))


def shown_texts(letter: DeadLetter) -> MaskedTexts:
    """The letter's traceback and history, masked."""
    secrets = secrets_in(letter.job_type, letter.payload)
    return MaskedTexts(
        traceback=masking.masked_text(letter.traceback, secrets),
        history=[
            {**attempt, "error": masking.masked_text(str(attempt.get("error") or ""), secrets)}
            for attempt in letter.history
        ],
    )


def secrets_in(job_type: str, payload: str) -> list[str]:
    """The values to hide of a dead letter, whose arguments are stored as JSON text; none if that cannot be read."""
    stored = _stored(payload)
    return masking.secrets_of(registry.resolve(job_type), *stored) if stored is not None else []


def _stored(payload: str) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    if not payload:
        return None
    try:
        stored = json.loads(payload)
        _name, args, kwargs = decode(json.dumps(["", None, stored["args"], stored["kwargs"]]).encode())
    except (ValueError, KeyError, TypeError, RecursionError, InvalidJob):
        return None
    return args, kwargs
