"""``once`` where the transaction of another run holds what it needs: it waits as long as it says, and no longer."""

from __future__ import annotations

import time

import pytest
from django.db import connection, transaction

from jobops import current_job
from jobops.context import once_begin
from jobops.engine.client import Engine
from jobops.engine.payload import decode_result
from tests.runtime import factory
from tests.runtime.attempts import attempt, calling, enqueue, run
from tests.runtime.test_once_together import Effect, claim, left_behind, run_beside

pytestmark = pytest.mark.django_db(transaction=True)


def lock_waits() -> object:
    """How long a statement waits for a lock now."""
    question = "SHOW lock_timeout" if connection.vendor == "postgresql" else "PRAGMA busy_timeout"
    with connection.cursor() as cursor:
        cursor.execute(question)
        return cursor.fetchone()[0]


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("atomic", [False, True])
def test_one_within_its_transaction_is_waited_for_as_long_as_any_other(
    both: Engine, monkeypatch: pytest.MonkeyPatch, left: bool, atomic: bool
) -> None:
    """Its row is not to be seen yet. SQLite has one writer, and PostgreSQL would wait for that transaction to end."""
    monkeypatch.setattr(once_begin, "PATIENCE_S", 0.3)
    body, effect = {"atomic": True}, Effect()
    job_type = calling("effects.within", lambda: current_job().once("k", **body).run(effect))
    if left:
        left_behind(job_type)
    enqueue(job_type)
    job_id = enqueue(job_type)
    first, answers = run_beside(claim(both))
    assert effect.begun.wait(10)
    body["atomic"] = atomic
    usual = lock_waits()
    claimed, began = claim(both), time.monotonic()
    outcome = run(claimed)
    assert time.monotonic() - began < 2.0
    assert (outcome.kind, outcome.error_class) == ("postponed", "jobops.OnceBusy")
    assert outcome.error == "once 'k': its record is locked, so another run may be at it; this one comes again"
    assert 2_000 <= outcome.delay_ms <= 60_000
    assert lock_waits() == usual
    assert factory.settle(both, claimed, outcome) == "postponed"
    effect.may_end.set()
    first.join(20)
    again, outcome, ended = attempt(both)
    assert (again.id, again.attempt, ended) == (job_id, 1, "succeeded"), "its attempt did not count"
    assert decode_result(outcome.result) == decode_result(answers[0].result) == "effect-1"


@pytest.mark.parametrize("atomic", [False, True])
def test_the_effect_itself_waits_for_locks_as_long_as_anybody(both: Engine, atomic: bool) -> None:
    usual, within = lock_waits(), []
    with transaction.atomic():
        in_a_transaction = lock_waits()
    enqueue(calling("effects.usual", lambda: current_job().once("k", atomic=atomic).run(
        lambda: within.append(lock_waits()))))  # fmt: skip
    assert attempt(both)[2] == "succeeded"
    assert within == [in_a_transaction] == [usual]
    assert lock_waits() == usual
