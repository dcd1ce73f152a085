"""Why a job waits for a limit: a full resource, a rate, a brake, a paused gate."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from jobops.contracts.secret_values import DOTS
from jobops.engine.client import Engine
from jobops.engine.payload import encode
from jobops.engine.rates import Rate
from jobops.engine.records import Outcome, Policy
from jobops.limits.models import Pause
from jobops.runtime.why_records import Kind, Link
from tests.runtime import factory
from tests.runtime.announced import idle_slot, worker
from tests.runtime.factory import claim, settle
from tests.runtime.test_why_waiting import kinds, put, reason, told

pytestmark = pytest.mark.django_db(transaction=True)
HOUR_MS = 3_600_000


@pytest.fixture
def stripe(both: Engine) -> Engine:
    """The resource ``stripe``, for one job at a time; and a worker with a slot that waits."""
    worker(both)
    both.scripts.set_limit("stripe", 1, None)
    idle_slot(both)
    return both


def test_a_full_resource_names_the_jobs_that_hold_it(stripe: Engine) -> None:
    factory.tenant("rival")
    (holder,) = put(tenant="rival", resource="stripe")
    assert claim(stripe) is not None
    (job,) = put(resource="stripe")
    queued = reason(job, Kind.RESOURCE_FULL)  # also before a claim has met it
    assert queued.text == "The resource stripe is full: 1 of 1 jobs that need it are running."
    assert claim(stripe) is None
    found = told(job)
    assert found.state == "waiting"
    full = reason(job, Kind.RESOURCE_FULL)
    assert [(one.job_id, one.worker, one.tenant) for one in full.holders] == [(holder, "w1", "rival")]
    assert (full.link, found.actions[0]) == (Link("resource", "stripe"), "raise concurrency")
    assert found.expected_start is None
    assert found.estimate == "unknown: how long such jobs run was not measured yet"
    assert found.helps[0].command == "manage.py limits set --resource stripe --concurrency N --reason WHY"


def test_its_place_before_the_limit(stripe: Engine) -> None:
    factory.tenant("rival")
    put(resource="stripe")
    assert claim(stripe) is not None
    put(tenant="rival", resource="stripe")
    first, second, third = put(3, resource="stripe")
    assert claim(stripe) is None
    assert Kind.BEHIND_AT_GATE not in kinds(first)
    one = reason(second, Kind.BEHIND_AT_GATE)
    assert one.text == (
        "1 job of its own queue and 1 job of other queues, which take turns with it, come before it at stripe."
    )
    assert (one.count, reason(third, Kind.BEHIND_AT_GATE).count) == (2, 3)


def test_nobody_is_said_to_be_before_itself(stripe: Engine) -> None:
    """With nobody else there, neither the job itself nor those behind it count."""
    put(resource="stripe")
    assert claim(stripe) is not None
    first, second, _ = put(3, resource="stripe")
    assert claim(stripe) is None
    assert Kind.BEHIND_AT_GATE not in kinds(first)
    assert reason(second, Kind.BEHIND_AT_GATE).text == "1 job of its own queue comes before it at stripe."


def test_of_others_only_those_count_whose_turn_comes_before(stripe: Engine) -> None:
    factory.tenant("rival")
    put(resource="stripe")
    assert claim(stripe) is not None
    put(5, tenant="rival", resource="stripe")
    (job,) = put(resource="stripe")
    assert claim(stripe) is None
    assert Kind.BEHIND_AT_GATE not in kinds(job), "five of one queue are one turn, which comes after its own by name"
    (theirs,) = put(tenant="rival", lane="bulk", resource="stripe")
    assert claim(stripe) is None
    assert reason(theirs, Kind.BEHIND_AT_GATE).text == (
        "1 job of other queues, which take turns with it, comes before it at stripe."
    )


def test_a_resource_that_is_not_full_holds_nothing(stripe: Engine) -> None:
    (job,) = put(resource="stripe")
    assert kinds(job) == [Kind.NEXT]


def test_a_used_up_rate_says_until_when(stripe: Engine) -> None:
    stripe.scripts.set_limit("stripe", None, Rate(1, HOUR_MS))
    put(resource="stripe")
    assert claim(stripe) is not None
    (job,) = put(resource="stripe")
    assert claim(stripe) is None
    rated = reason(job, Kind.RESOURCE_RATE)
    assert rated.text == "The resource stripe has used up its rate of 1/h starts."
    assert rated.until is not None
    assert (rated.until - datetime.now(UTC)).total_seconds() == pytest.approx(3600, abs=30)
    found = told(job)
    assert (found.expected_start, found.estimate) == (rated.until, "from the rate of 1/h")
    assert found.helps[0].command == "manage.py limits set --resource stripe --rate N/s --reason WHY"
    stripe.scripts.set_limit("stripe", None, None)
    assert Kind.RESOURCE_RATE not in kinds(job)


def test_a_tenants_own_rate_says_until_when(both: Engine) -> None:
    worker(both)
    both.scripts.set_policy(Policy("acme", version=2**52, cap=None, rate=Rate(1, HOUR_MS)))
    put()
    assert claim(both) is not None
    (job,) = put()
    rated = reason(job, Kind.TENANT_RATE)
    assert rated.text == "Its tenant acme has used up its rate of 1/h starts."
    assert rated.until is not None
    assert (rated.until - datetime.now(UTC)).total_seconds() == pytest.approx(3600, abs=30)


def test_a_brake_says_which_job_put_it_on_what_it_said_and_until_when(stripe: Engine) -> None:
    (first,) = put(resource="stripe", data=encode("tests.echo", (), {"token": "s3cret-value"}))
    running = claim(stripe)
    assert running is not None
    settle(stripe, running, Outcome.postponed(HOUR_MS, "TooMany", "429 for s3cret-value", brake=True))
    said = f"TooMany: 429 for {DOTS}"
    assert f"The resource stripe has its brake on, put on by this job: {said}." in told(first).headline
    (job,) = put(resource="stripe")
    braked = reason(job, Kind.BRAKED)
    assert braked.text == f"The resource stripe has its brake on, put on by job {first}: {said}."
    assert (braked.by, braked.note) == (first, said)
    assert braked.until is not None
    assert (braked.until - datetime.now(UTC)).total_seconds() == pytest.approx(3600, abs=30)
    found = told(job)
    assert found.helps[0].command == "manage.py limits release --resource stripe"
    assert told(first).expected_start == braked.until
    assert found.estimate == "unknown: how long the jobs before it run was not measured yet"
    stripe.redis.delete(f"rq:job:{first}")
    assert reason(job, Kind.BRAKED).text.startswith("The resource stripe has its brake on, put on by job"), "its record"


def test_a_postponed_job_says_that_it_costs_no_attempt(stripe: Engine) -> None:
    (job,) = put(resource="stripe")
    running = claim(stripe)
    assert running is not None
    settle(stripe, running, Outcome.postponed(HOUR_MS, "TooMany", "429"))
    later = reason(job, Kind.POSTPONED)
    assert later.text == "It was told to come later, which counts no attempt: TooMany: 429."
    assert (told(job).expected_start, told(job).actions) == (later.until, ("run now",))


def test_paused_resources_and_types_say_by_whom(stripe: Engine) -> None:
    (job,) = put(resource="stripe")
    stripe.scripts.pause_gate("stripe")
    assert reason(job, Kind.RESOURCE_PAUSED).text == "The resource stripe is paused; nobody wrote down by whom."
    at = datetime(2026, 3, 1, tzinfo=UTC)
    Pause.objects.create(target="resource", name="stripe", paused_by="anna", paused_at=at, reason="503s")
    Pause.objects.create(target="type", name="tests.echo", paused_by="ben", paused_at=at)
    assert reason(job, Kind.RESOURCE_PAUSED).text == "The resource stripe is paused by anna: “503s”."
    assert Kind.TYPE_PAUSED not in kinds(job)
    stripe.scripts.pause_gate("type:tests.echo")
    paused = reason(job, Kind.TYPE_PAUSED)
    assert (paused.text, paused.since) == ("The job type tests.echo is paused by ben.", at)
    assert claim(stripe) is None
    assert told(job).state == "waiting"
    assert kinds(job)[:2] == [Kind.TYPE_PAUSED, Kind.RESOURCE_PAUSED]
    assert told(job).actions[:2] == ("resume job type", "resume resource")
    stripe.scripts.pause("acme")
    assert kinds(job)[:3] == [Kind.TENANT_PAUSED, Kind.TYPE_PAUSED, Kind.RESOURCE_PAUSED], "the strongest first"


def test_a_type_with_a_limit_of_its_own(both: Engine) -> None:
    worker(both)
    both.scripts.set_limit("type:tests.echo", 1, None)
    (holder,) = put()
    assert claim(both) is not None
    (job,) = put()
    full = reason(job, Kind.TYPE_FULL)
    assert full.text == "The job type tests.echo is full: 1 of 1 of its jobs are running."
    assert [one.job_id for one in full.holders] == [holder]


def test_a_resource_that_nobody_has_set_limits_of(both: Engine) -> None:
    """As after a loss of Redis: nobody is let through until somebody has said how many may."""
    worker(both)
    (job,) = put(resource="unheard")
    assert claim(both) is None
    unknown = reason(job, Kind.RESOURCE_UNKNOWN)
    assert unknown.text == "Redis knows no limits of the resource unheard yet; workers and the scheduler tell them."
    both.scripts.set_limit("unheard", None, None)
    assert Kind.RESOURCE_UNKNOWN not in kinds(job)


def test_a_waiting_job_is_told_of_its_tenants_cap_too(stripe: Engine) -> None:
    put(resource="stripe")
    assert claim(stripe) is not None
    (job,) = put(resource="stripe")
    assert claim(stripe) is None
    stripe.scripts.set_policy(Policy("acme", version=2**52, cap=1))
    assert kinds(job)[:2] == [Kind.TENANT_CAP, Kind.RESOURCE_FULL]
