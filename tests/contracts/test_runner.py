"""Running a claimed job by its contract."""

from __future__ import annotations

import contextvars
import time
from typing import Any

import pytest

from jobops import Backoff, Discard, JobTimeout, Poison, RetryLater, current_job, job
from jobops.contracts import registry
from jobops.contracts.runner import ContractRunner
from jobops.contracts.running import running_job
from jobops.engine.payload import decode_result, encode
from jobops.engine.records import Outcome
from jobops.engine.timeouts import SoftTimeout
from tests.contracts.samples import GOOD, claimed, fresh_name


def run(func: Any, *args: Any, contract: dict[str, Any] | None = None, **fields: Any) -> Outcome:
    """What becomes of one attempt of `func`."""
    job_type = job(**{**GOOD, "name": fresh_name(), "backoff": Backoff.fixed("7s"), **(contract or {})})(func).job_type
    return ContractRunner().run(claimed(job_type, *args, **fields), SoftTimeout())


def raising(error: BaseException) -> Any:
    def fails() -> None:
        raise error

    return fails


def test_a_job_gets_its_arguments_and_its_result_is_kept() -> None:
    outcome = run(lambda a, b: {"sum": a + b}, 1, kwargs={"b": 2})
    assert outcome.kind == "succeeded"
    assert decode_result(outcome.result) == {"sum": 3}
    assert run(lambda: None).result == b"null"


def test_an_error_is_retried_after_the_backoff_with_its_own_frames_only() -> None:
    outcome = run(raising(ValueError("bad \x00 luck")))
    assert (outcome.kind, outcome.cause, outcome.delay_ms) == ("failed", "error", 7_000)
    assert (outcome.error_class, outcome.error) == ("ValueError", "bad \\x00 luck")
    assert outcome.traceback.startswith("Traceback (most recent call last)")
    assert "in fails" in outcome.traceback
    assert "jobops/contracts/runner.py" not in outcome.traceback


def test_the_backoff_grows_with_the_attempt_and_is_right_at_the_thousandth() -> None:
    """RT-04"""
    contract = {"backoff": Backoff.exponential(base="1s", cap="1h", jitter="none")}
    assert run(raising(OSError()), contract=contract, attempt=3).delay_ms == 4_000
    assert run(raising(OSError()), contract=contract, attempt=1_100, max_attempts=2_000).delay_ms == 3_600_000


def test_what_the_job_says_is_done() -> None:
    poison = run(raising(Poison("never")))
    assert (poison.kind, poison.cause, poison.error_class, poison.delay_ms) == ("failed", "poison", "jobops.Poison", 0)
    discarded = run(raising(Discard("gone")))
    assert (discarded.kind, discarded.error_class, discarded.error) == ("discarded", "jobops.Discard", "gone")
    assert run(raising(RetryLater("busy", after=90))).delay_ms == 90_000
    assert run(raising(RetryLater("busy"))).delay_ms == 7_000


def test_the_contract_sorts_the_rest() -> None:
    contract = {"poison_on": [ValueError, "no such"], "discard_on": LookupError}
    assert run(raising(ValueError("x")), contract=contract).cause == "poison"
    assert run(raising(OSError("no such file")), contract=contract).cause == "poison"
    assert run(raising(KeyError("x")), contract=contract).kind == "discarded"
    assert run(raising(OSError("x")), contract=contract).cause == "error"


def test_a_wait_the_server_asks_for_goes_before_the_backoff() -> None:
    class TooMany(Exception):
        status = 429

        def __init__(self, wait: str) -> None:
            super().__init__("slow down")
            self.headers = {"Retry-After": wait}

    assert run(raising(TooMany("11"))).delay_ms == 11_000
    assert run(raising(TooMany("0"))).delay_ms == 7_000


def test_a_type_that_is_not_registered_is_never_imported_and_dies_at_once() -> None:
    """PX-02, SE-10"""
    for name in ("os.system", "subprocess.run", "app.tasks.old", "jobops.contracts.runner.ContractRunner", ""):
        outcome = ContractRunner().run(claimed(name, "true"), SoftTimeout())
        assert (outcome.kind, outcome.cause) == ("failed", "unresolvable")
        assert repr(name) in outcome.error


@pytest.mark.parametrize(
    "data", [b"", b"\x80\x04corrupt", b"\xff", b"[]", b"{}", b'["sample",null,1,2]', b"[" * 99_999]
)
def test_a_payload_that_cannot_be_read_dies_at_once(data: bytes) -> None:
    """PX-02"""
    outcome = run(lambda: None, data=data)
    assert (outcome.kind, outcome.cause) == ("failed", "unresolvable")


def test_a_payload_of_another_type_is_not_run() -> None:
    """SE-10"""
    ran: list[int] = []
    job(**GOOD, name="other")(lambda: ran.append(1))
    outcome = run(lambda: ran.append(2), data=encode("other", (), {}))
    assert outcome.cause == "unresolvable"
    assert ran == []


def test_a_job_under_a_former_name_runs() -> None:
    """PX-02"""
    job_type = job(**GOOD, name="new", aliases="old")(lambda: 5).job_type
    assert registry.resolve("old") is job_type
    assert ContractRunner().run(claimed("old"), SoftTimeout()).result == b"5"


def test_arguments_that_no_longer_fit_are_retried_as_any_error() -> None:
    outcome = run(lambda a: a, kwargs={"b": 1})
    assert (outcome.cause, outcome.error_class) == ("error", "TypeError")


def test_a_job_knows_itself_while_it_runs_and_nothing_is_left_after() -> None:
    def look() -> list[Any]:
        me = current_job()
        return [me.id, me.tenant, me.attempt, me.correlation_id]

    assert decode_result(run(look, attempt=3).result) == ["job-1", "acme", 3, "chain-1"]
    assert decode_result(run(look, correlation_id="").result)[3] == "job-1"
    assert running_job() is None


def test_what_a_job_leaves_in_context_variables_ends_with_it() -> None:
    language = contextvars.ContextVar("language", default="en")
    run(lambda: language.set("fr") and None)
    assert language.get() == "en"


def test_a_time_out_is_recorded_and_backed_off() -> None:
    outcome = run(lambda: time.sleep(10), timeout_ms=50)
    assert (outcome.kind, outcome.cause, outcome.error_class) == ("failed", "timeout", "JobTimeout")
    assert outcome.delay_ms == 7_000
    assert "0.05 s" in outcome.error
    assert "time.sleep" in outcome.traceback


def test_a_contract_may_say_that_a_time_out_is_poison() -> None:
    assert run(lambda: time.sleep(10), timeout_ms=50, contract={"poison_on": JobTimeout}).cause == "poison"
    assert run(lambda: time.sleep(10), timeout_ms=50, contract={"poison_on": Exception}).cause == "timeout"
