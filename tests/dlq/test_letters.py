"""What a letter tells, read from any record however odd."""

from __future__ import annotations

import json
import zlib
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlq.letters import ERROR_LENGTH, TRACEBACK_LENGTH, identity, letter_of, placeholder_of
from dlq.models import Reason, State
from dlq.ownership import DEFAULT_DRAIN_SLA, LONGEST_DRAIN_SLA, drain_sla, owner_for
from jobops.contracts.decorator import job
from jobops.contracts.registry import temporary_registry
from jobops.engine.records import Death

DIED = 1_764_366_139_123
FIELDS = {
    b"data": b'["t",null,[1,{"__jobops__":"date","v":"2026-01-02"}],{"name":"\xc3\xa4"}]',
    b"origin": b"acme.bulk",
    b"jo_type": b"t",
    b"jo_attempt": b"3",
    b"jo_max_attempts": b"3",
    b"jo_reason": b"timeout",
    b"jo_error_class": b"JobTimeout",
    b"jo_error": b"took too long",
    b"exc_info": b"Traceback \xe2\x80\xa6",
    b"jo_enqueued": b"1764366100000",
    b"jo_correlation": b"c-1",
    b"jo_key": b"invoice:42",
    b"attempt:2": b'{"n":2,"worker":"w","started_at":1764366110000,"ended_at":1764366120000,"outcome":"retry",'
    b'"error_class":"E","error":"x"}',
    b"attempt:10": b'{"n":10,"worker":"w","started_at":1.764366110e+12}',
    b"attempt:1": b"not json",
}


def death(fields: dict[bytes, bytes], job_id: str = "j1", died: int = DIED) -> Death:
    return Death(f"{job_id}:3", job_id, 3, died, fields)


def test_a_letter_tells_all_that_the_record_holds() -> None:
    letter = letter_of(death(FIELDS))
    assert (letter.job_id, letter.attempt, letter.state, letter.placeholder) == ("j1", 3, State.OPEN, False)
    assert (letter.tenant_slug, letter.lane, letter.queue, letter.job_type) == ("acme", "bulk", "acme.bulk", "t")
    assert (letter.reason, letter.error_class, letter.error) == ("timeout", "JobTimeout", "took too long")
    assert (letter.traceback, letter.attempts, letter.max_attempts) == ("Traceback …", 3, 3)
    assert (letter.correlation_id, letter.key) == ("c-1", "invoice:42")
    assert json.loads(letter.payload) == {
        "args": [1, {"__jobops__": "date", "v": "2026-01-02"}], "kwargs": {"name": "ä"},
    }  # fmt: skip
    assert letter.payload_raw is None
    assert letter.dead_at == datetime(2025, 11, 28, 21, 42, 19, 123000, UTC)
    assert letter.enqueued_at == datetime(2025, 11, 28, 21, 41, 40, tzinfo=UTC)


def test_history_is_in_order_and_keeps_what_cannot_be_read() -> None:
    history = letter_of(death(FIELDS)).history
    assert [attempt["n"] for attempt in history] == [1, 2, 10]
    assert history[0]["error"] == "not json"
    assert history[1]["ended_at"] == "2025-11-28T21:42:00+00:00"
    assert history[2]["started_at"] == "2025-11-28T21:41:50+00:00"


def test_owner_and_due_time_come_from_the_contract_or_from_the_defaults() -> None:
    """I7: no letter without them, whatever its job type."""
    with temporary_registry():

        @job(name="t", aliases=["old.t"], owner="billing", drain_sla="4h", idempotent="yes", timeout="1s")
        def work() -> None: ...

        assert (owner_for("t"), drain_sla("t")) == ("billing", timedelta(hours=4))
        assert (owner_for("old.t"), drain_sla("old.t")) == ("billing", timedelta(hours=4))

        @job(name="bare")
        def bare() -> None: ...

        for name in ("bare", "gone", "", "\0"):
            assert (owner_for(name), drain_sla(name)) == ("operations", DEFAULT_DRAIN_SLA)
        assert drain_sla("t") <= LONGEST_DRAIN_SLA


