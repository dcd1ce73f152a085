"""A job's hash may hold anything: whoever wrote it, its view is made and never fails."""

from __future__ import annotations

import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobops.engine.jobs import history_of, inflate, view_of
from jobops.engine.records import JobView

FIELDS = (
    "status origin data result exc_info description worker_name attempt:1 attempt:x jo_type jo_tenant jo_lane "
    "jo_attempt jo_max_attempts jo_enqueued jo_started jo_ended jo_due jo_error jo_error_class jo_reason jo_key "
    "jo_outcome jo_replay_of"
)
NAMES = st.sampled_from(FIELDS.split())
NUMBERS = st.integers().map(lambda n: str(n).encode()) | st.floats().map(lambda n: str(n).encode())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda part: (
        st.lists(part) | st.dictionaries(st.sampled_from(["n", "worker", "started_at", "ended_at", "x"]), part)
    ),
    max_leaves=8,
).map(lambda value: json.dumps(value).encode())
WORDS = st.sampled_from([b"queued", b"finished", b"failed", b"", b"acme.bulk", b"x\x9c", "٣".encode(), b"9" * 400])
VALUES = st.binary() | NUMBERS | JSON | WORDS | st.binary().map(zlib.compress)


@given(st.dictionaries(NAMES.map(str.encode) | st.binary(), VALUES))
def test_any_hash_has_a_view(fields: dict[bytes, bytes]) -> None:
    view = view_of("id", fields)
    assert isinstance(view, JobView)
    assert view.state
    assert view.attempts >= 0
    for text in (view.tenant, view.lane, view.error, view.traceback, view.worker):
        text.encode()


@pytest.mark.parametrize(
    "raw", [b"[" * 100_000, b'{"n":' * 50_000, b'{"n": 1e999}', b'{"n": "9' + b"9" * 5_000 + b'"}']
)
def test_an_attempt_that_cannot_be_read_is_left_out(raw: bytes) -> None:
    good = b'{"n":2,"worker":"w","started_at":1000,"ended_at":2000,"outcome":"error","error_class":"E","error":"x"}'
    (attempt,) = history_of({"attempt:1": raw, "attempt:2": good})
    assert (attempt.number, attempt.worker, attempt.outcome) == (2, "w", "error")


@pytest.mark.parametrize(
    "status", ["queued", "scheduled", "deferred", "started", "failed", "canceled", "stopped", "odd"]
)
def test_each_status_of_rq_has_a_word(status: str) -> None:
    words = {"deferred": "scheduled", "failed": "dead", "canceled": "cancelled", "stopped": "cancelled"}
    assert view_of("id", {b"status": status.encode()}).state == words.get(status, status)
    assert view_of("id", {}).state == "unknown"


def test_what_rq_deflated_is_shown_plain_and_only_so_much_of_it() -> None:
    assert inflate(zlib.compress(b"text")) == b"text"
    assert inflate(b"text") == b"text"
    assert inflate(b"") == b""
    bomb = zlib.compress(b"\0" * 50_000_000)
    assert len(inflate(bomb)) <= 4 * 1024 * 1024
