"""What is read of queues, workers, the flow to the database, and Redis."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from redis.exceptions import ConnectionError as RedisConnectionError

from jobops.alerts import baselines, outbox, sources
from jobops.alerts.evaluating import evaluate, look
from jobops.alerts.models import Alert, AlertRule, Pending, RunTimeBaseline
from jobops.alerts.signals import SIGNALS
from jobops.audit.recording import Change, record
from jobops.context.models import OutboxEntry, OutboxHold
from jobops.engine.client import Engine
from jobops.engine.keys import rq_queue
from jobops.engine.records import Policy
from jobops.scheduling.scheduler import LOCK
from jobops.steward.policies import check_epoch
from tests.alerts.readings import over, read, seen
from tests.runtime import factory
from tests.runtime.announced import worker

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    sources._strays.forget()
    outbox.forget()


def enqueue(engine: Engine, count: int = 1, tenant: str = "acme", lane: str = "interactive") -> None:
    if engine.scripts.policy(tenant) is None:
        engine.scripts.set_policy(Policy(tenant))
    for _ in range(count):
        engine.scripts.enqueue(factory.new_job(tenant, lane=lane))


def aged(engine: Engine, seconds: float, tenant: str = "acme", lane: str = "interactive") -> None:
    """Have the queue's oldest job wait for so long already."""
    engine.redis.zadd(engine.keys.active(lane), {tenant: engine.scripts.now_ms() - seconds * 1000})


def test_the_oldest_job_of_a_lane_counts_and_the_urgent_lane_is_late_sooner(engine: Engine) -> None:
    for slug in ("acme", "beta"):
        factory.tenant(slug)
        for lane in ("interactive", "bulk"):
            enqueue(engine, 1, slug, lane)
    aged(engine, 90, "acme", "interactive")
    aged(engine, 500, "beta", "bulk")
    found = read(engine, "backlog_age")
    assert set(found) == {"lane=interactive", "lane=bulk"}
    assert found["lane=bulk"].reading.title == "The oldest job in bulk, of beta, has waited for 8 min 20 s"
    assert over(engine, "backlog_age") == ["lane=interactive"]
    AlertRule.objects.create(signal="backlog_age", tenant="beta", threshold=300)
    assert over(engine, "backlog_age") == ["lane=interactive", "tenant=beta,lane=bulk"]


def test_a_job_from_the_future_has_waited_for_no_time(engine: Engine) -> None:
    """MA-01: another host's clock wrote it."""
    factory.tenant()
    enqueue(engine)
    aged(engine, -30)
    assert read(engine, "backlog_age")["lane=interactive"].reading.value == 0


def test_an_outbox_row_and_a_death_from_the_future_are_floored_and_counted(engine: Engine) -> None:
    """MA-01."""
    found = look(engine, timezone.now() - timedelta(seconds=3), only={"outbox_lag"})
    assert found.skews == {}
    row(next_try_at=timezone.now())
    found = look(engine, timezone.now() - timedelta(seconds=3), only={"outbox_lag"})
    assert (found.judged["outbox_lag:all"].reading.value, found.skews) == (0, {"an outbox row": 1})
    engine.redis.zadd(engine.keys.dead(), {"job:1": engine.scripts.now_ms() + 3000})
    assert read(engine, "intake_lag")["all"].reading.value == 0
    assert seen(engine, "intake_lag").skews == {"a death": 1}


def test_a_paused_tenants_jobs_wait_because_somebody_chose_so(engine: Engine) -> None:
    tenant = factory.tenant()
    enqueue(engine)
    aged(engine, 5000)
    tenant.paused = True
    tenant.save()
    assert read(engine, "backlog_age") == {}
    assert read(engine, "depth") == {}


def test_a_deep_queue_is_told_with_its_tenant_once_it_was_deep_for_long_enough(engine: Engine) -> None:
    factory.tenant()
    enqueue(engine, 3)
    AlertRule.objects.create(signal="depth", lane="inter*", threshold=2)
    now = timezone.now()
    evaluate(engine, now, only={"depth"})
    assert (Alert.objects.count(), Pending.objects.count()) == (0, 1)
    evaluate(engine, now + timedelta(minutes=5), only={"depth"})
    alert = Alert.objects.get()
    assert alert.title == "acme has 3 jobs waiting in interactive"
    assert (alert.scope, alert.path) == ({"tenant": "acme", "lane": "interactive"}, "/tenants/acme/")


def test_retries_over_a_twentieth_of_the_starts_once_there_were_enough(engine: Engine) -> None:
    minute = engine.scripts.now_ms() // 60_000
    key, types = engine.keys.minute(minute, "tenant"), engine.keys.minute(minute, "type")
    engine.redis.hset(key, mapping={"acme|starts": 19, "acme|retries": 19})
    assert read(engine, "retry_rate") == {}
    engine.redis.hset(key, mapping={"acme|starts": 100, "acme|retries": 6, "beta|starts": 10})
    engine.redis.hset(types, mapping={"billing.capture|retries|b3": 5, "tests.echo|retries|b1": 1})
    found = read(engine, "retry_rate")["all"]
    assert found.reading.title == "5.5 % of starts are retries; most are billing.capture"
    assert over(engine, "retry_rate") == ["all"]
    AlertRule.objects.create(signal="retry_rate", tenant="acme", threshold=50)
    assert set(read(engine, "retry_rate")) == {"all", "tenant=acme"}
    assert over(engine, "retry_rate") == ["all"]


