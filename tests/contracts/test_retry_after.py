"""Statuses and `Retry-After`, read from exceptions by their shape."""

from __future__ import annotations

import email.message
import io
import time
import urllib.error
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest

from jobops.contracts.errors import RetryLater
from jobops.contracts.http_errors import retry_after_of, status_of
from jobops.contracts.retry_after import LONGEST_FROM_SERVER_S


class WithResponse(Exception):
    """As requests and httpx raise it."""

    def __init__(self, response: Any) -> None:
        super().__init__("the server refused")
        self.response = response


def requests_error(status: int, **headers: Any) -> WithResponse:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return WithResponse(SimpleNamespace(status_code=status, headers=named))


def urllib_error(status: int, retry_after: str) -> urllib.error.HTTPError:
    headers = email.message.Message()
    headers["Retry-After"] = retry_after
    return urllib.error.HTTPError("http://localhost/", status, "no", headers, io.BytesIO())


def http_date(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


def test_a_status_is_found_on_the_error_or_on_its_response() -> None:
    assert status_of(requests_error(503)) == 503
    assert status_of(WithResponse(SimpleNamespace(status=502))) == 502
    with urllib_error(404, "1") as error:
        assert status_of(error) == 404
    for name in ("status", "status_code", "code"):
        error_with = ValueError("x")
        setattr(error_with, name, 418)
        assert status_of(error_with) == 418


@pytest.mark.parametrize("value", ["503", None, True, 7, 1000, lambda: 503, 200.0])
def test_what_is_no_status_is_not_taken_for_one(value: Any) -> None:
    error = ValueError("x")
    error.status = value  # type: ignore[attr-defined]
    assert status_of(error) is None


def test_the_exit_status_of_a_process_is_no_http_status() -> None:
    assert status_of(SystemExit(404)) is None


def test_an_error_that_fights_being_read_has_neither() -> None:
    class Hostile(Exception):
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

    assert status_of(Hostile()) is None
    assert retry_after_of(Hostile()) is None


def test_retry_after_is_read_as_seconds_and_as_a_date() -> None:
    assert retry_after_of(requests_error(429, Retry_After="120")) == 120
    assert retry_after_of(requests_error(429, retry_after="7")) == 7
    assert retry_after_of(requests_error(429, Retry_After=b"8")) == 8
    assert retry_after_of(requests_error(429, Retry_After=9)) == 9
    assert retry_after_of(requests_error(429, Retry_After=http_date(60))) == pytest.approx(60, abs=2)
    with urllib_error(503, "30") as error:
        assert retry_after_of(error) == 30


@pytest.mark.parametrize("text", ["", "soon", "-5", "1.5", "Mon, 99 Foo 2020", "\x00", "9" * 50])
def test_an_unreadable_retry_after_asks_for_nothing(text: str) -> None:
    assert retry_after_of(requests_error(429, Retry_After=text)) is None


def test_a_date_in_the_past_asks_for_no_wait_and_a_far_one_for_a_day() -> None:
    assert retry_after_of(requests_error(429, Retry_After=http_date(-60))) == 0
    assert retry_after_of(requests_error(429, Retry_After="999999999")) == LONGEST_FROM_SERVER_S
    assert retry_after_of(requests_error(429, Retry_After=http_date(10**8))) == LONGEST_FROM_SERVER_S


@pytest.mark.parametrize(
    ("after", "seconds"),
    [("30s", 30), (45, 45), (timedelta(minutes=2), 120), ("17", 17), (0, 0), ("2d", 172_800)],
)
def test_a_job_says_itself_when_to_come_back(after: Any, seconds: float) -> None:
    assert RetryLater("busy", after=after).after == seconds


def test_a_job_may_give_a_moment() -> None:
    assert RetryLater(after=datetime.now(UTC) + timedelta(hours=1)).after == pytest.approx(3600, abs=2)
    assert RetryLater(after=datetime.fromtimestamp(time.time() - 60, UTC)).after == 0
    assert RetryLater(after=http_date(90)).after == pytest.approx(90, abs=2)
    assert RetryLater("no word").after is None


def test_a_headers_text_that_a_job_passes_on_counts_for_a_day_at_most() -> None:
    assert RetryLater(after="999999999999").after == LONGEST_FROM_SERVER_S
    assert RetryLater(after=http_date(10**8)).after == LONGEST_FROM_SERVER_S


@pytest.mark.parametrize("after", ["soon", -1, datetime(2020, 1, 1), object()])  # noqa: DTZ001 - naive on purpose
def test_a_moment_that_cannot_be_read_is_refused(after: Any) -> None:
    with pytest.raises(ValueError, match="give a"):
        RetryLater(after=after)
