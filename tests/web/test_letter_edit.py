"""Other arguments for one replay, by form and without a script: what is shown, asked, refused, sent and kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from dlq.models import DeadLetter, ReplayRun
from jobops.audit.models import AuditEntry
from jobops.contracts.decorator import job as contract
from jobops.contracts.registry import temporary_registry
from jobops.contracts.secret_values import DOTS
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.test_escaping import EVIL, assert_harmless
from tests.web.world import World

SECRETS = ("4242", "s3cret")
PAYLOAD = json.dumps(
    {"args": [], "kwargs": {"number": 7, "card": "4242-4242", "meta": {"token": "s3cret"}, "price":
                            {"__jobops__": "decimal", "v": "12.50"}}}
)  # fmt: skip


@pytest.fixture(autouse=True)
def send() -> Iterator[None]:
    with temporary_registry():

        @contract(name="shop.jobs.send", owner="billing", drain_sla="4h", redact=["card"], guard=lambda **k: str(k))
        def send(number: int, card: str = "", **rest: Any) -> None: ...

        yield


@pytest.fixture
def letter(world: World, acme: Tenant) -> DeadLetter:
    return world.letter(acme, payload=PAYLOAD)


def granted(world: World, role: Role, *names: str) -> Client:
    user = world.person(role)
    user.user_permissions.set(Permission.objects.filter(codename__in=names))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def editor(world: World) -> Client:
    return granted(world, Role.ON_CALL, "edit_payload")


def page(client: Client, url: str, data: dict[str, str] | None = None, code: int = 200) -> str:
    answer = client.get(url) if data is None else client.post(url, data)
    assert answer.status_code == code, answer.content
    return " ".join(unescape(answer.content.decode()).split())


def url(letter: DeadLetter, step: str = "") -> str:
    return f"/dlq/{letter.pk}/edit/{step}"


def test_the_button_is_there_for_who_may_and_says_why_for_who_may_not(
    world: World, acme: Tenant, letter: DeadLetter, editor: Client
) -> None:
    assert f'href="/dlq/{letter.pk}/edit/"' in page(editor, f"/dlq/{letter.pk}/")
    text = page(world.client(Role.ON_CALL), f"/dlq/{letter.pk}/")
    assert f'href="/dlq/{letter.pk}/edit/"' not in text
    assert "You may not edit a payload unless a superuser grants it (tenants.edit_payload)." in text
    assert "Edit and replay" not in page(world.client(Role.TENANT_ADMIN, acme), f"/dlq/{letter.pk}/")
    # A viewer with the permission may still not replay.
    assert granted(world, Role.STAFF_VIEWER, "edit_payload").get(url(letter)).status_code == 403


def test_a_decimal_that_is_no_number_is_shown(world: World, acme: Tenant, editor: Client) -> None:
    number = {"__jobops__": "decimal", "v": "sNaN"}
    letter = world.letter(acme, payload=json.dumps({"args": [], "kwargs": {"number": number}}))
    assert "sNaN" in page(editor, f"/dlq/{letter.pk}/")
    assert "sNaN" in page(editor, url(letter))
    assert "1 argument would change" in page(editor, url(letter, "preview/"), {"value.number": '{"$decimal": "NaN"}'})


def test_a_masked_value_is_never_sent_and_is_kept(letter: DeadLetter, editor: Client) -> None:
    text = page(editor, url(letter))
    assert "Keep the value that it has" in text
    assert re.search(r'name="value.number" rows="1"[^>]*> 7</textarea>', text)
    assert re.search(r'name="value.card"[^>]*> </textarea>', text)
    changed = {
        "value.number": "8",
        "how.card": "keep",
        "value.card": "",
        "how.rest": "keep",
        "value.rest": "",
        "seen": "0",
    }
    shown = page(editor, url(letter, "preview/"), changed)
    assert "1 argument would change" in shown
    assert '<del><span class="vh">was: </span>7</del>' in shown
    assert '<ins><span class="vh">is: </span>8</ins>' in shown
    assert not ReplayRun.objects.exists(), "nothing is sent by looking"
    editor.post(url(letter, "send/"), changed)
    run = ReplayRun.objects.get()
    assert json.loads(run.payload)["kwargs"] == json.loads(PAYLOAD)["kwargs"] | {"number": 8}
    letter.refresh_from_db()
    assert (letter.state, letter.payload) == ("replaying", PAYLOAD)
    after = page(editor, f"/dlq/{letter.pk}/")
    assert "replayed it with edited arguments" in after
    assert "1 argument changed" in after
    for seen in (text, shown, after):
        assert not any(secret in seen for secret in SECRETS)


def test_a_replaced_secret_shows_to_nobody_who_may_not_see_it(world: World, letter: DeadLetter, editor: Client) -> None:
    changed = {"how.card": "set", "value.card": '"5555-1111"'}
    assert f'{DOTS}</ins> <span class="sub">replaced</span>' in page(editor, url(letter, "preview/"), changed)
    editor.post(url(letter, "send/"), changed)
    assert json.loads(ReplayRun.objects.get().payload)["kwargs"]["card"] == "5555-1111"
    assert "5555" not in page(world.client(Role.STAFF_VIEWER), f"/dlq/{letter.pk}/")
    assert "5555-1111" in page(world.client(Role.SUPERUSER), f"/dlq/{letter.pk}/")
    row = AuditEntry.objects.get(action="letter.replay")
    assert row.after["edited"] == ["card"]
    assert "5555" not in page(world.client(Role.SUPERUSER), "/audit/")


@pytest.mark.parametrize("guess", ["4242-4242", "4242-4243"])
def test_whether_a_guess_is_what_is_masked_is_not_told(letter: DeadLetter, editor: Client, guess: str) -> None:
    """SE-06"""
    given = {"how.card": "set", "value.card": json.dumps(guess)}
    alone = page(editor, url(letter, "preview/"), given)
    assert "1 argument would change" in alone
    assert f'{DOTS}</ins> <span class="sub">replaced</span>' in alone
    given |= {"value.number": "8", "how.rest": "set", "value.rest": '{"meta": {"token": "s3cret"}, "x": 1}'}
    assert f'{DOTS}</ins> <span class="sub">replaced</span>' in page(editor, url(letter, "preview/"), given)
    editor.post(url(letter, "send/"), given)
    shown = page(editor, f"/dlq/{letter.pk}/")
    assert "5 arguments changed" in shown, "number, card, meta, price and x"
    assert AuditEntry.objects.get(action="letter.replay").after["edited"] == ["number", "card", "rest", "meta", "price"]


def test_who_may_see_payloads_sees_them_in_the_form(world: World, letter: DeadLetter) -> None:
    text = page(granted(world, Role.ON_CALL, "edit_payload", "see_payload"), url(letter))
    assert '"4242-4242"</textarea>' in text
    assert '{"$decimal": "12.50"}' in text


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"value.number": ""}, "Needs a value: the job cannot run without it."),
        ({"value.number": "eight"}, "Is no JSON at line 1, character 1; text stands in quotes"),
        ({"value.number": "7"}, "Nothing is changed: a plain replay runs with these."),
        ({"how.card": "set", "value.card": ""}, "Give the new value, or keep it as it is."),
        ({"how.card": "keep", "value.card": '"x"'}, "A new value is given: say that it replaces the other"),
        ({"how.card": "steal"}, "Choose what happens to it."),
        ({"how.rest": "set", "value.rest": f'{{"meta": {{"token": "{DOTS}"}}}}'}, "Holds the dots of a mask"),
        ({"value.number": json.dumps("x" * 300_000)}, "And all arguments take"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field_and_nothing_is_sent(
    letter: DeadLetter, editor: Client, changed: dict[str, str], said: str
) -> None:
    for step in ("preview/", "send/"):
        text = page(editor, url(letter, step), changed, 422)
        assert said.lower() in text.lower()
    letter.refresh_from_db()
    assert (letter.state, ReplayRun.objects.count()) == ("open", 0)


@pytest.mark.parametrize("name", ["job_type", "func", "value.os.system", "how.__class__", "value.meta", "lane"])
def test_nothing_but_arguments_can_be_edited_and_the_attempt_is_recorded(
    letter: DeadLetter, editor: Client, name: str
) -> None:
    """SE-10"""
    for step in ("preview/", "send/"):
        text = page(editor, url(letter, step), {"value.number": "8", name: "os.system"}, 422)
        assert "Only arguments can be edited; the attempt is in the audit." in text
    rows = AuditEntry.objects.filter(action="letter.edit_refused")
    assert [row.after["fields"] for row in rows] == [[name], [name]]
    letter.refresh_from_db()
    assert (letter.state, letter.job_type, ReplayRun.objects.count()) == ("open", "shop.jobs.send", 0)


def test_one_that_was_replayed_meanwhile_is_looked_at_first(letter: DeadLetter, editor: Client) -> None:
    DeadLetter.objects.filter(pk=letter.pk).update(replays=1)
    text = page(editor, url(letter, "send/"), {"value.number": "8", "seen": "0"}, 409)
    assert "It was replayed since you began" in text
    DeadLetter.objects.filter(pk=letter.pk).update(state="replaying")
    answer = editor.post(url(letter, "send/"), {"value.number": "8", "seen": "1"}, follow=True)
    assert "cannot be edited: already being replayed." in unescape(answer.content.decode())
    assert not ReplayRun.objects.exists()


def test_back_to_the_form_keeps_what_was_typed(letter: DeadLetter, editor: Client) -> None:
    text = page(editor, url(letter, "preview/"), {"value.number": "8", "again": "1"})
    assert re.search(r'name="value.number" rows="1"[^>]*> 8</textarea>', text)
    assert "would change" not in text.replace("Show what would change", "")


def test_where_it_begins_is_chosen_and_its_guard_is_told_of(letter: DeadLetter, editor: Client) -> None:
    DeadLetter.objects.filter(pk=letter.pk).update(checkpoint='{"row":3}')
    text = page(editor, url(letter))
    assert 'value="start" checked' in text
    assert "Its guard goes by the arguments" in text
    editor.post(url(letter, "send/"), {"value.number": "8", "begin": "checkpoint"})
    assert AuditEntry.objects.get(action="letter.replay").after["from"] == "checkpoint"


def test_after_an_edited_replay_died_the_page_says_what_a_plain_one_runs(letter: DeadLetter, editor: Client) -> None:
    editor.post(url(letter, "send/"), {"value.number": "8"})
    DeadLetter.objects.filter(pk=letter.pk).update(state="open")
    assert "A plain replay runs with the original ones again." in page(editor, f"/dlq/{letter.pk}/")


@pytest.mark.parametrize("evil", EVIL)
def test_hostile_values_stay_text(world: World, acme: Tenant, editor: Client, evil: str) -> None:
    """SE-01, SE-03"""
    payload = json.dumps({"args": [], "kwargs": {"number": evil, EVIL[1]: 1}})
    letter = world.letter(acme, payload=payload)
    assert_harmless(editor.get(url(letter)).content.decode(), json.dumps(evil))
    changed = {"value.number": json.dumps([evil])}
    assert_harmless(editor.post(url(letter, "preview/"), changed).content.decode(), json.dumps([evil]))
    editor.post(url(letter, "send/"), changed)
    assert_harmless(editor.get(f"/dlq/{letter.pk}/").content.decode(), json.dumps([evil]))
    assert_harmless(editor.post(url(letter, "preview/"), {"value.x": evil, evil: evil}, follow=True).content.decode())
