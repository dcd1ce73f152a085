"""I1: an outsider's key of another kind where one of a gate should be loses no job and stops none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jobops.engine.client import Engine
from jobops.engine.gates import read_gates
from jobops.engine.rates import Rate
from jobops.engine.records import NewJob, Outcome, Policy
from jobops.engine.scripts import Scripts
from tests.engine.helpers import Slot, expire, job, status

KEYS = [
    "gates", "parked", "resource:stripe", "inflight:resource:stripe", "waiting:stripe", "turns:stripe", "turned:stripe",
    "held:acme.bulk", "held:beta.bulk", "line:acme.bulk:stripe", "line:beta.bulk:stripe", "lines:acme.bulk",
    "lines:beta.bulk", "resource:type:t.gated", "inflight:resource:type:t.gated", "waiting:type:t.gated",
    "turns:type:t.gated", "line:acme.bulk:type:t.gated",
]  # fmt: skip
GATED = ["held", "a1", "a2", "b1", "typed", "typed2"]
PLAIN = ["plain", "beta1", "beta2", "other"]


class Site:
    """Runs jobs at two gates, others wait there, and plain jobs of three tenants run or are about to."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.scripts = engine, engine.scripts
        self.scripts.set_policy(Policy("other", cap=None, rate=Rate(5, 60_000)))
        self.limit()
        self.slots: list[Slot] = []
        self.take(job("held", "beta", resource="stripe"))
        self.take(job("typed", job_type="t.gated"))
        self.scripts.enqueue_many([job(name, resource="stripe") for name in ("a1", "a2")])
        self.scripts.enqueue_many([job("b1", "beta", resource="stripe"), job("typed2", job_type="t.gated")])
        assert Slot(self.scripts, "filler").claim() is None
        self.take(job("plain"))
        self.scripts.enqueue_many(
            [job("beta1", "beta"), job("beta2", "beta", lane="interactive"), job("other", "other")]
        )

    def take(self, new: NewJob) -> None:
        """A slot more, which runs this job."""
        self.scripts.enqueue(new)
        self.slots.append(Slot(self.scripts, new.id))
        self.slots[-1].need()

    def limit(self) -> None:
        """As the scheduler does every two seconds, of gates that are not as they should be."""
        for gate in ("stripe", "type:t.gated"):
            (view,) = read_gates(self.engine, [gate])
            if not view.known or view.concurrency != 1:
                self.scripts.set_limit(gate, 1, None)

    def alive(self) -> dict[str, str | None]:
        """Jobs that have not ended, and what their records say."""
        found = {key.decode().removeprefix("rq:job:") for key in self.engine.redis.scan_iter("rq:job:*")}
        ended = ("finished", "failed", "canceled")
        return {each: said for each in sorted(found) if (said := status(self.engine, each)) not in ended}

    def check(self, most: int | None) -> None:
        """By the leases, at neither gate run more."""
        leases = self.engine.redis.zrange(self.engine.keys.leases(), 0, -1)
        gates = [self.engine.redis.hget(self.engine.keys.lease(each.decode()), "gates") for each in leases]
        for gate in (b"stripe", b"type:t.gated"):
            assert most is None or gates.count(gate) <= most, gate

    def reconcile(self) -> None:
        for slug in ("acme", "beta", "other"):
            for lane in ("bulk", "interactive"):
                self.scripts.reconcile(f"{slug}.{lane}")


def _nothing(site: Site) -> None:
    """Only what comes afterwards meets the key."""


def _settle(outcome: Outcome) -> Callable[[Site], None]:
    def settle(site: Site) -> None:
        for slot in site.slots:
            slot.settle(outcome=outcome, claim=True)

    settle.__name__ = outcome.kind
    return settle


def _claim(site: Site) -> None:
    site.scripts.enqueue(job("a3", resource="stripe"))
    for n in range(4):
        site.slots.append(Slot(site.scripts, f"more{n}"))
        site.slots[-1].claim()


def _cancel(site: Site) -> None:
    for name in ("a1", "b1", "typed2"):
        assert site.scripts.cancel(name) == "cancelled"


def _rescue(site: Site) -> None:
    for slot in site.slots:
        assert slot.held is not None
        expire(site.engine, slot.held.id)
    assert site.scripts.rescue(gap_ms=2**40).moved == 3


def _abandon(site: Site) -> None:
    for slot in site.slots:
        assert site.scripts.abandon(slot.name) == "retry"
    site.slots.clear()


def _reconcile(site: Site) -> None:
    site.reconcile()


def _renew(site: Site) -> None:
    held = [slot.held for slot in site.slots]
    assert site.scripts.renew([(each.id, each.token) for each in held if each]) == [True] * 3


