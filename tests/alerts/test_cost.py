"""What a round costs: it runs every few seconds, beside promotion and intake."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlq.models import DeadLetterGroup, GroupSpan
from jobops.alerts.evaluating import evaluate
from jobops.alerts.models import Alert, AlertRule, Delivery
from jobops.engine.client import Engine
from tenants.models import Tenant
from tests.alerts.readings import cause
from tests.alerts.rounds import channel
from tests.runtime.announced import worker

pytestmark = pytest.mark.django_db


def fill(engine: Engine, tenants: range, groups: int) -> None:
    """Tenants with something in both lanes, and causes of which a third is late and another one warns."""
    slugs = [f"t{number:05}" for number in tenants]
    Tenant.objects.bulk_create([Tenant(slug=slug) for slug in slugs])
    minute, now_ms = engine.scripts.now_ms() // 60_000, engine.scripts.now_ms()
    with engine.redis.pipeline(transaction=False) as pipe:
        for slug in slugs:
            for lane in engine.lanes:
                pipe.rpush(f"rq:queue:{slug}.{lane}", "job")
                pipe.zadd(engine.keys.active(lane), {slug: now_ms - 1000})
            pipe.hset(engine.keys.minute(minute, "tenant"), f"{slug}|starts", 5)
        pipe.execute()
    now = timezone.now()
    first = DeadLetterGroup.objects.count()
    usual = {"job_type": "tests.echo", "open": 3, "deaths": 3, "tenants": 1, "first_seen_at": now}
    made = DeadLetterGroup.objects.bulk_create(
        DeadLetterGroup(
            fingerprint=f"{first + number:064}",
            title=f"cause {number}",
            owner=f"team {number % 7}",
            due_at=now + timedelta(minutes=(number % 3 - 1) * 20),
            **usual,
        )
        for number in range(groups)
    )
    at = now.replace(minute=now.minute // 5 * 5, second=0, microsecond=0)
    GroupSpan.objects.bulk_create(GroupSpan(group=group, at=at, deaths=3) for group in made)


@contextmanager
def round_trips(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Each command sent alone, and each pipeline."""
    from redis import Redis
    from redis.client import Pipeline

    sent: list[Any] = []
    single, many = Redis.execute_command, Pipeline.execute
    with monkeypatch.context() as patch:

        def one(self: Any, *args: Any, **options: Any) -> Any:
            if not isinstance(self, Pipeline):
                sent.append(args[0])
            return single(self, *args, **options)

        def all_of(self: Any, *args: Any, **options: Any) -> Any:
            sent.append("pipeline")
            return many(self, *args, **options)

        patch.setattr(Redis, "execute_command", one)
        patch.setattr(Pipeline, "execute", all_of)
        yield sent


def test_neither_queries_nor_commands_grow_with_tenants_causes_and_open_alerts(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker(engine, lanes=("interactive", "bulk"))
    channel("")
    AlertRule.objects.create(signal="dead_letters", tenant="t0*", threshold=10)
    fill(engine, range(5), 6)
    evaluate(engine)
    with CaptureQueriesContext(connection) as few, round_trips(monkeypatch) as little:
        evaluate(engine)
    fill(engine, range(5, 80), 60)
    evaluate(engine)
    assert Alert.objects.filter(resolved_at__isnull=True).count() > 60
    with CaptureQueriesContext(connection) as many, round_trips(monkeypatch) as much:
        evaluate(engine)
    assert len(many) <= len(few) + 1, [each["sql"][:150] for each in many]
    assert len(much) == len(little)
    assert len(few) <= 32
    assert len(little) <= 24


@pytest.mark.slow
def test_a_round_over_a_thousand_tenants_and_two_thousand_causes_takes_under_a_second(engine: Engine) -> None:
    worker(engine, lanes=("interactive", "bulk"))
    channel("")
    for number in range(20):
        AlertRule.objects.create(signal="depth", tenant=f"t{number:03}*", threshold=10_000)
    fill(engine, range(1000), 2000)
    now = timezone.now()
    for step in range(8):  # the storm: 500 episodes a round
        evaluate(engine, now + timedelta(seconds=5 * step))
    assert Alert.objects.filter(signal="new_cause").count() == 2000
    assert Delivery.objects.count() < 200  # and not one for each of some four thousand
    taken = []
    for step in range(8, 11):
        began = time.process_time()
        evaluate(engine, now + timedelta(seconds=5 * step))
        taken.append(time.process_time() - began)
    assert min(taken) < 1.0, taken


def test_a_round_opens_a_bounded_number_of_episodes_and_the_next_one_goes_on(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobops.alerts.episodes.MOST_OPENED", 4)
    for _ in range(6):
        cause()
    evaluate(engine, only={"new_cause"})
    assert Alert.objects.count() == 4
    evaluate(engine, only={"new_cause"})
    assert Alert.objects.count() == 6
