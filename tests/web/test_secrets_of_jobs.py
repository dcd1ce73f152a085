"""What is secret in a job's arguments is nowhere to be read for those who may see payloads only masked."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from dlq.models import DeadLetter
from dlq.searchable import rewrite
from jobops.contracts.decorator import job as contract
from jobops.contracts.registry import temporary_registry
from jobops.contracts.secret_values import DOTS, TOO_MANY, UNREADABLE
from jobops.engine.payload import encode
from jobops.engine.records import NewJob, Outcome
from jobops.web.selectors.letter_arguments import MOST_LINES
from tenants.roles import Role
from tests.web.world import World

SECRET = "4242-abcd-9876"
TYPE = "shop.jobs.send"


@pytest.fixture(autouse=True)
def send() -> Iterator[None]:
    with temporary_registry():

        @contract(
            name=TYPE, owner="billing", drain_sla="4h", idempotent="by id", timeout="30s", redact=["card"],
        )  # fmt: skip
        def send(number: int = 0, card: Any = "", **rest: Any) -> None: ...

        yield


def pages(client: Client, letter: DeadLetter) -> str:
    """All that a person can read of a letter on pages and in downloads."""
    answers = [client.get(f"/{path}") for path in (f"dlq/{letter.pk}/", f"jobs/{letter.job_id}/", "dlq/")]
    assert [answer.status_code for answer in answers] == [200] * 3
    download = client.get(f"/dlq/{letter.pk}/payload/")
    return "".join(answer.content.decode() for answer in (*answers, download))


def exports(client: Client) -> str:
    answers = [client.post("/dlq/export/", {"format": form, "query": ""}) for form in ("csv", "jsonl")]
    return "".join(b"".join(answer.streaming_content).decode() for answer in answers)  # type: ignore[arg-type]


def arguments(**kwargs: Any) -> str:
    return json.dumps({"args": [], "kwargs": kwargs})


def test_a_secret_that_another_argument_repeats_is_nowhere(world: World) -> None:
    """SE-06"""
    acme = world.tenant("acme")
    payload = arguments(card=SECRET, note=f"for {SECRET}", deep=[{SECRET: [SECRET]}])
    letter = world.letter(acme, job_type=TYPE, payload=payload, error="refused")
    rewrite([letter])
    viewer, root = world.client(Role.TENANT_VIEWER, acme), world.client(Role.SUPERUSER)
    assert SECRET not in pages(viewer, letter) + exports(root)
    assert f"for {DOTS}" in exports(root)
    for client in (viewer, root):
        assert f'"/dlq/{letter.pk}/"' not in client.get(f"/dlq/?q={SECRET}").content.decode()
    assert f"for {SECRET}" in pages(root, letter)


def test_where_the_arguments_cannot_be_read_the_error_is_hidden_and_the_page_says_why(world: World) -> None:
    """SE-06, PX-02"""
    acme = world.tenant("acme")
    texts = {"error": f"card {SECRET}", "traceback": f"at {SECRET}", "history": [{"n": 1, "error": SECRET}]}
    letter = world.letter(acme, job_type=TYPE, payload="", payload_raw=b"\x80\x04", **texts)
    viewer, staff, root = (
        world.client(Role.TENANT_VIEWER, acme), world.client(Role.STAFF_VIEWER), world.client(Role.SUPERUSER),
    )  # fmt: skip
    for client in (viewer, staff):
        shown = pages(client, letter)
        assert SECRET not in shown
        assert UNREADABLE in shown
    assert SECRET not in exports(root)
    shown = root.get(f"/dlq/{letter.pk}/").content.decode()
    assert f"card {SECRET}" in shown
    assert f"at {SECRET}" in shown


def test_a_job_whose_arguments_or_result_cannot_be_read_shows_nothing_of_them(world: World) -> None:
    """SE-06: before the intake has seen it, too."""
    acme = world.tenant("acme")
    data = encode(TYPE, [], {"card": SECRET})
    for given, outcome in (
        (b"\x80\x04", Outcome.failed("poison", "InvalidJob", f"not read: {SECRET}", f"at {SECRET}")),
        (data, Outcome.succeeded(f"no JSON {SECRET}".encode())),
        (data, Outcome.succeeded(json.dumps({"paid": f"by {SECRET}", SECRET: 1}).encode())),
        (data, Outcome.succeeded(json.dumps(["." * 3990 + SECRET]).encode())),
        (data, Outcome.failed("poison", "E", "." * 1990 + SECRET + "." * 9000, SECRET)),
    ):
        job_id = uuid.uuid4().hex
        world.engine.scripts.enqueue(NewJob(job_id, "acme", "bulk", TYPE, given))
        world.settle(world.claim(), outcome)
        for client in (world.client(Role.TENANT_VIEWER, acme), world.client(Role.STAFF_VIEWER)):
            shown = client.get(f"/jobs/{job_id}/").content.decode()
            assert SECRET[:4] not in shown
            assert SECRET[-4:] not in shown
    assert SECRET in world.client(Role.SUPERUSER).get(f"/jobs/{job_id}/").content.decode()


def test_a_job_of_very_many_arguments_has_a_page_of_a_readable_size(world: World) -> None:
    """PX-05"""
    acme = world.tenant("acme")
    payload = arguments(card=["x" * 9] * 50_000, **{f"k{number}": number for number in range(20_000)})
    letter = world.letter(acme, job_type=TYPE, payload=payload, error="e" * 4_000)
    for client in (world.client(Role.SUPERUSER), world.client(Role.TENANT_VIEWER, acme)):
        for page in (f"/jobs/{letter.job_id}/", f"/dlq/{letter.pk}/"):
            shown = client.get(page).content.decode()
            assert len(shown) < 100_000
            assert f"{20_001 - MOST_LINES:,} more arguments did not fit" in shown.replace("\N{NO-BREAK SPACE}", " ")


def test_of_more_secrets_than_can_be_found_the_texts_are_hidden_whole(world: World) -> None:
    acme = world.tenant("acme")
    payload = arguments(card=[f"user-{number}@example.com" for number in range(30_000)], note="user-7@example.com")
    letter = world.letter(acme, job_type=TYPE, payload=payload, error="of user-7@example.com")
    shown = pages(world.client(Role.TENANT_VIEWER, acme), letter)
    assert TOO_MANY in shown
    assert "user-7@example.com" not in shown
