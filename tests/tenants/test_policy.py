"""How policies reach the engine, and come to it again after Redis was away, flushed, or the database restored."""

from __future__ import annotations

import logging

import pytest
from django.db.models import F
from redis.exceptions import ConnectionError as RedisConnectionError

from jobops.engine.client import Engine
from jobops.engine.errors import InvalidJob
from jobops.engine.records import Policy
from tenants import policy
from tenants.errors import EngineAway
from tenants.models import Tenant
from tenants.policy import policy_of, push_all, push_slug, push_stale, stale
from tenants.services import tenant_create, tenant_pause, tenant_set
from tests.tenants.fakes import Recorder
from tests.tenants.people import new_tenant

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_engine_holds_what_the_database_says(plugged: Engine) -> None:
    tenant = tenant_create(slug="acme", by="test", weight=2.5, cap=7, lane_caps={"bulk": 2}, depth_limit=9).tenant
    assert plugged.scripts.policy("acme") == policy_of(tenant)
    tenant = tenant_set(tenant=tenant, by="test", cap=None, lane_caps={}, depth_limit=None).tenant
    assert plugged.scripts.policy("acme") == policy_of(tenant)
    tenant = tenant_pause(tenant=tenant, by="test", reason="r").tenant
    assert plugged.scripts.policy("acme") == policy_of(tenant)


def test_a_change_while_redis_is_away_is_kept_said_and_pushed_later(
    pusher: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant
    pusher.away = True
    with caplog.at_level(logging.WARNING):
        change = tenant_pause(tenant=tenant, by="test", reason="r")
    assert not change.in_force
    assert "Redis could not be reached" in change.problem
    assert "was not pushed" in caplog.text
    assert Tenant.objects.get(slug="acme").paused
    assert list(stale()) == [tenant]
    pusher.away = False
    assert push_stale(pusher) == 1
    assert pusher.pushed[-1].paused
    assert push_stale(pusher) == 0


def test_a_second_pause_after_redis_came_back_is_in_force(pusher: Recorder) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant
    pusher.away = True
    assert not tenant_pause(tenant=tenant, by="test", reason="r").in_force
    pusher.away = False
    assert tenant_pause(tenant=tenant, by="test", reason="r").in_force


def test_without_an_engine_a_change_waits_for_the_scheduler() -> None:
    before = policy._pusher
    policy.set_pusher(None)
    try:
        change = tenant_create(slug="acme", by="test")
        assert not change.in_force
        assert "no engine is plugged in" in change.problem
        with pytest.raises(EngineAway):
            push_slug("acme")
    finally:
        policy.set_pusher(before)


def test_push_all_reaches_every_tenant_in_batches(pusher: Recorder, django_assert_max_num_queries: object) -> None:
    Tenant.objects.bulk_create(Tenant(slug=f"t{number}") for number in range(25))
    with django_assert_max_num_queries(25):  # type: ignore[operator]
        assert push_all(pusher, batch=10) == 25
    assert len({pushed.slug for pushed in pusher.pushed}) == 25
    assert not stale().exists()
    assert push_stale(pusher, 10) == 0
    assert push_all(pusher, 10) == 25, "also what was pushed before: Redis may have forgotten it"


def test_push_all_keeps_what_it_reached_before_redis_went_away(pusher: Recorder) -> None:
    Tenant.objects.bulk_create(Tenant(slug=f"t{number}") for number in range(25))

    class Leaving(Recorder):
        def set_policy(self, one: Policy, /) -> bool:
            self.away = len(self.pushed) >= 12
            return super().set_policy(one)

    with pytest.raises(RedisConnectionError):
        push_all(Leaving(), batch=10)
    assert stale().count() == 15
    assert push_stale(pusher, 10) == 15


def test_one_tenant_that_the_engine_refuses_does_not_hold_up_the_others(plugged: Engine) -> None:
    new_tenant("a"), new_tenant("b", weight=-1.0), new_tenant("c")
    assert push_all(plugged.scripts) == 2
    assert [tenant.slug for tenant in stale()] == ["b"]
    assert plugged.scripts.policy("c") is not None


def test_a_rate_that_is_none_is_the_pushs_to_refuse_and_holds_up_nobody(plugged: Engine) -> None:
    """Written past the services: who compares policies reads on, and the others are pushed."""
    bad = Tenant.objects.create(slug="bad", rate="nonsense")
    Tenant.objects.create(slug="good", rate="2/3s")
    assert push_all(plugged.scripts) == 1
    assert plugged.scripts.policy("bad") is None
    assert plugged.scripts.policy("good") == policy_of(Tenant.objects.get(slug="good"))
    assert policy_of(bad) != policy_of(Tenant(slug="bad", pk=bad.pk))
    with pytest.raises(InvalidJob, match="rate: cannot be used; write it as"):
        plugged.scripts.set_policy(policy_of(bad))


def test_a_key_of_another_kind_in_redis_does_not_hold_up_the_others(plugged: Engine) -> None:
    for slug in ("acme", "beta"):
        tenant_create(slug=slug, by="test")
    plugged.redis.flushall()
    plugged.prepare()
    plugged.redis.set("jobops:tenant:acme", "a string")
    assert push_all(plugged.scripts) == 1
    assert plugged.scripts.policy("beta") is not None


def test_after_a_flush_every_policy_comes_back(plugged: Engine) -> None:
    for slug in ("a", "b"):
        tenant_create(slug=slug, by="test")
    plugged.redis.flushall()
    plugged.prepare()
    assert push_slug("a")
    assert plugged.scripts.policy("a") is not None
    assert not push_slug("nobody")
    assert push_all(plugged.scripts) == 2
    assert plugged.scripts.policy("b") is not None


def test_a_restored_database_gets_its_older_policy_into_force(plugged: Engine) -> None:
    tenant = tenant_create(slug="acme", by="test", cap=3).tenant
    tenant_set(tenant=tenant, by="test", cap=8)
    # The backup knows nothing of the second change.
    Tenant.objects.update(cap=3, policy_version=F("policy_version") - 100, policy_pushed_version=0)
    assert push_all(plugged.scripts) == 1
    in_force = plugged.scripts.policy("acme")
    assert in_force is not None
    assert in_force.cap == 3
    assert tenant_set(tenant=tenant, by="test", cap=3).in_force
