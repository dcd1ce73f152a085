"""No scheduler, and Redis away: the web processes find out when they are asked whether they are ready."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError
from django.test import Client
from django.utils import timezone

from jobops.alerts import watching
from jobops.alerts.evaluating import evaluate
from jobops.alerts.models import Alert, Pending
from jobops.alerts.watching import Watch
from jobops.engine.client import Engine
from jobops.scheduling.scheduler import LOCK
from tests.alerts.rounds import channel, told
from tests.tools import wait_for


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often the watch has messages sent, in place of sending."""
    calls: list[int] = []
    monkeypatch.setattr(watching.sending, "send_due", lambda: calls.append(1))
    return calls


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    monkeypatch.setattr(watching, "EVERY_S", 0.0)
    return Watch()


def held_since_a_while() -> None:
    Pending.objects.update(since=timezone.now() - timedelta(seconds=31))


@pytest.mark.django_db(transaction=True)
def test_without_a_scheduler_the_watch_tells_and_sends_it_and_the_scheduler_ends_it(
    engine: Engine, watch: Watch, sent: list[int]
) -> None:
    channel("")
    watch.look(engine, redis_away=False)
    assert (Alert.objects.count(), sent) == (0, [])
    held_since_a_while()
    watch.look(engine, redis_away=False)
    alert = Alert.objects.get()
    assert (alert.signal, alert.severity, told()) == ("no_scheduler", "critical", ["fired"])
    wait_for(lambda: sent, what="the sending")
    engine.redis.set(engine.keys.lock(LOCK), "somebody")
    now = timezone.now()
    for seconds in (0, 11):
        evaluate(engine, now + timedelta(seconds=seconds))
    assert Alert.objects.get(signal="no_scheduler").state == "resolved"


@pytest.mark.django_db(transaction=True)
def test_while_redis_is_away_that_is_told_and_nobody_waits_for_it(
    engine: Engine, watch: Watch, sent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.redis, "execute_command", lambda *args, **options: pytest.fail("asked Redis"))
    watch.look(engine, redis_away=True)
    held_since_a_while()
    watch.look(engine, redis_away=True)
    assert Alert.objects.get().signal == "redis_away"
    wait_for(lambda: sent, what="the sending")


@pytest.mark.django_db
def test_it_looks_every_few_seconds_however_often_it_is_asked(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[Any] = []
    monkeypatch.setattr(watching, "evaluate", lambda *args, **options: rounds.append(options) or 0)
    watch = Watch()
    for _ in range(50):
        watch.look(engine, redis_away=False)
    assert rounds == [{"only": watching.SIGNALS, "redis_away": False}]


def test_a_database_that_is_away_is_no_error_of_who_asks(monkeypatch: pytest.MonkeyPatch, engine: Engine) -> None:
    def away(*args: object, **options: object) -> int:
        raise DatabaseError("no such table")

    monkeypatch.setattr(watching, "evaluate", away)
    assert Watch().look(engine, redis_away=False) == 0


@pytest.mark.django_db
def test_being_asked_whether_it_is_ready_is_what_makes_a_process_look(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_watch", Watch())
    assert Client().get("/readyz").status_code == 200
    assert Pending.objects.get().key == "no_scheduler:all"
