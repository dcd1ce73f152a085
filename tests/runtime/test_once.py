"""``once``: what is known to have happened is never repeated, what is known to have failed is, and the rest is said."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from jobops import OnceMisused, OutcomeUnknown, Poison, RetryLater, current_job
from jobops.context.models import OnceRecord
from jobops.contracts.running import RunningJob, running
from jobops.engine.client import Engine
from jobops.engine.errors import InvalidJob
from jobops.engine.payload import decode_result
from jobops.engine.timeouts import JobTimeout
from jobops.runtime import lookup
from tests.runtime import factory
from tests.runtime.attempts import attempt, calling, enqueue

pytestmark = pytest.mark.django_db(transaction=True)

PLAIN = RunningJob("job-1", "acme", "bulk", "t", 1, 5, "chain-1")


class Provider:
    """An outside service: it counts what it is asked for, and does each time what is next in ``answers``."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.charges = 0

    def charge(self, amount: int = 5) -> str:
        self.charges += 1
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, BaseException):
            raise answer
        return f"receipt-{self.charges}"


def charging(provider: Provider, *, fail_after: int = 0, max_attempts: int = 3, **once: Any) -> Any:
    """A job that charges once, and fails after it in its first ``fail_after`` attempts."""

    def body() -> str:
        receipt = current_job().once("charge:42", **once).run(provider.charge)
        if current_job().attempt <= fail_after:
            raise RuntimeError("after the charge")
        return receipt

    return calling("effects.charging", body, max_attempts=max_attempts)


def rows() -> list[tuple[str, str, str]]:
    return list(OnceRecord.objects.values_list("key", "state", "result"))


def test_what_was_done_is_not_done_again_and_the_second_run_has_the_first_ones_result(both: Engine) -> None:
    provider = Provider()
    enqueue(charging(provider, fail_after=1))
    assert attempt(both)[2] == "retry"
    _, outcome, ended = attempt(both)
    assert (ended, decode_result(outcome.result), provider.charges) == ("succeeded", "receipt-1", 1)
    assert rows() == [("charge:42", "done", '"receipt-1"')]


def test_with_a_block_it_is_the_same(both: Engine) -> None:
    provider = Provider()

    def body() -> Any:
        with current_job().once("charge:42") as effect:
            if effect.done:
                return effect.result
            effect.result = {"receipt": provider.charge()}
        raise RuntimeError("after the charge")

    enqueue(calling("effects.block", body))
    assert attempt(both)[2] == "retry"
    assert decode_result(attempt(both)[1].result) == {"receipt": "receipt-1"}
    assert provider.charges == 1


@pytest.mark.parametrize("error", [ValueError("declined"), Poison("never"), RetryLater("later"), ConnectionError("no")])
def test_a_known_failure_frees_the_key(both: Engine, error: Exception) -> None:
    """OB-07"""
    provider = Provider(error)
    charge = charging(provider, on_unknown="dead")
    enqueue(charge)
    attempt(both)
    assert rows() == []
    if isinstance(error, Poison):
        enqueue(charge)
    assert attempt(both)[2] == "succeeded"
    assert provider.charges == 2


def caused_by_a_time_out() -> Exception:
    error = ConnectionError("the answer did not come")
    error.__context__ = TimeoutError("timed out")
    return error


@pytest.mark.parametrize("error", [TimeoutError("read"), caused_by_a_time_out(), OutcomeUnknown("they do not say"),
                                   JobTimeout(30), SystemExit(1)])  # fmt: skip
def test_a_time_out_is_no_known_failure(both: Engine, error: BaseException) -> None:
    """The other side may have done it. By default it is done again, and with "dead" a person looks first."""
    provider = Provider(error)
    job_id = enqueue(charging(provider, on_unknown="dead"))
    attempt(both)
    assert rows() == [("charge:42", "running", "")]
    if lookup(job_id).state != "dead":  # type: ignore[union-attr]
        _, outcome, ended = attempt(both)
        assert (outcome.cause, outcome.error_class, ended) == ("poison", "jobops.OutcomeUnknown", "dead")
        assert f"attempt 1 of job {job_id} began it at " in outcome.error
        assert "a replay does it again, a discard leaves it" in outcome.error
    assert provider.charges == 1


