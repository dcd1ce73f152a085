"""Each request has an id that the answer tells, and that the audit and the log carry."""

from __future__ import annotations

import logging

import pytest
from django.test import Client
from structlog.contextvars import get_contextvars

from jobops.audit import recording
from jobops.audit.models import AuditEntry
from tenants.roles import Role
from tests.web.world import World


def test_a_change_carries_the_id_that_the_answer_tells(world: World) -> None:
    world.tenant("acme")
    answer = world.client(Role.OPERATOR).post("/tenants/acme/pause/", {"reason": "x"})
    assert AuditEntry.objects.get(action="tenant.pause").request_id == answer["X-Request-ID"]
    assert len(answer["X-Request-ID"]) == 32
    assert recording.current_request_id() == ""
    assert "request_id" not in get_contextvars()


def test_two_requests_have_two_ids(world: World) -> None:
    client = world.client(Role.OPERATOR)
    assert client.get("/tenants/")["X-Request-ID"] != client.get("/tenants/")["X-Request-ID"]


@pytest.mark.parametrize("given", ["abc-123", "A" * 64, "x.y:z/1"])
def test_a_sane_id_that_was_sent_is_kept(given: str) -> None:
    assert Client().get("/healthz", headers={"X-Request-ID": given})["X-Request-ID"] == given


@pytest.mark.parametrize("given", ["", " ", "a b", "A" * 65, "a\nb", "ü", "\x00", "a\x7f"])
def test_any_other_is_replaced(given: str) -> None:
    told = Client().get("/healthz", headers={"X-Request-ID": given})["X-Request-ID"]
    assert len(told) == 32
    assert told != given


def test_the_log_carries_it(world: World, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[object] = []

    class Look(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(get_contextvars().get("request_id"))

    handler = Look()
    logging.getLogger("tenants.services").addHandler(handler)
    world.tenant("acme")
    try:
        with caplog.at_level(logging.INFO, "tenants.services"):
            answer = world.client(Role.OPERATOR).post("/tenants/acme/pause/", {"reason": "x"})
    finally:
        logging.getLogger("tenants.services").removeHandler(handler)
    assert seen == [answer["X-Request-ID"]]
