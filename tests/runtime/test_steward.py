"""The duties on real stores: policies, reconciling, dead intake; each right when two do it at once."""

from __future__ import annotations

import pytest
import time_machine
from django.utils import timezone
from redis.exceptions import ConnectionError as RedisConnectionError

from dlq.models import DeadLetter
from jobops.audit.models import AuditEntry
from jobops.context import outbox
from jobops.context.models import OutboxEntry
from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from jobops.runtime import enqueuer
from jobops.scheduling.duties import Context
from jobops.steward import intake, policies
from jobops.steward.duties import duties
from jobops.steward.models import CellState
from jobops.steward.policies import PolicyAudit
from jobops.steward.reconcile import Reconciler
from tenants import services
from tenants.models import Tenant
from tests.runtime.conftest import Outage
from tests.runtime.factory import claim, new_job, run_all, settle, tenant, waiting
from tests.runtime.together import twice_at_once

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_flush_is_noticed_and_all_policies_and_lanes_come_back(both: Engine) -> None:
    """Trap 11"""
    tenant("other", weight=3.0, cap=None)
    policies.run(Context(both))
    before = CellState.objects.get().epoch
    both.redis.flushall()
    assert policies.run(Context(both)) == 2
    assert policies.run(Context(both)) == 0
    assert CellState.objects.get().epoch not in ("", before)
    other = both.scripts.policy("other")
    assert other is not None
    assert (other.weight, other.cap) == (3.0, None)
    assert both.scripts.enqueue(new_job()).state == "queued"


def test_a_redis_that_was_set_back_to_an_older_state_of_its_own_is_noticed(both: Engine) -> None:
    """Trap 11: its epoch is the same, and what ended since may run again."""
    tenant("other", weight=3.0, cap=None)
    with time_machine.travel(timezone.now(), tick=False) as clock:
        policies.run(Context(both))
        older = {}
        for number in range(policies.MOST_BEHIND + 2):
            if number == 1:
                older = {key: both.redis.dump(key) for key in both.redis.scan_iter("*")}
            clock.shift(policies.MARK_EVERY)
            assert policies.run(Context(both)) == 0
        before = CellState.objects.get()
        assert before.mark == policies.MOST_BEHIND + 2
        both.redis.flushall()
        for key, value in older.items():
            both.redis.restore(key, 0, value)
        assert both.scripts.epoch() == before.epoch
        clock.shift(policies.MARK_EVERY)
        assert policies.run(Context(both)) == 2
        assert CellState.objects.get().epoch not in ("", before.epoch)
        assert AuditEntry.objects.filter(action="policies.push").count() == 1
        clock.shift(policies.MARK_EVERY)
        assert policies.run(Context(both)) == 0


def test_marks_are_made_now_and_then_and_not_each_second(both: Engine) -> None:
    for _ in range(5):
        policies.run(Context(both))
    assert CellState.objects.get().mark == 1


def test_a_pause_outlives_a_restart_and_a_flush_and_covers_recovered_jobs(outage: Outage) -> None:
    """CC-11: pause; restart Redis; a retry and a new job; flush; 0 starts until resume."""
    engine = outage.engine
    enqueuer().enqueue(new_job())
    running = claim(engine)
    assert running is not None
    services.tenant_pause(tenant=Tenant.objects.get(), by="tests", reason="test")
    outage.begin()
    outage.end()
    policies.run(Context(engine))
    settle(engine, running, Outcome.failed("error", delay_ms=0))
    engine.scripts.promote()
    enqueuer().enqueue(new_job())
    Reconciler().run(Context(engine))
    assert claim(engine) is None
    engine.redis.flushall()
    policies.run(Context(engine))
    enqueuer().enqueue(new_job())
    assert claim(engine) is None
    services.tenant_resume(tenant=Tenant.objects.get(), by="tests")
    assert claim(engine) is not None


def test_what_redis_lost_without_a_new_epoch_is_repaired_by_the_audit(both: Engine) -> None:
    for n in range(5):
        tenant(f"t{n}")
    policies.run(Context(both))
    both.redis.delete("jobops:tenant:t1")
    both.redis.hset("jobops:tenant:t3", "cap", "1")
    both.redis.delete("jobops:lanes")
    assert policies.run(Context(both)) == 0
    audit = PolicyAudit(batch=2)
    while audit.run(Context(both)):
        pass
    assert both.scripts.policy("t1") is not None
    t3 = both.scripts.policy("t3")
    assert t3 is not None
    assert t3.cap == 10
    assert both.scripts.enqueue(new_job("t1")).state == "queued"
    assert audit.run(Context(both)) == 0, "then it rests"


def test_a_plain_rq_enqueue_into_a_tenants_queue_is_noticed(both: Engine) -> None:
    """Trap 12: an outsider's push never enters the ring by itself."""
    enqueuer().enqueue(new_job())
    for key in ("jobops:ring:interactive", "jobops:active:interactive"):
        both.redis.delete(key)
    assert claim(both) is None
    Reconciler().run(Context(both))
    assert claim(both) is not None


