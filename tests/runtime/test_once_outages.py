"""``once`` where a store is away, in one transaction with its effect, after a person's decision, and long ago."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone
from pytest_django import Settings

from dlq.intake import take_in
from dlq.models import DeadLetter
from dlq.services import letter_replay
from jobops import Poison, current_job
from jobops.context import once_records
from jobops.context.models import OnceRecord
from jobops.engine.client import Engine
from jobops.engine.payload import decode_result
from jobops.engine.timeouts import JobTimeout
from jobops.scheduling.duties import Context
from jobops.steward import effects
from tenants.models import Tenant
from tests.runtime import factory
from tests.runtime.attempts import attempt, calling, enqueue, lose, run
from tests.runtime.test_once import Provider, charging, rows

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(once_records, "PAUSES_S", (0.0, 0.0))


class Away:
    """A database that fails so many times, and works again."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, times: int) -> None:
        self.left, self.real = times, getattr(once_records, name)
        monkeypatch.setattr(once_records, name, self)

    def __call__(self, *given: Any) -> Any:
        if self.left:
            self.left -= 1
            raise OperationalError("server closed the connection")
        return self.real(*given)


def test_a_database_that_is_away_at_the_beginning_is_an_ordinary_retry_before_any_effect(
    both: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = Provider()
    Away(monkeypatch, "begin", 1)
    enqueue(charging(provider, on_unknown="dead"))
    _, outcome, ended = attempt(both)
    assert (outcome.kind, outcome.cause, ended) == ("failed", "error", "retry")
    assert outcome.error_class.endswith("OperationalError")
    assert provider.charges == 0
    assert attempt(both)[2] == "succeeded"
    assert provider.charges == 1


def test_a_short_outage_at_the_end_is_waited_for(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = Provider()
    Away(monkeypatch, "finish", 2)
    enqueue(charging(provider))
    assert attempt(both)[2] == "succeeded"
    assert rows() == [("charge:42", "done", '"receipt-1"')]


@pytest.mark.parametrize("on_unknown", ["run", "dead"])
def test_what_happened_and_could_not_be_recorded_is_unknown_to_the_next_run(
    both: Engine, monkeypatch: pytest.MonkeyPatch, on_unknown: str
) -> None:
    provider = Provider()
    Away(monkeypatch, "finish", 3)
    enqueue(charging(provider, on_unknown=on_unknown))
    _, outcome, ended = attempt(both)
    assert (outcome.error_class, ended) == ("jobops.EffectNotRecorded", "retry")
    assert rows() == [("charge:42", "running", "")]
    assert attempt(both)[2] == ("succeeded" if on_unknown == "run" else "dead")
    assert provider.charges == (2 if on_unknown == "run" else 1)


def test_an_end_whose_answer_was_lost_is_an_end(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = once_records.finish, []

    def loses_its_answer(row: OnceRecord, result: str) -> bool:
        ended = real(row, result)
        calls.append(ended)
        if len(calls) == 1:
            raise OperationalError("the connection was lost after the commit")
        return ended

    monkeypatch.setattr(once_records, "finish", loses_its_answer)
    enqueue(charging(Provider()))
    assert attempt(both)[2] == "succeeded"
    assert calls == [True, True]


@pytest.mark.parametrize("ends", ["done", "fails", "times out", "loses its lease"])
def test_an_effect_in_the_database_is_there_with_its_record_or_neither_is(both: Engine, ends: str) -> None:
    def body() -> str:
        with current_job().once("k", atomic=True) as effect:
            if effect.done:
                return str(effect.result)
            Tenant.objects.create(slug="made")
            if ends == "fails":
                raise ValueError("no")
            if ends == "times out":
                raise JobTimeout(30)
            if ends == "loses its lease":
                lose(both, claimed)
            effect.result = "made it"
        raise RuntimeError("after it")

    enqueue(calling("effects.atomic", body, max_attempts=5))
    claimed = factory.claim(both)
    assert claimed is not None
    outcome = run(claimed)
    assert Tenant.objects.filter(slug="made").exists() is (ends == "done")
    assert OnceRecord.objects.count() == (ends == "done")
    if ends == "done":
        factory.settle(both, claimed, outcome)
        assert decode_result(attempt(both)[1].result) == "made it"


def test_a_replay_is_the_decision_to_do_it_again(both: Engine) -> None:
    provider = Provider(JobTimeout(30))
    enqueue(charging(provider, on_unknown="dead"))
    attempt(both)
    assert attempt(both)[2] == "dead"
    take_in(both)
    letter = DeadLetter.objects.get()
    assert (letter.reason, letter.error_class) == ("poison", "jobops.OutcomeUnknown")
    letter_replay(letter_id=letter.pk, by="tests")
    assert attempt(both)[2] == "succeeded"
    assert provider.charges == 2


def test_what_a_replay_leaves_behind_itself_nobody_has_decided_on(both: Engine) -> None:
    provider = Provider(JobTimeout(30), JobTimeout(30))
    enqueue(charging(provider, on_unknown="dead"))
    for _ in range(2):
        attempt(both)
    take_in(both)
    letter_replay(letter_id=DeadLetter.objects.get().pk, by="tests")
    assert attempt(both)[2] == "retry"
    hour = timedelta(hours=1)
    OnceRecord.objects.update(began_at=OnceRecord.objects.get().began_at - hour)  # the clock of its worker is behind
    assert attempt(both)[2] == "dead", "the replay's second attempt is no decision of anybody's"
    assert provider.charges == 2


def test_what_another_job_left_behind_after_the_decision_is_not_decided_by_it(both: Engine) -> None:
    provider = Provider(Poison("wrong card"), JobTimeout(30))
    charge = charging(provider, on_unknown="dead")
    enqueue(charge)
    assert attempt(both)[2] == "dead"
    take_in(both)
    letter_replay(letter_id=DeadLetter.objects.get().pk, by="tests")
    other = charge.using(tenant="acme", priority="front").enqueue().id
    assert attempt(both)[0].id == other
    assert OnceRecord.objects.get().job_id == other
    replay, outcome, ended = attempt(both)
    assert replay.id != other
    assert (outcome.error_class, ended) == ("jobops.OutcomeUnknown", "dead")


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_worker_whose_clock_is_wrong_makes_no_decision_and_hides_none(
    both: Engine, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    real = timezone.now

    def wrong_clock() -> datetime:
        return real() + timedelta(hours=hours)

    provider = Provider(JobTimeout(30), Poison("wrong card"), JobTimeout(30))
    charge = charging(provider, on_unknown="dead", max_attempts=2)
    enqueue(charge)
    with monkeypatch.context() as patched:
        patched.setattr(timezone, "now", wrong_clock)
        attempt(both)
    assert attempt(both)[2] == "dead"
    take_in(both)
    letter_replay(letter_id=DeadLetter.objects.get().pk, by="tests")
    assert attempt(both)[2] == "dead", "it is done again, and fails in a known way this time"
    assert (provider.charges, OnceRecord.objects.count()) == (2, 0)
    take_in(both)
    letter_replay(letter_id=DeadLetter.objects.get().pk, by="tests")
    other = charge.using(tenant="acme", priority="front").enqueue().id
    with monkeypatch.context() as patched:
        patched.setattr(timezone, "now", wrong_clock)
        assert attempt(both)[0].id == other
    assert OnceRecord.objects.get().job_id == other
    replay, outcome, ended = attempt(both)
    assert replay.id != other
    assert (outcome.error_class, ended) == ("jobops.OutcomeUnknown", "dead"), "it began after the decision"
    assert provider.charges == 3


def test_what_was_done_long_ago_is_forgotten(both: Engine, settings: Settings) -> None:
    settings.JOBOPS_ONCE_KEEP_DAYS = 90
    now = timezone.now()
    for key, days, ended in (("old", 91, 91), ("new", 91, 89), ("left", 91, None), ("runs", 1, None)):
        began = now - timedelta(days=days)
        done_at = None if ended is None else now - timedelta(days=ended)
        state = "done" if done_at else "running"
        OnceRecord.objects.create(
            tenant="acme", job_type="t", key=key, state=state, job_id="j", attempt=1, token="t", began_at=began,
            done_at=done_at,
        )  # fmt: skip
    context = Context(both)
    assert effects.forget(context) == 2
    assert set(OnceRecord.objects.values_list("key", flat=True)) == {"new", "runs"}
    settings.JOBOPS_ONCE_KEEP_DAYS = 0
    OnceRecord.objects.update(began_at=now - timedelta(days=10_000), done_at=now - timedelta(days=10_000))
    assert effects.forget(context) == 0
