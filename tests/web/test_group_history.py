"""What became of all letters of a cause at once, in its history: replays, discards and their undoing."""

from __future__ import annotations

import html
import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlq.models import BulkAction, DeadLetterGroup, ReplayRun
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.bulks import AT_ONCE, TYPE, confirm, draft
from tests.web.causes import cause, letter_of
from tests.web.world import World


@pytest.fixture
def acme(world: World) -> Tenant:
    return world.tenant("acme", may_replay=True)


@pytest.fixture
def group(world: World, acme: Tenant) -> DeadLetterGroup:
    group = cause("Provider answered 503", job_type=TYPE)
    for number in range(3):
        letter_of(world, group, acme, error=f"answered 503 for {number}")
    return group


@pytest.fixture
def on_call(world: World, acme: Tenant) -> Client:
    return world.client(Role.ON_CALL)


def history(client: Client, group: DeadLetterGroup) -> str:
    text = html.unescape(client.get(f"/dlq/groups/{group.pk}/").content.decode())
    text = text[text.index('id="hi"') :]
    return " ".join(re.sub("<[^>]+>", " ", text[: text.index("</ol>")]).split())


def test_a_replay_of_it_is_told_with_what_came_of_it(on_call: Client, group: DeadLetterGroup) -> None:
    bulk = draft(on_call, "replay", query=f"group={group.pk}")
    assert "replayed" not in history(on_call, group), "a draft is nothing that happened"
    confirm(on_call, bulk, **AT_ONCE)
    runs = ReplayRun.objects.filter(bulk=bulk).order_by("pk")
    ReplayRun.objects.filter(pk__in=runs.values_list("pk", flat=True)[:2]).update(state="succeeded")
    assert f"{bulk.by} replayed 3 : 2 succeeded, 1 running" in history(on_call, group)
    ReplayRun.objects.filter(bulk=bulk, state="running").update(state="died")
    assert f"{bulk.by} replayed 3 : 2 succeeded, 1 died again" in history(on_call, group)
    assert (
        f'<a href="/dlq/replays/{bulk.pk}/">replayed 3</a>' in on_call.get(f"/dlq/groups/{group.pk}/").content.decode()
    )


def test_a_discard_is_told_with_its_reason_and_its_undo_above_it(on_call: Client, group: DeadLetterGroup) -> None:
    bulk = draft(on_call, "discard", query=f"status=open&group={group.pk}")
    confirm(on_call, bulk, reason="Fixed by hand")
    assert f"{bulk.by} discarded 3 Fixed by hand" in history(on_call, group)
    on_call.post(f"/dlq/bulk/{bulk.pk}/undo/")
    told = history(on_call, group)
    assert told.index("undid the discard of 3") < told.index("discarded 3 Fixed by hand")


def test_what_was_done_to_other_causes_is_not_told(world: World, acme: Tenant, on_call: Client) -> None:
    found = [cause(f"No. {number}", pk=number, job_type=TYPE) for number in (6, 61)]
    for each in found:
        letter_of(world, each, acme)
    confirm(on_call, draft(on_call, "discard", query="group=61"), reason="Fixed by hand")
    assert [("discarded" in history(on_call, each)) for each in found] == [False, True]


def test_queries_do_not_grow_with_what_was_done(on_call: Client, group: DeadLetterGroup) -> None:
    def queries() -> int:
        history(on_call, group)
        with CaptureQueriesContext(connection) as found:
            history(on_call, group)
        return len(found)

    def done(kind: str, number: int) -> BulkAction:
        at = timezone.now() - timedelta(minutes=number)
        return BulkAction.objects.create(
            kind=kind, state="finished", by="olga", chosen=f"group={group.pk}", matched=1, done=1, started_at=at
        )

    done("discard", 0)
    before = queries()
    for number in range(40):
        done("discard", number)
    assert queries() == before
    assert history(on_call, group).count("olga discarded 1") == 10
