"""What the catalog tells of one job type: from its contract, its docstring and its code."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import jobops
from jobops import After, Backoff, Discard, Poison, RetryLater, job
from jobops.contracts.catalog.classifier import used_in_code
from jobops.contracts.catalog.design import JobDesign
from jobops.contracts.catalog.facts import RunTimes
from jobops.contracts.catalog.promises import contract_parts, design_parts, duration
from tests.contracts.catalogs import SOUND, catalog, declare, measured


def design(**contract: Any) -> JobDesign:
    declare(**contract)
    return catalog().jobs[0]


def parts(found: JobDesign) -> dict[str, str]:
    return {part.name: part.says for part in (*design_parts(found), *contract_parts(found))}


def test_everything_that_a_contract_promises_is_told() -> None:
    told = parts(design(
        max_attempts=7, backoff=Backoff.exponential("1s", cap="5m"), retry_on=429, poison_on=["4xx", ValueError],
        discard_on=After("30s", KeyError), lease="1m", redact="invoice_id", aliases="old.send",
        guard=len, on_unknown="dead", timeout="90s", resource="stripe", concurrency=10, rate="50/s", dedup_window="1d",
        on_full="spill", result_ttl="2d", keep_results=100,
    ))  # fmt: skip
    assert told == {
        "trigger": "enqueued by code; schedules: not built",
        "expected duration": "less than its time-out of 1 min 30 s",
        "side effects": "Sends an invoice.",
        "guard": "builtins.len",
        "idempotency": "upserts by invoice id",
        "lane": "bulk",
        "idempotency key or guard": "guard builtins.len; one that was cut off, so that nobody knows whether it "
        "happened, becomes a dead letter",
        "dedup window": "1 d",
        "attempts": "7",
        "backoff": "exponential 1s × 2, at most 5m, full jitter",
        "retryable": "HTTP 429; and every error that is named nowhere",
        "poison": "HTTP 400-499, ValueError",
        "discarded": "KeyError (once it is 30 s old)",
        "lease": "1 min, renewed while the job runs",
        "time-out": "1 min 30 s",
        "resource": "stripe",
        "limits of the resource": "10 at once, starts at 50/s (declared by billing.send)",
        "at the depth limit": "waits in the outbox until there is room",
        "result kept": "2 d; the newest 100 of each tenant",
        "owner": "billing",
        "drain SLA": "4 h",
        "alert": "a new cause of death, a deadline that is near, one that will be missed, one that was and runs that "
        "take twice as long as usual",
        "checkpoint granularity": "none: a run that is started again begins from nothing",
        "masked arguments": "invoice_id",
        "former names": "old.send",
        "defined in": "tests.contracts.catalogs.declare.<locals>.send",
    }


def test_defaults_are_told_as_defaults() -> None:
    told = parts(design(owner=None, drain_sla=None, lane=None, idempotent=None, max_attempts=1))
    assert told["owner"] == "operations, by default: the contract names none"
    assert told["drain SLA"] == "1 d, by default: the contract gives none"
    assert told["lane"] == "interactive"
    assert told["idempotency"] == "not told"
    assert told["backoff"] == "none: nothing is tried again"
    assert told["limits"] == "none"
    assert told["result kept"] == "1 h, by default"
    assert told["dedup window"] == "none: a key is free when its job has ended"
    assert "resource" not in told


def test_who_shares_a_resource_has_the_limit_that_another_declares_and_operators_changed() -> None:
    declare(name="a.user", resource="stripe")
    declare(name="b.owner", resource="stripe", concurrency=10)
    changed = replace(measured(), changed_limits={"stripe": "2 at once, changed by anna"})
    user = catalog(changed).jobs[0]
    found = {part.name: part for part in contract_parts(user)}["limits of the resource"]
    assert (found.says, found.measured) == ("10 at once (declared by b.owner)", "2 at once, changed by anna")


def test_a_checkpoint_is_found_in_the_function_and_in_the_helpers_of_its_module() -> None:
    @job(**{**SOUND, "name": "a.direct"})
    def direct() -> None:
        jobops.current_job().checkpoint(1)

    @job(**{**SOUND, "name": "b.helper"})
    def helped() -> None:
        saves()

    declare(name="c.none")
    assert [each.checkpoints for each in catalog().jobs] == [True, True, False]


def saves() -> None:
    jobops.current_job().checkpoint(1)


def test_a_function_without_a_docstring_says_so() -> None:
    @job(**SOUND)
    def silent() -> None: ...

    assert parts(catalog().jobs[0])["side effects"] == "not told: the function has no docstring"


def test_rules_of_a_set_come_in_one_order_at_each_reading() -> None:
    names = ["ValueError", "KeyError", "HTTP 404", 'message with "gone"']
    found = design(poison_on={ValueError, KeyError, 404, re.compile("gone")})
    assert found.classifier.poison == tuple(sorted(names))


def raises_poison() -> None:
    raise Poison("never")


def calls_a_helper() -> None:
    raises_poison()


def in_a_comprehension() -> list[Exception]:
    return [Discard(f"{number}") for number in range(2)]


def by_the_module() -> None:
    raise jobops.RetryLater("later")


def imports_it() -> None:
    from jobops import Poison as _  # noqa: F401


def calls_itself() -> None:
    calls_itself()


def raises_no_signal() -> None:
    raise ValueError("Poison")


@functools.wraps(raises_poison)
def wrapped() -> None:
    raises_poison()


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (raises_poison, ("Poison",)),
        (calls_a_helper, ("Poison",)),
        (in_a_comprehension, ("Discard",)),
        (by_the_module, ("RetryLater",)),
        (imports_it, ("Poison",)),
        (wrapped, ("Poison",)),
        (calls_itself, ()),
        (raises_no_signal, ()),
        (functools.partial(raises_poison), ()),
        (print, ()),
    ],
)
def test_what_the_code_raises_to_sort_its_errors_is_read_from_it(
    function: Callable[..., Any], found: tuple[str, ...]
) -> None:
    assert used_in_code(function) == found


def test_signals_in_the_code_stand_with_the_rules_of_their_kind() -> None:
    @job(**{**SOUND, "poison_on": 404})
    def mixed(kind: int) -> None:
        """Raises by kind."""
        raise (Poison, Discard, RetryLater)[kind]

    told = parts(catalog().jobs[0])
    assert told["poison"] == "HTTP 404, Poison"
    assert told["discarded"] == "Discard"
    assert told["retryable"] == "RetryLater; and every error that is named nowhere"


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (RunTimes(), "not measured yet"),
        (RunTimes(0, 0.0421, None, 845.0), "42.1 ms on average; 0 runs in 14 min 5 s"),
        (RunTimes(1204, 1.25, 4.096, 900.0), "1.2 s on average; p99 up to 4.1 s; 1,204 runs in 15 min"),
    ],
)
def test_a_measured_duration_in_words(times: RunTimes, words: str) -> None:
    assert duration(times) == words
