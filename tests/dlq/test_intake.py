"""From the engine's dead intake into the database: nothing lost, nothing twice, whoever dies in between."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import pytest
from django.db import DataError, IntegrityError, OperationalError, transaction

from dlq import inserting, intake
from dlq.intake import take_in
from dlq.models import DeadLetter
from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from tenants.models import Tenant
from tests.dlq.children import in_child
from tests.dlq.deaths import die, multiply, set_field, vanish, waiting

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_death_becomes_a_letter_with_its_whole_story(engine: Engine) -> None:
    tenant = Tenant.objects.create(slug="acme")
    job_id = die(engine, attempts=2)
    assert take_in(engine) == 1
    letter = DeadLetter.objects.get()
    assert (letter.job_id, letter.attempt, letter.attempts, letter.max_attempts) == (job_id, 2, 2, 2)
    assert (letter.tenant, letter.queue, letter.job_type) == (tenant, "acme.bulk", "tests.job")
    assert (letter.reason, letter.error_class, letter.error) == ("exhausted", "ValueError", "broken")
    assert (letter.owner, letter.state, letter.correlation_id) == ("operations", "open", "c-1")
    assert json.loads(letter.payload) == {"args": [1], "kwargs": {"name": "x"}}
    told = [(attempt["n"], attempt["worker"], attempt["error_class"], attempt["error"]) for attempt in letter.history]
    assert told == [(1, "worker-1", "ValueError", "broken"), (2, "worker-1", "ValueError", "broken")]
    assert all(attempt["outcome"] and attempt["started_at"] <= attempt["ended_at"] for attempt in letter.history)
    assert letter.enqueued_at is not None
    assert letter.enqueued_at <= letter.dead_at < letter.due_at
    assert waiting(engine) == 0
    assert take_in(engine) == 0


@pytest.mark.parametrize("cause", ["poison", "timeout", "unresolvable", "worker_lost"])
def test_each_reason_is_told(engine: Engine, cause: Any) -> None:
    die(engine, outcome=Outcome.failed(cause, "E", "e"))
    take_in(engine)
    assert DeadLetter.objects.get().reason == cause


def test_the_same_death_twice_makes_one_letter(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    die(engine)
    monkeypatch.setattr(engine.scripts, "dead_ack", lambda members: 0)
    assert take_in(engine) == 1
    DeadLetter.objects.update(error="a person was here")
    assert take_in(engine) == 1
    assert DeadLetter.objects.get().error == "a person was here"


def test_only_what_was_committed_leaves_redis(engine: Engine) -> None:
    multiply(engine, 7)
    assert take_in(engine, limit=5) == 5
    assert (waiting(engine), DeadLetter.objects.count()) == (2, 5)
    assert take_in(engine, limit=5) == 2
    assert take_in(engine) == 0


def test_a_failing_database_only_makes_it_wait(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    multiply(engine, 3)

    def away(*args: object, **kwargs: object) -> None:
        raise OperationalError("the server closed the connection")

    with monkeypatch.context() as patch:
        patch.setattr(inserting, "insert_new", away)
        for _ in range(3):
            with pytest.raises(OperationalError):
                take_in(engine)
    assert (waiting(engine), DeadLetter.objects.count()) == (3, 0)
    assert take_in(engine) == 3


def test_it_refuses_to_run_inside_a_transaction(engine: Engine) -> None:
    die(engine)
    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        take_in(engine)
    assert waiting(engine) == 1


@pytest.mark.parametrize("moment", ["before the insert", "in the transaction", "before the removal"])
def test_kill_9_at_any_moment_loses_and_doubles_nothing(engine: Engine, moment: str) -> None:
    multiply(engine, 20)

    def kill(*args: object, **kwargs: object) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        if moment == "before the insert":
            inserting.insert_new = kill
        elif moment == "in the transaction":
            inserting.count_new = kill
        else:
            engine.scripts.dead_ack = kill  # type: ignore[method-assign]
        take_in(engine)

    assert os.WTERMSIG(in_child(work)) == signal.SIGKILL
    assert waiting(engine) == 20
    assert DeadLetter.objects.count() == (20 if moment == "before the removal" else 0)
    assert take_in(engine) == 20
    assert (waiting(engine), DeadLetter.objects.count()) == (0, 20)


def test_odd_bytes_are_stored(engine: Engine) -> None:
    """PX-01: NUL in error text, arguments and names; PX-02: bytes that are no payload."""
    first, second, third = (die(engine) for _ in range(3))
    set_field(engine, first, "jo_error", b"a\x00b \xff\xfe")
    set_field(engine, first, "data", b'["t",null,["\\u0000"],{"k\\u0000":"\\ud800"}]')
    set_field(engine, second, "data", b"\x80\x04\x00\xff")
    set_field(engine, second, "attempt:1", b'{"n":1,"error":"\\u0000\\ud800"}')
    set_field(engine, second, b"\xff\x00", b"\x00")
    vanish(engine, third)
    assert take_in(engine) == 3
    letters = {letter.job_id: letter for letter in DeadLetter.objects.all()}
    assert letters[first].error == "a\\x00b \\xff\\xfe"
    assert json.loads(letters[first].payload) == {"args": ["\0"], "kwargs": {"k\0": "\ud800"}}
    assert bytes(letters[second].payload_raw or b"") == b"\x80\x04\x00\xff"
    assert letters[third].placeholder
    assert all(letter.owner and letter.due_at for letter in letters.values())


def test_a_record_that_cannot_be_read_does_not_block_the_others(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    multiply(engine, 5)
    bad = sorted(member.decode() for member in engine.redis.zrange(engine.keys.dead(), 0, -1))[2]
    read = intake.letter_of

    def picky(death: Any) -> DeadLetter:
        if death.member == bad:
            raise KeyError("nobody thought of this")
        return read(death)

    monkeypatch.setattr(intake, "letter_of", picky)
    assert take_in(engine) == 5
    placeholder = DeadLetter.objects.get(placeholder=True)
    assert placeholder.job_id == bad.partition(":")[0]
    assert "KeyError" in placeholder.error
    assert "b'jo_type': b'tests.job'" in placeholder.traceback
    assert bytes(placeholder.payload_raw or b"")


@pytest.mark.parametrize("refusal", [DataError("value too long"), IntegrityError("no such tenant"), ValueError("NUL")])
def test_one_row_that_the_database_refuses_is_parked_as_a_placeholder(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, refusal: Exception
) -> None:
    multiply(engine, 5)
    engine.redis.hset(f"rq:job:{_ids(engine)[2]}", "jo_error", b"refuse me")
    insert = inserting.insert_new

    def picky(model: Any, rows: Any, answers: Any) -> Any:
        if model is DeadLetter and any(letter.error == "refuse me" for letter in rows):
            raise refusal
        return insert(model, rows, answers)

    monkeypatch.setattr(inserting, "insert_new", picky)
    assert take_in(engine) == 5
    assert waiting(engine) == 0
    assert DeadLetter.objects.filter(placeholder=False).count() == 4
    placeholder = DeadLetter.objects.get(placeholder=True)
    assert "could not be stored as it was" in placeholder.error
    assert "refuse me" in placeholder.traceback


def test_a_row_that_breaks_a_constraint_stops_no_other(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    multiply(engine, 5)
    odd = _ids(engine)[2]
    decide = inserting.decide

    def ownerless(letters: Any) -> None:
        decide(letters)
        for letter in letters:
            if letter.job_id == odd and not letter.placeholder:
                letter.owner = ""

    monkeypatch.setattr(inserting, "decide", ownerless)
    assert take_in(engine) == 5
    assert DeadLetter.objects.get(job_id=odd).placeholder
    assert DeadLetter.objects.count() == 5


def test_a_death_that_cannot_even_be_parked_stays_in_redis_alone(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    multiply(engine, 5)
    cursed = _ids(engine)[0]
    insert = inserting.insert_new

    def picky(model: Any, rows: Any, answers: Any) -> Any:
        if model is DeadLetter and any(letter.job_id == cursed for letter in rows):
            raise DataError("never")
        return insert(model, rows, answers)

    monkeypatch.setattr(inserting, "insert_new", picky)
    assert take_in(engine) == 4
    assert (waiting(engine), DeadLetter.objects.count()) == (1, 4)
    assert "not even a placeholder" in caplog.text


def test_a_discarded_job_leaves_no_letter(engine: Engine) -> None:
    from jobops.engine.records import NewJob, Policy

    engine.scripts.set_policy(Policy("acme"))
    engine.scripts.enqueue(NewJob("j1", "acme", "bulk", "t", b"[]"))
    claimed = engine.scripts.claim("s", 1, "w", ["bulk"], 10).job
    assert claimed is not None
    engine.scripts.settle("s", 2, "j1", claimed.token, Outcome.discarded("E", "e"))
    assert take_in(engine) == 0


def test_a_dead_job_does_not_block_the_next_one_with_its_key(engine: Engine) -> None:
    """DL-09: a recurring job's key is free again the moment one occurrence is dead."""
    first = die(engine, key="every-minute")
    second = die(engine, key="every-minute")
    assert first != second
    assert take_in(engine) == 2
    assert set(DeadLetter.objects.values_list("key", flat=True)) == {"every-minute"}
    third = die(engine, key="every-minute")
    assert third not in (first, second)


def _ids(engine: Engine) -> list[str]:
    return [member.decode().partition(":")[0] for member in engine.redis.zrange(engine.keys.dead(), 0, -1)]
