"""Policies and lanes: what is in force, which version wins, and what becomes of a dropped tenant's jobs."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.errors import InvalidJob, UnknownTenant
from jobops.engine.records import Policy
from jobops.engine.scripts import Scripts
from tests.engine import invariants
from tests.engine.helpers import Slot, dump, job, queued, running

WHOLE = Policy("acme", 2.5, 7, {"bulk": 3, "interactive": 0}, 1000, paused=True, intake_closed=True, version=4)


def test_a_policy_reads_back_as_it_was_set(scripts: Scripts) -> None:
    for policy in (WHOLE, Policy("acme", 0.125, None, {}, None, version=5), Policy("acme", cap=0, version=6)):
        assert scripts.set_policy(policy) is True
        assert scripts.policy("acme") == policy
    assert scripts.policy("nobody") is None


def test_lane_caps_that_are_left_out_are_gone(scripts: Scripts) -> None:
    scripts.set_policy(WHOLE)
    scripts.set_policy(Policy("acme", lane_caps={"bulk": 1}, version=5))
    policy = scripts.policy("acme")
    assert policy is not None
    assert policy.lane_caps == {"bulk": 1}


def test_an_older_version_never_overwrites_a_newer_one(engine: Engine, scripts: Scripts) -> None:
    scripts.set_policy(WHOLE)
    before = dump(engine.redis)
    assert scripts.set_policy(Policy("acme", cap=1, version=3)) is False
    assert dump(engine.redis) == before
    assert scripts.set_policy(Policy("acme", cap=1, version=4)) is True


def test_setting_the_same_policy_again_changes_nothing(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b", lane="interactive")])
    Slot(scripts).run()
    before = dump(engine.redis)
    assert scripts.set_policy(Policy("acme", cap=None)) is True
    assert dump(engine.redis) == before


def test_a_dropped_tenants_waiting_jobs_stay_and_start_when_it_comes_back(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b", lane="interactive")])
    assert (scripts.drop_policy("acme"), scripts.drop_policy("acme")) == (True, False)
    assert (scripts.policy("acme"), Slot(scripts).claim()) == (None, None)
    with pytest.raises(UnknownTenant):
        scripts.enqueue(job("c"))
    scripts.reconcile("acme.bulk")
    assert Slot(scripts, "s2").claim() is None
    invariants.check(engine)
    scripts.set_policy(Policy("acme"))
    slot = Slot(scripts, "s3")
    assert {slot.need().id, slot.need().id} == {"a", "b"}


def test_a_running_job_of_a_dropped_tenant_ends_as_usual(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b")])
    slot = Slot(scripts)
    slot.need()
    scripts.drop_policy("acme")
    settled = slot.settle(claim=True)
    assert settled.outcome == "succeeded"
    assert slot.held is None
    assert (running(engine), queued(engine)) == (0, ["b"])
    assert scripts.policy("acme") is None


def test_a_dropped_tenants_waiting_jobs_can_be_cancelled(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    scripts.drop_policy("acme")
    assert scripts.cancel("a", "acme") == "cancelled"
    assert queued(engine) == []


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        (Policy("Acme"), "slug"),
        (Policy(""), "slug"),
        (Policy("a.b"), "slug"),
        (Policy("a" * 51), "slug"),
        (Policy("acme\n"), "slug"),
        (Policy(None), "slug"),  # type: ignore[arg-type]
        (Policy("acme", weight=0), "weight"),
        (Policy("acme", weight=-1), "weight"),
        (Policy("acme", weight=float("nan")), "weight"),
        (Policy("acme", weight=float("inf")), "weight"),
        (Policy("acme", weight=1e7), "weight"),
        (Policy("acme", weight="2"), "weight"),  # type: ignore[arg-type]
        (Policy("acme", weight=True), "weight"),
        (Policy("acme", cap=-1), "cap"),
        (Policy("acme", cap=1.5), "cap"),  # type: ignore[arg-type]
        (Policy("acme", cap=True), "cap"),
        (Policy("acme", depth_limit=-1), "depth_limit"),
        (Policy("acme", depth_limit="9"), "depth_limit"),  # type: ignore[arg-type]
        (Policy("acme", lane_caps={"bulk": -1}), r"lane_caps\[bulk\]"),
        (Policy("acme", lane_caps={"bulk": None}), r"lane_caps\[bulk\]"),  # type: ignore[dict-item]
        (Policy("acme", lane_caps={"Bulk!": 1}), "lane_caps"),
        (Policy("acme", version=-1), "version"),
        (Policy("acme", version="1"), "version"),  # type: ignore[arg-type]
    ],
)
def test_a_bad_policy_is_one_clear_error_and_changes_nothing(
    engine: Engine, scripts: Scripts, policy: Policy, field: str
) -> None:
    before = dump(engine.redis)
    with pytest.raises(InvalidJob, match=rf"^{field}: .*must be"):
        scripts.set_policy(policy)
    assert dump(engine.redis) == before


def test_lanes_are_pushed_with_their_shares(engine: Engine, scripts: Scripts) -> None:
    assert scripts.set_lanes({"interactive": 4.0, "bulk": 1.0, "night": 0.5}) == 3
    assert engine.redis.hmget(engine.keys.cell(), "share:night", "lanes") == [b"0.5", b"interactive\nbulk\nnight"]
    assert scripts.enqueue(job("a", lane="night")).state == "queued"
    assert Slot(scripts, lanes=["night"]).need().id == "a"


def test_a_lane_left_out_stays_known_so_that_what_waits_in_it_still_runs(scripts: Scripts) -> None:
    """Processes of two releases run side by side while one replaces the other."""
    scripts.set_policy(Policy("acme", cap=1))
    scripts.enqueue_many([job("a", lane="bulk"), job("b", lane="bulk")])
    assert scripts.set_lanes({"interactive": 1.0}) == 2
    assert scripts.enqueue(job("c", lane="bulk")).state == "queued"
    slot = Slot(scripts)
    assert [slot.run(), slot.run(), slot.run()] == ["succeeded"] * 3


@pytest.mark.parametrize("lanes", [{}, {"Bulk!": 1.0}, {"bulk": 0}, {"bulk": -1.0}, {"bulk": float("nan")}])
def test_bad_lanes_are_one_clear_error_and_change_nothing(
    engine: Engine, scripts: Scripts, lanes: dict[str, float]
) -> None:
    before = dump(engine.redis)
    with pytest.raises(InvalidJob, match=r"^lanes.*: .*must be"):
        scripts.set_lanes(lanes)
    assert dump(engine.redis) == before
