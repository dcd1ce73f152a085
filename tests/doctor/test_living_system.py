"""The doctor on a system that works meanwhile, that is large, that holds odd things, and beside another doctor."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest
from django.db import connection

from dlq.intake import take_in
from dlq.models import DeadLetter, State
from dlq.services import letter_replay
from jobops.audit.models import AuditEntry
from jobops.doctor.checks import CHECKS, jobs
from jobops.doctor.examination import examine
from jobops.doctor.report import LISTED
from jobops.doctor.seen import SeenIds
from jobops.doctor.site import Site
from jobops.doctor.walk import waiting as walk_queue
from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from jobops.scheduling.duties import Context
from jobops.steward.outcomes import run as take_outcomes
from tests.doctor import plant
from tests.doctor.plant import found, look
from tests.runtime import factory
from tests.runtime.factory import new_job

OUTCOMES = (
    Outcome.succeeded(),
    Outcome.succeeded(),
    Outcome.failed("error", "ValueError", "boom"),
    Outcome.failed("error", "ValueError", "later", delay_ms=5),
    Outcome.failed("poison", "ValueError", "no"),
    Outcome.discarded("ValueError", "no"),
    Outcome.released(),
)


def _enqueue(engine: Engine) -> None:
    lane, delay = random.choice(["interactive", "bulk"]), random.choice([0, 0, 0, 10])
    job = new_job(random.choice(["acme", "other"]), lane=lane, delay_ms=delay, front=random.random() < 0.2)
    engine.scripts.enqueue(job)
    if random.random() < 0.1:
        engine.scripts.cancel(job.id)


def _work(engine: Engine) -> None:
    claimed = engine.scripts.claim(uuid4().hex, 1, "w1", list(engine.lanes), block_ms=1).job
    if claimed:
        engine.scripts.settle(uuid4().hex, 1, claimed.id, claimed.token, random.choice(OUTCOMES))


def _keep(engine: Engine) -> None:
    """What the scheduler does, and a person who replays."""
    engine.scripts.promote()
    take_in(engine)
    take_outcomes(Context(engine))
    for letter in DeadLetter.objects.filter(state=State.OPEN)[:3]:
        letter_replay(letter_id=letter.pk, by="tests")
    time.sleep(0.01)


@contextmanager
def traffic(engine: Engine) -> Iterator[None]:
    """Threads that enqueue, cancel, work, promote, take in and replay as fast as they can."""
    stop, errors = threading.Event(), []

    def repeat(step: Callable[[Engine], None]) -> None:
        try:
            while not stop.is_set():
                step(engine)
        except Exception as error:  # noqa: BLE001
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=repeat, args=(step,)) for step in (_enqueue, _work, _work, _keep)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert errors == []


@pytest.mark.parametrize("repair", [False, True])
def test_a_busy_healthy_system_is_found_healthy_again_and_again(site: Site, repair: bool) -> None:
    factory.tenant("other", cap=2)
    with traffic(site.engine):
        deadline = time.monotonic() + 4
        rounds = 0
        while time.monotonic() < deadline or rounds < 3:
            report = examine(site, CHECKS, repair=repair, by=plant.BY)
            assert found(report) == []
            rounds += 1
    assert site.looked_at["jobs"] > 100
    assert AuditEntry.objects.filter(actor=plant.BY).count() == 0


def test_faults_are_found_and_mended_while_jobs_run(site: Site) -> None:
    factory.tenant("other", cap=2)
    factory.tenant("calm")
    lost = [plant.waiting_job(site.engine, tenant="calm", delay_ms=3_600_000) for _ in range(5)]
    site.engine.redis.zrem("rq:scheduler:scheduled_jobs", *lost)
    with traffic(site.engine):
        report = examine(site, CHECKS, repair=True, by=plant.BY)
        assert found(report) == sorted(("in_no_list", job_id) for job_id in lost)
        assert report.wrong == 0
        assert look(site) == []


def test_two_doctors_at_once_mend_everything_once(site: Site) -> None:
    """Trap 7."""
    lost = [plant.waiting_job(site.engine) for _ in range(60)]
    twice = [plant.waiting_job(site.engine) for _ in range(60)]
    site.engine.redis.ltrim("rq:queue:acme.interactive", 60, -1)
    site.engine.redis.rpush("rq:queue:acme.interactive", *twice)
    start, reports = threading.Barrier(2), []

    def repair() -> None:
        try:
            start.wait()
            reports.append(examine(Site(site.engine, grace_s=0.0), CHECKS, repair=True, by=plant.BY))
        finally:
            connection.close()

    threads = [threading.Thread(target=repair) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [report.wrong for report in reports] == [0, 0]
    assert look(site) == []
    assert sorted(factory.waiting(site.engine)) == sorted(lost + twice)
    assert AuditEntry.objects.filter(actor=plant.BY).count() == 120, "each was mended by one of them"


def test_twenty_thousand_jobs_are_walked_in_seconds_and_without_walking_queues_for_each(site: Site) -> None:
    for _ in range(20):
        site.engine.scripts.enqueue_many([new_job() for _ in range(1000)])
    lost = site.engine.redis.lpop("rq:queue:acme.interactive").decode()
    site.engine.redis.config_resetstat()
    before = time.monotonic()
    report = examine(site, CHECKS)
    assert time.monotonic() - before < 15
    assert found(report) == [("in_no_list", lost)]
    assert site.looked_at["jobs"] >= 20_000
    asked = site.engine.redis.info("commandstats")["cmdstat_lpos"]["calls"]
    assert asked < 5, "one suspect, one look"


def test_more_faults_of_one_kind_than_fit_on_a_page_are_counted(site: Site) -> None:
    site.engine.scripts.enqueue_many([new_job() for _ in range(LISTED + 50)])
    site.engine.redis.delete("rq:queue:acme.interactive")
    site.engine.scripts.reconcile("acme.interactive")
    report = examine(site, CHECKS)
    assert (report.wrong, len(report.findings), report.unlisted) == (LISTED + 50, LISTED, {"in_no_list": 50})
    assert report.document()["by_code"] == {"in_no_list": {"found": LISTED + 50, "repaired": 0}}
    assert examine(site, CHECKS, repair=True, by=plant.BY).wrong == 0


def test_a_queue_is_walked_once_though_jobs_come_and_go_meanwhile(site: Site) -> None:
    ids = [new_job() for _ in range(5000)]
    for start in range(0, 5000, 1000):
        site.engine.scripts.enqueue_many(ids[start : start + 1000])
    seen: list[bytes] = []
    for chunk in walk_queue(site.engine, "acme.interactive"):
        seen += chunk
        factory.claim(site.engine)
        site.engine.scripts.enqueue_many([new_job() for _ in range(7)])
    assert len(seen) == len(set(seen))
    kept = {job.id.encode() for job in ids[10:]}
    assert kept <= set(seen)


def test_a_key_of_another_form_is_told_and_stops_nothing_else(site: Site) -> None:
    factory.tenant("other")
    lost = plant.waiting_job(site.engine, tenant="other")
    site.engine.redis.delete("rq:queue:other.interactive")
    site.engine.scripts.reconcile("other.interactive")
    site.engine.redis.sadd("rq:queues", "rq:queue:acme.bulk", b"rq:queue:\xff.bulk", "nonsense")
    site.engine.redis.set("rq:queue:acme.bulk", "not a list")
    site.engine.redis.set("rq:job:odd", "not a hash")
    site.engine.redis.hset(b"rq:job:\xff\xfe", "status", "queued")
    told = look(site)
    assert ("in_no_list", lost) in told
    assert ("unreadable", "acme.bulk") in told


def test_ids_are_counted_by_how_often_they_were_met() -> None:
    seen = SeenIds()
    seen.add([b"once", b"twice", b"thrice"])
    seen.add([b"twice", b"thrice", b"thrice"])
    seen.close()
    assert [seen.count(job_id) for job_id in (b"never", b"once", b"twice", b"thrice")] == [0, 1, 2, 2]


def test_a_redis_without_a_single_job_has_nothing_wrong_with_its_jobs(site: Site) -> None:
    assert list(jobs.check(site)) == []
