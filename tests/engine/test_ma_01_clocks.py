"""MA-01: Redis's clock is the only one, and where it is set back, no span is less than nothing."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.jobs import read_job
from jobops.engine.keys import average_field
from jobops.engine.records import Policy
from tests.engine import invariants
from tests.engine.helpers import Slot, job
from tests.engine.virtual_time import VirtualScripts, virtual


@pytest.fixture
def clock(engine: Engine) -> VirtualScripts:
    """The engine's scripts on a clock that the test sets, and the tenant ``acme``."""
    scripts = virtual(engine).scripts
    assert isinstance(scripts, VirtualScripts)
    scripts.set_policy(Policy("acme", cap=1))
    return scripts


@pytest.mark.parametrize("back_ms", [3_000, 3_600_000])
def test_a_run_that_ended_before_it_began_took_no_time(engine: Engine, clock: VirtualScripts, back_ms: int) -> None:
    """MA-01: no negative run time reaches a counter, an average, a bucket or what the tenant pays."""
    clock.enqueue(job("a"))
    slot = Slot(clock)
    slot.need()
    paid = float(engine.redis.hget(engine.keys.tenant("acme"), "vt:bulk"))
    clock.set_clock(-back_ms)
    assert slot.settle().outcome == "succeeded"
    assert float(engine.redis.hget(engine.keys.cell(), average_field("t.work"))) == 0
    assert 0 <= float(engine.redis.hget(engine.keys.tenant("acme"), "vt:bulk")) <= paid
    counted = {
        field: int(value)
        for minute in engine.redis.scan_iter(f"{engine.keys.prefix}:minute:*")
        for field, value in engine.redis.hgetall(minute).items()
    }
    assert min(counted.values()) >= 0
    assert (counted[b"t.work|succeeded|b0"], counted[b"acme|succeeded"]) == (1, 1)
    invariants.check(engine)


@pytest.mark.parametrize("back_ms", [3_000, 3_600_000])
def test_leases_go_on_on_a_clock_that_was_set_back(engine: Engine, clock: VirtualScripts, back_ms: int) -> None:
    """MA-01: a running job renews, nobody rescues it, and when it ends the next one starts."""
    clock.enqueue_many([job("a"), job("b")])
    slot = Slot(clock)
    claimed = slot.need()
    clock.set_clock(-back_ms)
    for beat in range(1, 5):
        clock.set_clock(-back_ms + beat * 5_000)
        assert clock.renew([("a", claimed.token)]) == [True]
        assert clock.rescue().moved == 0
        assert Slot(clock, f"other{beat}").claim() is None
    assert slot.settle().outcome == "succeeded"
    second = slot.need()
    assert (second.id, second.attempt) == ("b", 1)
    clock.set_clock(-back_ms + 20_000 + 30_001)
    assert clock.rescue(gap_ms=2**40).moved == 1, "and a lost one is rescued after one lease, not after an hour"
    view = read_job(engine, "b")
    assert view is not None
    assert view.state == "queued"