def _change_policies(site: Site) -> None:
    for slug in ("acme", "beta"):
        site.scripts.pause(slug)
        site.scripts.set_policy(Policy(slug, cap=None, rate=Rate(100, 1), depth_limit=50, version=1))
    site.scripts.enqueue(job("deep", resource="stripe"))
    site.scripts.drop_policy("nobody")


def _change_limits(site: Site) -> None:
    for gate in ("stripe", "type:t.gated"):
        site.scripts.pause_gate(gate)
        site.scripts.drop_limit(gate)
        site.scripts.release_gate(gate)
        site.scripts.resume_gate(gate)
        site.scripts.set_limit(gate, 1, Rate(1000, 1000))


def _mend(site: Site) -> None:
    for name in (*GATED, "plain"):
        site.scripts.mend(name, False)


OUTCOMES = [
    Outcome.succeeded(), Outcome.failed("error", delay_ms=1), Outcome.released(), Outcome.postponed(1, "Busy"),
    Outcome.failed("poison"),
]  # fmt: skip
ACTS = [
    _nothing, *map(_settle, OUTCOMES), _settle(Outcome.postponed(1, "Busy", brake=True)), _claim, _cancel, _rescue,
    _abandon, _reconcile, _renew, _change_policies, _change_limits, _mend,
]  # fmt: skip


def soon(site: Site, most: int | None) -> list[str]:
    """What four slots more start now, as long as there is something; at a gate never run more than ``most``."""
    got = []
    for n in range(4):
        slot = Slot(site.scripts, f"soon{n}")
        while claimed := slot.claim():
            site.check(most)
            got.append(claimed.id)
            slot.settle()
    return got


def run_all(site: Site, most: int | None) -> None:
    """Workers and the scheduler go on until no job lives; at a gate never run more than ``most``."""
    slots = [*site.slots, *(Slot(site.scripts, f"late{n}") for n in range(4))]
    for _ in range(30):
        for slot in slots:
            if slot.held:
                slot.settle()
        site.limit()
        site.reconcile()
        site.scripts.promote()
        for slot in slots:
            slot.claim()
        site.check(most)
        if not any(slot.held for slot in slots) and not site.alive():
            return
    raise AssertionError(f"these do not run: {site.alive()}")


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("key", KEYS)
def test_no_job_is_lost_and_all_run(engine: Engine, scripts: Scripts, key: str, act: Callable[[Site], None]) -> None:
    site = Site(engine)
    name = f"{engine.keys.prefix}:{key}"
    engine.redis.delete(name)
    engine.redis.set(name, "a string")
    most = None if key == "gates" or key.startswith("resource:") else 1  # what says the limits is gone
    act(site)
    soon(site, most)
    assert [each for each in PLAIN if status(engine, each) == "queued"] == [], "plain jobs wait for nobody"
    run_all(site, most)
    assert engine.redis.type(name) != b"string"


def test_what_stood_there_is_put_aside_and_kept_for_a_week(engine: Engine, scripts: Scripts) -> None:
    site = Site(engine)
    name, aside = engine.keys.waiting("stripe"), engine.keys.aside("waiting:stripe")
    engine.redis.delete(name)
    engine.redis.rpush(name, "something", "else")
    run_all(site, 1)
    assert engine.redis.lrange(aside, 0, -1) == [b"something", b"else"]
    assert 604_000 < engine.redis.ttl(aside) <= 604_800


@pytest.mark.parametrize("paused", [False, True])
def test_the_gate_of_a_type_is_known_again_as_soon_as_somebody_compares_limits(
    engine: Engine, scripts: Scripts, paused: bool
) -> None:
    """Without the list of gates nobody looks for it, though its limits are there still."""
    site = Site(engine)
    if paused:
        scripts.pause_gate("type:t.gated")
        site.slots[1].settle()
    engine.redis.delete(engine.keys.gates())
    engine.redis.set(engine.keys.gates(), "a string")
    (view,) = read_gates(engine, ["type:t.gated"])
    assert (view.known, view.paused) == (False, False)
    if paused:
        scripts.pause_gate("type:t.gated")
    else:
        site.limit()
    scripts.enqueue(job("typed3", job_type="t.gated"))
    soon(site, 1)
    assert [status(engine, each) for each in ("typed2", "typed3")] == ["rate_limited"] * 2
    site.reconcile()


@pytest.mark.leaves_broken
@pytest.mark.parametrize("name", ["rq:job:a1", "rq:queue:acme.bulk", "jobops:tenant:acme"])
def test_keys_of_those_who_wait_at_a_gate_do_not_stop_who_leaves_it(
    engine: Engine, scripts: Scripts, name: str
) -> None:
    """The place goes to the next one whose record, queue and policy can be read."""
    site = Site(engine)
    engine.redis.delete(name)
    engine.redis.set(name, "a string")
    assert site.slots[0].settle().outcome == "succeeded"
    assert "b1" in soon(site, 1)
    assert status(engine, "b1") == "finished"
