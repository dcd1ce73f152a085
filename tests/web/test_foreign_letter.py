"""The page of a letter whose job is of another RQ installation."""

from __future__ import annotations

import html
import re

import pytest
from django.utils import timezone
from pytest_django import Settings

from dlq.foreign.records import packed
from dlq.models import DeadLetter, ForeignJob, State
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.causes import cause, letter_of
from tests.web.world import World

HOSTILE = "<script>alert(1)</script>"


def foreign(world: World, tenant: Tenant, **fields: object) -> DeadLetter:
    rq_id = f"job-{HOSTILE}"
    letter = world.letter(
        tenant, **{"job_id": f"rq:old:{rq_id}", "job_type": "shop.pay", "payload": "", "queue": "default"} | fields
    )
    ForeignJob.objects.create(
        letter=letter, source="old", rq_id=rq_id, queue="default", failed_at=timezone.now(), record=packed({})
    )
    return letter


def body(world: World, letter: DeadLetter, role: Role | None, tenant: Tenant | None = None) -> str:
    answer = world.client(role, tenant).get(f"/dlq/{letter.pk}/")
    assert answer.status_code == 200
    text = answer.content.decode()
    assert HOSTILE not in text
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text)))


def test_it_says_where_it_is_from_and_why_its_arguments_are_closed(
    world: World, acme: Tenant, settings: Settings
) -> None:
    settings.JOBOPS_RQ_SOURCES = {"old": "redis://h"}
    told = body(world, foreign(world, acme, error="no answer"), Role.OPERATOR)

    assert "RQ source old , whose own workers run it" in told
    assert "They cannot be viewed" in told
    assert "no answer" in told
    assert "is not in JOBOPS_RQ_SOURCES" not in told


def test_a_source_that_is_not_known_here_is_said_at_the_button(world: World, acme: Tenant) -> None:
    told = body(world, foreign(world, acme), Role.OPERATOR)

    assert "Its source old is not in JOBOPS_RQ_SOURCES" in told


def test_its_replay_cannot_be_cancelled_here(world: World, acme: Tenant) -> None:
    told = body(world, foreign(world, acme, state=State.REPLAYING), Role.OPERATOR)

    assert "take it out there" in told


def test_a_tenants_people_are_told_nothing_of_the_machine(world: World, acme: Tenant) -> None:
    told = body(world, foreign(world, acme), Role.TENANT_ADMIN, acme)

    assert "RQ" not in told
    assert "They cannot be viewed" in told


@pytest.mark.parametrize("path", ["/dlq/?by=one", "/dlq/", "/audit/"])
def test_lists_show_it(world: World, acme: Tenant, path: str) -> None:
    foreign(world, acme)
    assert world.client(Role.OPERATOR).get(path).status_code == 200


def test_its_cause_says_the_same_and_asks_for_no_redirect(world: World, acme: Tenant) -> None:
    group = cause(job_type="shop.pay")
    letter = letter_of(world, group, acme, job_id="rq:old:1", payload="")
    DeadLetter.objects.update(tenant=None, tenant_slug="")
    asks = "Add a redirect to replay"
    client = world.client(Role.OPERATOR)
    assert asks in client.get(f"/dlq/groups/{group.pk}/").content.decode()
    assert asks in client.get(f"/dlq/{letter.pk}/").content.decode()
    ForeignJob.objects.create(
        letter=letter, source="old", rq_id="1", queue="default", failed_at=timezone.now(), record=packed({})
    )
    for url in (f"/dlq/groups/{group.pk}/", f"/dlq/{letter.pk}/"):
        text = " ".join(client.get(url).content.decode().split())
        assert "They cannot be viewed" in text
        assert "record was gone" not in text
        assert "tenant <b>none</b> (from RQ source old)" in text
        assert asks not in text
