"""Sending in a real scheduler: a receiver that hangs delays nothing else, and a killed sender is followed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django import Settings

from dlq.models import DeadLetter
from jobops.alerts.models import Delivery
from jobops.context import outbox
from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from jobops.runtime import get_engine
from tests.alerts.channels.conftest import alert_of, channel_of, delivery_of
from tests.alerts.channels.sink import Sink, sink
from tests.runtime import factory
from tests.runtime.factory import new_job, run_all, waiting
from tests.runtime.processes import run, running
from tests.tools import wait_for


@pytest.fixture
def both(transactional_db: None, engine: Engine) -> Engine:
    """The runtime's engine, with a tenant in both stores."""
    factory.tenant()
    return get_engine()


def test_a_receiver_that_hangs_delays_neither_promotion_nor_relay_nor_intake(
    both: Engine, receiver: Sink, tmp_path: Path
) -> None:
    """Trap 8"""
    receiver.waits.clear()
    row = delivery_of(channel_of(receiver.url), alert_of())
    both.scripts.enqueue(dying := new_job())
    run_all(both, Outcome.failed("poison", "ValueError", "no"))
    with running(tmp_path / "log", "scheduler", JOBOPS_ALERT_ALLOW_PRIVATE_SINK=receiver.url):
        wait_for(lambda: receiver.got, seconds=30, what="the receiver has it and says nothing")
        begun = time.monotonic()
        outbox.write([relayed := new_job()])
        both.scripts.enqueue(delayed := new_job(delay_ms=10))
        wait_for(lambda: set(waiting(both)) >= {relayed.id, delayed.id}, what="both jobs in the queue")
        wait_for(lambda: DeadLetter.objects.filter(job_id=dying.id).exists(), what="the dead letter")
        took = time.monotonic() - begun
        row.refresh_from_db()
        assert (row.state, row.attempts) == (Delivery.State.WAITING, 1)
        assert took < 8  # less than the receiver is waited for
        receiver.waits.set()
        wait_for(lambda: Delivery.objects.get(pk=row.pk).state == "sent", seconds=30, what="the message was taken")
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_one_that_was_killed_in_mid_send_is_followed_by_another(both: Engine, receiver: Sink, tmp_path: Path) -> None:
    """MA-05: the receiver gets it again under the same key, and then it is sent."""
    receiver.waits.clear()
    row = delivery_of(channel_of(receiver.url), alert_of())
    with running(tmp_path / "a", "scheduler", JOBOPS_ALERT_ALLOW_PRIVATE_SINK=receiver.url) as first:
        wait_for(lambda: receiver.got, seconds=30, what="the first one is sending")
        first.kill()
        first.wait(10)
    receiver.waits.set()
    Delivery.objects.filter(pk=row.pk).update(taken_until=timezone.now())  # a minute later
    with running(tmp_path / "b", "scheduler", JOBOPS_ALERT_ALLOW_PRIVATE_SINK=receiver.url):
        wait_for(lambda: Delivery.objects.get(pk=row.pk).state == "sent", seconds=30, what="the second one has sent it")
    assert len(receiver.got) == 2
    assert len({got.headers["Idempotency-Key"] for got in receiver.got}) == 1


def test_one_that_was_killed_between_the_answer_and_the_note_repeats_it_once(
    both: Engine, receiver: Sink, settings: Settings, tmp_path: Path
) -> None:
    """The answers of a round are noted when its channels have ended: one that hangs leaves time for the kill."""
    with sink() as hanging:
        hanging.waits.clear()
        origins = f"{receiver.url},{hanging.url}"
        settings.JOBOPS_ALERT_ALLOW_PRIVATE_SINK = [receiver.url, hanging.url]
        row = delivery_of(channel_of(receiver.url, name="quick"), alert_of())
        delivery_of(channel_of(hanging.url, name="hangs"), alert_of(key="other"))
        with running(tmp_path / "a", "scheduler", JOBOPS_ALERT_ALLOW_PRIVATE_SINK=origins) as first:
            wait_for(lambda: receiver.got and hanging.got, seconds=30, what="both have the message")
            first.kill()
            first.wait(10)
        row.refresh_from_db()
        assert (row.state, row.attempts) == ("waiting", 1), "it was noted before the kill"
        hanging.waits.set()
        Delivery.objects.update(taken_until=timezone.now())  # a minute later
        with running(tmp_path / "b", "scheduler", JOBOPS_ALERT_ALLOW_PRIVATE_SINK=origins):
            sent = Delivery.objects.filter(state="sent")
            wait_for(lambda: sent.count() == 2, seconds=30, what="the second one has sent both")
    assert len(receiver.got) == 2
    assert {got.headers["Idempotency-Key"] for got in receiver.got} == {row.key}


def test_once_sends_what_is_due(both: Engine, receiver: Sink) -> None:
    row = delivery_of(channel_of(receiver.url, "slack"), alert_of())
    ended = run("scheduler", "--once", "--json", JOBOPS_ALERT_ALLOW_PRIVATE_SINK=receiver.url)
    assert ended.returncode == 0, ended.stderr
    assert '{"duty": "alert messages", "done": 1}' in ended.stdout
    row.refresh_from_db()
    assert row.state == Delivery.State.SENT