def test_a_running_job_without_a_lease_is_found_within_one_sweep(both: Engine) -> None:
    """LS-11"""
    job = enqueuer().enqueue(new_job())
    running = claim(both)
    assert running is not None
    both.redis.delete(f"jobops:lease:{job.id}")
    both.redis.zrem("jobops:leases", job.id)
    Reconciler().run(Context(both))
    both.scripts.promote()
    again = claim(both)
    assert again is not None
    assert (again.id, again.attempt) == (job.id, 2)


def test_a_lane_that_the_settings_no_longer_name_is_reconciled_too(both: Engine) -> None:
    both.scripts.set_lanes({"former": 1.0})
    both.scripts.enqueue(new_job(lane="former"))
    both.redis.delete(both.keys.ring("former"))
    Reconciler().run(Context(both))
    assert both.redis.zcard(both.keys.ring("former")) == 1


def test_reconciling_walks_all_queues_and_leaves_foreign_ones_alone(both: Engine) -> None:
    both.redis.sadd("rq:queues", "rq:queue:default", "rq:queue:some.thing", b"rq:queue:\xff\xfe.bulk", "nonsense")
    both.redis.lpush("rq:queue:default", "foreign")
    names = [f"t{n}" for n in range(40)]
    for name in names:
        tenant(name)
        enqueuer().enqueue(new_job(name))
    both.redis.delete("jobops:ring:interactive")
    reconciler = Reconciler(batch=7)
    for _ in range(100):
        if not reconciler.run(Context(both)):
            break
    assert both.redis.zcard("jobops:ring:interactive") == 40
    assert both.redis.lrange("rq:queue:default", 0, -1) == [b"foreign"]


def test_one_key_of_a_wrong_type_stops_neither_reconciling_nor_the_audit(
    both: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    tenant("other")
    enqueuer().enqueue_many([new_job(), new_job("other")])
    both.redis.sadd("rq:queues", "rq:queue:acme.bulk")
    both.redis.set("rq:queue:acme.bulk", "not a list")
    both.redis.delete("jobops:ring:interactive", "jobops:tenant:acme", "jobops:tenant:other")
    both.redis.set("jobops:tenant:acme", "not a hash")
    audit, reconciler = PolicyAudit(every_s=0.0), Reconciler()
    for _ in range(3):
        audit.run(Context(both))
        assert reconciler.run(Context(both)) == 0, "the round came to its end"
    assert both.scripts.policy("other") is not None
    assert both.redis.zscore("jobops:ring:interactive", "other") is not None
    errors = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert sum(error.startswith("queue acme.bulk cannot be reconciled") for error in errors) == 1
    assert sum(error.startswith("the policy of tenant acme cannot be compared") for error in errors) == 1
    both.redis.delete("rq:queue:acme.bulk", "jobops:tenant:acme")
    audit.run(Context(both))
    reconciler.run(Context(both))
    assert both.scripts.policy("acme") is not None
    assert (audit._broken, reconciler._broken) == (set(), set())


def test_an_outage_ends_a_round_of_reconciling_and_of_the_audit_at_once(outage: Outage) -> None:
    enqueuer().enqueue(new_job())
    outage.begin()
    for run in (Reconciler().run, PolicyAudit().run):
        with pytest.raises(RedisConnectionError):
            run(Context(outage.engine))
    outage.end()


def test_deaths_become_letters_once_with_two_leaders(both: Engine) -> None:
    """Trap 7"""
    jobs = [new_job() for _ in range(60)]
    enqueuer().enqueue_many(jobs)
    assert len(run_all(both, Outcome.failed("poison", "ValueError", "no"))) == 60

    def take_all() -> None:
        while intake.run(Context(both)):
            pass

    twice_at_once(take_all)
    assert DeadLetter.objects.count() == 60
    assert both.redis.zcard("jobops:dead") == 0


def test_every_duty_at_once_in_two_processes_is_right(both: Engine) -> None:
    """Trap 7, SC-01: outbox, deaths, delayed jobs and lost policies, with two leaders."""
    tenant("other")
    rows = [new_job("other") for _ in range(50)]
    outbox.write(rows)
    OutboxEntry.objects.update(next_try_at="2020-01-01T00:00:00Z")
    dying = [new_job() for _ in range(20)]
    enqueuer().enqueue_many(dying)
    run_all(both, Outcome.failed("poison", "ValueError", "no"))
    both.redis.delete("jobops:tenant:other")
    CellState.objects.all().delete()
    both.redis.delete("jobops:cell")

    def everything() -> None:
        for duty in duties():
            while duty.run(Context(both)):
                pass

    twice_at_once(everything)
    assert waiting(both, "other.interactive") == [job.id for job in rows]
    assert DeadLetter.objects.count() == 20
    assert CellState.objects.get().epoch == both.scripts.epoch()
