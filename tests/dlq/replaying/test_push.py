"""From the run to Redis: whoever is killed on the way, each job arrives, and once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dlq import replay_run
from dlq.models import DeadLetter, ReplayRun
from dlq.replay_push import UNSENT, push
from dlq.watch import watch
from jobops.context.models import OutboxEntry
from jobops.contracts.registry import temporary_registry
from jobops.engine.client import Engine
from jobops.scheduling.duties import Context
from jobops.steward.relay import Relay
from tenants import services
from tenants.models import Tenant
from tests.dlq.letters import letters, states
from tests.dlq.replaying.many import confirmed, plan_of, sent, succeed, work
from tests.runtime import factory
from tests.runtime.conftest import Outage, outage

__all__ = ["outage"]

pytestmark = pytest.mark.django_db(transaction=True)
QUEUE = "acme.bulk"


class Killed(BaseException):
    """What nobody catches."""


@pytest.fixture
def acme(both: Engine) -> Tenant:
    return Tenant.objects.get(slug="acme")


def killed(monkeypatch: pytest.MonkeyPatch, *, arrived: int = 0, **options: Any) -> list[str]:
    """A replay whose process is killed after its commit, when so many of its jobs are in Redis. Answers their ids."""

    def dies(jobs: list[Any]) -> None:
        if arrived:
            from jobops.runtime.redis_pusher import RedisPusher

            RedisPusher().enqueue_many(jobs[:arrived])
        raise Killed

    bulk = confirmed(**({"canary": 0} | options))
    with monkeypatch.context() as patch:
        patch.setattr(replay_run, "push", dies)
        with pytest.raises(Killed):
            work(bulk)
    return list(ReplayRun.objects.filter(bulk=bulk).order_by("pk").values_list("job_id", flat=True))


def watched(engine: Engine) -> None:
    """As when the watch's time has come."""
    ReplayRun.objects.filter(state="running").update(check_at=timezone.now())
    watch(engine)


@pytest.mark.parametrize("arrived", [0, 3, 6])
def test_the_watch_pushes_what_never_arrived(
    both: Engine, acme: Tenant, monkeypatch: pytest.MonkeyPatch, arrived: int
) -> None:
    some = letters(acme, 6)
    ids = killed(monkeypatch, arrived=arrived)
    assert set(ReplayRun.objects.values_list("note", "state")) == {(UNSENT, "running")}
    assert len(factory.waiting(both, QUEUE)) == arrived
    assert states(some) == ["replaying"] * 6
    watched(both)
    watched(both)
    assert sorted(factory.waiting(both, QUEUE)) == sorted(ids), "each is there, and once"
    ran = succeed(both)
    watched(both)
    assert sorted(ran) == sorted(ids)
    assert set(DeadLetter.objects.values_list("state", "replays")) == {("resolved", 1)}
    assert set(ReplayRun.objects.values_list("state", "note")) == {("succeeded", "")}


def test_soon_after(both: Engine, acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    letters(acme, 3)
    killed(monkeypatch)
    assert watch(both) == 0, "its process may be about to push them"
    soon = timezone.now() + timedelta(seconds=15)
    assert ReplayRun.objects.filter(check_at__lte=soon).count() == 3


def test_it_runs_as_it_was_to_run(both: Engine, acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    letters(acme, 2, lane="bulk")
    killed(monkeypatch, lane="interactive")
    watched(both)
    assert len(factory.waiting(both, "acme.interactive")) == 2


def test_an_end_before_the_confirmation_stands(both: Engine, acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    """The jobs arrived and ran before their sender could say so, and it was killed."""
    letters(acme, 3)
    killed(monkeypatch, arrived=3)
    succeed(both)
    watched(both)
    assert factory.waiting(both, QUEUE) == []
    assert set(ReplayRun.objects.values_list("state", "note")) == {("succeeded", "")}


def test_one_that_cannot_be_made_any_more_opens_its_letter(
    both: Engine, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = letters(acme, 2)
    killed(monkeypatch)
    with temporary_registry():
        watched(both)
    assert states(some) == ["open"] * 2
    run = ReplayRun.objects.first()
    assert run is not None
    assert run.state == "refused"
    assert "is not registered" in run.note


def test_what_redis_may_have_forgotten_is_not_pushed_again(
    both: Engine, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have run a day ago: a person decides."""
    some = letters(acme, 2)
    killed(monkeypatch)
    ReplayRun.objects.update(started_at=timezone.now() - timedelta(hours=24))
    watched(both)
    assert factory.waiting(both, QUEUE) == []
    assert states(some) == ["open"] * 2
    assert "nobody knows whether its job arrived" in ReplayRun.objects.all()[0].note


def test_what_arrived_and_is_gone_is_lost_and_not_pushed_again(both: Engine, acme: Tenant) -> None:
    """Redis was flushed: the jobs may have run."""
    some = letters(acme, 2)
    work(confirmed(canary=0))
    both.redis.flushall()
    watched(both)
    assert states(some) == ["open"] * 2
    assert set(ReplayRun.objects.values_list("state", flat=True)) == {"lost"}


def test_while_redis_is_away_the_jobs_wait_in_the_outbox(outage: Outage) -> None:
    letters(Tenant.objects.get(slug="acme"), 4)
    bulk = confirmed(canary=0)
    outage.begin()
    work(bulk)
    assert (bulk.state, OutboxEntry.objects.count()) == ("finished", 4)
    outage.end()
    relay = Relay()
    OutboxEntry.objects.update(next_try_at=timezone.now())
    relay.run(Context(outage.engine))
    assert len(factory.waiting(outage.engine, QUEUE)) == 4
    assert not OutboxEntry.objects.exists()


def test_a_tenant_that_is_full_gets_the_rest_when_there_is_room(both: Engine, acme: Tenant) -> None:
    services.tenant_set(tenant=acme, by="tests", depth_limit=3)
    letters(acme, 5)
    work(confirmed(canary=0))
    assert (len(factory.waiting(both, QUEUE)), OutboxEntry.objects.count()) == (3, 2)
    assert set(ReplayRun.objects.values_list("state", "note")) == {("running", "")}


def test_a_second_push_is_no_second_job(both: Engine, acme: Tenant) -> None:
    letters(acme, 3)
    bulk = work(confirmed(canary=0))
    from dlq.replay_next import letters_of
    from dlq.replaying import replay_job

    again = [replay_job(each, lane=plan_of(bulk).lane, number=1) for each in letters_of(sent(bulk))]
    assert set(push(again).values()) == {"duplicate"}
    assert len(factory.waiting(both, QUEUE)) == 3
