"""Trap 9 through a proxy that carries every request out and swallows its first answer: exactly one run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.db import transaction
from pytest_django import Settings
from redis.exceptions import RedisError

from jobops.context import relay
from jobops.context.models import OutboxEntry
from jobops.embedded import EmbeddedRedis
from jobops.engine.client import Engine, connect
from jobops.runtime import enqueuer, get_engine
from jobops.runtime.enqueuer import pusher
from jobops.runtime.memory import memory_guard
from tests.runtime import factory
from tests.runtime.factory import echo, new_job, run_all, waiting
from tests.worker.cutting_proxy import CuttingProxy

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def direct(own_redis: EmbeddedRedis, tmp_path: Path, settings: Settings, transactional_db: None) -> Iterator[Engine]:
    """The engine beside the proxy; the runtime's own one goes through it."""
    direct = Engine(connect(own_redis.url), lanes=dict(settings.JOBOPS_LANES))
    direct.prepare()
    settings.JOBOPS_REDIS_URL = own_redis.url
    factory.tenant()
    proxy = CuttingProxy(tmp_path / "proxy.sock", own_redis.url.removeprefix("unix://"))
    settings.JOBOPS_REDIS_URL = proxy.url
    with contextlib.suppress(RedisError):
        memory_guard().is_tight()  # its answer is swallowed too, and is not what this is about
    memory_guard()._next_at = 0.0
    assert not memory_guard().is_tight()
    yield direct
    get_engine().redis.close()
    proxy.close()


def relay_all() -> None:
    """The relay comes round until it gets an answer."""
    for _ in range(3):
        OutboxEntry.objects.filter(state="waiting").update(next_try_at="2020-01-01T00:00:00Z")
        with contextlib.suppress(RedisError):
            relay.relay(pusher())


@pytest.mark.parametrize("runs_first", [False, True])
def test_an_enqueue_whose_answer_is_swallowed_runs_once(direct: Engine, runs_first: bool) -> None:
    handle = echo.using(tenant="acme").enqueue()
    row = OutboxEntry.objects.get()
    assert (handle.state, row.pk, row.first_pushed_at is None) == ("outbox", handle.id, False)
    ran = run_all(direct) if runs_first else []
    relay_all()
    assert ran + run_all(direct) == [handle.id]
    assert not OutboxEntry.objects.exists()
    relay_all()
    assert waiting(direct) == []


def test_many_whose_answers_are_swallowed_run_once_each_and_in_order(direct: Engine) -> None:
    jobs = [new_job() for _ in range(20)]
    enqueuer().enqueue_many(jobs)
    relay_all()
    assert run_all(direct) == [job.id for job in jobs]
    assert not OutboxEntry.objects.exists()


def test_a_push_after_the_commit_whose_answer_is_swallowed_runs_once(direct: Engine) -> None:
    with transaction.atomic():
        handle = echo.using(tenant="acme").enqueue()
    row = OutboxEntry.objects.get()
    assert (row.state, row.first_pushed_at is None) == ("waiting", False)
    assert run_all(direct) == [handle.id]
    relay_all()
    assert run_all(direct) == []
    assert not OutboxEntry.objects.exists()


def test_a_job_that_drops_another_drops_it_once(direct: Engine) -> None:
    """The one that was dropped is not dropped again, nor the new one by its own repeat."""
    policy = direct.scripts.policy("acme")
    assert policy is not None
    direct.scripts.set_policy(replace(policy, depth_limit=1))
    old, new = (new_job(key="k", on_full="drop_oldest") for _ in range(2))
    direct.scripts.enqueue(old)
    enqueuer().enqueue(new)
    relay_all()
    assert run_all(direct) == [new.id]
