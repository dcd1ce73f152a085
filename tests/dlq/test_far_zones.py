"""Times that people choose, with an offset of many hours: PostgreSQL takes none of those, so they are stored in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from dlq.bulk import bulk_confirm, bulk_draft
from dlq.causes.states import group_snooze
from dlq.clock.pausing import group_clock_pause, letter_clock_pause
from dlq.models import BulkAction, DeadLetter, DeadLetterGroup
from dlq.replay_plan import PlanOptions, parse_options
from jobops.alerts.acting import silence_create
from jobops.alerts.models import Silence
from jobops.engine.client import Engine
from tenants.models import Tenant
from tenants.roles import Role
from tests.dlq.letters import letter
from tests.dlq.replaying.many import plan_of
from tests.tenants.people import person

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(params=[23, -23])
def at(request: Any) -> datetime:
    """In three days, as it is said almost a day to the east and to the west."""
    instant = datetime.now(UTC).replace(microsecond=0) + timedelta(days=3)
    return instant.astimezone(timezone(timedelta(hours=request.param, minutes=59)))


@pytest.fixture
def it(both: Engine) -> DeadLetter:
    return letter(Tenant.objects.get(slug="acme"))


def draft() -> BulkAction:
    return bulk_draft(kind="replay", letters=DeadLetter.objects.all(), by="command:ada", chosen="")


def test_when_a_replay_begins(it: DeadLetter, at: datetime) -> None:
    options, faults = parse_options({"start_at": at.isoformat()})
    assert (faults, options.start_at) == ({}, at)
    for plan in (options, PlanOptions(start_at=at)):
        bulk = draft()
        bulk_confirm(bulk_id=bulk.pk, by="command:ada", plan=plan)
        assert plan_of(bulk).start_at == at


def test_when_a_replay_begins_as_a_person_confirms_it(it: DeadLetter, at: datetime, client: Any) -> None:
    client.force_login(person(Role.OPERATOR))
    client.post("/dlq/act/", {"kind": "replay", "ids": [it.pk]})
    bulk = BulkAction.objects.get()
    wanted = {"options": "1", "canary": "1", "rate": "5", "start_at": at.isoformat()}
    assert client.post(f"/dlq/bulk/{bulk.pk}/confirm/", wanted).status_code == 302
    assert plan_of(bulk).start_at == at


def test_until_when_a_cause_is_snoozed(it: DeadLetter, at: datetime) -> None:
    assert it.group_id is not None
    group_snooze(group_id=it.group_id, by="tests", until=at)
    assert DeadLetterGroup.objects.get().snoozed_until == at


def test_until_when_clocks_are_paused(it: DeadLetter, at: datetime) -> None:
    assert it.group_id is not None
    letter_clock_pause(letter_id=it.pk, by="tests", reason="r", until=at)
    group_clock_pause(group_id=it.group_id, by="tests", reason="r", until=at)
    it.refresh_from_db()
    assert (it.clock_paused_until, DeadLetterGroup.objects.get().clock_paused_until) == (at, at)


def test_until_when_alerts_are_silenced(both: Engine, at: datetime) -> None:
    silence_create(by="tests", reason="r", ends_at=at, signal="dead.*")
    assert Silence.objects.get().ends_at == at
