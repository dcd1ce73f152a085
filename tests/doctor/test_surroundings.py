"""What jobs rest on: Redis's settings and identity, the processes, the outbox."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from dlq.foreign.records import packed
from dlq.foreign.unwatched import UNWATCHED
from dlq.models import ForeignJob, ReplayRun
from jobops.context import outbox
from jobops.context.models import OutboxEntry, OutboxHold
from jobops.doctor.checks import CHECKS, redis_setup
from jobops.doctor.examination import examine
from jobops.doctor.site import Site
from jobops.engine.registrations import withdraw
from jobops.runtime.memory import Reading, memory_guard
from jobops.steward import policies
from jobops.steward.models import CellState
from tests.dlq.letters import letter
from tests.doctor import plant
from tests.doctor.plant import found, left, look, mended
from tests.runtime.factory import new_job, waiting


def test_eviction_is_switched_off(site: Site) -> None:
    site.engine.redis.config_set("maxmemory-policy", "allkeys-lru")
    mended(site, ("eviction_on", ""))
    assert site.engine.redis.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}


def test_a_redis_that_is_nearly_full_is_told_and_its_rows_wait_rightly(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RD-01"""
    outbox.write([new_job()])
    OutboxEntry.objects.update(next_try_at=timezone.now() - timedelta(minutes=5))
    assert [code for code, _ in look(site)] == ["outbox_late"]
    monkeypatch.setattr(memory_guard(), "is_tight", lambda: True)
    monkeypatch.setattr(memory_guard(), "reading", Reading(91, 100))
    report = examine(site, CHECKS)
    assert found(report) == [("memory_tight", "")]
    assert report.findings[0].text.startswith("Redis is at 91 % of its memory: enqueues go to the outbox")


def test_a_source_that_the_scheduler_does_not_know_is_told_while_replays_run_there(site: Site) -> None:
    sent = letter(None, state="replaying")
    ReplayRun.objects.create(letter=sent, number=1, job_id="r1", by="tests", note=UNWATCHED)
    ForeignJob.objects.create(
        letter=sent, source="old", rq_id="x", queue="q", failed_at=timezone.now(), record=packed({})
    )
    assert [finding for finding in look(site) if finding[0] == "source_unknown"] == [("source_unknown", "old")]
    ReplayRun.objects.update(note="")
    assert [finding for finding in look(site) if finding[0] == "source_unknown"] == []


def test_the_append_only_file_is_switched_on(site: Site) -> None:
    site.engine.redis.config_set("appendonly", "no")
    mended(site, ("append_only_off", ""))
    assert site.engine.redis.config_get("appendonly") == {"appendonly": "yes"}


def test_a_redis_that_does_not_let_itself_be_set_is_told_in_words(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from redis.exceptions import ResponseError

    def refuse(*_: object) -> None:
        raise ResponseError("unknown command 'CONFIG'")

    site.engine.redis.config_set("maxmemory-policy", "allkeys-lru")
    with monkeypatch.context() as patched:
        patched.setattr(site.engine.redis, "config_set", refuse)
        patched.setattr(site.engine.redis, "config_get", refuse)
        report = examine(site, [redis_setup.check], repair=True, by=plant.BY)
    assert report.wrong == 1
    assert "set maxmemory-policy noeviction where it is run" in report.findings[0].done


def test_an_append_only_file_that_a_crash_cuts_short_is_a_note(site: Site) -> None:
    """Trap 2."""
    site.engine.redis.config_set("appendfsync", "everysec")
    report = examine(site, CHECKS)
    assert (report.wrong, [finding.code for finding in report.findings]) == (0, ["append_fsync_everysec"])


def test_a_flushed_redis_is_told_and_gets_its_policies_back(site: Site) -> None:
    """Trap 11."""
    site.engine.redis.flushall()
    plant.scheduler(site.engine)
    plant.worker(site.engine)
    report = examine(site, CHECKS, repair=True, by=plant.BY)
    assert found(report) == [("epoch_differs", "")]
    assert look(site) == []


def test_a_redis_set_back_to_an_older_state_is_told(site: Site) -> None:
    """Trap 11: its epoch is the same."""
    CellState.objects.update(mark=policies.MOST_BEHIND + 1, marked_at=timezone.now())
    report = examine(site, CHECKS, repair=True, by=plant.BY)
    assert found(report) == [("epoch_differs", "")]
    assert look(site) == []


def test_without_a_scheduler_or_a_worker_the_doctor_says_so(site: Site) -> None:
    site.engine.redis.delete(site.engine.keys.lock("scheduler"))
    left(site, ("no_scheduler", ""))
    withdraw(site.engine, "host-0123abcd")
    left(site, ("no_scheduler", ""), ("no_worker", ""))


def _row(**fields: object) -> str:
    job = new_job()
    outbox.write([job])
    OutboxEntry.objects.filter(pk=job.id).update(**fields)
    return job.id


def test_a_new_row_of_the_outbox_is_no_fault(site: Site) -> None:
    _row()
    assert look(site) == []


@pytest.mark.parametrize("parked_as", OutboxEntry.Parked.values)
def test_a_parked_row_of_the_outbox_is_told_with_what_to_do(site: Site, parked_as: str) -> None:
    job_id = _row(state="parked", parked_as=parked_as)
    report = left(site, ("outbox_parked", job_id))
    assert f"jobs unpark {job_id}" in report.findings[0].text


def test_rows_that_nobody_pushes_are_pushed(site: Site) -> None:
    job_id = _row(next_try_at=timezone.now() - timedelta(minutes=5))
    mended(site, ("outbox_late", "acme"))
    assert waiting(site.engine) == [job_id]


def test_rows_of_a_tenant_without_room_wait_rightly(site: Site) -> None:
    now = timezone.now()
    _row(next_try_at=now - timedelta(minutes=5))
    OutboxHold.objects.create(
        tenant="acme", until=now + timedelta(seconds=9), refusals=3, reason="DepthExceeded", since=now
    )
    assert look(site) == []
