"""A letter's arguments and errors as people may see them."""

import json
from dataclasses import dataclass
from typing import Any

from dlq.foreign.names import may_be_foreign
from dlq.models import DeadLetter
from dlq.own_errors import OWN_ERRORS
from jobops.contracts import masking, registry
from jobops.contracts.error_text import storable_json
from jobops.contracts.job_type import JobType
from jobops.contracts.masking import NO_SECRETS, UNKNOWN_SECRETS
from jobops.contracts.secret_values import DOTS, Secrets
from jobops.engine.errors import InvalidJob
from jobops.engine.payload import decode_result, unpack

Stored = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments."""


@dataclass(frozen=True, slots=True)
class MaskedTexts:
    """Where a letter tells at length what went wrong, without what is secret in its arguments."""

    traceback: str
    history: list[dict[str, Any]]


class Shown:
    """One letter for showing. Its arguments are read once, whatever is asked; ``mask=False``: for those who may see
    payloads unmasked.

    Where the arguments cannot be read, nobody knows what is secret: then texts are hidden as a whole.
    """

    def __init__(self, letter: DeadLetter, *, mask: bool = True) -> None:
        self.letter = letter
        self.mask = mask
        self.job_type = registry.resolve(letter.job_type) if letter.job_type else None
        self.stored = stored_arguments(letter.payload)
        self.secrets = _secrets_of(letter, self.job_type, self.stored) if mask else NO_SECRETS

    @property
    def error(self) -> str:
        """The letter's error."""
        return self.letter.error if self.letter.error in OWN_ERRORS else self.text(self.letter.error)

    @property
    def hides_error(self) -> bool:
        """Whether nothing of the error is shown."""
        return bool(self.secrets.instead) and self.letter.error not in OWN_ERRORS

    @property
    def texts(self) -> MaskedTexts:
        """The letter's traceback and history."""
        return MaskedTexts(
            traceback=self.text(self.letter.traceback),
            history=[
                {**attempt, "error": self.text(str(attempt.get("error") or ""))} for attempt in self.letter.history
            ],
        )

    def text(self, text: str) -> str:
        """Any text about the letter."""
        return masking.masked_text(text, self.secrets) if self.mask else text

    def argument_list(self) -> list[masking.Argument] | None:
        """The arguments in order, each with whether it is masked; None where there is nothing readable.

        Of a type that is no longer registered nobody knows what is secret: every value is masked.
        """
        if self.stored is None:
            return None
        return masking.shown_arguments(self.job_type, *self.stored, mask=self.mask, secrets=self.secrets)

    def arguments(self) -> dict[str, Any] | None:
        """The arguments by name; None where there is nothing readable."""
        listed = self.argument_list()
        return None if listed is None else {argument.name: argument.value for argument in listed}

    def checkpoint(self) -> Any:
        """What a replay resumes from, masked as the arguments are; None if there is none."""
        if not self.letter.checkpoint:
            return None
        try:
            value = decode_result(self.letter.checkpoint.encode(), "checkpoint")
        except InvalidJob:  # somebody wrote into the table
            return DOTS if self.mask else self.letter.checkpoint
        named = value if isinstance(value, dict) else {"checkpoint": value}
        listed = masking.shown_arguments(self.job_type, (), named, mask=self.mask, secrets=self.secrets)
        shown = {argument.name: argument.value for argument in listed}
        return shown if isinstance(value, dict) else shown["checkpoint"]

    def payload_json(self) -> str | None:
        """The arguments by name as JSON text, for a download; None where there is nothing readable."""
        arguments = self.arguments()
        if arguments is None:
            return None
        return storable_json(json.dumps(arguments, ensure_ascii=False, indent=2, default=str))


def payload_size(letter: DeadLetter) -> int:
    """How many bytes the arguments take, readable or not."""
    return len(letter.payload.encode("utf-8", "surrogatepass")) or len(letter.payload_raw or b"")


def shown_arguments(letter: DeadLetter) -> dict[str, Any] | None:
    """Arguments by name, with what is secret masked; None where there is nothing readable."""
    return Shown(letter).arguments()


def shown_error(letter: DeadLetter) -> str:
    """The letter's error, masked."""
    return Shown(letter).error


def secrets_of_letter(letter: DeadLetter) -> Secrets:
    """What to hide in any text about the letter."""
    return _secrets_of(letter, registry.resolve(letter.job_type), stored_arguments(letter.payload))


def secrets_in(job_type: str, payload: str) -> Secrets:
    """What to hide of a dead letter, whose arguments are stored as JSON text; everything, if that cannot be read."""
    return _secrets(registry.resolve(job_type), stored_arguments(payload))


def stored_arguments(payload: str) -> Stored | None:
    """The arguments of a letter as the job would get them, from its JSON text; None if that cannot be read."""
    if not payload:
        return None
    try:
        stored = json.loads(payload)
        _name, args, kwargs = unpack(["", None, stored["args"], stored["kwargs"]])
    except (ValueError, KeyError, TypeError, RecursionError, InvalidJob):
        return None
    return args, kwargs


def _secrets_of(letter: DeadLetter, job_type: JobType | None, stored: Stored | None) -> Secrets:
    if not letter.payload and may_be_foreign(letter.job_id):
        # Its arguments stay closed; what they hold was taken out of its texts when it was taken over.
        return NO_SECRETS
    return _secrets(job_type, stored)


def _secrets(job_type: JobType | None, stored: Stored | None) -> Secrets:
    return UNKNOWN_SECRETS if stored is None else masking.secrets_of(job_type, *stored)
