"""The page of the ownership rules, ``/settings/rules/``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from dlq.models import DeadLetter, RuleSet
from jobops.web.selectors import settings_rules
from tenants.models import Team, Tenant
from tenants.roles import Role
from tests.web.world import World

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("send")]
TEXT = "* -> operations\njob=shop.* -> billing sla=4h severity=high"


@pytest.fixture(autouse=True)
def teams(db: None) -> Iterator[None]:
    for name in ("billing", "operations"):
        Team.objects.create(name=name)
    settings_rules.forget()
    yield
    settings_rules.forget()


def squeezed(answer: Any) -> str:
    return " ".join(answer.content.decode().replace("<wbr>", "").split())


def asked(client: Client, text: str, **headers: str) -> str:
    answer = client.post("/settings/rules/preview/", {"text": text}, headers=headers)
    assert answer.status_code == 200
    return squeezed(answer)


def test_each_line_says_what_it_would_take_from_whom(world: World, acme: Tenant) -> None:
    for owner in ("operations", "operations", "billing"):
        world.letter(acme, owner=owner)
    text = asked(world.client(Role.STAFF_VIEWER), TEXT, HX_Request="true")
    assert "2 of 3 open dead letters would go to another team." in text
    assert "Would take 2 open dead letters from operations. 1 open dead letter is the team’s already." in text
    assert "No open dead letter fits it, or a later rule takes them." in text
    assert "<html" not in text
    assert not RuleSet.objects.exists()


def test_errors_stand_beside_their_lines(world: World) -> None:
    text = asked(
        world.client(Role.OPERATOR), "job=shop.* -> biling\n\nreason=x -> billing\njob=<shop>", HX_Request="true"
    )
    assert "3 lines must be mended first." in text
    assert "no team is called biling: did you mean billing?" in text
    assert text.count("se-bad") == 3
    assert 'title="line 3"' in text
    assert '<code class="se-t">job=&lt;shop&gt;</code>' in text, "nobody counts lines"


def test_without_a_script_the_whole_page_comes_with_what_was_typed(world: World) -> None:
    text = asked(world.client(Role.OPERATOR), "tenant=acme -> billing # mine & <b>")
    assert "<html" in text
    assert "tenant=acme -&gt; billing # mine &amp; &lt;b&gt;</textarea>" in text
    assert "tenant=acme: no tenant is called so now" in text


def test_saving_puts_it_in_force_and_says_what_changed(world: World, acme: Tenant) -> None:
    letter = world.letter(acme, owner="operations")
    client = world.client(Role.OPERATOR)
    answer = client.post("/settings/rules/save/", {"text": TEXT, "note": "as agreed", "base": "0"}, follow=True)
    version = RuleSet.objects.get()
    assert f"Version {version.pk} of the rules is in force: 1 open dead letter is decided otherwise now." in squeezed(
        answer
    )
    assert version.note == "as agreed"
    letter.refresh_from_db()
    assert (letter.owner, letter.severity, letter.owned_by) == ("billing", "high", "rule: job=shop.*")
    page = squeezed(client.get("/settings/rules/"))
    assert "<h1>2 rules say whose a dead letter is.</h1>" in page
    assert "as agreed" in page
    assert squeezed(client.get("/settings/rules/export/")) == " ".join(TEXT.split())


def test_what_cannot_be_in_force_is_shown_again_with_what_was_typed(world: World) -> None:
    client = world.client(Role.OPERATOR)
    answer = client.post("/settings/rules/save/", {"text": "* -> nobodys", "note": "why <i>"})
    assert answer.status_code == 422
    text = squeezed(answer)
    assert "Nothing was saved: some lines must be mended first." in text
    assert "* -&gt; nobodys</textarea>" in text
    assert 'value="why &lt;i&gt;"' in text
    assert not RuleSet.objects.exists()


def test_what_somebody_saved_meanwhile_is_not_lost(world: World) -> None:
    client = world.client(Role.OPERATOR)
    RuleSet.objects.create(text="* -> billing\n", by="mia")
    answer = client.post("/settings/rules/save/", {"text": "* -> operations", "base": "0"})
    assert answer.status_code == 409
    assert "mia saved version" in squeezed(answer)
    assert RuleSet.objects.count() == 1


def test_a_version_shows_what_it_changed_and_can_be_put_in_force_again(world: World) -> None:
    client = world.client(Role.OPERATOR)
    first = RuleSet.objects.create(text="* -> billing\n", by="mia", note="the first")
    RuleSet.objects.create(text="* -> operations\n", by="ben")
    text = squeezed(client.get(f"/settings/rules/{first.pk}/"))
    assert f"Version {first.pk} was replaced." in text
    assert '<ins><span class="vh">new: </span>+ * -&gt; billing</ins>' in text
    assert '<del><span class="vh">gone: </span>- * -&gt; operations</del>' in text
    client.post(f"/settings/rules/{first.pk}/restore/")
    newest = RuleSet.objects.order_by("-pk")[0]
    assert (newest.text, newest.note) == ("* -> billing\n", f"version {first.pk} again")
    assert client.get("/settings/rules/999999/").status_code == 404
    assert client.post("/settings/rules/99999999999999999999/restore/").status_code == 404


def test_a_version_whose_team_is_gone_is_not_put_in_force(world: World) -> None:
    old = RuleSet.objects.create(text="* -> riders\n", by="mia")
    RuleSet.objects.create(text="", by="mia")
    answer = world.client(Role.OPERATOR).post(f"/settings/rules/{old.pk}/restore/")
    assert answer.status_code == 422
    assert "no team is called riders" in squeezed(answer)


def test_a_text_that_is_too_long_is_refused_and_not_cut(world: World) -> None:
    answer = world.client(Role.OPERATOR).post("/settings/rules/save/", {"text": "#" * 100_001})
    assert answer.status_code == 422
    assert "100,001 characters are too many; at most 100,000." in squeezed(answer)


def test_what_is_held_by_hand_is_said(world: World, acme: Tenant) -> None:
    world.letter(acme, owner="operations", by_hand=True)
    text = asked(world.client(Role.OPERATOR), "job=shop.* -> billing", HX_Request="true")
    assert "1 stays where a person put it." in text
    assert "None of the 1 open dead letter would go to another team." in text
    assert DeadLetter.objects.get().owner == "operations"
