"""The ends of replays while processes are killed, two lead at once, or the database is away."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from django.db import DataError, OperationalError

from dlq import outcomes, reopening
from dlq.intake import take_in
from dlq.models import DeadLetter, ReplayRun
from dlq.outcomes import take_outcomes
from dlq.services import letter_replay
from dlq.watch import watch, watch_all
from jobops.audit import recording
from jobops.audit.models import AuditEntry
from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from tests.dlq.children import in_child
from tests.dlq.deaths import waiting
from tests.dlq.replays import FAILED, dead, replaying, run_replays
from tests.runtime import factory
from tests.runtime.together import twice_at_once

pytestmark = pytest.mark.django_db(transaction=True)


def ended(engine: Engine, count: int) -> list[DeadLetter]:
    """Letters whose replays ended, every other one by dying again; nothing is taken in yet."""
    letters = [dead(engine) for _ in range(count)]
    for letter in letters:
        letter_replay(letter_id=letter.pk, by="tests")
    for place in range(count):
        job = factory.claim(engine)
        assert job is not None
        factory.settle(engine, job, FAILED if place % 2 else Outcome.succeeded())
    return letters


def states() -> list[str]:
    return sorted(DeadLetter.objects.values_list("state", flat=True))


@pytest.mark.parametrize("moment", ["in the transaction", "before the removal"])
def test_kill_9_at_any_moment_moves_no_letter_twice_or_never(both: Engine, moment: str) -> None:
    ended(both, 6)

    def kill(*args: object, **kwargs: object) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    def work(take: Callable[[Engine], int]) -> Callable[[], None]:
        def run() -> None:
            if moment == "in the transaction":
                recording.insert_values = kill
            else:
                both.scripts.dead_ack = both.scripts.outcome_ack = kill  # type: ignore[method-assign]
            take(both)

        return run

    for take in (take_in, take_outcomes):
        assert os.WTERMSIG(in_child(work(take))) == signal.SIGKILL
    assert states() == (["replaying"] * 6 if moment == "in the transaction" else ["open"] * 3 + ["resolved"] * 3)
    assert (take_in(both), take_outcomes(both)) == (3, 3)
    assert states() == ["open"] * 3 + ["resolved"] * 3
    assert AuditEntry.objects.filter(action__in=["letter.resolve", "letter.reopen"]).count() == 6
    assert (waiting(both), both.redis.zcard(both.keys.outcomes())) == (0, 0)


def test_two_leaders_end_every_replay_once(both: Engine) -> None:
    """Trap 7: both take in and watch at once; trap 4: each removes only what it has committed."""
    ended(both, 40)
    watch_all()

    def lead() -> None:
        for _ in range(20):
            take_in(both, 7)
            take_outcomes(both, 7)
            watch(both, 11)

    twice_at_once(lead)
    assert states() == ["open"] * 20 + ["resolved"] * 20
    assert AuditEntry.objects.filter(action="letter.resolve").count() == 20
    assert AuditEntry.objects.filter(action="letter.reopen").count() == 20
    assert all(len(letter.history) == 2 for letter in DeadLetter.objects.filter(state="open"))


def test_while_the_database_is_away_the_ends_wait_in_redis(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    ended(both, 4)

    def away(*args: object) -> None:
        raise OperationalError("the server closed the connection")

    with monkeypatch.context() as patch:
        patch.setattr(outcomes, "settle", away)
        patch.setattr(reopening, "settle", away)
        for take in (take_in, take_outcomes, take_in, take_outcomes):
            with pytest.raises(OperationalError):
                take(both)
    assert states() == ["replaying"] * 4
    assert (take_in(both), take_outcomes(both)) == (2, 2)
    assert states() == ["open", "open", "resolved", "resolved"]


def test_one_end_that_cannot_be_noted_stops_no_other(
    both: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    letters = ended(both, 6)
    cursed = {letters[0].job_id, letters[1].job_id}
    settle = outcomes.settle

    def picky(endings: Any) -> Any:
        if any(ending.replay_of.partition(":")[0] in cursed for ending in endings):
            raise DataError("never")
        return settle(endings)

    monkeypatch.setattr(outcomes, "settle", picky)
    monkeypatch.setattr(reopening, "settle", picky)
    assert (take_in(both), take_outcomes(both)) == (2, 2)
    assert states() == ["open", "open", "replaying", "replaying", "resolved", "resolved"]
    assert (waiting(both), both.redis.zcard(both.keys.outcomes())) == (1, 1)
    assert "stays in Redis" in caplog.text


def test_each_letter_that_was_there_is_replayed_once_though_all_fail_again(both: Engine) -> None:
    """DL-01"""
    letters = [dead(both) for _ in range(51)]
    for letter in letters:
        letter_replay(letter_id=letter.pk, by="tests")
    assert len(run_replays(both, FAILED)) == 51
    assert run_replays(both) == []
    assert states() == ["open"] * 51
    assert set(DeadLetter.objects.values_list("replays", flat=True)) == {1}
    assert ReplayRun.objects.count() == 51


def test_an_action_is_on_the_letter_with_that_id_wherever_it_stands_in_a_list(both: Engine) -> None:
    """DL-03"""
    letters = [dead(both, number=number) for number in range(30)]
    for number in (3, 4):
        letters[number].delete()
    for number in range(3):
        dead(both, number=100 + number)
    run = letter_replay(letter_id=letters[27].pk, by="tests")
    assert run_replays(both) == [run.job_id]
    assert list(DeadLetter.objects.filter(state="resolved")) == [letters[27]]


def test_replays_keep_to_the_tenants_cap(both: Engine) -> None:
    """DL-21"""
    from tenants.models import Tenant
    from tenants.services import tenant_set

    tenant_set(tenant=Tenant.objects.get(slug="acme"), by="tests", cap=1)
    for letter in [replaying(both), dead(both)]:
        if letter.state == "open":
            letter_replay(letter_id=letter.pk, by="tests")
    first = factory.claim(both)
    assert first is not None
    assert factory.claim(both) is None, "the cap is one"
    factory.settle(both, first, Outcome.succeeded())
    assert factory.claim(both) is not None
