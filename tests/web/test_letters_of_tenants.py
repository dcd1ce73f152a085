"""Lists, counts, exports and bulk actions on letters by role: a tenant's people have their own and nothing else."""

from __future__ import annotations

import csv
import html
import io
import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dlq.models import BulkAction, DeadLetter
from dlq.searchable import rewrite
from jobops.audit.models import AuditEntry
from tenants.models import Membership, Tenant
from tenants.roles import Role
from tenants.staff import membership_set
from tests.web.bulks import choose, confirm, draft, replayable, said
from tests.web.test_letters import body, ids
from tests.web.world import World


@pytest.fixture
def acme(world: World) -> Tenant:
    return world.tenant("acme", may_replay=True)


@pytest.fixture
def rival(world: World) -> Tenant:
    return world.tenant("rival", may_replay=True)


@pytest.fixture
def admin(world: World, acme: Tenant) -> Client:
    return world.client(Role.TENANT_ADMIN, acme)


def exported(client: Client, kind: str = "jsonl", query: str = "") -> str:
    answer = client.post("/dlq/export/", {"format": kind, "query": query})
    assert answer.status_code == 200
    return b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["replay", "discard"])
def test_foreign_letters_among_the_ticked_are_as_letters_that_do_not_exist(
    world: World, acme: Tenant, rival: Tenant, admin: Client, kind: str
) -> None:
    """SE-05: the answer is the same, only one's own change, and the audit knows nothing of the other."""
    mine, foreign = replayable(world, acme), replayable(world, rival)
    answers = []
    for other in (foreign.pk, 10**9):
        bulk = draft(admin, kind, [mine.pk, other])
        assert list(bulk.members.values_list("letter_id", flat=True)) == [mine.pk]
        answers.append(said(admin))
        bulk.delete()
    assert answers[0] == answers[1]
    assert "1 of the 2 ticked is not there any more." in answers[0]
    confirm(admin, draft(admin, kind, [mine.pk, foreign.pk]), note="mended")
    assert DeadLetter.objects.get(pk=foreign.pk).state == "open"
    assert DeadLetter.objects.get(pk=mine.pk).state != "open"
    assert not AuditEntry.objects.filter(tenant_slug="rival").exists()


def test_all_that_match_are_ones_own_whatever_the_filter_says(
    world: World, acme: Tenant, rival: Tenant, admin: Client
) -> None:
    mine, foreign = replayable(world, acme), replayable(world, rival)
    assert list(draft(admin, "replay", query="").members.values_list("letter_id", flat=True)) == [mine.pk]
    before = BulkAction.objects.count()
    for slug in ("rival", "nobody"):
        assert choose(admin, "replay", query=f"tenant={slug}").status_code == 302
        assert "Nothing was changed: none was chosen" in html.unescape(said(admin))
    assert BulkAction.objects.count() == before
    assert DeadLetter.objects.get(pk=foreign.pk).state == "open"


def test_lists_counts_search_and_export_hold_ones_own_only(
    world: World, acme: Tenant, rival: Tenant, admin: Client
) -> None:
    mine = replayable(world, acme, error="our printer is on fire")
    rewrite([mine, *(replayable(world, rival, error="their printer is on fire") for _ in range(3))])
    for query in ("", "?q=printer", "?status=all", "?reason=exhausted"):
        text = body(admin, query)
        assert ids(text) == [mine.pk]
        assert "their" not in text.replace("their deadline", "")
        assert ">3<" not in text
    rows = [json.loads(line) for line in exported(admin, "jsonl").splitlines()]
    assert [row["id"] for row in rows] == [mine.pk]
    assert exported(admin, "jsonl", "tenant=rival") == ""
    assert admin.get("/dlq/?tenant=rival").status_code == 404


@pytest.mark.parametrize(
    "asked", ["owner=billing", "job=tests.web.send_invoice", "error=ConnectionError", "reason=poison"]
)
def test_what_is_hidden_from_a_tenants_people_cannot_be_asked_for(
    world: World, acme: Tenant, admin: Client, asked: str
) -> None:
    """Whether a guess is right or wrong, the answer is the same; and nothing is done to more than was meant."""
    letter, name = replayable(world, acme), asked.partition("=")[0]
    for query in (asked, f"{name}=nobody", f"{name}=%00"):
        for path in ("/dlq/?by=one", "/live/dlq/?by=one"):
            text = admin.get(f"{path}&{query}&status=all").content.decode()
            assert ids(text) == [letter.pk]
            assert f"“{name}” was passed over: there is no such filter." in text
        for kind in ("replay", "discard"):
            assert choose(admin, kind, query=query).status_code == 302
            assert f"Nothing was changed: the filter “{name}” is not understood" in said(admin)
        assert admin.post("/dlq/export/", {"format": "csv", "query": query}).status_code == 302
    assert not BulkAction.objects.exists()
    found = ids(body(world.client(Role.STAFF_VIEWER), f"?{asked}"))
    assert found == ([] if asked == "reason=poison" else [letter.pk])


