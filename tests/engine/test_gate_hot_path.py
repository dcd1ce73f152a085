"""Gates cost nothing where there are none: who runs jobs that need nothing pays for nobody's limits."""

from __future__ import annotations

import re
from collections.abc import Callable

from jobops.engine.client import Engine
from jobops.engine.records import Policy
from jobops.engine.scripts import Scripts
from tests.engine.helpers import Slot, job

GATES = re.compile(r":(resource|waiting|held|line|lines|turns|turned|parked|gates)\b")


def commands(engine: Engine, act: Callable[[], object]) -> list[str]:
    """What Redis is asked meanwhile, by the scripts too."""
    seen = []
    with engine.redis.monitor() as monitor:
        act()
        engine.redis.echo("the-end")
        for command in monitor.listen():
            if "the-end" in command["command"]:
                return seen
            if command["client_type"] == "lua":
                seen.append(command["command"])
    return seen


def one_round(scripts: Scripts) -> None:
    """A claim, a settle that claims, a settle, an enqueue, and a claim that finds nothing."""
    slot = Slot(scripts)
    slot.need()
    slot.settle(claim=True)
    slot.settle()
    scripts.enqueue(job("more", "beta"))
    slot.run()
    assert slot.claim() is None


def test_no_key_of_gates_is_read_for_jobs_without_any(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b")])
    asked = commands(engine, lambda: one_round(scripts))
    assert len(asked) > 100
    assert [command for command in asked if GATES.search(command)] == []


def test_nor_when_others_wait_at_gates(engine: Engine, scripts: Scripts) -> None:
    """Another tenant's jobs wait for a resource: neither the plain job's claim nor its end looks at that."""
    scripts.set_policy(Policy("other", cap=None))
    scripts.set_limit("stripe", 0, None)
    scripts.enqueue_many([job(f"w{n}", "other", resource="stripe") for n in range(5)])
    assert Slot(scripts, "filler").claim() is None
    scripts.enqueue_many([job("a"), job("b")])
    asked = commands(engine, lambda: one_round(scripts))
    assert [command for command in asked if GATES.search(command)] == []


def test_a_job_that_needs_a_resource_costs_a_bounded_number_more(engine: Engine, scripts: Scripts) -> None:
    """However many wait at its gate."""
    scripts.set_limit("stripe", 1, None)
    counts = []
    for start, more in ((0, 3), (3, 300)):
        scripts.enqueue_many([job(f"j{n}", resource="stripe") for n in range(start, start + more)])
        slot = Slot(scripts, f"slot{start}")
        slot.need()
        assert Slot(scripts, f"filler{start}").claim() is None
        counts.append(len(commands(engine, lambda slot=slot: slot.settle(claim=True))))  # type: ignore[misc]
        slot.settle()
    assert counts[1] <= counts[0] + 5
