"""``once`` with two runs: one that lives, one that comes late, two at the same instant."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, connections

from jobops import current_job
from jobops.context import once_begin
from jobops.context.models import OnceRecord
from jobops.contracts.runner import ContractRunner
from jobops.engine.client import Engine
from jobops.engine.payload import decode_result
from jobops.engine.records import ClaimedJob, Outcome
from tenants.models import Tenant
from tests.runtime import factory
from tests.runtime.attempts import attempt, calling, enqueue, lose, run
from tests.tools import wait_for

pytestmark = pytest.mark.django_db(transaction=True)


def claim(engine: Engine) -> ClaimedJob:
    claimed = factory.claim(engine)
    assert claimed is not None
    return claimed


def in_thread(call: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Runs it beside the test, on a database connection of its own. A time-out needs the main thread: none is set."""
    answers: list[Any] = []

    def body() -> None:
        try:
            answers.append(call())
        finally:
            connections.close_all()

    thread = threading.Thread(target=body)
    thread.start()
    return thread, answers


class NoAlarm:
    """A time-out that is none: alarms are for main threads."""

    fired = False

    def __call__(self, seconds: float) -> NoAlarm:
        return self

    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


def run_beside(claimed: ClaimedJob) -> tuple[threading.Thread, list[Outcome]]:
    return in_thread(lambda: ContractRunner().run(claimed, NoAlarm()))  # type: ignore[arg-type]


def left_behind(job_type: Any) -> None:
    """What a run of this type began, and nobody knows whether it happened."""
    tenant = Tenant.objects.get()
    OnceRecord.objects.create(
        tenant=tenant.slug, tenant_uid=str(tenant.pk), job_type=job_type.job_type.name, key="k", job_id="gone",
        attempt=1, token="gone", began_at="2020-01-01T00:00:00Z",
    )  # fmt: skip


class Effect:
    """An effect that takes until it is let go."""

    def __init__(self) -> None:
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        mine = self.count
        self.begun.set()
        assert self.may_end.wait(20)
        return f"effect-{mine}"


@pytest.fixture
def effect() -> Effect:
    return Effect()


@pytest.fixture
def job_type(effect: Effect) -> Any:
    return calling("effects.slow", lambda: current_job().once("k").run(effect))


def test_the_second_one_waits_a_moment_and_gets_the_result_of_the_first(
    both: Engine, effect: Effect, job_type: Any
) -> None:
    enqueue(job_type)
    enqueue(job_type)
    first, answers = run_beside(claim(both))
    assert effect.begun.wait(10)
    timer = threading.Timer(0.3, effect.may_end.set)
    timer.start()
    second = run(claim(both))
    first.join(20)
    assert decode_result(second.result) == decode_result(answers[0].result) == "effect-1"
    assert effect.count == 1


def test_while_the_first_one_lives_the_second_one_is_postponed(
    both: Engine, effect: Effect, job_type: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(once_begin, "PATIENCE_S", 0.2)
    enqueue(job_type)
    job_id = enqueue(job_type)
    first, _ = run_beside(claim(both))
    assert effect.begun.wait(10)
    claimed = claim(both)
    outcome = run(claimed)
    assert (outcome.kind, outcome.cause, outcome.error_class) == ("postponed", "", "jobops.OnceBusy")
    assert 2_000 <= outcome.delay_ms <= 60_000
    assert factory.settle(both, claimed, outcome) == "postponed"
    effect.may_end.set()
    first.join(20)
    again, outcome, ended = attempt(both)
    assert (again.id, again.attempt, ended) == (job_id, 1, "succeeded"), "its attempt did not count"
    assert decode_result(outcome.result) == "effect-1"


def test_a_zombie_that_ends_late_overwrites_nothing(both: Engine, effect: Effect, job_type: Any) -> None:
    """Its lease was given away in the middle of the effect, and its successor has done it meanwhile."""
    enqueue(job_type)
    zombie = claim(both)
    late, answers = run_beside(zombie)
    assert effect.begun.wait(10)
    lose(both, zombie)
    successor = claim(both)
    assert successor.attempt == 2
    second, theirs = run_beside(successor)
    wait_for(lambda: effect.count == 2, what="the successor's effect")
    row = OnceRecord.objects.get()
    assert (row.attempt, row.token) == (2, successor.token)
    effect.may_end.set()
    late.join(20)
    second.join(20)
    assert answers[0].error_class == "jobops.LeaseLost"
    assert factory.settle(both, zombie, answers[0]) == "stale"
    row.refresh_from_db()
    assert (row.state, row.token) == ("done", successor.token)
    assert decode_result(theirs[0].result) == decode_result(row.result.encode()) == "effect-2"


@pytest.mark.parametrize("atomic", [False, True])
def test_a_zombie_that_comes_late_begins_nothing(both: Engine, atomic: bool) -> None:
    done: list[int] = []

    def body() -> None:
        lose(both, zombie)
        current_job().once("k", atomic=atomic).run(done.append, 1)

    enqueue(calling("effects.late", body))
    zombie = claim(both)
    assert run(zombie).error_class == "jobops.LeaseLost"
    assert (done, OnceRecord.objects.count()) == ([], 0)


def test_a_zombie_that_comes_late_takes_nothing_over_that_another_run_left_behind(both: Engine) -> None:
    done: list[int] = []

    def body() -> None:
        lose(both, zombie)
        current_job().once("k").run(done.append, 1)

    job_type = calling("effects.later", body)
    left_behind(job_type)
    enqueue(job_type)
    zombie = claim(both)
    assert run(zombie).error_class == "jobops.LeaseLost"
    assert (done, OnceRecord.objects.get().job_id) == ([], "gone")


@pytest.mark.parametrize("atomic", [False, True])
def test_a_zombie_that_wakes_between_its_row_and_its_effect_does_nothing(
    both: Engine, monkeypatch: pytest.MonkeyPatch, atomic: bool
) -> None:
    done: list[int] = []
    enqueue(calling("effects.asleep", lambda: current_job().once("k", atomic=atomic).run(done.append, 1)))
    zombie = claim(both)
    write = once_begin._write

    def and_sleeps(*given: Any) -> Any:
        written = write(*given)
        lose(both, zombie)
        return written

    monkeypatch.setattr(once_begin, "_write", and_sleeps)
    assert run(zombie).error_class == "jobops.LeaseLost"
    assert (done, OnceRecord.objects.count()) == ([], 0), "and it is known that nothing has happened"
    assert not connection.in_atomic_block


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_of_many_at_the_same_instant_one_does_it(both: Engine, left: bool, atomic: bool) -> None:
    """Also where all of them find what a run that is gone has left behind."""
    effects: list[str] = []
    start = threading.Barrier(6)

    def body() -> str:
        def does() -> str:
            effects.append(current_job().id)
            return current_job().id

        start.wait(20)
        return current_job().once("k", atomic=atomic).run(does)

    job_type = calling("effects.race", body)
    if left:
        left_behind(job_type)
    for _ in range(6):
        enqueue(job_type)
    runs = [run_beside(claim(both)) for _ in range(6)]
    for thread, _ in runs:
        thread.join(30)
    assert len(effects) == 1
    results = [decode_result(answers[0].result) for _, answers in runs if answers[0].kind == "succeeded"]
    assert set(results) == {effects[0]}
    assert {answers[0].kind for _, answers in runs} <= {"succeeded", "postponed"}
