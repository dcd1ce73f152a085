"""``manage.py health``: whether the process of this container does its work."""

from __future__ import annotations

import time

import pytest

from jobops.engine.client import Engine
from jobops.engine.registrations import SupervisorReport, announce, mark_lost, this_host
from jobops.scheduling.scheduler import LOCK
from tests.runtime.asking import ask, refusal, text
from tests.runtime.conftest import Outage

pytestmark = pytest.mark.django_db(transaction=True)


def report(engine: Engine, name: str, host: str) -> None:
    now = engine.scripts.now_ms()
    announce(engine, SupervisorReport(name, host, 7, ("bulk",), now, 5000, False, 0, ""), [])


def test_a_worker_of_this_host_makes_it_healthy_and_none_elsewhere(both: Engine) -> None:
    assert refusal("health", "worker") == (1, f"no worker of {this_host()} has reported lately")
    report(both, "elsewhere-1", "elsewhere")
    assert refusal("health", "worker")[0] == 1
    report(both, "here-1", this_host())
    assert text("health", "worker") == "worker here-1 is running\n"
    assert ask("health", "worker") == {"process": "worker", "id": "here-1"}


def test_a_lost_worker_is_not_healthy(both: Engine) -> None:
    report(both, "here-1", this_host())
    mark_lost(both, "here-1")
    assert refusal("health", "worker")[0] == 1


def test_a_leading_scheduler_makes_it_healthy_until_its_lock_is_over(both: Engine) -> None:
    assert refusal("health", "scheduler") == (1, "no scheduler leads")
    both.scripts.lock(LOCK, "leader-1", 50)
    assert text("health", "scheduler") == "scheduler leader-1 is running\n"
    deadline = time.monotonic() + 5
    while both.redis.exists(both.keys.lock(LOCK)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert refusal("health", "scheduler")[0] == 1


def test_with_redis_away_nothing_is_healthy(outage: Outage) -> None:
    outage.begin()
    assert refusal("health", "worker")[0] == 1
    assert refusal("health", "scheduler")[0] == 1


def test_another_process_is_wrong_usage(both: Engine) -> None:
    assert refusal("health", "web")[0] == 2
