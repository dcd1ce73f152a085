"""Letters for rows: read without their long texts, each with its error on one line, masked."""

from __future__ import annotations

from django.db.models import Case, QuerySet, When
from django.db.models.functions import Length

from dlq.models import DeadLetter
from dlq.payloads import shown_error
from dlq.text import one_line

# Never read for a list.
LONG_TEXTS = ("traceback", "payload", "payload_raw", "history")
LONGEST_ERROR = 240
LONGEST_PAYLOAD = 16_384
"""Characters of arguments that are looked through for what is secret in the error. Beside larger ones a row does not
show the error at all: to read fifty of them would take seconds."""


def light(letters: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
    """The same letters, to be read for rows: with their tenants, and of their arguments what ``error_of`` needs."""
    lean = letters.select_related("tenant").defer(*LONG_TEXTS).alias(size=Length("payload"))
    return lean.annotate(small_payload=Case(When(size__lte=LONGEST_PAYLOAD, then="payload")))


def error_of(letter: DeadLetter) -> str:
    """The error of a letter that ``light`` has read; where there is nothing to show, why the job gave up."""
    payload: str | None = vars(letter)["small_payload"]
    error = ""
    if payload is not None:
        letter.payload = payload
        error = one_line(shown_error(letter).strip(), LONGEST_ERROR)
    return error or letter.get_reason_display()
