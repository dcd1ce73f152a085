"""Why a job waits in the outbox, by what is so now, and what it meets when it comes to Redis."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone
from redis.exceptions import RedisError

from jobops.context import outbox
from jobops.context.models import OutboxEntry, OutboxHold
from jobops.engine.client import Engine
from jobops.engine.rates import Rate
from jobops.limits.models import Pause
from jobops.runtime.why import why
from jobops.runtime.why_records import Kind
from tenants.models import Tenant
from tests.runtime.announced import worker
from tests.runtime.conftest import Outage
from tests.runtime.factory import claim, new_job
from tests.runtime.test_why_waiting import kinds, policy, put, reason, told

pytestmark = pytest.mark.django_db(transaction=True)
HOUR_MS = 3_600_000
UNKNOWN = "unknown: it is not in its queue yet, where it then takes its turn"


def row(**fields: object) -> str:
    return outbox.write([new_job(**fields)])[0].id


def held(error: str, seconds: float = 20) -> OutboxHold:
    """The tenant is held since now, and tried again after so long."""
    now = timezone.now()
    until = now + timedelta(seconds=seconds)
    return OutboxHold.objects.create(tenant="acme", until=until, refusals=3, reason=error, since=now)


@pytest.fixture
def staffed(both: Engine) -> Engine:
    """A worker serves its lane: only the outbox keeps a job from starting."""
    worker(both)
    return both


def test_a_row_in_the_outbox_is_on_its_way(staffed: Engine) -> None:
    found = told(row())
    assert (found.state, [each.kind for each in found.reasons]) == ("outbox", [Kind.OUTBOX])
    assert found.reasons[0].since == OutboxEntry.objects.get().created_at
    assert (found.expected_start, found.estimate) == (None, UNKNOWN)


def test_one_that_its_tenants_depth_limit_keeps_out_says_how_full_it_is_now(staffed: Engine) -> None:
    policy(staffed, depth_limit=2)
    put(2)
    job, hold = row(), held("DepthExceeded")
    told_of = reason(job, Kind.OUTBOX_HELD)
    assert told_of.text == ("It waits in the outbox: its tenant acme is at its depth limit of 2 (waiting: 2).")
    assert (told_of.since, told_of.until) == (hold.since, hold.until)
    found = told(job)
    assert (found.expected_start, found.estimate) == (None, UNKNOWN), "the next try is no start"
    assert found.helps[0].command == "manage.py tenants set acme --depth-limit N"


def test_jobs_at_a_gate_count_as_depth(staffed: Engine) -> None:
    staffed.scripts.set_limit("stripe", 0, None)
    put(2, resource="stripe")
    assert claim(staffed) is None
    policy(staffed, depth_limit=2)
    job = row()
    held("DepthExceeded")
    assert "depth limit of 2 (waiting: 2)" in told(job).headline


def test_a_limit_that_holds_nothing_any_more_is_not_said_to_hold(staffed: Engine) -> None:
    policy(staffed, depth_limit=2)
    job = row()
    held("DepthExceeded")
    assert reason(job, Kind.OUTBOX_HELD).text == (
        "It waits in the outbox: when Redis was last asked to take jobs of its tenant acme, it was at its depth limit; "
        "now there is room, and it comes in."
    )
    assert told(job).actions == ()


def test_a_closed_intake_says_how_it_is_opened(staffed: Engine) -> None:
    policy(staffed, intake_closed=True)
    job = row()
    held("DepthExceeded")
    assert told(job).headline == "It waits in the outbox: the intake of its tenant acme is closed."
    assert told(job).helps[0].command == "manage.py tenants set acme --intake open"
    policy(staffed)
    assert "now there is room" in told(job).headline


def test_a_next_try_that_is_over_is_not_told(staffed: Engine) -> None:
    job = row()
    held("DepthExceeded", seconds=-5)
    assert reason(job, Kind.OUTBOX_HELD).until is None


def test_a_refused_row_says_when_it_is_tried_again(staffed: Engine) -> None:
    job, later = row(), timezone.now() + timedelta(minutes=4)
    OutboxEntry.objects.update(attempts=3, last_error="NotTaken: acme.bulk: OOM", next_try_at=later)
    refused = reason(job, Kind.OUTBOX_REFUSED)
    assert refused.text == "It waits in the outbox: Redis refused it 3 times, lately: NotTaken: acme.bulk: OOM."
    assert (refused.until, told(job).expected_start, told(job).estimate) == (later, None, UNKNOWN)


@pytest.mark.parametrize(
    ("parked_as", "words"),
    [
        ("refused", "refused again and again"),
        ("outcome_unknown", "pushed long ago, and nobody knows whether it arrived"),
    ],
)
def test_a_parked_row_says_as_what(staffed: Engine, parked_as: str, words: str) -> None:
    """OB-05"""
    job = row()
    OutboxEntry.objects.update(state="parked", parked_as=parked_as, last_error="UnknownTenant: acme")
    parked = reason(job, Kind.OUTBOX_PARKED)
    assert parked.text == f"It is parked in the outbox, {words}: UnknownTenant: acme."
    assert (told(job).actions, told(job).expected_start) == (("unpark", "cancel"), None)


def test_a_delayed_row_says_until_when_too(staffed: Engine) -> None:
    due = staffed.scripts.now_ms() + HOUR_MS
    job = row(due_at_ms=due)
    assert kinds(job) == [Kind.OUTBOX, Kind.DELAYED]
    assert told(job).expected_start == datetime.fromtimestamp(due / 1000, UTC)
    assert told(job).actions == ("run now",)
    held("DepthExceeded")
    assert told(job).expected_start is None, "nobody knows whether it is let in until then"


def test_every_pause_that_holds_it_once_it_is_in_is_told(staffed: Engine) -> None:
    job = row(resource="stripe")
    at = datetime(2026, 3, 1, tzinfo=UTC)
    for target, name in (("all", ""), ("type", "tests.echo"), ("resource", "stripe")):
        Pause.objects.create(target=target, name=name, paused_by="anna", paused_at=at, reason="moving")
    Tenant.objects.update(paused=True, paused_by="ben", paused_at=at, pause_reason="unpaid")
    staffed.scripts.set_limit("stripe", None, None)
    for gate in ("type:tests.echo", "stripe"):
        staffed.scripts.pause_gate(gate)
    staffed.scripts.pause()
    staffed.scripts.pause("acme")
    found = told(job)
    assert [each.kind for each in found.reasons] == [
        Kind.PAUSED, Kind.TENANT_PAUSED, Kind.TYPE_PAUSED, Kind.RESOURCE_PAUSED, Kind.OUTBOX,
    ]  # fmt: skip
    assert found.headline == "Everything is paused by anna: “moving”."
    assert found.reasons[1].text == "Its tenant acme is paused by ben: “unpaid”."
    assert (found.expected_start, found.estimate) == (None, "unknown: nobody can say when that is over")


def test_what_else_it_meets_in_redis_is_told(both: Engine) -> None:
    both.scripts.set_limit("stripe", None, Rate(1, HOUR_MS))
    put(resource="stripe")
    assert claim(both) is not None
    job = row(resource="stripe")
    assert kinds(job) == [Kind.NO_WORKER, Kind.RESOURCE_RATE, Kind.OUTBOX]
    both.scripts.drop_policy("acme")
    assert kinds(job)[0] is Kind.TENANT_GONE


def test_while_redis_is_away_the_outbox_still_answers(outage: Outage) -> None:
    job = row()
    outage.begin()
    assert told(job).reasons[0].text == (
        "Redis cannot be reached; the job is safe in the outbox and goes on when Redis is back."
    )
    assert kinds(job) == [Kind.REDIS_AWAY]
    with pytest.raises(RedisError):
        why("what is not in the outbox")
