"""What the text of an exception tells, and what of it may be shown."""

from __future__ import annotations

import traceback

import pytest

from dlq.foreign.failures import failure_of
from dlq.models import Reason

SECRET = "s3cr3t"


def text_of(raiser: object) -> str:
    try:
        raiser()  # type: ignore[operator]
    except BaseException as error:  # noqa: BLE001
        return "".join(traceback.format_exception(error))
    raise AssertionError("nothing was raised")


def hide(text: str) -> str:
    return "hidden"


def simple() -> None:
    raise ValueError(f"cannot take {SECRET}")


def many_lines() -> None:
    raise RuntimeError(f'first\n  File "{SECRET}", line 1, in x\n    {SECRET}\nlast {SECRET}')


def chained() -> None:
    try:
        simple()
    except ValueError as error:
        raise KeyError(SECRET) from error


def noted() -> None:
    error = TypeError(SECRET)
    error.add_note(f"while at {SECRET}")
    raise error


def deep(level: int = 30) -> None:
    if not level:
        raise OSError(5, SECRET)
    deep(level - 1)


def grouped() -> None:
    raise ExceptionGroup(f"two of {SECRET}", [ValueError(SECRET), TypeError(SECRET)])


def unreadable() -> None:
    compile(f"x = {SECRET} = (", SECRET, "exec")


@pytest.mark.parametrize("raiser", [simple, many_lines, chained, noted, deep, unreadable])
def test_what_was_said_is_hidden_wherever_it_stands(raiser: object) -> None:
    found = failure_of(text_of(raiser), hide)

    assert SECRET not in f"{found.error}{found.traceback}"
    # Code is no secret: it names variables only.
    assert "in text_of\n    raiser()" in found.traceback


def test_of_errors_in_a_group_nothing_is_told_that_was_said() -> None:
    found = failure_of(text_of(grouped), hide)

    assert SECRET not in f"{found.error}{found.traceback}"


@pytest.mark.parametrize(
    ("raiser", "error_class", "error"),
    [
        (simple, "ValueError", f"cannot take {SECRET}"),
        (chained, "KeyError", f"'{SECRET}'"),
        (noted, "TypeError", f"{SECRET}\nwhile at {SECRET}"),
        (deep, "OSError", f"[Errno 5] {SECRET}"),
    ],
)
def test_class_and_message_are_told_apart(raiser: object, error_class: str, error: str) -> None:
    found = failure_of(text_of(raiser))

    assert (found.error_class, found.error, found.reason) == (error_class, error, Reason.EXHAUSTED)


def test_a_traceback_without_secrets_stays_as_it_is() -> None:
    for raiser in (simple, chained, deep):
        text = text_of(raiser)
        assert failure_of(text).traceback == text.strip("\n")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Moved to FailedJobRegistry, due to AbandonedJobError, at 2026-01-01 00:00:00", Reason.WORKER_LOST),
        ("Work-horse terminated unexpectedly; waitpid returned 9 (signal 9); ", Reason.WORKER_LOST),
        ("", Reason.EXHAUSTED),
        ("something else", Reason.EXHAUSTED),
        (
            (
                'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\n'
                "rq.timeouts.JobTimeoutException: Task exceeded maximum timeout value (180 seconds)\n"
            ),
            Reason.TIMEOUT,
        ),
        (
            (
                'Traceback (most recent call last):\n  File "/rq/utils.py", line 1, in import_attribute\n    g()\n'
                "ModuleNotFoundError: No module named 'shop'\n"
            ),
            Reason.UNRESOLVABLE,
        ),
        (
            (
                'Traceback (most recent call last):\n  File "shop/jobs.py", line 1, in pay\n    import lost\n'
                "ModuleNotFoundError: No module named 'lost'\n"
            ),
            Reason.EXHAUSTED,
        ),
    ],
)
def test_why_it_gave_up(text: str, reason: Reason) -> None:
    assert failure_of(text).reason == reason
