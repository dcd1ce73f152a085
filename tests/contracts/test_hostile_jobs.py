"""Whatever a job does to the interpreter is an outcome of that job, and never the runner's end."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from jobops import JobTimeout, RetryLater, job
from jobops.contracts import runner
from jobops.contracts.runner import ContractRunner
from jobops.engine.records import Outcome
from jobops.engine.timeouts import SoftTimeout
from tests.contracts.samples import GOOD, claimed, fresh_name


def run(func: Callable[..., Any], **fields: Any) -> Outcome:
    job_type = job(**GOOD, name=fresh_name())(func).job_type
    return ContractRunner().run(claimed(job_type, **fields), SoftTimeout())


def raising(error: BaseException) -> Callable[[], None]:
    def fails() -> None:
        raise error

    return fails


class Mute(Exception):
    def __str__(self) -> str:
        raise KeyboardInterrupt

    __repr__ = __str__


def test_a_broad_except_does_not_hide_a_time_out() -> None:
    """RT-01"""

    def swallows_exceptions() -> str:
        try:
            time.sleep(10)
        except Exception:  # noqa: BLE001
            return "ok"
        return "ok"

    outcome = run(swallows_exceptions, timeout_ms=50)
    assert (outcome.kind, outcome.cause) == ("failed", "timeout")


def test_a_job_that_catches_its_time_out_is_still_timed_out() -> None:
    """RT-01"""

    def swallows_all() -> str:
        try:
            time.sleep(10)
        except BaseException:  # noqa: BLE001
            return "ok"
        return "ok"

    def raises_another() -> None:
        try:
            time.sleep(10)
        except JobTimeout:
            raise ValueError("cleaning up failed") from None

    returned = run(swallows_all, timeout_ms=50)
    assert (returned.kind, returned.cause, returned.error_class) == ("failed", "timeout", "JobTimeout")
    assert "the job caught that and returned" in returned.error
    raised = run(raises_another, timeout_ms=50)
    assert (raised.kind, raised.cause, raised.error_class) == ("failed", "timeout", "JobTimeout")
    assert "raised ValueError: cleaning up failed" in raised.error


@pytest.mark.parametrize(
    "error",
    [SystemExit(0), SystemExit("bye"), KeyboardInterrupt(), GeneratorExit(), MemoryError(), StopIteration(),
     BaseExceptionGroup("all", [SystemExit(1), ValueError()]), BaseException("bare")],
)  # fmt: skip
def test_what_would_end_a_process_ends_the_attempt(error: BaseException) -> None:
    outcome = run(raising(error))
    assert (outcome.kind, outcome.cause) == ("failed", "error")
    assert outcome.error_class == type(error).__name__
    assert outcome.traceback


def test_sys_exit_and_endless_recursion_are_errors() -> None:
    def recurses(depth: int = 0) -> int:
        return recurses(depth + 1) + 1

    assert run(lambda: sys.exit(0)).error_class == "SystemExit"
    outcome = run(recurses)
    assert outcome.error_class == "RecursionError"
    assert "in recurses" in outcome.traceback


def test_an_error_whose_text_raises_is_recorded() -> None:
    outcome = run(raising(Mute()))
    assert outcome.cause == "error"
    assert outcome.error_class.endswith("Mute")
    assert "raised KeyboardInterrupt" in outcome.error


def test_an_error_of_a_cause_and_context_that_loop_is_recorded() -> None:
    def loops() -> None:
        first, second = ValueError("first"), ValueError("second")
        first.__cause__, second.__cause__ = second, first
        raise first

    assert run(loops).error == "first"


def test_when_even_reading_the_error_fails_the_attempt_still_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(error: BaseException) -> str:
        raise MemoryError

    monkeypatch.setattr(runner, "class_of", no_memory)
    outcome = run(raising(ValueError("x")))
    assert (outcome.kind, outcome.cause, outcome.error_class) == ("failed", "error", "ValueError")
    assert "MemoryError" in outcome.error
    assert outcome.delay_ms <= 1_000


def test_a_huge_error_is_capped() -> None:
    """PX-04"""
    outcome = run(raising(ValueError("z" * 2_000_000)))
    assert len(outcome.error) <= 4 * 1024
    assert len(outcome.traceback) <= 64 * 1024


class Loose:
    pass


class Fights(list):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        raise RuntimeError("not read")


@pytest.mark.parametrize("value", [{1}, b"x", Loose(), float("nan"), (1,), Fights(), {1: 2}])
def test_a_result_that_cannot_be_kept_does_not_undo_the_success(value: Any, caplog: pytest.LogCaptureFixture) -> None:
    """PX-07"""
    with caplog.at_level(logging.WARNING):
        outcome = run(lambda: value)
    assert (outcome.kind, outcome.result) == ("succeeded", b"")
    assert "its result is not kept" in caplog.text


def test_a_result_that_contains_itself_does_not_undo_the_success() -> None:
    """PX-07"""
    loop: list[Any] = []
    loop.append(loop)
    assert run(lambda: loop).kind == "succeeded"


def test_typed_results_are_kept() -> None:
    assert b"decimal" in run(lambda: Decimal("1.10")).result


def test_a_body_that_was_never_run_is_no_success() -> None:
    async def coroutine() -> None: ...

    async def async_generator() -> Any:
        yield 1

    for func in (coroutine, async_generator, lambda: (n for n in range(3))):
        outcome = run(func)
        assert (outcome.kind, outcome.cause) == ("failed", "poison")
        assert "nobody runs" in outcome.error
    assert run(lambda: asyncio.run(coroutine())).kind == "succeeded"


def test_a_started_generator_that_fights_its_end_is_an_outcome_too() -> None:
    def stubborn() -> Any:
        try:
            yield 1
        finally:
            raise KeyboardInterrupt

    def started() -> Any:
        generator = stubborn()
        next(generator)
        return generator

    outcome = run(started)
    assert (outcome.kind, outcome.cause) == ("failed", "poison")


def test_a_result_that_lies_about_its_class_does_not_undo_the_success() -> None:
    class Liar:
        @property
        def __class__(self) -> Any:  # type: ignore[override]
            raise KeyboardInterrupt

    assert run(Liar).result == b""


@pytest.mark.parametrize(
    "after", [datetime(8999, 1, 1, tzinfo=UTC), "30d", 8 * 86_400, float("nan")], ids=["year", "30d", "8d", "nan"]
)
def test_a_job_is_parked_for_a_week_at_most(after: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A slip in a date must not put it off for thousands of years, with its key and its place in the depth."""
    error = RetryLater("busy")
    error.after = after if isinstance(after, float) else RetryLater(after=after).after
    with caplog.at_level(logging.WARNING):
        outcome = run(raising(error))
    assert outcome.delay_ms == 7 * 86_400_000
    assert "asked to be run again" in caplog.text
