"""Postponed: a job that could not do its work now, through no fault of its own, is charged no attempt for it."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from jobops import Backoff, LeaseLost, OnceBusy, RetryLater, job
from jobops.contracts.runner import ContractRunner
from jobops.engine.records import Outcome
from jobops.engine.timeouts import SoftTimeout
from tests.contracts.samples import GOOD, claimed, fresh_name


def run(error: BaseException, contract: dict[str, Any] | None = None, **fields: Any) -> Outcome:
    def raises() -> None:
        raise error

    given = {**GOOD, "name": fresh_name(), "backoff": Backoff.fixed("7s"), **(contract or {})}
    job_type = job(**given)(raises).job_type
    return ContractRunner().run(claimed(job_type, **fields), SoftTimeout())


def test_a_resource_that_asks_for_time_brakes_all_who_need_it() -> None:
    outcome = run(RetryLater("429", after="90s", resource=True))
    trace = outcome.traceback
    assert "raise error" in trace, "should it be an error after all"
    assert outcome == Outcome.postponed(90_000, "jobops.RetryLater", "429", trace, brake=True, within_ms=4 * 3_600_000)
    assert (outcome.kind, outcome.cause) == ("postponed", "brake")
    assert run(RetryLater("429", resource=True)).delay_ms == 7_000, "without a time the contract's backoff"
    assert run(RetryLater("429", after="30d", resource=True)).delay_ms == 7 * 86_400_000


def test_a_plain_retry_later_is_an_attempt_as_ever() -> None:
    outcome = run(RetryLater("later", after="90s"))
    assert (outcome.kind, outcome.cause, outcome.delay_ms) == ("failed", "error", 90_000)


@pytest.mark.parametrize("error", [RetryLater("429", after="90s", resource=True), OnceBusy("k", "job-9", 5.0)])
def test_it_is_postponed_for_no_longer_than_its_drain_sla_however_old_it_is(error: Exception) -> None:
    """Since when that counts, the engine knows: a job that was delayed is older than it could have run."""
    for age_s in (0, 400 * 86_400):
        outcome = run(error, {"drain_sla": "90m"}, age_s=age_s)
        assert (outcome.kind, outcome.result) == ("postponed", b"5400000")
    assert run(error, {"drain_sla": None}).result == b""


def test_no_rule_of_the_contract_takes_the_loss_of_a_lease_for_something_else(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        outcome = run(LeaseLost("job-1"), {"discard_on": Exception, "poison_on": "lease"})
    assert (outcome.kind, outcome.cause, outcome.error_class) == ("failed", "error", "jobops.LeaseLost")
    assert "ends without effect" in caplog.text