def test_what_is_unknown_is_done_again_by_default(both: Engine, caplog: pytest.LogCaptureFixture) -> None:
    """OB-07"""
    provider = Provider(JobTimeout(30))
    enqueue(charging(provider))
    assert attempt(both)[2] == "retry"
    assert attempt(both)[2] == "succeeded"
    assert provider.charges == 2
    assert rows() == [("charge:42", "done", '"receipt-2"')]
    assert "its end is not known; it is done again" in caplog.text


def test_a_key_belongs_to_its_tenant_and_job_type(both: Engine) -> None:
    provider = Provider()
    factory.tenant("beta")
    one, other = charging(provider), calling("effects.other", charging(provider).job_type.func)
    for call in (one.using(tenant="acme"), one.using(tenant="beta"), other.using(tenant="acme")):
        call.enqueue()
        assert attempt(both)[2] == "succeeded"
    assert provider.charges == 3


def test_a_job_type_that_was_renamed_knows_what_it_did_under_its_old_name(both: Engine) -> None:
    provider = Provider()
    body = charging(provider).job_type.func
    former = calling("effects.former", body)
    enqueue(former)
    attempt(both)
    enqueue(calling("effects.renamed", body, aliases=[former.job_type.name]))
    assert decode_result(attempt(both)[1].result) == "receipt-1"
    assert provider.charges == 1


def test_a_result_that_is_no_json_is_a_mistake_that_shows_at_once_and_repeats_nothing(both: Engine) -> None:
    provider = Provider()

    def body() -> Any:
        def charge() -> Any:
            return {provider.charge()}

        return current_job().once("charge:42").run(charge)

    enqueue(calling("effects.set", body))
    _, outcome, _ = attempt(both)
    assert (outcome.error_class, outcome.error[:12]) == ("jobops.engine.errors.Unserializable", "result: set:")
    _, outcome, _ = attempt(both)
    assert outcome.error_class.endswith("ResultNotKept")
    assert outcome.error.startswith("once 'charge:42' succeeded, and its result is not kept")
    assert provider.charges == 1


def test_in_a_transaction_it_is_refused_as_its_beginning_could_not_be_committed(both: Engine) -> None:
    provider = Provider()

    def body() -> None:
        with transaction.atomic():
            current_job().once("charge:42").run(provider.charge)

    enqueue(calling("effects.inside", body))
    _, outcome, _ = attempt(both)
    assert outcome.error_class == "jobops.context.once.OnceMisused"
    assert "say atomic=True" in outcome.error
    assert (provider.charges, rows()) == (0, [])


def test_mistakes_are_named() -> None:
    with running(PLAIN):
        me = current_job()
        for key in ("", "x" * 201, "a\0b", None, 7):
            with pytest.raises(InvalidJob, match=r"^once: .* give text of 1 to 200 printable characters"):
                me.once(key)  # type: ignore[arg-type]
        with pytest.raises(InvalidJob, match=r"^on_unknown: 'maybe' is not known"):
            me.once("k", on_unknown="maybe")  # type: ignore[arg-type]


def test_without_a_lease_it_works_in_memory(db: None) -> None:
    provider = Provider(ValueError("declined"))
    with running(RunningJob("job-1", "acme", "bulk", "t", 1, 5, "chain-1")):
        me = current_job()
        with pytest.raises(ValueError, match="declined"):
            me.once("charge:42").run(provider.charge)
        assert [me.once("charge:42").run(provider.charge) for _ in range(3)] == ["receipt-2"] * 3
        with me.once("charge:42") as effect:
            assert effect.done
            with pytest.raises(OnceMisused, match="done already"):
                effect.result = "again"
    assert rows() == []
