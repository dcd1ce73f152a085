"""Causes as a tenant's people see them: their own numbers, their own letters, plain words, and nothing of ours."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from dlq.models import BulkAction, DeadLetterGroup, GroupNote
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.bulks import TYPE
from tests.web.causes import cause, letter_of
from tests.web.test_groups import causes, listed, title, views
from tests.web.world import World

HIDDEN = (
    "billing", "olga", "shop.errors", "ead letter", "rival", "their printer", "Acknowledged", "secret note", "Cause",
    TYPE, "tracker.example", "severity", "Owner", "Assign", "Snooze",
)  # fmt: skip


@pytest.fixture
def rival(world: World) -> Tenant:
    return world.tenant("rival")


@pytest.fixture
def shared(world: World, acme: Tenant, rival: Tenant) -> DeadLetterGroup:
    """A cause of both: two letters of ours, three of theirs, of which one is late and one newest."""
    group = cause(
        "their printer <…> is on fire", job_type=TYPE, state="acknowledged", state_by="olga", severity="high",
        ticket_url="https://tracker.example/1", owned_by="by hand: olga",
    )  # fmt: skip
    for _ in range(2):
        letter_of(world, group, acme, error="our printer is on fire", job_type=TYPE, error_class="shop.errors.Fire")
    late = timezone.now() - timedelta(hours=1)
    for _ in range(3):
        letter_of(world, group, rival, error="their printer is on fire", due_at=late)
    GroupNote.objects.create(group=group, by="olga", text="secret note")
    return group


@pytest.fixture
def admin(world: World, acme: Tenant) -> Client:
    return world.client(Role.TENANT_ADMIN, acme)


def test_the_list_has_their_own_numbers_in_plain_words(
    world: World, admin: Client, shared: DeadLetterGroup, rival: Tenant
) -> None:
    """SE-05, SE-06: neither what others have of it, nor when theirs is due."""
    letter_of(world, cause("Theirs alone"), rival)
    text = causes(admin)
    assert listed(text) == [shared.pk]
    assert title(text) == "2 of your jobs did not work, for 1 reason"
    assert views(text) == {"Did not work": "2", "Late": "0"}
    row = text[text.index('<tr id="g-') :].partition("</tr>")[0]
    assert "our printer is on fire" in row
    assert "Send invoice" in row
    assert "of 2" in row
    main = text[text.index("<main") :]
    for hidden in HIDDEN:
        assert hidden not in main, hidden
    assert listed(causes(admin, "?overdue=1")) == []
    assert 'data-undrained="2"' in text


def test_the_page_has_their_own_letters_only(admin: Client, shared: DeadLetterGroup) -> None:
    text = admin.get(f"/dlq/groups/{shared.pk}/").content.decode()
    assert "<h1>Did not work: our printer is on fire</h1>" in text
    assert "Try again all 2" in text
    assert "Our team looks after it." in text
    main = text[text.index("<main") :]
    for hidden in HIDDEN:
        assert hidden not in main, hidden
    assert ">5<" not in main
    assert "of 5" not in main


def test_it_speaks_of_their_jobs_and_not_of_our_words(world: World, admin: Client, acme: Tenant) -> None:
    over = cause("Refused")
    letter_of(world, over, acme, state="resolved", error="our printer is mended")
    text = admin.get(f"/dlq/groups/{over.pk}/").content.decode()
    assert ": all of it is dealt with</h1>" in text
    assert "What became of them" in text
    for ours in ("The drained ones", "Tenants"):
        assert ours not in text[text.index("<main") :], ours
    letter_of(world, over, acme)
    text = causes(admin)
    assert "1 of 1 reason<" in text
    assert 'data-l="Tenants"' not in text
    assert causes(admin, "?q=nothing-here").count("<h1>Nothing matches.</h1>") == 1


def test_the_number_of_anothers_letter_finds_nothing(world: World, admin: Client, acme: Tenant, rival: Tenant) -> None:
    """SE-05"""
    own, theirs = world.letter(acme), world.letter(rival)
    assert f'<a href="/dlq/{own.pk}/">No. {own.pk}</a>' in causes(admin, f"?by=cause&q={own.pk}")
    assert f'/dlq/{theirs.pk}/"' not in causes(admin, f"?by=cause&q={theirs.pk}")


def test_what_is_foreign_is_not_found(world: World, admin: Client, rival: Tenant) -> None:
    theirs = cause("Theirs")
    letter_of(world, theirs, rival)
    for url in (f"/dlq/groups/{theirs.pk}/", f"/live/dlq/groups/{theirs.pk}/", "/dlq/?tenant=rival"):
        assert admin.get(url).status_code == 404


def test_all_of_theirs_is_tried_again_and_nothing_else(admin: Client, shared: DeadLetterGroup) -> None:
    form = {"kind": "replay", "all": "1", "query": f"group={shared.pk}"}
    assert admin.post("/dlq/act/", form).status_code == 302
    assert BulkAction.objects.get().matched == 2
    form = {"do": "replay", "ids": [shared.pk]}
    assert admin.post("/dlq/groups/act/", form).status_code == 302
    assert list(BulkAction.objects.values_list("matched", flat=True)) == [2, 2]


@pytest.mark.parametrize("asked", ["owner=billing", "assignee=none", "severity=high", "status=acknowledged", "job=x"])
def test_what_is_hidden_cannot_be_asked_for(admin: Client, shared: DeadLetterGroup, asked: str) -> None:
    """Whether a guess is right or wrong, the answer is the same."""
    text = causes(admin, f"?{asked}&by=cause")
    assert listed(text) == [shared.pk]
    assert f"“{asked.partition('=')[0]}” was passed over: there is no such filter." in text


def test_a_letters_page_tells_of_their_own_only(admin: Client, acme: Tenant, shared: DeadLetterGroup) -> None:
    letter = acme.dead_letters.order_by("pk")[0]
    text = admin.get(f"/dlq/{letter.pk}/").content.decode()
    assert f'oldest of <a href="/dlq/groups/{shared.pk}/">2 for the same reason</a>' in text
    main = text[text.index("<main") :]
    for hidden in ("billing", "olga", "their printer", "Hand over", "Take it", "Pause clock", "Forecast", "Severity"):
        assert hidden not in main, hidden
