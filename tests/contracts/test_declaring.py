"""`@job`: what it keeps of a contract, and what it finds wrong with one."""

from __future__ import annotations

import functools
import pickle
from datetime import timedelta
from typing import Any

import pytest

from jobops import Backoff, job
from jobops.contracts import registry
from jobops.contracts.faults import Kind
from jobops.contracts.job_type import JobType
from tests.contracts.samples import GOOD


def declared(**contract: Any) -> JobType:
    @job(**{**GOOD, "name": "sample", **contract})
    def sample(invoice_id: int, *, note: str = "") -> None: ...

    return sample.job_type


@job(**GOOD)
def at_module_level(number: int) -> int:
    """Doubles."""
    return number * 2


def test_the_function_stays_a_plain_function() -> None:
    assert at_module_level(21) == 42
    assert at_module_level(number=1) == 2
    assert at_module_level.__doc__ == "Doubles."
    assert at_module_level.__name__ == "at_module_level"
    assert callable(at_module_level)
    assert pickle.loads(pickle.dumps(at_module_level)) is at_module_level


def test_a_full_contract_is_kept_and_has_no_fault() -> None:
    backoff = Backoff.exponential(base="1s", cap="5m")
    kept = declared(
        aliases=["old.name"], lane="bulk", max_attempts=7, backoff=backoff, retry_on=429, poison_on="4xx",
        discard_on=KeyError, lease="1m", redact="note",
    )  # fmt: skip
    assert kept.faults == ()
    assert (kept.name, kept.aliases, kept.owner, kept.lane) == ("sample", ("old.name",), "billing", "bulk")
    assert (kept.drain_sla, kept.timeout, kept.lease) == (
        timedelta(hours=4), timedelta(seconds=30), timedelta(minutes=1),
    )  # fmt: skip
    assert (kept.max_attempts, kept.backoff, kept.redact) == (7, backoff, frozenset({"note"}))
    assert kept.idempotent == "upserts by invoice id"


def test_the_name_is_module_and_function_unless_given() -> None:
    @job(**GOOD)
    def inner() -> None: ...

    assert inner.job_type.name == f"{__name__}.inner"
    assert registry.resolve(f"{__name__}.inner") is inner.job_type


def test_a_guard_stands_in_for_idempotency() -> None:
    kept = declared(idempotent=None, guard=lambda invoice_id: f"invoice:{invoice_id}")
    assert kept.faults == ()
    assert kept.guard is not None


def test_a_bare_decorator_declares_a_contract_without_promises() -> None:
    @job
    def bare() -> int:
        return 1

    assert bare() == 1
    assert {fault.kind for fault in bare.job_type.faults} == {
        Kind.OWNER, Kind.DRAIN_SLA, Kind.IDEMPOTENCY, Kind.TIMEOUT,
    }  # fmt: skip
    assert bare.job_type.max_attempts == 5
    assert bare.job_type.timeout == timedelta(seconds=30)
    assert bare.job_type.backoff.faults == ()


def test_an_argument_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(TypeError, match=r"no argument ownr; it takes name, aliases, owner"):
        job(ownr="billing")  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("name", "spaced name"), ("name", ""), ("name", "x" * 201), ("name", 7), ("name", "a\x00b"),
        ("aliases", ["fine", "not fine"]), ("aliases", 7), ("aliases", [None]),
        ("owner", "\n"), ("owner", 7), ("owner", "x" * 51),
        ("drain_sla", "soon"), ("drain_sla", 0), ("drain_sla", -1),
        ("idempotent", True), ("idempotent", "  "),
        ("guard", "invoice"),
        ("lane", "Bulk"), ("lane", ""), ("lane", 7),
        ("max_attempts", 0), ("max_attempts", "5"), ("max_attempts", True), ("max_attempts", 10**6),
        ("backoff", "1s"), ("backoff", [1, 2]), ("backoff", Backoff.fixed("soon")),
        ("retry_on", object()), ("poison_on", 42), ("discard_on", "("),
        ("timeout", "0s"), ("timeout", "30 d"), ("timeout", "8d"), ("timeout", float("nan")),
        ("lease", -1), ("lease", "2h"),
        ("redact", "no_such"), ("redact", [7]),
    ],
)  # fmt: skip
def test_a_bad_value_is_one_fault_naming_the_argument_and_what_would_be_right(argument: str, value: Any) -> None:
    kept = declared(**{argument: value})
    (fault,) = kept.faults
    assert fault.kind is Kind.VALUE
    assert fault.argument.startswith(argument)
    assert fault.message
    assert fault.hint


def test_every_fault_of_a_contract_is_found_at_once() -> None:
    kept = declared(owner=None, timeout=None, lane="?", backoff=Backoff.linear("1s"), redact="nothing")
    assert [fault.kind for fault in kept.faults] == [
        Kind.OWNER, Kind.VALUE, Kind.BACKOFF_CAP, Kind.TIMEOUT, Kind.VALUE,
    ]  # fmt: skip


def test_what_cannot_run_as_a_job_is_a_fault() -> None:
    @job(**GOOD)
    async def coroutine() -> None: ...

    @job(**GOOD)
    def generator() -> Any:
        yield 1

    class Mailer:
        @job(**GOOD)
        def method(self) -> None: ...

    nameless = job(**GOOD)(functools.partial(print, "x"))
    anonymous = job(**GOOD)(lambda: None)
    for broken in (coroutine, generator, Mailer.method):
        (fault,) = broken.job_type.faults
        assert fault.argument == "function"
    assert nameless.job_type.name.endswith(".unnamed")
    assert [fault.argument for fault in anonymous.job_type.faults] == ["name"]


def test_arguments_are_redacted_however_they_were_given() -> None:
    @job(**GOOD, redact=["note", "rows"])
    def charge(amount: int, /, note: str, *rows: int, **more: Any) -> None: ...

    @job(**GOOD, name="rest", redact="more")
    def rest(amount: int, **more: Any) -> None: ...

    named = charge.job_type.named_arguments((5, "secret", 1, 2), {"colour": "red"})
    assert named == {"amount": 5, "note": "secret", "rows[0]": 1, "rows[1]": 2, "colour": "red"}
    assert [name for name in named if charge.job_type.redacts(name)] == ["note", "rows[0]", "rows[1]"]
    assert [name for name in ("amount", "colour", "args[3]") if rest.job_type.redacts(name)] == ["colour", "args[3]"]
