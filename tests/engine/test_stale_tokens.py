"""I3: a token whose lease has ended settles nothing and renews nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jobops.engine.client import Engine
from jobops.engine.records import ClaimedJob, Outcome, Policy
from jobops.engine.scripts import Scripts
from tests.engine.helpers import BOOM, Slot, dump, expire, job, queued, running, status

OUTCOMES = [Outcome.succeeded(), BOOM, Outcome.failed("poison"), Outcome.discarded(), Outcome.released()]


def lost_to_rescue(engine: Engine, slot: Slot, claimed: ClaimedJob) -> None:
    expire(engine, claimed.id)
    assert engine.scripts.rescue().moved == 1


def leased_again(engine: Engine, slot: Slot, claimed: ClaimedJob) -> None:
    lost_to_rescue(engine, slot, claimed)
    assert Slot(engine.scripts, "other").need().id == claimed.id


def settled(engine: Engine, slot: Slot, claimed: ClaimedJob) -> None:
    slot.settle(claimed)


def reconciled(engine: Engine, slot: Slot, claimed: ClaimedJob) -> None:
    engine.redis.delete(engine.keys.lease(claimed.id))
    assert engine.scripts.reconcile(claimed.queue).recovered == 1


ENDS = [lost_to_rescue, leased_again, settled, reconciled]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda outcome: outcome.kind + outcome.cause)
def test_a_stale_token_settles_nothing(
    engine: Engine, scripts: Scripts, end: Callable[[Engine, Slot, ClaimedJob], None], outcome: Outcome
) -> None:
    """LS-09, LS-10: the late finish of a run that was given up is refused."""
    scripts.enqueue(job("a"))
    slot = Slot(scripts)
    claimed = slot.need()
    end(engine, slot, claimed)
    before = dump(engine.redis)
    assert slot.settle(claimed, outcome).outcome == "stale"
    after = dump(engine.redis)
    own = engine.keys.slot(slot.name).encode()
    assert before.pop(own) != after.pop(own)  # the request number alone moved on
    assert after == before


@pytest.mark.parametrize("end", ENDS)
def test_a_stale_token_renews_nothing(
    engine: Engine, scripts: Scripts, end: Callable[[Engine, Slot, ClaimedJob], None]
) -> None:
    scripts.enqueue_many([job("a"), job("b")])
    slot, other = Slot(scripts, "s1"), Slot(scripts, "s2")
    claimed, alive = slot.need(), other.need()
    end(engine, slot, claimed)
    before = engine.redis.zscore(engine.keys.leases(), "a")
    assert scripts.renew([(claimed.id, claimed.token), (alive.id, alive.token)]) == [False, True]
    assert engine.redis.zscore(engine.keys.leases(), "a") == before


def test_a_stale_settle_may_still_ask_for_the_next_job(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a", max_attempts=1), job("b")])
    slot = Slot(scripts)
    claimed = slot.need()
    expire(engine, "a")
    assert scripts.rescue().dead == 1
    answer = slot.settle(claimed, claim=True)
    assert answer.outcome == "stale"
    assert answer.claim is not None
    assert answer.claim.job is not None
    assert answer.claim.job.id == "b"


def test_a_wrong_token_of_a_running_job_is_stale(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    slot = Slot(scripts)
    claimed = slot.need()
    for token in ("", "f" * 24, claimed.token.upper() + "x"):
        assert scripts.settle("x", Slot(scripts).seq + len(token) + 1, "a", token, BOOM).outcome == "stale"
        assert scripts.renew([("a", token)]) == [False]
    assert scripts.settle("y", 1, "missing", "t", BOOM).outcome == "stale"
    assert (status(engine, "a"), running(engine)) == ("started", 1)
    assert slot.settle(claimed).outcome == "succeeded"


def test_a_replacement_and_the_original_never_run_above_the_cap(engine: Engine, scripts: Scripts) -> None:
    """CC-02: the original finishes after its lease was given away, ten times over; one release for each token."""
    scripts.set_policy(Policy("acme", cap=1))
    scripts.enqueue_many([job(f"j{n}", max_attempts=9) for n in range(3)])
    original = Slot(scripts, "original")
    claimed = original.need()
    for round_ in range(8):
        expire(engine, claimed.id)
        scripts.rescue()
        other = Slot(scripts, f"other{round_}")
        again = other.need()
        assert again.id == claimed.id
        assert original.settle(claimed).outcome == "stale"
        assert running(engine) == 1
        assert Slot(scripts, f"third{round_}").claim() is None
        original, claimed = other, again
    assert original.settle(claimed).outcome == "succeeded"
    assert running(engine) == 0
    assert Slot(scripts, "next").need().id == "j1"
    assert queued(engine) == ["j2"]


def test_a_sweep_between_claim_and_start_touches_a_healthy_job_never(engine: Engine, scripts: Scripts) -> None:
    """LS-05: one claims, another sweeps, the first starts and finishes. One run, no failure."""
    scripts.enqueue(job("a"))
    slot = Slot(scripts)
    claimed = slot.need()
    assert (scripts.rescue().moved, scripts.reconcile("acme.bulk").recovered) == (0, 0)
    assert slot.settle(claimed).outcome == "succeeded"
    assert (scripts.rescue().moved, scripts.reconcile("acme.bulk").recovered) == (0, 0)
    assert status(engine, "a") == "finished"
    assert scripts.dead_batch() == []
