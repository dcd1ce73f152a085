"""A replay of what another replay left, and the share that succeeded of all."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from dlq.foreign.records import packed
from dlq.foreign.unwatched import UNWATCHED
from dlq.models import BulkAction, DeadLetter, ForeignJob, ReplayRun
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.bulks import AT_ONCE, confirm
from tests.web.test_replay_page import end, press, seen, started
from tests.web.world import World


@pytest.fixture
def on_call(world: World, acme: Tenant) -> Client:
    return world.client(Role.ON_CALL)


def test_another_replay_of_a_few_shows_itself_and_not_the_one_before(
    world: World, acme: Tenant, on_call: Client
) -> None:
    first = started(on_call, world, acme, 2, **AT_ONCE)
    end(first, "died")
    press(on_call, first, "again", which="died")
    again = BulkAction.objects.latest("pk")
    answer = confirm(on_call, again, **AT_ONCE | {"next": f"/dlq/replays/{first.pk}/"})
    assert answer["Location"] == f"/dlq/replays/{again.pk}/"


def test_what_was_drained_since_is_not_said_to_be_open(world: World, acme: Tenant, on_call: Client) -> None:
    bulk = started(on_call, world, acme, 4, **AT_ONCE)
    end(bulk, "died")
    text = seen(on_call, bulk)
    assert "0 succeeded, 4 are open again" in text
    assert "4 are open again. Mend the cause" in text
    letters = DeadLetter.objects.filter(runs__bulk=bulk)
    letters.filter(pk__in=list(letters.values_list("pk", flat=True)[:3])).update(state="discarded")
    text = seen(on_call, bulk)
    assert "0 succeeded, 4 did not, of which 1 is open now" in text
    assert "1 of them is open, deadline unchanged" in text
    assert "1 is open again. Mend the cause" in text
    letters.update(state="discarded")
    text = seen(on_call, bulk)
    assert "4 did not, of which none is open now" in text
    assert "Mend the cause" not in text


def test_a_source_that_the_scheduler_does_not_know_is_said(world: World, acme: Tenant, on_call: Client) -> None:
    bulk = started(on_call, world, acme, 4, **AT_ONCE)
    assert "does not know source" not in seen(on_call, bulk)
    run = ReplayRun.objects.filter(bulk=bulk).first()
    assert run is not None
    ForeignJob.objects.create(
        letter=run.letter, source="old", rq_id="x", queue="q", failed_at=timezone.now(), record=packed({})
    )
    ReplayRun.objects.filter(pk=run.pk).update(note=UNWATCHED)
    text = seen(on_call, bulk)
    assert "The scheduler does not know source old. 1 job of this replay may have ended there" in text


def test_what_succeeded_is_a_share_of_all_and_says_so(world: World, acme: Tenant, on_call: Client) -> None:
    bulk = started(on_call, world, acme, 60, **AT_ONCE)
    end(bulk, "succeeded", 6)
    assert "10% of all 60" in seen(on_call, bulk)