def test_rd_02_a_queue_that_nobody_knows_is_named_within_two_minutes(engine: Engine) -> None:
    engine.redis.rpush(rq_queue("renamed-queue"), *[f"job-{number}" for number in range(50)])
    engine.redis.sadd("rq:queues", "rq:queue:renamed-queue")
    now = timezone.now()
    evaluate(engine, now, only={"unserved_queue"})
    evaluate(engine, now + timedelta(seconds=90), only={"unserved_queue"})
    alert = Alert.objects.get()
    assert "50 jobs wait in queue renamed-queue" in alert.title
    assert SIGNALS["unserved_queue"].for_s + 5 + sources.STALLED_MS / 1000 < 120


def test_a_lane_with_work_and_without_a_living_worker(engine: Engine) -> None:
    factory.tenant()
    enqueue(engine, 2, lane="bulk")
    assert over(engine, "no_worker") == ["lane=bulk"]
    worker(engine, lanes=("bulk",))
    assert over(engine, "no_worker") == []


def test_a_lease_that_ran_out_and_that_nobody_rescues(engine: Engine) -> None:
    now = engine.scripts.now_ms()
    engine.redis.zadd(engine.keys.leases(), {"running": now + 30_000, "a moment ago": now - 5_000})
    assert over(engine, "stalled") == []
    engine.redis.zadd(engine.keys.leases(), {"lost": now - 11_000})
    assert read(engine, "stalled")["all"].reading.value == 1
    assert over(engine, "stalled") == ["all"]


def test_workers_that_are_used_all_the_time(engine: Engine) -> None:
    assert read(engine, "worker_use") == {}
    worker(engine, lanes=("bulk",))
    minute = engine.scripts.now_ms() // 60_000
    engine.redis.hset(engine.keys.minute(minute - 1, "tenant"), "acme|us", 1_000)
    assert over(engine, "worker_use") == []
    for back in range(7):
        engine.redis.hset(engine.keys.minute(minute - back, "tenant"), "acme|us", 10 * 60_000_000)
    assert over(engine, "worker_use") == ["all"]


def test_whether_a_scheduler_leads(engine: Engine) -> None:
    assert over(engine, "no_scheduler") == ["all"]
    engine.redis.set(engine.keys.lock(LOCK), "somebody")
    assert over(engine, "no_scheduler") == []


