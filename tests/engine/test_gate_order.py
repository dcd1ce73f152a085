"""Jobs of one queue that pass the same gates start in the order in which they came, whatever opens and closes."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from jobops.engine.client import Engine
from jobops.engine.gates import type_gate
from jobops.engine.records import Outcome, Policy
from jobops.engine.scripts import Scripts
from tests.engine import invariants
from tests.engine.helpers import Slot, expire, job, queued, status
from tests.engine.virtual_time import virtual

TYPE = type_gate("t.work")
GATES = ["mail", "stripe", TYPE]


def starts(scripts: Scripts, count: int) -> list[str]:
    return [Slot(scripts, f"start{n}").need().id for n in range(count)]


def fill(scripts: Scripts) -> None:
    """All that may start would; nothing does."""
    assert Slot(scripts, "filler").claim() is None


@pytest.fixture
def apart(engine: Engine, scripts: Scripts) -> Engine:
    """The older of two jobs waits at its type's gate, the younger at its resource's; both are closed."""
    for gate in (TYPE, "stripe"):
        scripts.set_limit(gate, None, None)
    scripts.pause_gate("stripe")
    scripts.enqueue_many([job(name, resource="stripe") for name in ("older", "younger")])
    fill(scripts)
    scripts.pause_gate(TYPE)
    scripts.pause("acme")
    scripts.set_limit("stripe", 1, None)
    scripts.resume_gate("stripe")
    scripts.resume("acme")
    scripts.pause_gate("stripe")
    fill(scripts)
    waits = [engine.redis.hget(f"rq:job:{name}", "jo_waits") for name in ("older", "younger")]
    assert (waits, queued(engine)) == ([TYPE.encode(), b"stripe"], [])
    scripts.set_limit("stripe", None, None)
    return engine


@pytest.mark.parametrize("first", ["stripe", TYPE])
def test_two_that_different_gates_send_back_stand_in_their_old_order(apart: Engine, first: str) -> None:
    scripts = apart.scripts
    for gate in (first, *({"stripe", TYPE} - {first})):
        scripts.resume_gate(gate)
    assert queued(apart) == ["older", "younger"]
    assert starts(scripts, 2) == ["older", "younger"]


def test_jobs_of_one_millisecond_that_wait_at_two_gates_keep_their_order(engine: Engine) -> None:
    scripts = virtual(engine).scripts
    scripts.set_policy(Policy("acme", cap=None))
    for gate in (TYPE, "stripe"):
        scripts.set_limit(gate, None, None)
    for gate, name in (("stripe", "one"), (TYPE, "two")):
        scripts.pause_gate(gate)
        scripts.enqueue(job(name, resource="stripe"))
        fill(scripts)
    for gate in ("stripe", TYPE):
        scripts.resume_gate(gate)
    assert queued(engine) == ["one", "two"]


@pytest.mark.parametrize("back", ["released", "rescued"])
def test_one_that_comes_again_stands_before_those_that_waited_for_its_place(
    engine: Engine, scripts: Scripts, back: str
) -> None:
    scripts.set_limit("stripe", 1, None)
    scripts.enqueue_many([job(name, resource="stripe") for name in ("first", "second")])
    slot = Slot(scripts)
    slot.need()
    fill(scripts)
    if back == "released":
        slot.settle(outcome=Outcome.released())
    else:
        expire(engine, "first")
        assert scripts.rescue(gap_ms=2**40).moved == 1
    assert queued(engine) == ["first", "second"]


class _Crowd:
    """Two tenants' jobs in two lanes, slots that run them, and gates that open and close."""

    def __init__(self, engine: Engine, seed: int) -> None:
        self.engine, self.scripts, self.rnd = engine, engine.scripts, random.Random(seed)
        self.running: list[Slot] = []
        self.started: defaultdict[tuple[str, str, str, str], list[int]] = defaultdict(list)
        self.came = 0
        for slug in ("acme", "beta"):
            self.scripts.set_policy(Policy(slug, cap=self.rnd.choice([None, 1, 2])))
        for gate in GATES:
            self.scripts.set_limit(gate, None, None)

    def enqueue(self) -> None:
        for _ in range(self.rnd.randint(1, 5)):
            self.came += 1
            self.scripts.enqueue(
                job(
                    f"j{self.came}", self.rnd.choice(["acme", "beta"]), self.rnd.choice(["bulk", "interactive"]),
                    self.rnd.choice(["t.work", "t.other"]), resource=self.rnd.choice(["", "mail", "stripe"]),
                )
            )  # fmt: skip

    def claim(self) -> bool:
        slot = Slot(self.scripts, f"s{len(self.running)}-{self.rnd.random()}")
        claimed = slot.claim()
        if claimed is None:
            return False
        self.running.append(slot)
        kind = (claimed.tenant, claimed.lane, claimed.job_type, claimed.resource)
        self.started[kind].append(int(claimed.id[1:]))
        return True

    def settle(self) -> None:
        if self.running:
            self.running.pop(self.rnd.randrange(len(self.running))).settle()

    def close_or_open(self) -> None:
        gate = self.rnd.choice(GATES)
        self.rnd.choice([self.scripts.pause_gate, self.scripts.resume_gate])(gate)
        self.scripts.set_limit(gate, self.rnd.choice([None, 0, 1, 2]), None)

    def drain(self) -> None:
        for gate in GATES:
            self.scripts.set_limit(gate, None, None)
            self.scripts.resume_gate(gate)
        while self.claim() or self.running:
            self.settle()


@pytest.mark.parametrize("seed", range(30))
def test_no_job_overtakes_an_older_one_of_its_queue_that_passes_the_same_gates(engine: Engine, seed: int) -> None:
    crowd = _Crowd(engine, seed)
    for _ in range(80):
        crowd.rnd.choice([crowd.enqueue, crowd.claim, crowd.claim, crowd.settle, crowd.close_or_open])()
    invariants.check(engine, lowered={"acme", "beta", *GATES})
    crowd.drain()
    assert sum(map(len, crowd.started.values())) == crowd.came
    for kind, numbers in crowd.started.items():
        assert numbers == sorted(numbers), kind
    assert status(engine, f"j{crowd.came}") == "finished"
