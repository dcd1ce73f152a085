"""What a form of ``/limits/`` may be sent by anybody: an answer in words, never a server error, and nothing changed."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote_from_bytes

import pytest
from django.test import Client

from jobops.audit.models import AuditEntry
from jobops.contracts import registry
from jobops.engine.gates import read_gates
from jobops.limits.models import LimitChange, Pause
from tenants.roles import Role
from tests.contracts.catalogs import declare
from tests.web.world import World

pytestmark = pytest.mark.django_db(transaction=True)

ACTIONS = ("pause", "resume", "set", "reset", "release")
GOOD = {"on": "resource:stripe", "reason": "why", "concurrency": "3", "rate": "5/s"}
LONG = b"x" * 5_000
HOSTILE: dict[str, tuple[bytes, ...]] = {
    "on": (
        b"", b":", b"all", b"all:", b"all:stripe", b"ALL:", b"resource:", b"type:", b"resource:\0", b"resource:a\0b",
        b"\0:\0", b"resource:stripe\n", b"resource:stripe ", b"type:stripe", b"type:type:pay.invoice",
        b"resource:type:pay.invoice",
        b"resource:*", b"resource:{}", b"resource:" + LONG, b"type:" + LONG, b"resource:" + b"\xf0\x9f\x90\x99" * 90,
        b"resource:\xed\xa0\x80", b"resource:\xff\xfe", b"tenant:acme", b"resource:%s%n", b"resource:'; --",
    ),
    "reason": (b"\0", b"a\0b", b"a\nb", b"\xe2\x80\xae", b"\xed\xa0\x80", b"\xff", LONG, b"\x1b[31m"),
    "concurrency": (
        b"0", b"-1", b"1.5", b"1e9", b"nan", b"inf", b"0x10", b"1_000", b" ", b"\0", b"\xd9\xa3", b"\xc2\xb2", b"None",
        b"true",
        b"9" * 9, b"9" * 5_000, b"2147483648", b"\xff",
    ),
    "rate": (
        b"0", b"0/s", b"-1/s", b"1", b"/s", b"1/", b"1/0s", b"nan/s", b"inf/s", b"1e400/s", b"1e9/s", b"1/1e400s",
        b"\0", b"5/s\0",
        b"9" * 5_000 + b"/s", b"5/" + b"9" * 5_000 + b"s", b"\xd9\xa3/s", b"5/\xd9\xa3s", b"5/s/s", b"1_0/s", b"\xff/s",
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def contracts() -> Iterator[None]:
    with registry.temporary_registry():
        declare(name="pay.invoice", resource="stripe", concurrency=2, rate="50/s")
        yield


def audited() -> int:
    return AuditEntry.objects.filter(target_kind__in=("all", "job_type", "resource")).count()


def send(client: Client, action: str, fields: dict[str, bytes]) -> None:
    form = "&".join(f"{name}={quote_from_bytes(value)}" for name, value in fields.items())
    answer = client.post(f"/limits/{action}/", form, content_type="application/x-www-form-urlencoded")
    assert answer.status_code in (302, 400), (action, fields, answer.status_code)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("field", sorted(HOSTILE))
def test_no_value_of_a_field_is_a_server_error(world: World, action: str, field: str) -> None:
    world.engine.scripts.set_limit("stripe", 2, None)
    client = world.client(Role.OPERATOR)
    good = {name: value.encode() for name, value in GOOD.items()}
    for value in HOSTILE[field]:
        send(client, action, good | {field: value})
    send(client, action, {name: value for name, value in good.items() if name != field})
    assert client.get("/limits/").status_code == 200, "what is said of them all"


@pytest.mark.parametrize("action", ACTIONS)
def test_an_unknown_target_changes_nothing(world: World, action: str) -> None:
    client = world.client(Role.OPERATOR)
    good = {name: value.encode() for name, value in GOOD.items()}
    for value in HOSTILE["on"]:
        if not value.startswith((b"all:", b"all")) and value != b"resource:type:pay.invoice":
            send(client, action, good | {"on": value})
    assert (LimitChange.objects.count(), Pause.objects.count(), audited()) == (0, 0, 0)
    assert not any(view.paused or view.concurrency for view in read_gates(world.engine, None) if view.name != "stripe")


def test_everything_at_once_has_neither_a_limit_nor_a_brake(world: World) -> None:
    client = world.client(Role.OPERATOR)
    for action in ("set", "reset", "release"):
        text = client.post(f"/limits/{action}/", GOOD | {"on": "all:"}, follow=True).content.decode()
        assert "Nothing was changed. Name: everything at once has no limit: name a resource or a job type." in text
    assert audited() == 0


@pytest.mark.parametrize("action", ACTIONS)
def test_a_gate_whose_name_came_past_all_checks_is_no_server_error(world: World, action: str) -> None:
    client = world.client(Role.OPERATOR)
    for name in (b"no such name", b"UPPER", b"type:", b"type:a b", b"caf\xc3\xa9", b"\xff"):
        world.engine.redis.hset(
            b"jobops:resource:" + name, mapping={"concurrency": "1", "brake_until": "9999999999999"}
        )
        for kind in (b"resource:", b"type:"):
            send(client, action, {"on": kind + name, "reason": b"why", "concurrency": b"3", "rate": b"5/s"})
