"""How far the night on call is, as `/demo/` tells it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlq.models import BulkAction, DeadLetterGroup
from jobops.alerts.models import Alert, Channel, Delivery
from jobops.audit.models import AuditEntry
from jobops.audit.recording import Change, record
from jobops.demo.night import JOBS, read_night
from jobops.demo.receiver import Desk
from jobops.web.selectors import snapshot
from tenants.roles import Role
from tests.demo.test_page import shown
from tests.web.causes import cause, letter_of
from tests.web.world import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(db: None, engine: object) -> Iterator[World]:
    snapshot.forget()
    yield World(engine)  # type: ignore[arg-type]
    snapshot.forget()


@pytest.fixture
def groups(world: World) -> list[DeadLetterGroup]:
    """It went wrong: three causes, the payments first."""
    record("oncall", Change("demo.incident", "demo", "6"))
    acme, found = world.tenant("acme-retail"), []
    for number, job_type in enumerate(JOBS):
        found.append(cause(f"cause {number}", job_type=job_type, deaths=3 - number, last_seen_at=timezone.now()))
        for _ in range(3 - number):
            letter_of(world, found[-1], acme, job_type=job_type, dead_at=timezone.now())
    return found


def fire(group: DeadLetterGroup, *, sent: bool = True) -> Alert:
    alert = Alert.objects.create(key=f"new_cause:group={group.pk}", signal="new_cause", owner="payments", title="x")
    channel, _ = Channel.objects.get_or_create(name="chat", kind="webhook", target="x")
    state = "sent" if sent else "waiting"
    Delivery.objects.create(
        key=f"{alert.pk}", alert=alert, channel=channel, event="fired", state=state, sent_at=timezone.now()
    )
    return alert


def test_before_it_went_wrong_there_is_nothing_to_tell(world: World, desk: Desk) -> None:
    night = read_night()
    assert (night.since, night.largest, night.poison, night.told) == (None, None, None, False)
    text = shown(world.client(Role.ON_CALL))
    assert 'class="done"' not in text
    assert "died so far" not in text


def test_it_knows_the_causes_and_how_many_died(groups: list[DeadLetterGroup]) -> None:
    night = read_night()
    assert (night.by, night.deaths, night.died) == ("oncall", 6, 6)
    assert [group.pk for group in night.groups] == [group.pk for group in groups]
    assert (night.largest, night.poison) == (groups[0], groups[1])


def test_they_are_told_when_each_of_the_three_is(groups: list[DeadLetterGroup]) -> None:
    for group in groups[:2]:
        fire(group)
    fire(groups[2], sent=False)
    assert not read_night().told
    Delivery.objects.update(state="sent")
    assert read_night().told
    record("oncall", Change("demo.incident", "demo", "60"))
    DeadLetterGroup.objects.update(last_seen_at=timezone.now())
    assert read_night().told, "they fire still, and are told once"
    Alert.objects.filter(key=f"new_cause:group={groups[0].pk}").update(resolved_at=timezone.now() - timedelta(hours=1))
    assert not read_night().told


def test_each_step_is_done_when_somebody_did_it(world: World, desk: Desk, groups: list[DeadLetterGroup]) -> None:
    alert = fire(groups[0])
    night = read_night()
    names = ("acknowledged", "taken", "stopped", "mended", "finished", "discarded", "undone")
    assert not any(getattr(night, name) for name in names)
    assert night.alert == alert
    Alert.objects.update(acknowledged_at=timezone.now())
    for action in ("group.take", "demo.mend", "letter.discard", "letter.undo", "bulk.pause"):
        record("command:oncall", Change(action, "x", "1"))
    night = read_night()
    assert [name for name in names if not getattr(night, name)] == ["stopped", "finished"], "a person paused it"
    record("scheduler", Change("bulk.pause", "bulk", "1"))
    replay = BulkAction.objects.create(kind="replay", by="oncall", state="finished", started_at=timezone.now())
    night = read_night()
    assert (night.stopped, night.finished, night.replay) == (True, True, replay)
    assert shown(world.client(Role.ON_CALL)).count('class="done"') == 8


def test_what_was_done_before_it_went_wrong_again_does_not_count(groups: list[DeadLetterGroup]) -> None:
    record("oncall", Change("letter.undo", "letter", "1"))
    assert read_night().undone
    record("oncall", Change("demo.incident", "demo", "60"))
    night = read_night()
    assert (night.undone, night.deaths, night.died) == (False, 60, 0)
    assert AuditEntry.objects.filter(action="demo.incident").count() == 2


def test_its_queries_do_not_grow_with_the_letters(world: World, groups: list[DeadLetterGroup]) -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as found:
            read_night()
        return len(found)

    few = queries()
    for _ in range(20):
        letter_of(world, groups[0], world.tenant(f"t{_}"), job_type=JOBS[0])
    assert queries() == few
