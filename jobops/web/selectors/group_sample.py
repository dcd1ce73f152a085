"""A letter that stands for its cause: its error, where it was raised, and its arguments, as on its own page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dlq.foreign.homes import Home, homes_of
from dlq.models import DeadLetter
from dlq.payloads import Shown
from jobops.contracts import masking
from jobops.web import tracebacks
from jobops.web.selectors.letter import own_packages
from jobops.web.selectors.letter_arguments import Arguments, arguments_of
from tenants.access import AnyUser, masked, sees_all


@dataclass(frozen=True, slots=True)
class Sample:
    """``arguments`` None: they cannot be read. ``stacks``: of the traceback, for staff. ``home``: of a job of
    another installation, where it runs."""

    letter: DeadLetter
    error: str
    traceback: str
    stacks: Sequence[tracebacks.Stack]
    arguments: Arguments | None
    is_masked: bool
    home: Home | None


def sample_of(user: AnyUser, letter: DeadLetter) -> Sample:
    """The letter as this person may read it: whoever calls knows that they may see it."""
    hide = masked(user, letter.tenant)
    shown = Shown(letter, mask=hide)
    told = sees_all(user) and letter.traceback.strip() != letter.error.strip()
    trace = masking.masked_text(shown.text(letter.traceback)) if told else ""
    return Sample(
        letter,
        masking.masked_text(shown.error),
        trace,
        tracebacks.parse(trace, own_packages()),
        arguments_of(shown.argument_list()),
        hide,
        homes_of([letter]).get(letter.pk),
    )