def test_a_tenants_people_read_plain_words_from_the_list_to_the_end(world: World, acme: Tenant, admin: Client) -> None:
    """SE-06: and no secret, in the list, the preview, the page of the action and the file."""
    payload = '{"args": [], "kwargs": {"number": 1, "password": "hunter2hunter2"}}'
    replayable(world, acme, payload=payload, error="hunter2hunter2 was refused", error_class="shop.errors.Refused")
    replayable(world, acme, payload='{"args": [], "kwargs": {"number": 2}}')
    pages = [body(admin)]
    bulk = draft(admin, "replay", query="")
    pages.append(html.unescape(admin.get(f"/dlq/replays/{bulk.pk}/").content.decode()))
    confirm(admin, bulk)
    pages.append(html.unescape(admin.get(f"/dlq/replays/{bulk.pk}/").content.decode()))
    assert "<h1>Try 1 of 2 jobs again</h1>" in pages[1]
    assert "cannot be tried again as they are; our team looks after them" in pages[1]
    pages += [exported(admin, "csv"), exported(admin, "jsonl")]
    for page in pages:
        for hidden in ("hunter2", "ead letter", "tests.web", "shop.errors", "worker-", "Owner", "argument"):
            assert hidden not in page.replace("or an argument", "").replace("arguments", ""), hidden


def test_an_export_is_masked_and_no_cell_is_a_formula(world: World, acme: Tenant) -> None:
    payload = '{"args": [], "kwargs": {"password": "hunter2hunter2"}}'
    letter = replayable(world, acme, payload=payload, error="=cmd|' /C calc'!A0")
    superuser = world.client(Role.SUPERUSER)
    rows = list(csv.DictReader(io.StringIO(exported(superuser, "csv"))))
    assert [row["id"] for row in rows] == [str(letter.pk)]
    assert rows[0]["error"] == "'=cmd|' /C calc'!A0"
    assert rows[0]["owner"] == "billing"
    assert "hunter2" not in exported(superuser, "csv") + exported(superuser, "jsonl")
    answer = superuser.post("/dlq/export/", {"format": "csv", "query": "owner=%00"})
    assert answer.status_code == 302
    assert superuser.post("/dlq/export/", {"format": "xml"}).status_code == 302


@pytest.mark.parametrize("role", [Role.STAFF_VIEWER, Role.TENANT_VIEWER])
def test_who_may_not_act_sees_why_and_is_refused(world: World, acme: Tenant, role: Role) -> None:
    letter = replayable(world, acme)
    client = world.client(role, acme)
    text = body(client)
    bar = text[text.index('<div class="bulk"') :].partition("</div>")[0]
    assert bar.count('aria-disabled="true"') == 2
    assert 'name="ids"' not in text
    assert ("As staff viewer you may not" in bar) == (role is Role.STAFF_VIEWER)
    assert choose(client, "replay", [letter.pk]).status_code == 403
    bulk = draft(world.client(Role.ON_CALL), "discard", [letter.pk])
    for act in ("confirm", "cancel", "undo"):
        code = client.post(f"/dlq/bulk/{bulk.pk}/{act}/", {"note": "x"}).status_code
        assert code == (403 if role is Role.STAFF_VIEWER else 404)
    assert DeadLetter.objects.get(pk=letter.pk).state == "open"


def test_an_admin_where_the_tenants_settings_do_not_allow_it_may_only_look(world: World) -> None:
    closed = world.tenant("closed", may_replay=False)
    letter = replayable(world, closed)
    client = world.client(Role.TENANT_ADMIN, closed)
    assert 'aria-disabled="true"' in body(client)
    assert choose(client, "discard", [letter.pk]).status_code == 403


def test_who_may_act_in_one_of_two_tenants_acts_in_that_one(world: World, acme: Tenant, rival: Tenant) -> None:
    user = User.objects.create_user("both")
    membership_set(user=user, tenant=acme, role=Membership.Role.ADMIN, by="tests")
    membership_set(user=user, tenant=rival, role=Membership.Role.VIEWER, by="tests")
    client = Client()
    client.force_login(user)
    mine, other = replayable(world, acme), replayable(world, rival)
    confirm(client, draft(client, "discard", [mine.pk, other.pk]), note="a twin")
    assert "1 job was given up, 1 skipped: you may not do this in their tenant." in said(client)
    assert DeadLetter.objects.get(pk=other.pk).state == "open"


def test_a_bulk_action_of_somebody_else_does_not_exist_for_a_tenants_people(
    world: World, acme: Tenant, rival: Tenant, admin: Client
) -> None:
    bulk = draft(world.client(Role.ON_CALL), "replay", [replayable(world, acme).pk])
    foreign = draft(world.client(Role.TENANT_ADMIN, rival), "replay", [replayable(world, rival).pk])
    for pk in (bulk.pk, foreign.pk, 10**9):
        for url in (f"/dlq/replays/{pk}/", f"/dlq/discards/{pk}/", f"/live/dlq/bulk/{pk}/"):
            assert admin.get(url).status_code == 404
        for act in ("confirm", "cancel", "undo"):
            assert admin.post(f"/dlq/bulk/{pk}/{act}/", {"note": "x"}).status_code == 404
    assert {each.state for each in BulkAction.objects.all()} == {"draft"}