def test_a_vanished_record_leaves_a_placeholder() -> None:
    letter = letter_of(death({}))
    assert (letter.placeholder, letter.reason, letter.owner) == (True, Reason.UNKNOWN, "operations")
    assert "gone from Redis" in letter.error
    assert letter.due_at > letter.dead_at


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x80\x04\x95pickle", b"{}", b"[1]", b"null", b'["t",null,{},[]]', b'["t",null,[NaN],{}]',
        b'["t",null,[1e999],{}]', b"[" * 100_000, b'["t",null,["\xff"],{}]', b'["t",null,[' + b"9" * 5000 + b"],{}]",
    ],
)  # fmt: skip
def test_a_payload_that_cannot_be_decoded_is_kept_as_it_is(data: bytes) -> None:
    """PX-02: corrupt bytes, somebody else's pickle; nothing is ever unpickled."""
    letter = letter_of(death({**FIELDS, b"data": data}))
    assert (letter.payload, letter.payload_raw) == ("", data)


def test_a_payload_that_rq_deflated_is_read_too() -> None:
    letter = letter_of(death({**FIELDS, b"data": zlib.compress(b'["t",null,[7],{}]')}))
    assert json.loads(letter.payload) == {"args": [7], "kwargs": {}}


def test_nul_and_control_characters_are_visible_everywhere() -> None:
    """PX-01: in error text, in argument names and values."""
    odd = {
        b"data": b'["t",null,["a\\u0000b"],{"k\\u0000":"\\ud800"}]',
        b"jo_error": b"a\x00b",
        b"exc_info": b"\x1b[2Ja\x00b",
        b"jo_error_class": b"E\x00",
        b"jo_type": b"t\x00\n",
        b"jo_key": b"\x00",
        b"attempt:1": b'{"n":1,"worker":"w\\u0000","error":"\xff\\u0000"}',
    }
    letter = letter_of(death({**FIELDS, **odd}))
    assert (letter.error, letter.error_class, letter.job_type) == ("a\\x00b", "E\\x00", "t\\x00\\n")
    assert letter.traceback == "\\x1b[2Ja\\x00b"
    assert json.loads(letter.payload) == {"args": ["a\0b"], "kwargs": {"k\0": "\ud800"}}
    assert letter.history[0]["worker"] == "w\\x00"
    everything = repr(sorted((field.name, getattr(letter, field.attname)) for field in letter._meta.fields))
    assert "\0" not in everything
    letter.payload.encode()


def test_long_texts_keep_head_and_tail() -> None:
    letter = letter_of(death({**FIELDS, b"jo_error": b"x" * 200_000, b"exc_info": b"a" + b"y" * 200_000 + b"z"}))
    assert len(letter.error) == ERROR_LENGTH
    assert len(letter.traceback) == TRACEBACK_LENGTH
    assert letter.traceback[0] + letter.traceback[-1] == "az"


@pytest.mark.parametrize("died", [0, -5, 2**62, 10**17])
def test_a_death_at_no_possible_time_is_of_now(died: int) -> None:
    letter = letter_of(death(FIELDS, died=died))
    assert abs(letter.dead_at - datetime.now(UTC)) < timedelta(days=40_000)
    assert letter.due_at > letter.dead_at


def test_ids_that_do_not_fit_stay_different() -> None:
    first, second = identity("x" * 300 + "1"), identity("x" * 300 + "2")
    assert len(first) <= 200
    assert first != second
    assert identity("a\0") != identity("a\\x00")
    assert identity("abc-1_2") == "abc-1_2"


any_bytes = st.dictionaries(
    st.one_of(st.sampled_from([*FIELDS, b"attempt:x", b"attempt:-1"]), st.binary(max_size=8)), st.binary(max_size=60)
)


@settings(max_examples=60)
@given(any_bytes, st.text(min_size=1), st.integers())
def test_no_record_is_too_odd_for_a_letter_or_a_placeholder(fields: dict[bytes, bytes], job_id: str, died: int) -> None:
    for letter in (letter_of(death(fields, job_id, died)), placeholder_of(death(fields, job_id, died), "test")):
        letter.full_clean(exclude=["history"], validate_unique=False, validate_constraints=False)
        assert letter.owner
        assert letter.due_at
