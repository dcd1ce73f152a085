"""Counts, isolation, the command and the admin."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.management import call_command
from django.core.management.base import CommandError
from django.http import Http404
from django.utils import timezone

from dlq.access import get_letter, letters_visible_to
from dlq.models import DeadLetter, State
from dlq.payloads import shown_arguments
from dlq.selectors import letter_of_job, open_counts, open_totals, undrained_count
from jobops.contracts.decorator import job
from jobops.contracts.registry import temporary_registry
from jobops.contracts.secret_values import DOTS
from tenants.models import Tenant
from tenants.roles import Role
from tests.tenants.people import new_tenant, person

pytestmark = pytest.mark.django_db


def letter(tenant: Tenant | None, job_id: str, **fields: Any) -> DeadLetter:
    now = timezone.now()
    defaults = {"attempt": 1, "owner": "ops", "dead_at": now, "due_at": now + timedelta(hours=1), "reason": "poison"}
    defaults["payload"] = '{"args": [], "kwargs": {}}'
    slug = tenant.slug if tenant else "gone"
    return DeadLetter.objects.create(job_id=job_id, tenant=tenant, tenant_slug=slug, **(defaults | fields))


def test_counts_are_of_what_somebody_must_still_deal_with(django_assert_num_queries: Any) -> None:
    a, b, empty = new_tenant("a"), new_tenant("b"), new_tenant("c")
    letter(a, "1"), letter(a, "2", state=State.REPLAYING), letter(a, "3", state=State.RESOLVED)
    letter(b, "4", due_at=timezone.now() - timedelta(seconds=1)), letter(b, "5", state=State.DISCARDED)
    letter(None, "6")
    with django_assert_num_queries(1):
        assert open_counts() == {a.pk: 2, b.pk: 1}
    with django_assert_num_queries(1):
        assert open_counts([b.pk, empty.pk]) == {b.pk: 1}
    with django_assert_num_queries(1):
        assert open_totals() == {"open": 4, "overdue": 1}
    assert open_totals([a.pk]) == {"open": 2, "overdue": 0}
    assert [undrained_count(tenant) for tenant in (a, b, empty)] == [2, 1, 0]


def test_the_newest_death_of_a_job_is_found() -> None:
    letter(None, "j", attempt=1)
    assert letter_of_job("j") != letter(None, "j", attempt=2)
    assert letter_of_job("j") == DeadLetter.objects.get(attempt=2)
    assert letter_of_job("nobody") is None


def test_members_see_their_own_letters_only() -> None:
    """SE-05: a foreign letter looks missing, also one of a deleted tenant with the same slug."""
    mine, foreign = new_tenant("mine"), new_tenant("foreign")
    own, other, orphan = letter(mine, "1"), letter(foreign, "2"), letter(None, "3", state=State.OPEN)
    DeadLetter.objects.filter(pk=orphan.pk).update(tenant_slug="mine")
    admin = person(Role.TENANT_ADMIN, mine)
    assert list(letters_visible_to(admin)) == [own]
    assert get_letter(admin, own.pk) == own
    for pk in (other.pk, orphan.pk, 10**6, 0, -1, 2**70):
        with pytest.raises(Http404, match="No such dead letter"):
            get_letter(admin, pk)
    assert letters_visible_to(person(Role.ON_CALL)).count() == 3
    for nobody in (person(), AnonymousUser()):
        assert not letters_visible_to(nobody).exists()


def test_arguments_are_masked_as_the_contract_says() -> None:
    payload = json.dumps({"args": ["x"], "kwargs": {"card": "4111", "when": {"__jobops__": "date", "v": "2026-01-02"}}})
    one = DeadLetter(job_type="pay", payload=payload)
    assert shown_arguments(one) == {"args[0]": DOTS, "card": DOTS, "when": DOTS}, "nobody knows what is secret"
    with temporary_registry():

        @job(name="pay", redact=["card"])
        def pay(name: str, card: str, when: object) -> None: ...

        shown = shown_arguments(one)
        assert shown is not None
        assert (shown["name"], shown["card"], str(shown["when"])) == ("x", DOTS, "2026-01-02")
    assert shown_arguments(DeadLetter(payload="")) is None
    assert shown_arguments(DeadLetter(payload="{}")) is None


def run(*args: str) -> str:
    out = io.StringIO()
    call_command("dlq", *args, stdout=out)
    return out.getvalue()


def test_the_command_lists_and_shows() -> None:
    assert json.loads(run("list", "--json")) == []
    assert run("list") == "no dead letters\n"
    tenant = new_tenant("acme")
    first = letter(tenant, "j1", job_type="t", queue="acme.bulk", error="bad\nthing", attempts=3)
    letter(None, "j2", state=State.RESOLVED)
    rows = json.loads(run("list", "--json"))
    assert [row["job_id"] for row in rows] == ["j2", "j1"]
    assert set(rows[1]) == {
        "id", "tenant", "job", "queue", "state", "reason", "error_class", "error", "owner", "assignee", "due_at",
        "dead_at", "attempts", "replays", "job_id",
    }  # fmt: skip
    assert rows[1]["dead_at"].endswith("Z")
    assert [row["job_id"] for row in json.loads(run("list", "--json", "--tenant", "acme", "--status", "open"))] == [
        "j1"
    ]
    assert len(json.loads(run("list", "--json", "--limit", "1"))) == 1
    assert "acme" in run("list")
    shown = json.loads(run("show", str(first.pk), "--json"))
    assert (shown["error"], shown["attempts"], shown["history"]) == ("bad\nthing", 3, [])
    assert "bad\nthing" in run("show", str(first.pk))
    with pytest.raises(CommandError, match="dead letter '999999': there is none") as refusal:
        run("show", "999999")
    assert refusal.value.returncode == 1


def test_show_takes_a_jobs_id_too_for_its_newest_letter() -> None:
    letter(None, "abc-1", attempt=1, error="first")
    newest = letter(None, "abc-1", attempt=4, error="second")
    assert json.loads(run("show", "abc-1", "--json"))["id"] == newest.pk
    other = letter(None, str(newest.pk), error="a job whose id is a letter's number")
    assert json.loads(run("show", str(newest.pk), "--json"))["id"] == newest.pk
    assert other.pk != newest.pk
    for nothing in ("nobody", "0", "9" * 30, "-1x", ""):
        with pytest.raises(CommandError, match="there is none") as refusal:
            run("show", "--", nothing)
        assert refusal.value.returncode == 1


def test_list_by_due_time_and_those_that_are_late() -> None:
    now = timezone.now()
    acme = new_tenant("acme")
    late = letter(acme, "late", due_at=now - timedelta(minutes=5), dead_at=now - timedelta(hours=9))
    later = letter(acme, "later", due_at=now + timedelta(hours=5))
    latest = letter(acme, "latest", due_at=now - timedelta(minutes=9), state=State.DISCARDED)
    assert [row["id"] for row in json.loads(run("list", "--overdue", "--json"))] == [late.pk]
    assert [row["id"] for row in json.loads(run("list", "--due", "--json"))] == [latest.pk, late.pk, later.pk]
    assert [row["id"] for row in json.loads(run("list", "--state", "discarded", "--json"))] == [latest.pk]


def test_listing_an_unknown_tenant_is_refused_but_not_a_deleted_one() -> None:
    letter(None, "1")
    assert len(json.loads(run("list", "--tenant", "gone", "--json"))) == 1
    with pytest.raises(CommandError, match="--tenant: 'nobody' is not known") as refusal:
        run("list", "--tenant", "nobody")
    assert refusal.value.returncode == 1
    new_tenant("calm")
    assert json.loads(run("list", "--tenant", "calm", "--json")) == []


def test_the_command_masks_as_the_pages_do() -> None:
    """SE-06: by contract, by name at any depth, logins in URLs; also where an error or traceback repeats it."""
    url = "https://ada:hunter2@pay.example/x"
    kwargs = {"card": "4242-4242", "options": {"api_key": "k3y-of-ours", "tries": 3}, "url": url, "born": "ok"}
    kwargs |= {"since": {"__jobops__": "date", "v": "1999-12-31"}}
    error = f"card 4242-4242 born 1999-12-31 refused with {{'api_key': 'k3y-of-ours'}} by {url}"
    with temporary_registry():

        @job(name="pay", redact=["card", "since"])
        def pay(card: str, options: object, url: str, born: str, since: object) -> None: ...

        one = letter(
            None,
            "j1",
            job_type="pay",
            payload=json.dumps({"args": [], "kwargs": kwargs}),
            error=error,
            traceback=f"Traceback …\nRefused: {error}",
            history=[{"n": 1, "error": error}],
        )
        texts = [run("list"), run("list", "--json"), run("show", str(one.pk)), run("show", str(one.pk), "--json")]
    for text in texts:
        for secret in ("4242", "k3y", "hunter2", "1999"):
            assert secret not in text
    shown = json.loads(texts[3])
    assert shown["arguments"] == {
        "card": DOTS, "options": {"api_key": DOTS, "tries": 3}, "url": f"https://{DOTS}@pay.example/x", "born": "ok",
        "since": DOTS,
    }  # fmt: skip
    masked = f"card {DOTS} born {DOTS} refused with {{'api_key': '{DOTS}'}} by https://{DOTS}@pay.example/x"
    assert shown["error"] == shown["history"][0]["error"] == masked
    assert shown["traceback"] == f"Traceback …\nRefused: {masked}"


def test_the_admin_shows_letters_to_superusers_without_arguments(client: Any) -> None:
    one = letter(new_tenant("acme"), "j1", payload='{"args":["s3cret"],"kwargs":{}}', error="<script>alert(1)</script>")
    boss = person(Role.SUPERUSER)
    boss.is_staff = True
    boss.save()
    client.force_login(boss, backend="django.contrib.auth.backends.ModelBackend")
    for path in ("/admin/dlq/deadletter/", f"/admin/dlq/deadletter/{one.pk}/change/", "/admin/tenants/tenant/"):
        page = client.get(path)
        assert page.status_code == 200, path
        assert b"s3cret" not in page.content
        assert b"<script>alert" not in page.content
    assert client.get("/admin/dlq/deadletter/add/").status_code == 403
    assert client.post(f"/admin/dlq/deadletter/{one.pk}/delete/", {"post": "yes"}).status_code == 403
    operator = person(Role.OPERATOR)
    operator.is_staff = True
    operator.save()
    client.force_login(operator, backend="django.contrib.auth.backends.ModelBackend")
    assert client.get("/admin/dlq/deadletter/").status_code == 403
