"""Those with a key in common run one after the other, in their order; nobody else waits for them."""

from __future__ import annotations

import pytest

from dlq.models import DeadLetter
from dlq.replay_pace import holds_back
from jobops.contracts.decorator import job
from jobops.engine.client import Engine
from tenants.models import Tenant
from tests.dlq.letters import letter, letters, states
from tests.dlq.replaying.many import confirmed, fail, plan_of, sent, succeed, work
from tests.runtime import factory

pytestmark = pytest.mark.django_db(transaction=True)


@job(name="tests.echo.other", owner="tests", drain_sla="1h", idempotent="does nothing", lane="interactive")
def other(value: object = None) -> object:
    return value


@pytest.fixture
def acme(both: Engine) -> Tenant:
    return Tenant.objects.get(slug="acme")


def test_one_after_the_other_each_once(both: Engine, acme: Tenant) -> None:
    same = letters(acme, 3, key="invoice:42")
    free = letters(acme, 4)
    bulk = work(confirmed(canary=0))
    assert sent(bulk) == [same[0].pk, *(each.pk for each in free)]
    assert (bulk.state, holds_back(bulk, plan_of(bulk))) == ("running", "order")
    succeed(both)
    assert sent(work(bulk))[5:] == [same[1].pk]
    succeed(both)
    assert (work(bulk).state, bulk.skipped) == ("finished", 0)
    assert sent(bulk)[6:] == [same[2].pk]
    succeed(both)
    assert set(DeadLetter.objects.values_list("state", "replays")) == {("resolved", 1)}


def test_one_that_died_again_keeps_no_other_waiting(both: Engine, acme: Tenant) -> None:
    same = letters(acme, 2, key="k")
    bulk = work(confirmed(canary=0, breaker_percent=100.0))
    fail(both)
    assert sent(work(bulk)) == [each.pk for each in same]


def test_keys_of_other_tenants_and_types_are_other_keys(both: Engine, acme: Tenant) -> None:
    letters(acme, 1, key="k"), letters(factory.tenant("b"), 1, key="k")
    letter(acme, key="k", job_type=other.name if hasattr(other, "name") else "tests.echo.other")
    assert work(confirmed(canary=0)).state == "finished"


def test_many_with_one_key_hide_nobody_behind_them(both: Engine, acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    from dlq import bulk_run

    monkeypatch.setattr(bulk_run, "REPLAY_BATCH", 4)
    same, last = letters(acme, 30, key="k"), letters(acme, 2)
    b = letters(factory.tenant("b"), 1, key="k")
    assert sent(work(confirmed(canary=0))) == [same[0].pk, *(each.pk for each in [*last, *b])]


def test_a_key_that_another_live_job_holds_is_skipped(both: Engine, acme: Tenant) -> None:
    """DL-15: nothing of the replay waits for it; the letter is open afterwards, and the other nine go."""
    kept, nine = letter(acme, key="held"), letters(acme, 9)
    both.scripts.enqueue(factory.new_job(key="held"))
    bulk = work(confirmed(canary=0))
    assert (bulk.state, bulk.done, bulk.skipped) == ("finished", 9, 1)
    assert states([kept, *nine]) == ["open"] + ["replaying"] * 9


def test_in_any_order_the_second_one_is_skipped(both: Engine, acme: Tenant) -> None:
    letters(acme, 2, key="k")
    bulk = work(confirmed(canary=0, in_order=False))
    assert (bulk.state, bulk.done, bulk.skipped) == ("finished", 1, 1)


def test_a_canary_keeps_the_order_too(both: Engine, acme: Tenant) -> None:
    same, free = letters(acme, 3, key="k"), letters(acme, 4)
    bulk = work(confirmed(canary=2))
    assert sent(bulk) == [same[0].pk]
    succeed(both)
    assert sent(work(bulk)) == [same[0].pk, same[1].pk]
    succeed(both)
    assert sent(work(bulk))[2:] == [same[2].pk, *(each.pk for each in free)]
