"""Why a job waits when somebody paused something: by whom, since when and why, as far as it was written down."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from jobops.engine.client import Engine
from jobops.limits.models import Pause
from jobops.runtime.why_records import Kind
from tenants import services
from tenants.models import Tenant
from tests.runtime.announced import worker
from tests.runtime.test_why_waiting import kinds, put, reason, told

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_paused_tenant_says_by_whom_since_when_and_why(both: Engine) -> None:
    worker(both)
    (job,) = put()
    services.tenant_pause(tenant=Tenant.objects.get(), by="command:anna", reason="the provider is down.")
    pause = reason(job, Kind.TENANT_PAUSED)
    assert pause.text == "Its tenant acme is paused by command:anna: “the provider is down”."
    assert (pause.by, pause.note, pause.since) == (
        "command:anna", "the provider is down.", Tenant.objects.get().paused_at,
    )  # fmt: skip
    found = told(job)
    assert (found.headline, found.actions[0], found.expected_start) == (pause.text, "resume tenant", None)
    services.tenant_resume(tenant=Tenant.objects.get(), by="command:anna")
    assert Kind.TENANT_PAUSED not in kinds(job)


def test_a_tenants_pause_that_redis_does_not_know_yet_holds_nothing(both: Engine) -> None:
    worker(both)
    (job,) = put()
    Tenant.objects.update(paused=True, paused_by="anna")
    assert Kind.TENANT_PAUSED not in kinds(job)


def test_a_pause_that_nobody_wrote_down_says_so(both: Engine) -> None:
    worker(both)
    (job,) = put()
    both.scripts.pause("acme")
    assert reason(job, Kind.TENANT_PAUSED).text == "Its tenant acme is paused; nobody wrote down by whom."
    both.scripts.pause()
    everything = reason(job, Kind.PAUSED)
    assert (everything.text, everything.by) == ("Everything is paused; nobody wrote down by whom.", "")


def test_a_former_owner_of_the_slug_paused_nothing(both: Engine) -> None:
    worker(both)
    (job,) = put()
    both.scripts.pause("acme")
    both.redis.hset(f"rq:job:{job}", "jo_tenant_uid", "somebody else")
    assert reason(job, Kind.TENANT_PAUSED).by == ""


def test_a_pause_of_everything_says_by_whom(both: Engine) -> None:
    worker(both)
    (job,) = put()
    at = datetime(2026, 3, 1, 3, 0, tzinfo=UTC)
    Pause.objects.create(target="all", name="", paused_by="anna", paused_at=at, reason="moving the database")
    assert Kind.PAUSED not in kinds(job), "the row alone holds nothing"
    both.scripts.pause()
    pause = reason(job, Kind.PAUSED)
    assert (pause.text, pause.since) == ("Everything is paused by anna: “moving the database”.", at)
    assert kinds(job)[0] is Kind.PAUSED


def test_a_delayed_job_is_told_of_a_pause_that_would_hold_it_too(both: Engine) -> None:
    worker(both)
    (job,) = put(delay_ms=3_600_000)
    both.scripts.pause("acme")
    assert kinds(job) == [Kind.TENANT_PAUSED, Kind.DELAYED]
    assert told(job).expected_start is None
