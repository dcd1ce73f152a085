"""``manage.py queues``, and what every command says when Redis does not answer."""

from __future__ import annotations

import socket

import pytest
from pytest_django import Settings

from jobops.engine.client import Engine
from jobops.runtime import enqueuer
from tenants import services
from tenants.models import Tenant
from tests.doctor import plant
from tests.runtime.asking import ask, refusal, text
from tests.runtime.conftest import Outage
from tests.runtime.factory import claim, new_job, tenant

pytestmark = pytest.mark.django_db(transaction=True)


def test_queues_tells_depth_age_cap_weight_and_pause(both: Engine) -> None:
    tenant("busy", weight=2.5, cap=None)
    services.tenant_pause(tenant=Tenant.objects.get(slug="acme"), by="tests", reason="test")
    enqueuer().enqueue_many([new_job("busy", lane="bulk") for _ in range(3)])
    assert claim(both) is not None
    rows = ask("queues")
    age = rows[0].pop("oldest_age")
    assert rows[0] == {
        "tenant": "busy", "lane": "bulk", "queue": "busy.bulk", "depth": 2, "waiting": 0, "running": 1, "cap": None,
        "weight": 2.5, "paused": False, "served": False,
    }  # fmt: skip
    assert 0 <= age < 30
    assert [(row["tenant"], row["depth"], row["oldest_age"], row["paused"]) for row in rows[1:]] == [
        ("acme", 0, None, True), ("acme", 0, None, True), ("busy", 0, None, False),
    ]  # fmt: skip
    assert [row["tenant"] for row in ask("queues", "--active")] == ["busy"]
    assert len(ask("queues", "--tenant", "acme")) == 2
    assert refusal("queues", "--tenant", "nobody")[0] == 1
    assert "oldest age" in text("queues")


def test_queues_shows_work_of_a_tenant_that_the_database_no_longer_has(both: Engine) -> None:
    enqueuer().enqueue(new_job())
    Tenant.objects.all().delete()
    rows = ask("queues")
    assert [(row["tenant"], row["depth"], row["cap"]) for row in rows if row["depth"]] == [("acme", 1, None)]


def test_queues_shows_work_in_a_lane_that_the_settings_no_longer_name(both: Engine) -> None:
    both.scripts.set_lanes({"former": 1.0, "empty": 1.0})
    both.scripts.enqueue(new_job(lane="former"))
    for rows in (ask("queues"), ask("queues", "--active"), ask("queues", "--tenant", "acme")):
        assert [(row["lane"], row["depth"]) for row in rows if row["depth"]] == [("former", 1)]
    assert [row["queue"] for row in ask("jobs", "list")] == ["acme.former"]
    assert sorted(row["lane"] for row in ask("queues")) == ["bulk", "former", "interactive"]


def test_queues_that_nobody_serves_are_shown(both: Engine) -> None:
    """RD-02: push 50 to a new queue name."""
    plant.worker(both, lanes=("interactive",))
    enqueuer().enqueue(new_job(lane="bulk"))
    for queue in ("renamed", "acme.newlane"):
        both.redis.sadd("rq:queues", f"rq:queue:{queue}")
        both.redis.rpush(f"rq:queue:{queue}", *map(str, range(50)))
    rows = {row["queue"]: row for row in ask("queues")}
    assert {name: row["served"] for name, row in rows.items()} == {
        "acme.bulk": False, "acme.interactive": True, "renamed": False, "acme.newlane": False,
    }  # fmt: skip
    assert (rows["renamed"]["tenant"], rows["renamed"]["lane"], rows["renamed"]["depth"]) == (None, None, 50)
    assert (rows["acme.newlane"]["tenant"], rows["acme.newlane"]["lane"]) == ("acme", "newlane")
    assert "renamed" in text("queues")
    assert "renamed" not in [row["queue"] for row in ask("queues", "--tenant", "acme")]


def test_a_redis_that_does_not_answer_is_one_clear_line(outage: Outage) -> None:
    outage.begin()
    for command in (("scheduler",), ("queues",), ("jobs", "list"), ("jobs", "show", "x"), ("jobs", "cancel", "x")):
        code, message = refusal(*command)
        assert code == 1
        assert message.startswith("no Redis answers at unix://")


def test_a_redis_that_hangs_is_one_clear_line(
    both: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobops.runtime.engine.ANSWER_TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.JOBOPS_REDIS_URL = f"redis://:s3cret@127.0.0.1:{silent.getsockname()[1]}/0"
        code, message = refusal("queues")
    assert code == 1
    assert message.startswith("Redis at redis://127.0.0.1:")
    assert "does not answer" in message
