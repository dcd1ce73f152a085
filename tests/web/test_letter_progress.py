"""A dead letter's page tells how far its job got, and lets who replays it choose where to begin."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dlq.models import DeadLetter, State
from jobops.audit.models import AuditEntry
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.world import World

POSITION = {"checkpoint": '{"after":400,"token":"t0ken"}', "progress_done": 400, "progress_total": 1_000}
CHOICE = 'name="begin"'
pytestmark = pytest.mark.usefixtures("send")


def body(client: Client, letter: DeadLetter) -> str:
    answer = client.get(f"/dlq/{letter.pk}/")
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


@pytest.mark.parametrize("role", [Role.ON_CALL, Role.TENANT_ADMIN])
def test_the_page_tells_how_far_it_got_without_what_is_secret(world: World, acme: Tenant, role: Role) -> None:
    letter = world.letter(acme, **POSITION)
    text = body(world.client(role, acme) if role is Role.TENANT_ADMIN else world.client(role), letter)
    assert "400 of 1,000 done" in text
    assert "&quot;after&quot;: 400" in text
    assert "t0ken" not in text
    assert 'name="begin" value="checkpoint" form="replay-form" checked' in text


@pytest.mark.parametrize("role", [Role.ON_CALL, Role.TENANT_ADMIN])
def test_the_page_tells_how_old_the_checkpoint_is(world: World, acme: Tenant, role: Role) -> None:
    client = world.client(role, acme) if role is Role.TENANT_ADMIN else world.client(role)
    saved = world.letter(acme, **POSITION, checkpoint_at=timezone.now() - timedelta(minutes=12, seconds=5))
    text = re.sub(r"<[^>]+>", "", body(client, saved)).replace("\N{NO-BREAK SPACE}", " ")
    assert "Checkpoint, saved 12 min ago" in text
    unknown = world.letter(acme, **POSITION)
    assert ", saved" not in body(client, unknown)


def test_a_letter_without_a_checkpoint_shows_no_choice(world: World, acme: Tenant) -> None:
    letter = world.letter(acme)
    text = body(world.client(Role.ON_CALL), letter)
    assert CHOICE not in text
    assert "How far it got" not in text


def test_who_may_not_replay_and_what_is_not_open_has_no_choice(world: World, acme: Tenant) -> None:
    letter = world.letter(acme, **POSITION)
    assert CHOICE not in body(world.client(Role.STAFF_VIEWER), letter)
    DeadLetter.objects.filter(pk=letter.pk).update(state=State.REPLAYING)
    assert CHOICE not in body(world.client(Role.ON_CALL), letter)


@pytest.mark.parametrize(("begin", "wanted", "said", "audited"), [
    ({}, b'{"after":400,"token":"t0ken"}', "sent back to run, where it was", "checkpoint"),
    ({"begin": "checkpoint"}, b'{"after":400,"token":"t0ken"}', "sent back to run, where it was", "checkpoint"),
    ({"begin": "start"}, b"", "sent back to run, from the beginning", "start"),
])  # fmt: skip
def test_the_choice_is_what_the_replay_gets_and_what_the_audit_says(
    world: World, acme: Tenant, django_capture_on_commit_callbacks: Any, begin: dict[str, str], wanted: bytes,
    said: str, audited: str,
) -> None:  # fmt: skip
    letter = world.letter(acme, **POSITION)
    with django_capture_on_commit_callbacks(execute=True):
        answer = world.client(Role.ON_CALL).post(f"/dlq/{letter.pk}/replay/", begin, follow=True)
    assert said in answer.content.decode()
    assert world.claim().checkpoint == wanted
    assert AuditEntry.objects.get(action="letter.replay").after["from"] == audited
