"""A replay into a paused tenant waits, and its pages say so: before it is sent and while it waits."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from dlq.models import DeadLetter
from jobops.web.formats import NBSP
from tenants.models import Tenant
from tenants.roles import Role
from tenants.services import tenant_pause, tenant_resume
from tests.web.bulks import confirm, draft, replayable
from tests.web.world import World


@pytest.fixture
def acme(world: World) -> Tenant:
    return world.tenant("acme", may_replay=True)


@pytest.fixture
def on_call(world: World, acme: Tenant) -> Client:
    return world.client(Role.ON_CALL)


def paused(world: World, tenant: Tenant) -> str:
    """Pause it; who did."""
    olga = world.person(Role.OPERATOR)
    tenant_pause(tenant=tenant, by=olga, reason="their shop moves house.")
    return olga.username


def text_of(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    text = re.sub(r"<[^>]+>", "", html.unescape(answer.content.decode()))
    return re.sub(r"\s+", " ", text.replace(NBSP, " "))


def test_a_letter_says_that_its_tenant_is_paused_before_and_while_it_is_replayed(
    world: World, acme: Tenant, on_call: Client
) -> None:
    letter = replayable(world, acme)
    url = f"/dlq/{letter.pk}/"
    assert "paused" not in text_of(on_call, url)
    who = paused(world, acme)
    said = rf"acme is paused, by {who} since \d\d:\d\d: “their shop moves house”\."
    assert re.search(rf"{said} A replay waits until it is resumed\.", text_of(on_call, url))
    on_call.post(f"{url}replay/")
    for place in (url, f"/live/dlq/{letter.pk}/"):
        assert re.search(rf"{said} The replay waits until it is resumed\.", text_of(on_call, place)), place
    tenant_resume(tenant=Tenant.objects.get(pk=acme.pk), by=world.person(Role.OPERATOR))
    assert "paused" not in text_of(on_call, f"/live/dlq/{letter.pk}/")


def test_a_tenants_people_are_told_the_same_in_plain_words(world: World, acme: Tenant) -> None:
    letter = replayable(world, acme)
    paused(world, acme)
    text = text_of(world.client(Role.TENANT_ADMIN, acme), f"/dlq/{letter.pk}/")
    assert re.search(
        r"The jobs of Acme are paused, by our team since \d\d:\d\d: “their shop moves house”\. "
        r"A new try waits until they are resumed\.",
        text,
    )
    assert "eplay" not in text


def test_of_a_drained_letter_there_is_nothing_to_wait_for(world: World, acme: Tenant, on_call: Client) -> None:
    paused(world, acme)
    for state in ("resolved", "discarded"):
        assert "is paused" not in text_of(on_call, f"/dlq/{replayable(world, acme, state=state).pk}/")


def test_a_bulk_replay_says_whose_jobs_wait(world: World, acme: Tenant, on_call: Client) -> None:
    rival = world.tenant("rival")
    letters = [replayable(world, tenant) for tenant in (acme, acme, rival)]
    bulk = draft(on_call, "replay", [each.pk for each in letters])
    url = f"/dlq/replays/{bulk.pk}/"
    assert "paused" not in text_of(on_call, url)
    who = paused(world, acme)
    assert re.search(
        rf"acme is paused, by {who} since \d\d:\d\d: “their shop moves house”\. "
        r"What is sent back waits until it is resumed\.",
        text_of(on_call, url),
    )
    confirm(on_call, bulk)
    assert "2 jobs wait until it is resumed." in text_of(on_call, url)
    paused(world, rival)
    text = text_of(on_call, f"/live/dlq/bulk/{bulk.pk}/")
    assert re.search(r"2 tenants are paused: acme by .+; rival by .+\. 3 jobs wait until they are resumed\.", text)
    bulk.runs.update(state="succeeded")
    assert "paused" not in text_of(on_call, url)


def test_a_discard_does_not_wait_for_anything(world: World, acme: Tenant, on_call: Client) -> None:
    paused(world, acme)
    bulk = draft(on_call, "discard", [replayable(world, acme).pk])
    assert "paused" not in text_of(on_call, f"/dlq/discards/{bulk.pk}/")
    assert DeadLetter.objects.get().state == "open"