def test_clocks_that_differ(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert over(engine, "clock_skew") == []
    now = time.time
    monkeypatch.setattr(sources.time, "time", lambda: now() + 8)
    assert read(engine, "clock_skew")["all"].reading.value == pytest.approx(8, abs=0.5)
    assert over(engine, "clock_skew") == ["all"]


def test_deaths_and_ends_that_nobody_takes_in(engine: Engine) -> None:
    assert read(engine, "intake_lag")["all"].reading.value == 0
    engine.redis.zadd(engine.keys.outcomes(), {"{}": engine.scripts.now_ms() - 61_000})
    assert over(engine, "intake_lag") == ["all"]


def row(**fields: Any) -> OutboxEntry:
    now = timezone.now()
    usual: dict[str, Any] = {"tenant": "acme", "lane": "bulk", "job_type": "tests.echo", "data": b"", "max_attempts": 1}
    usual |= {"timeout_ms": 1, "lease_ms": 1, "result_ttl_s": 1, "created_at": now, "next_try_at": now}
    return OutboxEntry.objects.create(pk=f"job-{OutboxEntry.objects.count()}", **(usual | fields))


def test_the_outbox_lags_when_a_due_row_is_not_pushed_and_no_other_row_hides_it(engine: Engine) -> None:
    now = timezone.now()
    row(next_try_at=now + timedelta(hours=1))
    row(tenant="full", next_try_at=now - timedelta(hours=2))
    OutboxHold.objects.create(tenant="full", until=now + timedelta(minutes=1), refusals=3, reason="x", since=now)
    row(tenant="done", state="cancelled", next_try_at=now - timedelta(hours=2))
    assert over(engine, "outbox_lag") == []
    row(tenant="zeta", next_try_at=now - timedelta(seconds=75))
    row(tenant="zeta")
    assert over(engine, "outbox_lag") == ["all"]
    assert ", of zeta first: the relay" in read(engine, "outbox_lag")["all"].reading.title


def test_ob_05_a_parked_row_is_an_alert(engine: Engine) -> None:
    assert over(engine, "outbox_parked") == []
    row(state="parked", parked_as="refused")
    outbox.forget()
    assert read(engine, "outbox_parked")["all"].reading.title.startswith("1 job is parked in the outbox")
    assert over(engine, "outbox_parked") == ["all"]


def test_redis_that_may_drop_jobs_keeps_nothing_or_is_nearly_full(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = ("redis_eviction", "redis_persistence", "redis_memory")
    assert seen(engine, *setup).over == []
    told = {"maxmemory_policy": "allkeys-lru", "aof_enabled": 0, "maxmemory": 1000, "used_memory": 960}
    told |= {"mem_not_counted_for_evict": 100}
    monkeypatch.setattr(engine.redis, "info", lambda section: told)
    assert (
        over(engine, "redis_eviction") == over(engine, "redis_persistence") == over(engine, "redis_memory") == ["redis"]
    )
    told["used_memory"] = 940
    assert over(engine, "redis_memory") == []


def test_a_flush_is_told_although_it_was_put_right_at_once(engine: Engine) -> None:
    assert read(engine, "epoch_changed") == {}
    record("scheduler", Change("policies.push", "redis", "policies", before={"epoch": "old"}, after={"epoch": "new"}))
    assert over(engine, "epoch_changed") == ["epoch=new"]
    assert read(engine, "epoch_changed", now=timezone.now() + timedelta(hours=25)) == {}


def test_the_whole_chain_from_a_flush_to_its_alert(engine: Engine) -> None:
    check_epoch(engine)
    assert read(engine, "epoch_changed") == {}
    engine.redis.flushall()
    engine.prepare()
    check_epoch(engine)
    assert [subject.startswith("epoch=") for subject in over(engine, "epoch_changed")] == [True]


def test_a_job_type_that_takes_twice_as_long_as_usual(engine: Engine) -> None:
    minute = engine.scripts.now_ms() // 60_000
    engine.redis.hset(engine.keys.minute(minute, "type"), mapping={"tests.echo|succeeded|b10": 100})
    now = timezone.now()
    assert over(engine, "run_time") == []
    assert RunTimeBaseline.objects.get().p99_s == 1.024
    RunTimeBaseline.objects.update(p99_s=0.3, samples=baselines.LEAST_SAMPLES)
    assert over(engine, "run_time") == ["type=tests.echo"]
    reading = read(engine, "run_time")["type=tests.echo"].reading
    assert (reading.owner, reading.scope["job_type"]) == ("tests", "tests.echo")
    assert look(engine, now, only={"run_time"}).over


def test_the_baseline_moves_slowly_hardly_while_it_is_slow_and_once_for_two_who_learn() -> None:
    now = timezone.now()
    baselines.learn({"x": 1.0}, now)
    assert baselines.known() == {}
    for step in range(1, 4):
        at = now + step * baselines.EVERY
        assert baselines.learn({"x": 1.5}, at) == 1
        assert baselines.learn({"x": 1.5}, at) == 0
    usual = baselines.known()["x"]
    assert 1.2 < usual < 1.3
    baselines.learn({"x": 10.0}, now + 4 * baselines.EVERY)
    assert baselines.known()["x"] < usual + 0.1


def test_the_disk_of_the_database_and_its_size_where_a_rule_asks(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    assert read(engine, "database_size") == {}
    AlertRule.objects.create(signal="database_size", threshold=0.01)
    assert over(engine, "database_size") == ["database"]
    monkeypatch.setattr(sources.connection, "vendor", "sqlite")
    monkeypatch.setitem(sources.settings.DATABASES["default"], "NAME", tmp_path / "db.sqlite3")
    monkeypatch.setattr(sources.shutil, "disk_usage", lambda folder: type("Usage", (), {"total": 100, "free": 9}))
    assert over(engine, "disk_full") == ["disk"]


def test_redis_away_fires_one_alert_and_nothing_false_and_ends_nothing(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    factory.tenant()
    enqueue(engine, lane="bulk")
    now = timezone.now()
    for minute in range(2):
        evaluate(engine, now + timedelta(minutes=minute))
    assert "no_worker" in set(Alert.objects.values_list("signal", flat=True))
    asked = []

    def away(*args: object, **kwargs: object) -> None:
        asked.append(args)
        raise RedisConnectionError("redis://:s3cret@host refused")

    monkeypatch.setattr(engine.redis, "execute_command", away)
    monkeypatch.setattr("redis.client.Pipeline.execute", away)
    before = set(Alert.objects.values_list("key", flat=True))
    for minute in range(2, 60, 5):
        asked.clear()
        evaluate(engine, now + timedelta(minutes=minute))
        assert len(asked) <= 2  # who found it away is not followed by others who wait for it
    fired = set(Alert.objects.values_list("key", flat=True)) - before
    assert fired == {"redis_away:redis"}
    assert Alert.objects.get(signal="no_worker").resolved_at is None
    found = look(engine, now)
    assert "s3cret" not in str(found.unread)


def test_one_signal_that_breaks_silences_no_other(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.redis.set(engine.keys.leases(), "no zset")
    engine.redis.set(engine.keys.minute(engine.scripts.now_ms() // 60_000, "type"), "no hash")
    found = look(engine, timezone.now())
    assert {"stalled", "run_time"} <= set(found.unread)
    assert {"new_cause", "no_scheduler", "redis_memory", "outbox_lag"} <= found.read
    evaluate(engine)
