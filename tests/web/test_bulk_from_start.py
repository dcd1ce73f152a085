"""The preview of a bulk replay lets whoever confirms it choose where its jobs begin, if any has a checkpoint."""

from __future__ import annotations

import html

import pytest
from django.test import Client

from dlq.models import BulkAction
from jobops.audit.models import AuditEntry
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.bulks import confirm, draft, replayable, said
from tests.web.world import World

CHOICE = 'name="begin"'


@pytest.fixture
def on_call(world: World, acme: Tenant) -> Client:
    return world.client(Role.ON_CALL)


def preview(client: Client, bulk: BulkAction) -> str:
    path = "replays" if bulk.kind == "replay" else "discards"
    answer = client.get(f"/dlq/{path}/{bulk.pk}/")
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def replay_of(client: Client, world: World, acme: Tenant, checkpoints: list[str]) -> BulkAction:
    letters = [replayable(world, acme, checkpoint=checkpoint) for checkpoint in checkpoints]
    return draft(client, "replay", [letter.pk for letter in letters])


@pytest.mark.parametrize(
    ("checkpoints", "words"),
    [
        (["1"], "Where it was<"),
        (["1", "2"], "Each where it was.<"),
        (["1", "", ""], "The one with a checkpoint where it was, the other 2 from the beginning.<"),
        (["1", "2", ""], "The 2 with a checkpoint where they were, the other one from the beginning.<"),
    ],
)
def test_the_choice_is_there_where_some_have_a_checkpoint(
    world: World, acme: Tenant, on_call: Client, checkpoints: list[str], words: str
) -> None:
    text = preview(on_call, replay_of(on_call, world, acme, checkpoints))
    assert 'name="begin" value="checkpoint" checked' in text
    assert 'name="begin" value="start"' in text
    assert words in text


def test_there_is_no_choice_without_a_checkpoint_for_a_discard_or_for_who_may_not(
    world: World, acme: Tenant, on_call: Client
) -> None:
    assert CHOICE not in preview(on_call, replay_of(on_call, world, acme, ["", ""]))
    letter = replayable(world, acme, checkpoint="1")
    assert CHOICE not in preview(on_call, draft(on_call, "discard", [letter.pk]))
    resolved = replayable(world, acme, checkpoint="1", state="resolved")
    assert CHOICE not in preview(on_call, draft(on_call, "replay", [resolved.pk]))
    shown = draft(on_call, "replay", [letter.pk])
    assert CHOICE not in preview(world.client(Role.STAFF_VIEWER), shown)


@pytest.mark.parametrize(
    ("begin", "from_start", "words"),
    [
        ({}, False, "2 dead letters were sent back to run."),
        ({"begin": "checkpoint"}, False, "2 dead letters were sent back to run."),
        ({"begin": "start"}, True, "2 dead letters were sent back to run, from the beginning."),
    ],
)
def test_the_choice_is_done_told_and_recorded(
    world: World, acme: Tenant, on_call: Client, begin: dict[str, str], from_start: bool, words: str
) -> None:
    bulk = replay_of(on_call, world, acme, ["1", "2"])
    assert confirm(on_call, bulk, **begin).status_code == 302
    assert words in said(on_call)
    bulk.refresh_from_db()
    assert bulk.from_start is from_start
    started = AuditEntry.objects.get(action="bulk.confirm")
    assert started.after.get("from") == ("start" if from_start else None)
    assert ("anew, at no checkpoint" in preview(on_call, bulk)) is from_start


def test_a_tenants_own_people_have_the_choice_too(world: World, acme: Tenant) -> None:
    own = world.client(Role.TENANT_ADMIN, acme)
    bulk = replay_of(own, world, acme, ["1", "2"])
    assert CHOICE in preview(own, bulk)
    confirm(own, bulk, begin="start")
    bulk.refresh_from_db()
    assert (bulk.from_start, bulk.done) == (True, 2)
