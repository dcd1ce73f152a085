"""The lines of the catalog: each fails for the contracts that break it, names them, and holds for all others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jobops import Backoff, Poison, current_job, job
from jobops.contracts.catalog.design import State
from jobops.contracts.catalog.facts import RunTimes
from tests.contracts.catalogs import SOUND, broken, catalog, declare, line, measured
from tests.contracts.samples import GOOD

KEYS = ["idempotency", "retries", "visibility", "ownership", "checkpoints", "fairness", "schedules", "drain"]


def text_of(key: str, **contract: Any) -> str:
    declare(**contract)
    return "; ".join(failure.text for failure in line(catalog(), key).failures)


def test_a_sound_contract_breaks_nothing() -> None:
    declare()
    found = catalog(measured())
    assert [each.key for each in found.lines] == KEYS
    assert broken(found) == {}
    assert (found.broken, found.failed) == (0, ())
    assert {each.key for each in found.lines if each.state is State.NOT_BUILT} == {"schedules"}
    assert all((each.held, each.of) == (1, 1) for each in found.lines if each.state is State.PASSED)


@pytest.mark.parametrize(
    ("contract", "line_broken", "says"),
    [
        ({"idempotent": None}, "idempotency", "both missing"),
        ({"idempotent": "  "}, "idempotency", "is no sentence"),
        ({"idempotent": "yes"}, "idempotency", "gives no reason"),
        ({"max_attempts": 0}, "retries", "no number of attempts"),
        ({"backoff": Backoff.fixed("2s")}, "retries", "has no jitter (fixed 2s)"),
        ({"backoff": Backoff.fixed("0s", jitter="full")}, "retries", "waits nothing"),
        ({"backoff": Backoff.exponential("1s")}, "retries", "has no cap"),
        ({"poison_on": ()}, "retries", "sorts no errors"),
        ({"poison_on": "("}, "retries", "is not a pattern"),
        ({"timeout": None}, "visibility", "is not set"),
        ({"timeout": "soon"}, "visibility", "is not a duration"),
        ({"lease": "6s"}, "visibility", "less than two heartbeats: give 10 s"),
        ({"owner": None}, "ownership", "owner is missing"),
        ({"owner": "!"}, "ownership", "cannot be used"),
        ({"drain_sla": None}, "ownership", "drain_sla is missing"),
        ({"lane": "slow"}, "fairness", "the lanes are interactive and bulk"),
        ({"lane": "NO LANE"}, "fairness", "cannot be used"),
        ({"timeout": "20m"}, "checkpoints", "may run for 20 min and begins again from nothing"),
        ({"resource": "stripe"}, "fairness", "needs resource stripe, which nobody limits"),
        ({"rate": "fast"}, "fairness", "'fast' is no rate"),
    ],
)
def test_each_broken_promise_fails_its_line_and_no_other(contract: dict[str, Any], line_broken: str, says: str) -> None:
    declare(**contract)
    found = catalog()
    assert broken(found) == {line_broken: ["billing.send"]}
    assert says in line(found, line_broken).failures[0].text
    assert line(found, line_broken).state is State.FAILED
    assert (line(found, line_broken).held, line(found, line_broken).of) == (0, 1)


def test_only_the_job_types_that_break_a_line_are_named() -> None:
    declare()
    declare(name="a.silent", owner=None, drain_sla=None)
    declare(name="z.silent", owner=None)
    found = catalog()
    assert broken(found) == {"ownership": ["a.silent", "z.silent"]}
    assert found.broken == 2
    assert (line(found, "ownership").held, line(found, "ownership").of) == (1, 3)


def test_what_is_tried_once_needs_no_waits_and_no_classifier() -> None:
    declare(max_attempts=1, backoff=Backoff.fixed("2s"), poison_on=())
    assert broken(catalog()) == {}


def test_raising_poison_in_the_code_sorts_errors_too() -> None:
    @job(**{**SOUND, "name": "by.code", "poison_on": ()})
    def by_code() -> None:
        raise Poison("never")

    assert broken(catalog()) == {}


def test_a_guard_alone_passes() -> None:
    declare(idempotent=None, guard=lambda invoice_id: f"{invoice_id}")
    found = line(catalog(), "idempotency")
    assert (found.state, found.note) == (State.PASSED, "")


def test_one_that_limits_a_resource_is_enough_and_an_operators_limit_too() -> None:
    declare(name="a.user", resource="stripe")
    assert broken(catalog()) == {"fairness": ["a.user"]}
    changed = replace(measured(), changed_limits={"stripe": "2 at once, changed by anna"})
    assert broken(catalog(changed)) == {}
    declare(name="b.owner", resource="stripe", rate="50/s")
    assert broken(catalog()) == {}
    assert line(catalog(), "fairness").note == "shared resources: stripe"


@pytest.mark.parametrize(
    ("p99_s", "timeout", "fails"), [(16.384, "30s", False), (32.768, "30s", True), (None, "1s", False)]
)
def test_a_time_out_must_be_clearly_above_the_measured_run_time(p99_s: float | None, timeout: str, fails: bool) -> None:
    declare(timeout=timeout)
    found = catalog(measured({"billing.send": RunTimes(50, 1.0, p99_s, 900.0)}))
    assert broken(found) == ({"visibility": ["billing.send"]} if fails else {})
    assert f"p99 is known of {0 if p99_s is None else 1}" in line(found, "visibility").measured


def test_owner_and_sla_are_judged() -> None:
    declare()
    assert line(catalog(), "ownership").judged_by == "1 of 1"
    declare(name="no.owner", owner=None)
    assert line(catalog(), "ownership").state is State.FAILED


def test_a_long_job_that_checkpoints_passes() -> None:
    @job(**{**SOUND, "timeout": "20m"})
    def long() -> None:
        current_job().checkpoint(1)

    found = line(catalog(), "checkpoints")
    assert found.state is State.PASSED
    assert found.note == "may run longer than 5 min: billing.send"


def test_a_lane_that_no_running_worker_serves_bounds_nothing() -> None:
    declare()
    assert broken(catalog(measured(served=frozenset({"interactive"})))) == {"fairness": ["lane bulk"]}
    # Without any worker it cannot be told: nothing runs here yet, as where code is checked before it is deployed.
    assert broken(catalog(measured(served=frozenset(), workers=0))) == {}


def test_a_drain_may_cut_off_only_what_may_start_again() -> None:
    assert "may outlast a drain (1 min)" in text_of(
        "drain", timeout="1m", idempotent=None, guard=lambda invoice_id: "x"
    )
    declare(timeout="1m")
    assert line(catalog(), "drain").failures == ()


def test_a_module_that_cannot_be_imported_fails_as_its_job_types_are_unknown() -> None:
    declare()
    found = catalog(unimportable=("shop.jobs",))
    assert broken(found) == {"idempotency": ["shop.jobs"]}
    assert line(found, "idempotency").held == 1


def test_without_a_job_type_nothing_is_broken() -> None:
    found = catalog(measured())
    assert found.broken == 0
    assert line(found, "retries").judged_by == ""


def test_every_value_of_a_contract_that_breaks_a_line_is_in_one_failure() -> None:
    text = text_of("retries", **{**GOOD, "backoff": Backoff.fixed("2s"), "poison_on": (), "retry_on": "("})
    assert "no jitter" in text
    assert "is not a pattern" in text
