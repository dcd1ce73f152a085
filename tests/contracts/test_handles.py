"""Handles: how a job stands, and what it returned."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from jobops import Failure, JobFailed, ResultGone, ResultNotKept, ResultNotReady
from jobops.contracts import enqueuer
from jobops.contracts.handles import Handle
from jobops.engine.payload import encode_result


@dataclass(frozen=True)
class Reading:
    state: str
    result: bytes | None = None
    error_class: str = ""
    error: str = ""
    reason: str = ""
    attempts: int = 0
    progress: tuple[int, int] | None = None


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[Reading | None]:
    """What the job looks like, one reading after the other; the last one stays."""
    given: list[Reading | None] = []
    monkeypatch.setattr(
        enqueuer, "_lookup", lambda job_id: None if job_id != "j" else given.pop(0) if len(given) > 1 else given[0]
    )
    return given


def test_the_result_is_waited_for(readings: list[Reading | None]) -> None:
    readings += [
        Reading("outbox"),
        Reading("queued"),
        Reading("started"),
        Reading("succeeded", encode_result([1, "a"])),
    ]
    assert Handle("j").status() == "outbox"
    assert Handle("j").result(timeout=5) == [1, "a"]


def test_a_job_that_returned_nothing_has_no_result(readings: list[Reading | None]) -> None:
    readings.append(Reading("succeeded", b"null"))
    assert Handle("j").result(timeout=1) is None


def test_a_result_that_was_not_kept_is_not_taken_for_none(readings: list[Reading | None]) -> None:
    readings.append(Reading("succeeded", b""))
    with pytest.raises(ResultNotKept, match="job j succeeded, and its result is not kept"):
        Handle("j").result(timeout=1)


@pytest.mark.parametrize("state", ["dead", "discarded", "cancelled"])
def test_a_failure_tells_how_it_ended(readings: list[Reading | None], state: str) -> None:
    readings.append(Reading(state, None, "ValueError", "bad", "exhausted", 3))
    assert Handle("j").failure() == Failure(state, "ValueError", "bad", "exhausted", 3)


@pytest.mark.parametrize("state", ["outbox", "queued", "waiting", "scheduled", "started", "succeeded"])
def test_there_is_no_failure_before_the_end_and_after_a_success(readings: list[Reading | None], state: str) -> None:
    readings.append(Reading(state, None, "ValueError", "of an attempt before"))
    assert Handle("j").failure() is None
    assert Handle("j").status() == state


def test_progress_is_what_was_told_last(readings: list[Reading | None]) -> None:
    readings += [Reading("queued"), Reading("started", progress=(400, 1_000))]
    assert Handle("j").progress() is None
    assert Handle("j").progress() == (400, 1_000)


def test_progress_and_failure_are_those_of_the_job_that_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = {"j": Reading("coalesced", reason="k"), "k": Reading("dead", None, "E", "x", "poison", 1, (3, 4))}
    monkeypatch.setattr(enqueuer, "_lookup", jobs.get)
    assert Handle("j").progress() == (3, 4)
    assert Handle("j").failure() == Failure("dead", "E", "x", "poison", 1)


def test_of_a_job_that_nothing_is_kept_of_there_is_nothing_to_tell(readings: list[Reading | None]) -> None:
    for ask in (Handle("gone").progress, Handle("gone").failure):
        with pytest.raises(ResultGone):
            ask()


@pytest.mark.parametrize("state", ["dead", "discarded", "cancelled"])
def test_a_job_that_ended_otherwise_says_how(readings: list[Reading | None], state: str) -> None:
    readings.append(Reading(state, None, "ValueError", "no such card"))
    with pytest.raises(JobFailed, match=rf"job j ended {state} \(ValueError: no such card\)") as failed:
        Handle("j").result()
    assert failed.value.state == state


def test_the_wait_ends_in_time(readings: list[Reading | None]) -> None:
    readings.append(Reading("started"))
    began = time.monotonic()
    with pytest.raises(TimeoutError) as late:
        Handle("j").result(timeout=0.05)
    assert isinstance(late.value, ResultNotReady)
    assert 0.05 <= time.monotonic() - began < 2
    with pytest.raises(ResultNotReady):
        Handle("j").result(timeout=0)


def test_a_job_of_which_nothing_is_kept_is_gone(readings: list[Reading | None]) -> None:
    for read in (Handle("other").status, Handle("other").result):
        with pytest.raises(ResultGone):
            read()


def test_a_job_that_was_coalesced_on_commit_has_the_first_ones_result(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = {"j": Reading("coalesced", reason="first"), "first": Reading("succeeded", encode_result(5))}
    monkeypatch.setattr(enqueuer, "_lookup", jobs.get)
    assert Handle("j").status() == "coalesced"
    assert Handle("j").result(timeout=1) == 5
