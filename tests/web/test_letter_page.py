"""One dead letter's page, ``/dlq/<id>/``: what it says, and to whom."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlq.models import DeadLetter
from jobops.contracts.decorator import job as contract
from jobops.contracts.registry import temporary_registry
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.world import World

NBSP = "\N{NO-BREAK SPACE}"
TRACE = """Traceback (most recent call last):
  File "/srv/app/shop/jobs.py", line 88, in send
    deliver(number)
  File "/usr/lib/python3.11/urllib/request.py", line 216, in urlopen
    return opener.open(url)
  File "/srv/app/shop/mail.py", line 12, in deliver
    raise ConnectionError("no answer")
ConnectionError: no answer
"""


@pytest.fixture(autouse=True)
def send() -> Iterator[None]:
    with temporary_registry():

        @contract(
            name="shop.jobs.send", owner="billing", drain_sla="4h", timeout="30s", redact=["card"],
            idempotent="upserts by invoice id",
        )  # fmt: skip
        def send(number: int, card: str = "", **rest: Any) -> None: ...

        yield


def body(client: Client, letter: DeadLetter) -> str:
    answer = client.get(f"/dlq/{letter.pk}/")
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def attempt(number: int, outcome: str, **fields: Any) -> dict[str, Any]:
    start = timezone.now() - timedelta(minutes=20 - number)
    return {
        "n": number,
        "worker": "host-1.example-4711",
        "started_at": start.isoformat(),
        "ended_at": (start + timedelta(seconds=3)).isoformat(),
        "outcome": outcome,
        "error_class": "ConnectionError",
        "error": "no answer",
    } | fields


def payload(**kwargs: Any) -> str:
    return json.dumps({"args": [], "kwargs": kwargs})


def test_it_says_why_it_died_whose_it_is_until_when_and_what_a_second_run_means(world: World, acme: Tenant) -> None:
    now = timezone.now()
    letter = world.letter(
        acme, traceback=TRACE, owner="payments", dead_at=now - timedelta(minutes=200),
        due_at=now + timedelta(minutes=40), key="invoice:42",
        history=[attempt(1, "error"), attempt(2, "timeout"), attempt(3, "worker_lost")],
    )  # fmt: skip
    text = body(world.client(Role.ON_CALL), letter)
    for shown in (
        "<h1>send failed in every one of 3 attempts</h1>",
        "<b>ConnectionError</b>: the provider did not answer",
        '<b>Safe to repeat because</b> <span class="sub">upserts by invoice id.</span>',
        f"Due in 39{NBSP}min",
        f"3{NBSP}h 20{NBSP}min of 4{NBSP}h used. The clock has run since it died",
        "payments",
        "<code>invoice:42</code>",
        "3 attempts of 3",
        "Worker lost",
        f'href="/jobs/{letter.job_id}/"',
        "No other died with the same message in the last",
    ):
        assert shown.replace(NBSP, " ") in text.replace(NBSP, " "), shown
    assert text.count('<tr id="a-') == 3


def test_our_own_frames_stand_out_and_those_of_libraries_are_folded(world: World, acme: Tenant) -> None:
    text = body(world.client(Role.ON_CALL), world.letter(acme, traceback=TRACE))
    assert text.count("our code") == 2
    assert text.count("our code, raised here") == 1
    assert "1 frame of the standard library" in text
    assert TRACE.splitlines()[1].strip().replace('"', "&quot;") in text, "and the text as it was"


def test_a_tenants_people_see_plain_words_and_no_part_of_the_machine(world: World, acme: Tenant) -> None:
    """SE-06: masked, in the error too."""
    letter = world.letter(
        acme, payload=payload(number=1, card="4242-4242", api_key="sk_live_1"), error="card 4242-4242 refused",
        traceback=TRACE, history=[attempt(1, "error", error="4242-4242 refused")], owner="payments",
    )  # fmt: skip
    text = body(world.client(Role.TENANT_ADMIN, acme), letter)
    for shown in ("Send did not work", "card •••••••• refused", "Try again", "Give up", "Our team looks after it."):
        assert shown in text
    for hidden in (
        "4242", "sk_live", "host-1", "ConnectionError", "/srv/app", "payments", "ead letter", "Worker", "acme.bulk",
        "upserts", "manage.py",
    ):  # fmt: skip
        assert hidden not in text, hidden


def test_foreign_letters_and_those_of_deleted_tenants_do_not_exist_for_a_tenants_people(
    world: World, acme: Tenant
) -> None:
    foreign, gone = world.letter(world.tenant("rival")), world.letter(acme)
    DeadLetter.objects.filter(pk=gone.pk).update(tenant=None)
    member, staff = world.client(Role.TENANT_ADMIN, acme), world.client(Role.STAFF_VIEWER)
    for pk in (foreign.pk, gone.pk, 10**9, 2**80):
        for path in (f"/dlq/{pk}/", f"/dlq/{pk}/payload/", f"/live/dlq/{pk}/"):
            assert member.get(path).status_code == 404, path
    text = body(staff, gone)
    assert "(deleted)" in text


def test_secrets_are_masked_for_all_but_those_who_were_granted_payloads(world: World, acme: Tenant) -> None:
    """SE-06, SE-07: in arguments, error, traceback, attempts and the download."""
    url = "redis://:s3cret@10.0.0.1/0"
    letter = world.letter(
        acme, payload=payload(number=1, card="4242-4242", url=url), error=f"4242-4242 via {url}",
        traceback=TRACE + f"KeyError: 4242-4242 {url}", history=[attempt(1, "error", error="4242-4242")],
    )  # fmt: skip
    client = world.client(Role.ON_CALL)
    for text in (body(client, letter), client.get(f"/dlq/{letter.pk}/payload/").content.decode()):
        assert "4242" not in text
        assert "s3cret" not in text
    user = world.person(Role.ON_CALL)
    user.user_permissions.add(Permission.objects.get(codename="see_payload"))
    granted = Client()
    granted.force_login(user)
    assert body(granted, letter).count("4242-4242") >= 4
    answer = granted.get(f"/dlq/{letter.pk}/payload/")
    assert json.loads(answer.content) == {"number": 1, "card": "4242-4242", "url": url}
    assert answer["Content-Disposition"] == f'attachment; filename="dead-letter-{letter.pk}.json"'


def test_a_huge_payload_is_cut_on_the_page_and_whole_in_the_download(world: World, acme: Tenant) -> None:
    """PX-05."""
    huge = {f"line_{index}": "x" * 600 for index in range(5_000)}
    letter = world.letter(acme, payload=payload(number=1, text="y" * 3_000_000, ids=list(range(2_000)), **huge))
    client = world.client(Role.ON_CALL)
    text = body(client, letter)
    assert len(text) < 300_000
    assert "3,000,002 characters" in text
    assert "2,000 items" in text
    assert "4,953 more arguments did not fit" in text
    assert len(client.get(f"/dlq/{letter.pk}/payload/").content) > 6_000_000


def test_nul_and_direction_overrides_are_spelled_out(world: World, acme: Tenant) -> None:
    """PX-01."""
    letter = world.letter(acme, payload=payload(**{"a\u202eb": "c\u202ed", "number": "\x00"}), error="a\\x00b")
    text = body(world.client(Role.ON_CALL), letter)
    assert "\u202e" not in text
    assert "\x00" not in text
    assert "a\\x00b" in text


def test_a_letter_of_a_type_that_is_gone_opens_and_says_so(world: World, acme: Tenant) -> None:
    """PX-02: all arguments masked, and the button says when it can be pressed."""
    letter = world.letter(acme, job_type="shop.old", reason="unresolvable", payload=payload(any="sensitive"))
    text = body(world.client(Role.ON_CALL), letter)
    assert "old is a job type that nobody here knows" in text
    assert "replayed once the name or an alias exists again" in text
    assert 'aria-disabled="true"' in text
    assert "sensitive" not in text


@pytest.mark.parametrize("raw", [b"\x80\x04os.system", b"\x00" * 10, b"{"])
def test_unreadable_arguments_are_said_and_their_bytes_are_for_those_who_may_see_them(
    world: World, acme: Tenant, raw: bytes
) -> None:
    """PX-02, I10."""
    letter = world.letter(acme, payload="", payload_raw=raw)
    client = world.client(Role.ON_CALL)
    assert "They cannot be read" in body(client, letter)
    assert client.get(f"/dlq/{letter.pk}/payload/").status_code == 404
    answer = world.client(Role.SUPERUSER).get(f"/dlq/{letter.pk}/payload/")
    assert answer.content == raw
    assert answer["Content-Type"] == "application/octet-stream"


def test_the_number_of_queries_does_not_grow(world: World, acme: Tenant) -> None:
    lone = world.letter(acme)
    client = world.client(Role.ON_CALL)

    def queries(letter: DeadLetter) -> int:
        with CaptureQueriesContext(
            connection,
        ) as seen:
            body(client, letter)
        return len(seen)

    body(client, lone)
    before = queries(lone)
    busy = world.letter(acme, history=[attempt(n, "error") for n in range(1, 60)])
    for number in range(1, 20):
        busy.runs.create(
            number=number, job_id=f"j-{busy.pk}-{number}", by="olga", state="died", ended_at=timezone.now()
        )
        world.letter(acme)
    assert queries(busy) == before
