"""The traffic: bounded, various, and one shop that floods."""

from __future__ import annotations

import random
from collections import Counter
from datetime import date
from decimal import Decimal

import pytest

from jobops.contracts import enqueuer as plug
from jobops.contracts import registry
from jobops.demo import traffic as demo
from jobops.demo.cast import SHOPS
from jobops.demo.models import Order
from jobops.engine.errors import DepthExceeded, EnqueueRefused
from jobops.engine.records import Enqueued, NewJob

pytestmark = pytest.mark.django_db


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Queues:
    """Takes jobs in as an engine would, and counts them."""

    def __init__(self) -> None:
        self.jobs: list[NewJob] = []
        self.full = False

    def enqueue(self, job: NewJob, /) -> Enqueued:
        if self.full:
            raise DepthExceeded(job.tenant, 100, 100)
        self.jobs.append(job)
        return Enqueued(job.id, "queued")

    def enqueue_many(self, jobs: list[NewJob], /) -> list[Enqueued | EnqueueRefused]:
        if self.full:
            return [DepthExceeded(job.tenant, 100, 100) for job in jobs]
        return [self.enqueue(job) for job in jobs]

    def waiting(self) -> Counter[tuple[str, str]]:
        return Counter((job.tenant, job.lane) for job in self.jobs)

    def types(self) -> set[str]:
        return {job.job_type for job in self.jobs}


@pytest.fixture
def queues(monkeypatch: pytest.MonkeyPatch) -> Queues:
    queues = Queues()
    monkeypatch.setattr(plug, "_enqueuer", queues)
    return queues


def run(traffic: demo.Traffic, clock: Clock, seconds: float) -> None:
    until = clock.now + seconds
    while clock.now < until:
        traffic.tick()
        clock.now += demo.TICK_S


def test_the_opening_sends_every_type_and_everything_that_can_go_wrong(queues: Queues) -> None:
    Order.objects.create(
        shop="acme-retail", number=7, placed_on=date(2026, 1, 1), customer="A", email="a@nowhere.example",
        country="DE", currency="EUR", items=1, total=Decimal(1),
    )  # fmt: skip
    traffic = demo.Traffic(queues.waiting, rng=random.Random(1), now=Clock())
    traffic.opening()
    run(traffic, Clock(), 0.1)
    mine = {t.name for t in registry.all_types() if t.func.__module__ == "jobops.demo.jobs"}
    assert queues.types() == mine
    sent = b" ".join(job.data for job in queues.jobs)
    for sign in (b"catalog-full-history.zip", b"half-uploaded", b"tax-office", b"old-shop", b'"order":7'):
        assert sign in sent.replace(b": ", b":")


def test_one_shop_floods_and_comes_again_when_its_queue_is_nearly_empty(queues: Queues) -> None:
    clock = Clock()
    traffic = demo.Traffic(queues.waiting, rng=random.Random(1), now=clock)
    run(traffic, clock, 30)
    assert queues.waiting()[demo.FLOOD_QUEUE] == pytest.approx(demo.FLOOD_SIZE, rel=0.05)
    run(traffic, clock, 30)
    assert queues.waiting()[demo.FLOOD_QUEUE] < demo.FLOOD_SIZE * 1.05
    queues.jobs = [job for job in queues.jobs if (job.tenant, job.lane) != demo.FLOOD_QUEUE]
    run(traffic, clock, 30)
    assert queues.waiting()[demo.FLOOD_QUEUE] > demo.FLOOD_SIZE * 0.95


def test_every_shop_sends_small_jobs_at_a_bounded_rate(queues: Queues) -> None:
    clock = Clock()
    run(demo.Traffic(queues.waiting, rng=random.Random(1), now=clock), clock, 120)
    small = Counter(job.tenant for job in queues.jobs if job.lane == "interactive")
    assert set(small) == {shop.slug for shop in SHOPS}
    assert 2 * 120 < small.total() < 2 * 300


def test_where_nobody_works_the_backlog_stops_growing(queues: Queues) -> None:
    clock = Clock()
    traffic = demo.Traffic(queues.waiting, rng=random.Random(1), now=clock)
    run(traffic, clock, 1200)
    bound = demo.FLOOD_SIZE * 1.05 + len(SHOPS) * demo.STOP_SENDING_AT * 1.05
    assert len(queues.jobs) < bound
    before = len(queues.jobs)
    run(traffic, clock, 300)
    assert len(queues.jobs) - before < 50


def test_while_the_provider_is_down_unpaid_letters_do_not_pile_up_for_ever(queues: Queues) -> None:
    clock, unpaid = Clock(), demo.STOP_PAYING_AT
    traffic = demo.Traffic(queues.waiting, rng=random.Random(1), now=clock, unpaid=lambda: unpaid)
    run(traffic, clock, 120)
    assert "billing.capture_payment" not in queues.types()
    unpaid = 0
    run(traffic, clock, 120)
    assert "billing.capture_payment" in queues.types()


def test_a_refusal_stops_nothing(queues: Queues, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    queues.full = True
    traffic = demo.Traffic(queues.waiting, rng=random.Random(1), now=clock)
    run(traffic, clock, 10)
    assert (traffic.sent, len(queues.jobs)) == (0, 0)
    assert traffic.refused > 100
    queues.full = False
    run(traffic, clock, 10)
    assert traffic.sent > 100
