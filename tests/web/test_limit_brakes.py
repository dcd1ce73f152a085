"""Brakes on the page of limits: which job put one on, what it said, and that a pause does not hide it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jobops.contracts import registry
from jobops.engine.payload import encode
from jobops.engine.records import Outcome
from tenants.roles import Role
from tests.contracts.catalogs import declare
from tests.web.test_limits import body, fill, row, said
from tests.web.world import World

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def contracts() -> Iterator[None]:
    with registry.temporary_registry():
        declare(name="pay.invoice", resource="stripe", concurrency=2, rate="50/s")
        yield


def test_a_brake_is_shown_with_its_job_and_released(world: World) -> None:
    world.tenant("acme")
    fill(world)
    job = world.claim()
    world.settle(job, Outcome.postponed(600_000, "RetryLater", "429", brake=True))
    client = world.client(Role.OPERATOR)
    text = body(client)
    assert "<h1>The brake is on at resource stripe.</h1>" in text
    assert f"/jobs/{job.id}/" in row(text, "resource:stripe")
    overview = body(client, "/")
    assert "<b>The brake is on at resource stripe</b> until" in overview
    assert "Resource stripe is released from its brake." in said(client, "/limits/release/", on="resource:stripe")
    assert "Brake is on" not in body(client)
    assert "The brake is on" not in body(client, "/")


def test_a_pause_does_not_hide_a_brake_nor_what_its_job_said(world: World) -> None:
    world.tenant("acme")
    world.engine.scripts.set_limit("stripe", 2, None)
    data = encode("pay.invoice", (), {"token": "s3cret-value"})
    first = world.enqueue("acme", job_type="pay.invoice", resource="stripe")
    world.engine.redis.hset(f"rq:job:{first}", "data", data)
    world.enqueue("acme", job_type="pay.invoice", resource="stripe")
    job = world.claim()
    world.settle(job, Outcome.postponed(600_000, "TooMany", "429 for s3cret-value", brake=True))
    client = world.client(Role.OPERATOR)
    said(client, "/limits/pause/", on="resource:stripe", reason="moving")
    text = body(client)
    assert "<h1>Resource stripe is paused. The brake is on at resource stripe.</h1>" in text
    found = row(text, "resource:stripe")
    for shown in (
        "Paused",
        "“moving”",
        "Brake is on",
        f"job {job.id}",
        "<code>pay.invoice</code>, acme",
        "TooMany: 429",
    ):
        assert shown in found, shown
    assert "Release the brake" in found
    assert "Resume<" in found
    assert "s3cret" not in text
