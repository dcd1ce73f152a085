"""Which deaths are one cause, told from letters as the intake makes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from dlq.causes import fingerprint
from dlq.causes.fingerprint import print_of
from dlq.models import DeadLetter
from jobops.contracts.decorator import job
from jobops.contracts.error_text import class_of, shown_message, shown_traceback
from jobops.contracts.job_type import JobType


def letter(**fields: Any) -> DeadLetter:
    told = {"job_type": "tests.own", "error_class": "ValueError", "error": "broken", "reason": "exhausted"}
    return DeadLetter(**({**told, "payload": '{"args": [], "kwargs": {}}'} | fields))


def declare(**contract: Any) -> JobType:
    def own(provider: str = "", card: str = "") -> None: ...

    return job(name="tests.own", **contract)(own).job_type


def died(function: Callable[..., Any], *args: Any) -> DeadLetter:
    """As a job that raised for real."""
    try:
        function(*args)
    except Exception as error:  # noqa: BLE001
        return letter(
            error_class=class_of(error), error=shown_message(error), traceback=shown_traceback(error, skip=1),
            payload=json.dumps({"args": list(args), "kwargs": {}}),
        )  # fmt: skip
    raise AssertionError("it did not raise")


def charge(invoice: int, mail: str) -> None:
    _pay(invoice, mail)


def refund(invoice: int, mail: str) -> None:
    _pay(invoice, mail)


def _pay(invoice: int, mail: str) -> None:
    if invoice < 0:
        raise ValueError(f"invoice {invoice} of {mail} is negative")
    raise ValueError(f"invoice {invoice} of {mail} was paid on {invoice}.5.2026")


def test_many_deaths_of_three_causes_are_three() -> None:
    deaths = [died(charge, n, f"user{n}@example.com") for n in range(40)]
    deaths += [died(charge, -n, f"user{n}@example.com") for n in range(1, 40)]
    deaths += [died(refund, n, f"user{n}@example.com") for n in range(40)]
    assert len({print_of(each).key for each in deaths}) == 3


def test_a_print_is_a_key_a_title_and_a_culprit() -> None:
    found = print_of(died(charge, 7, "eva@example.com"))
    assert len(found.key) == 64
    assert found.title == "invoice … of … was paid on …"
    assert found.culprit == "_pay in causes/test_fingerprint.py"


@pytest.mark.parametrize("change", [{"job_type": "tests.other"}, {"error_class": "KeyError"}, {"error": "torn"}])
def test_another_type_class_or_message_is_another_cause(change: dict[str, str]) -> None:
    assert print_of(letter()).key != print_of(letter(**change)).key


def test_how_often_it_was_tried_is_no_cause() -> None:
    assert print_of(letter(reason="poison", attempts=1)).key == print_of(letter(reason="exhausted", attempts=5)).key


@pytest.mark.parametrize("reason", ["worker_lost", "timeout", "unresolvable"])
def test_what_ended_from_outside_has_no_place(reason: str) -> None:
    """Where a job was just then says nothing of why it was killed."""
    first, second = (
        letter(reason=reason, error_class="", traceback=died(f, 1, "a").traceback) for f in (charge, refund)
    )
    assert print_of(first).key == print_of(second).key
    assert print_of(first).key != print_of(letter(error_class="", reason="exhausted")).key


def test_secrets_do_not_get_into_a_title() -> None:
    declare(redact=["card"])
    payload = '{"args": [], "kwargs": {"card": "tajemství ve slovech"}}'
    found = print_of(letter(error="card tajemství ve slovech was refused", payload=payload))
    assert found.title == "card … was refused"


def test_of_arguments_that_cannot_be_read_nothing_is_said() -> None:
    found = print_of(letter(error="card 4242 of Eva was refused", payload="{"))
    assert found.title == "ValueError"


@pytest.mark.parametrize(("fields", "title"), [
    ({"error": ""}, "ValueError"),
    ({"error": "", "error_class": ""}, "Attempts spent"),
    ({"error": "'iban'", "error_class": "KeyError"}, "KeyError: 'iban'"),
    ({"error": "42", "error_class": "shop.errors.Refused"}, "Refused"),
    ({"error": "broken"}, "ValueError: broken"),
    ({"error": "<script>alert('x')</script> is no address"}, "<script>alert(…)</script> is no address"),
])  # fmt: skip
def test_a_title_is_never_empty(fields: dict[str, str], title: str) -> None:
    assert print_of(letter(**fields)).title == title


def test_the_contract_may_say_what_is_one_cause() -> None:
    asked: list[Any] = []

    def cause(error_class: str, error: str, arguments: Any) -> str | None:
        asked.append((error_class, error, dict(arguments)))
        return f"provider {arguments['provider']}" if error == "broken" else None

    declare(fingerprint=cause)
    payloads = [json.dumps({"args": [name], "kwargs": {}}) for name in ("alpha", "beta")]
    alpha, beta = (print_of(letter(payload=payload)) for payload in payloads)
    assert asked[0] == ("ValueError", "broken", {"provider": "alpha"})
    assert (alpha.title, beta.title) == ("provider alpha", "provider beta")
    assert alpha.key != beta.key
    assert alpha.key == print_of(letter(payload=payloads[0], error_class="KeyError")).key
    assert print_of(letter(error="torn", payload=payloads[0])).title == "ValueError: torn"


@pytest.mark.parametrize("bad", [lambda *_: 1 / 0, lambda *_: 42, lambda *_: "", lambda *_: None])
def test_a_contract_that_answers_badly_stops_nothing(bad: Any) -> None:
    declare(fingerprint=bad)
    assert print_of(letter()).title == "ValueError: broken"


@pytest.mark.parametrize("bad", ["text", 42, lambda: "x", lambda a, b, c, d: "x"])
def test_a_fingerprint_that_is_none_is_a_fault(bad: Any) -> None:
    declared = declare(fingerprint=bad)
    assert declared.fingerprint is None
    assert [fault.argument for fault in declared.faults if fault.argument == "fingerprint"] == ["fingerprint"]


def test_it_never_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any) -> Any:
        raise RecursionError

    monkeypatch.setattr(fingerprint, "trace_of", broken)
    first, second = print_of(letter()), print_of(letter(error="torn"))
    assert first.title == "ValueError"
    assert first.key == second.key != print_of(letter(job_type="tests.other")).key


def test_what_the_job_was_given_is_no_part_of_its_cause() -> None:
    """Plain words, which nothing but the arguments tells from words of the message."""
    declare()

    def of(provider: str) -> DeadLetter:
        payload = json.dumps({"args": [], "kwargs": {"provider": provider}})
        return letter(payload=payload, error=f"the provider {provider} refuses the order")

    north, south = print_of(of("northwind")), print_of(of("south-side"))
    assert north == south
    assert "northwind" not in north.title
    assert print_of(letter(error="the provider northwind refuses the order")).key != north.key
