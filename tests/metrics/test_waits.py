"""How long live jobs wait, sampled while somebody may want to know it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from dlq.models import BulkAction
from jobops.engine.client import Engine
from jobops.engine.records import QueueView
from jobops.metrics.waits import KEPT, keep_wait, longest_wait, read_waits
from jobops.scheduling.duties import Context
from jobops.steward import waits
from tests.web.world import World


def test_samples_come_back_oldest_first_and_only_the_newest_are_kept(engine: Engine) -> None:
    for n in range(KEPT + 5):
        keep_wait(engine, "interactive", n / 10)
    found = read_waits(engine, "interactive")
    assert [wait.seconds for wait in found] == [n / 10 for n in range(5, KEPT + 5)]
    assert abs(found[-1].at - timezone.now()) < timedelta(minutes=1)
    assert read_waits(engine, "bulk") == []
    assert 0 < engine.redis.pttl(engine.keys.waits("interactive")) <= 15 * 60_000


def test_what_is_no_sample_is_passed_over(engine: Engine) -> None:
    keep_wait(engine, "interactive", 1.5)
    engine.redis.lpush(engine.keys.waits("interactive"), "x:1", "1:x", "", "9" * 30 + ":1", b"\xff:1")
    assert [wait.seconds for wait in read_waits(engine, "interactive")] == [1.5]


def test_the_longest_wait_of_the_lane_counts_without_those_who_are_paused() -> None:
    queues = [
        QueueView("acme", "interactive", 1, 2.0, 0),
        QueueView("acme", "bulk", 1, 90.0, 0),
        QueueView("idle", "interactive", 0, None, 1),
        QueueView("away", "interactive", 1, 500.0, 0),
    ]
    assert longest_wait(queues, "interactive", {"away"}) == 2.0
    assert longest_wait(queues, "interactive") == 500.0
    assert longest_wait([], "interactive") == 0.0


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"state": "running", "created_at": timezone.now() - timedelta(days=2)}, True),
        ({"state": "paused", "created_at": timezone.now() - timedelta(days=2)}, True),
        ({"state": "draft"}, True),
        ({"state": "draft", "created_at": timezone.now() - timedelta(minutes=20)}, False),
        ({"state": "finished", "ended_at": timezone.now() - timedelta(minutes=1)}, True),
        ({"state": "finished", "ended_at": timezone.now() - timedelta(minutes=20)}, False),
        ({"state": "running", "kind": "discard"}, False),
    ],
)
@pytest.mark.django_db
def test_a_sample_is_taken_around_replays_only(engine: Engine, fields: dict[str, object], wanted: bool) -> None:
    BulkAction.objects.create(**({"kind": "replay", "by": "olga"} | fields))
    # It never has more to do: a round that asks until nothing is left must end.
    assert waits.run(Context(engine)) == 0
    assert bool(read_waits(engine, "interactive")) is wanted


@pytest.mark.django_db
def test_the_duty_sees_who_waits(engine: Engine) -> None:
    world = World(engine)
    world.tenant("acme")
    BulkAction.objects.create(kind="replay", by="olga", state="running")
    world.enqueue("acme", lane="interactive")
    engine.redis.zadd(engine.keys.active("interactive"), {"acme": engine.scripts.now_ms() - 7_000})
    waits.run(Context(engine))
    assert 7 <= read_waits(engine, "interactive")[-1].seconds < 60
