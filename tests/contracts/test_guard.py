"""A contract's guard: from the arguments to the key of ``once``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jobops import OnceBusy, job
from jobops.contracts import enqueuer
from jobops.contracts.returned import NOT_KEPT
from jobops.contracts.runner import ContractRunner
from jobops.engine.payload import decode_result
from jobops.engine.records import Outcome
from jobops.engine.timeouts import SoftTimeout
from tests.contracts.samples import GOOD, claimed, fresh_name

PROMISES = {name: value for name, value in GOOD.items() if name != "idempotent"}


class Book:
    """What was done under which key; stands in for the database."""

    def __init__(self) -> None:
        self.done: dict[str, Any] = {}
        self.asked: list[tuple[str, str]] = []

    def __call__(self, key: str, on_unknown: str, call: Callable[[], Any]) -> Any:
        self.asked.append((key, on_unknown))
        if key not in self.done:
            self.done[key] = call()
        return self.done[key]


@pytest.fixture
def book(monkeypatch: pytest.MonkeyPatch) -> Book:
    book = Book()
    monkeypatch.setattr(enqueuer, "_once", book)
    return book


def guarded(guard: Any, func: Any, **contract: Any) -> Callable[..., Outcome]:
    job_type = job(name=fresh_name(), guard=guard, **{**PROMISES, **contract})(func).job_type
    return lambda *args, **fields: ContractRunner().run(claimed(job_type, *args, **fields), SoftTimeout())


def test_a_second_run_with_the_same_key_returns_what_the_first_one_did(book: Book) -> None:
    ran: list[int] = []

    def charge(order: int, note: str = "") -> dict[str, int]:
        ran.append(order)
        return {"order": order}

    run = guarded(lambda order, note="": f"charge:{order}", charge, on_unknown="dead")
    for outcome in (run(42), run(42, kwargs={"note": "again"}), run(43)):
        assert outcome.kind == "succeeded"
    assert ran == [42, 43]
    assert decode_result(run(42).result) == {"order": 42}
    assert book.asked[0] == ("charge:42", "dead")


@pytest.mark.parametrize("key", [None, "", 42, "x" * 201, "a\0b", b"key", ["a"]])
def test_a_guard_that_gives_no_key_is_poison_and_nothing_runs(book: Book, key: Any) -> None:
    ran: list[int] = []
    outcome = guarded(lambda: key, lambda: ran.append(1))()
    assert (outcome.cause, outcome.error_class) == ("poison", "jobops.Poison")
    assert "give text of 1 to 200 printable characters" in outcome.error
    assert (ran, book.asked) == ([], [])


def test_a_guard_that_fails_is_poison_and_says_what_it_raised(book: Book) -> None:
    outcome = guarded(lambda order: 1 / 0, lambda order: None)(7)
    assert outcome.cause == "poison"
    assert "raised ZeroDivisionError: division by zero" in outcome.error
    outcome = guarded(lambda: "k", lambda order: None)(7)
    assert "raised TypeError" in outcome.error


def test_a_failure_within_it_is_judged_by_the_contract_and_shows_the_jobs_own_frames_only(book: Book) -> None:
    def fails() -> None:
        raise ValueError("bad")

    outcome = guarded(lambda: "k", fails)()
    assert (outcome.cause, outcome.error) == ("error", "bad")
    assert "in fails" in outcome.traceback
    assert "jobops/contracts" not in outcome.traceback
    assert guarded(lambda: "k2", fails, poison_on=ValueError)().cause == "poison"


def test_what_nobody_runs_is_not_recorded_as_done(book: Book) -> None:
    async def never() -> None: ...

    outcome = guarded(lambda: "k", lambda: never())()
    assert outcome.cause == "poison"
    assert "returned a coroutine that nobody runs" in outcome.error
    assert book.done == {}


def test_a_result_that_was_not_kept_is_not_taken_for_none(book: Book) -> None:
    book.done["k"] = NOT_KEPT
    assert guarded(lambda: "k", lambda: 1)() == Outcome.succeeded(b"")


def test_without_an_installation_the_job_fails_with_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enqueuer, "_once", None)
    assert "add 'jobops' to INSTALLED_APPS" in guarded(lambda: "k", lambda: 1)().error


def test_while_another_run_is_at_it_the_job_is_postponed(monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(key: str, on_unknown: str, call: Callable[[], Any]) -> Any:
        raise OnceBusy(key, "job-9", 7.5)

    monkeypatch.setattr(enqueuer, "_once", busy)
    outcome = guarded(lambda: "k", lambda: 1)()
    assert (outcome.kind, outcome.cause, outcome.delay_ms) == ("postponed", "", 7_500)
    assert (outcome.error_class, outcome.error) == (
        "jobops.OnceBusy",
        "once 'k': job job-9 is at it; this one comes again",
    )
