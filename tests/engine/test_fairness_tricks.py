"""Nobody gains by estimates that are far off, by dying, or by a moment in which nothing waited."""

from __future__ import annotations

from collections import Counter

import pytest

from jobops.engine.client import Engine
from jobops.engine.records import Outcome, Policy
from tests.engine.helpers import LANES, Slot, job
from tests.engine.virtual_time import VirtualScripts, virtual

HOUR_MS = 3_600_000.0


class Fleet:
    """Two slots on a clock that the test moves."""

    def __init__(self, engine: Engine) -> None:
        self.engine = virtual(engine)
        assert isinstance(self.engine.scripts, VirtualScripts)
        self.scripts = self.engine.scripts
        self.now = 0.0
        self.slots = [Slot(self.scripts, f"s{n}", LANES, f"w{n}") for n in range(2)]

    def pass_ms(self, ms: float) -> None:
        self.now += ms
        self.scripts.set_clock(self.now)

    def learn(self, job_type: str, ms: float, tenant: str) -> None:
        """One run, alone, that teaches the average run time of a type."""
        self.scripts.enqueue(job(f"lesson-{job_type}", tenant, job_type=job_type, lease_ms=10**9, timeout_ms=10**9))
        self.slots[0].need()
        self.pass_ms(ms)
        self.slots[0].settle()
        assert self.slots[0].claim() is None

    def work(self, steps: int, each_ms: float, key: str) -> Counter[str]:
        """Both slots run jobs of ``each_ms`` for so many steps; how many of each tenant or lane."""
        done: Counter[str] = Counter()
        for slot in self.slots:
            if slot.held is None:
                slot.claim()
        for _ in range(steps):
            self.pass_ms(each_ms)
            for slot in self.slots:
                if slot.held is None:
                    slot.claim()
                    continue
                done[getattr(slot.held, key)] += 1
                slot.settle(claim=True)
        return done


@pytest.fixture
def fleet(engine: Engine) -> Fleet:
    fleet = Fleet(engine)
    for slug in ("cheat", "victim"):
        fleet.scripts.set_policy(Policy(slug, cap=None))
    return fleet


def test_a_refund_after_an_idle_moment_is_no_credit(fleet: Fleet) -> None:
    """An estimate of an hour, a run of two seconds, and an idle slot that looked in between."""
    fleet.learn("slow", HOUR_MS, "cheat")
    fleet.scripts.enqueue(job("quick-run", "cheat", job_type="slow"))
    fleet.slots[0].need()
    assert fleet.slots[1].claim() is None
    fleet.pass_ms(2_000)
    for n in range(300):
        fleet.scripts.enqueue_many([job(f"c{n}", "cheat", job_type="q"), job(f"v{n}", "victim", job_type="q")])
    fleet.slots[0].settle(claim=True)
    done = fleet.work(100, 1_000, "tenant")
    assert abs(done["cheat"] - done["victim"]) <= 6, done


def test_a_refund_after_an_idle_moment_is_no_credit_for_a_lane_either(fleet: Fleet) -> None:
    fleet.learn("report", 600_000, "cheat")
    fleet.scripts.enqueue(job("quick-run", "cheat", job_type="report"))
    fleet.slots[0].need()
    assert fleet.slots[1].claim() is None
    fleet.pass_ms(2_000)
    for n in range(300):
        fleet.scripts.enqueue_many(
            [job(f"b{n}", "cheat", job_type="q"), job(f"i{n}", "victim", "interactive", job_type="q")]
        )
    fleet.slots[0].settle(claim=True)
    done = fleet.work(100, 1_000, "lane")
    assert done["interactive"] >= 3 * done["bulk"], done


def test_a_refund_in_a_busy_ring_is_still_given(fleet: Fleet) -> None:
    """Nothing was levelled: who was charged too much in advance gets it back, and keeps its share."""
    fleet.learn("slow", 60_000, "cheat")
    for n in range(400):
        fleet.scripts.enqueue_many([job(f"c{n}", "cheat", job_type="slow"), job(f"v{n}", "victim", job_type="q")])
    done = fleet.work(300, 100, "tenant")
    assert done["cheat"] == pytest.approx(300, abs=35), done


def test_jobs_that_kill_their_worker_pay_for_it(fleet: Fleet) -> None:
    """A loss costs worker time that no job's clock sees; it is not the other tenants' to pay."""
    for n in range(200):
        fleet.scripts.enqueue(job(f"v{n}", "victim", job_type="q"))
        fleet.scripts.enqueue(job(f"c{n}", "cheat", job_type="crash", max_attempts=1))
    crashes, served, number = 0, 0, 0
    slot = Slot(fleet.scripts, "k0")
    for _ in range(200):
        held = slot.need()
        if held.tenant == "cheat":
            fleet.pass_ms(1)
            assert fleet.scripts.abandon(slot.name) == "dead"
            crashes, number = crashes + 1, number + 1
            slot = Slot(fleet.scripts, f"k{number}")
        else:
            fleet.pass_ms(50)
            slot.settle(outcome=Outcome.succeeded())
            served += 1
    assert served >= 3 * crashes, (served, crashes)
