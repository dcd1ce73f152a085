"""Handles: how a job stands, and what it returned."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from jobops import JobFailed, ResultGone, ResultNotReady
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
    readings.append(Reading("succeeded", b""))
    assert Handle("j").result(timeout=1) is None


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
