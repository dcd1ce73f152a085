"""The reasons for a discard, ``/settings/reasons/``, and where people choose from them."""

from __future__ import annotations

import html

import pytest
from django.test import Client

from dlq.discard_reasons import DEFAULTS, reason_add, reason_retire, reasons_offered
from dlq.models import DeadLetter, DiscardReason
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.bulks import draft
from tests.web.world import World

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("send")]

PAGE = "/settings/reasons/"


def body(client: Client, url: str = PAGE) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return html.unescape(" ".join(answer.content.decode().split()))


def post(client: Client, verb: str, **form: str) -> str:
    answer = client.post(f"{PAGE}{verb}/", form, follow=True)
    assert answer.redirect_chain == [(PAGE, 302)]
    return html.unescape(" ".join(answer.content.decode().split()))


def test_the_list_is_edited_without_javascript(world: World) -> None:
    client = world.client(Role.OPERATOR)
    assert "4 reasons to choose from, or one’s own words." in body(client)
    assert not DiscardReason.objects.exists()
    assert "It is in the list now." in post(client, "add", text="Customer left")
    assert "It is renamed" in post(client, "rename", text="Customer left", new="The customer left")
    post(client, "move", text="The customer left", to="up")
    assert reasons_offered() == [*DEFAULTS[:3], "The customer left", DEFAULTS[3]]
    assert "It is no longer offered" in post(client, "retire", text=DEFAULTS[0])
    text = body(client)
    assert "4 reasons to choose from" in text
    assert "Retired</h2>" in text
    assert "It is offered again." in post(client, "restore", text=DEFAULTS[0])
    assert "Retired</h2>" not in body(client)


def test_what_is_refused_is_said_and_changes_nothing(world: World) -> None:
    client = world.client(Role.OPERATOR)
    for verb, form, said in (
        ("add", {"text": ""}, "say the reason in a few words"),
        ("add", {"text": "fixed BY hand"}, "“Fixed by hand” is in the list already"),
        ("add", {"text": "x" * 150}, "150 characters are too many; at most 100"),
        ("rename", {"text": "Gone", "new": "x"}, "it is not in the list any more"),
        ("rename", {"text": "Fixed by hand"}, "say the reason"),
        ("retire", {}, "it is not in the list any more"),
    ):
        assert f"Nothing was changed: {said}" in post(client, verb, **form), verb
    assert reasons_offered() == list(DEFAULTS)


def test_who_may_not_change_it_reads_it_and_why_not(world: World) -> None:
    text = body(world.client(Role.ON_CALL))
    assert "Fixed by hand" in text
    assert "As on call you may not change settings: only an operator may." in text
    assert 'action="/settings/reasons/retire/"' not in text


def test_what_people_wrote_stays_text(world: World, acme: Tenant) -> None:
    """SE-01."""
    evil = '<script>alert(1)</script>" onfocus="alert(1)'
    reason_add(text=evil, by="tests")
    letter = world.letter(acme)
    client = world.client(Role.OPERATOR)
    for url in (PAGE, f"/dlq/{letter.pk}/"):
        raw = client.get(url).content.decode()
        assert "<script>alert" not in raw
        assert 'onfocus="alert' not in raw
    reason_retire(text=evil, by="tests")
    assert "<script>alert" not in client.get(PAGE).content.decode()


def test_it_is_offered_on_the_letter_and_over_many_to_staff_and_to_tenants(world: World, acme: Tenant) -> None:
    reason_add(text="Customer left", by="tests")
    reason_retire(text="No longer needed", by="tests")
    letter = world.letter(acme)
    choices = ["Will never succeed", "Fixed by hand", "Duplicate of another", "Customer left", "Something else"]
    for client in (world.client(Role.ON_CALL), world.client(Role.TENANT_ADMIN, acme)):
        bulk = draft(client, "discard", [letter.pk])
        for url in (f"/dlq/{letter.pk}/", f"/dlq/discards/{bulk.pk}/"):
            text = body(client, url)
            places = [text.find(f"<option>{choice}</option>") for choice in choices]
            assert places == sorted(places), url
            assert places[0] > 0, url
            assert "No longer needed" not in text
    client.post(f"/dlq/{letter.pk}/discard/", {"reason": "Customer left", "note": "in May"})
    assert DeadLetter.objects.get().discard_reason == "Customer left: in May"


def test_how_long_it_can_be_undone_is_what_is_set(world: World, acme: Tenant, settings: object) -> None:
    settings.JOBOPS_RETENTION_DAYS = 45  # type: ignore[attr-defined]
    letter = world.letter(acme)
    client = world.client(Role.ON_CALL)
    assert "You can take this back for 45 days." in body(client, f"/dlq/{letter.pk}/")
    bulk = draft(client, "discard", [letter.pk])
    assert "for 45\u00a0days" in client.get(f"/dlq/discards/{bulk.pk}/").content.decode()
