"""Classes, statuses and patterns sort errors into retry, poison and discard."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from jobops import After, Discard, Poison, RetryLater
from jobops.contracts.error_policy import ErrorPolicy


class HttpError(Exception):
    def __init__(self, status: int, message: str = "refused", **headers: str) -> None:
        super().__init__(message)
        self.response = SimpleNamespace(status_code=status, headers=headers)


def policy(**rules: Any) -> ErrorPolicy:
    built = ErrorPolicy.build(**rules)
    assert not built.faults
    return built


def action(error: BaseException, **rules: Any) -> str:
    return policy(**rules).classify(error).action


def test_an_unknown_error_is_retried() -> None:
    for error in (ValueError("x"), SystemExit(1), KeyboardInterrupt(), MemoryError(), HttpError(400)):
        assert action(error) == "retry"


def test_what_the_job_says_goes_before_every_rule() -> None:
    every = {"poison_on": Exception, "discard_on": Exception, "retry_on": Exception}
    assert action(Poison("x"), discard_on=Exception) == "poison"
    assert action(Discard("x"), poison_on=Exception) == "discard"
    assert policy(**every).classify(RetryLater("x", after=7)).wait_s == 7

    class BadFile(Poison):
        pass

    assert action(BadFile("x"), retry_on=BadFile) == "poison"


def test_classes_match_as_except_does() -> None:
    assert action(UnicodeError("x"), poison_on=ValueError) == "poison"
    assert action(KeyError("x"), poison_on=[ValueError, LookupError]) == "poison"
    assert action(OSError("x"), poison_on=(ValueError,)) == "retry"


@pytest.mark.parametrize("status", [429, "429", "4xx", "4XX", "400-499", range(400, 500), [404, 429]])
def test_statuses_are_given_as_numbers_classes_and_ranges(status: Any) -> None:
    assert action(HttpError(429), discard_on=status) == "discard"
    assert action(HttpError(500), discard_on=status) == "retry"


@pytest.mark.parametrize("pattern", ["no such (user|card)", re.compile("NO SUCH CARD", re.IGNORECASE)])
def test_patterns_are_searched_in_the_message(pattern: Any) -> None:
    assert action(ValueError("oh: no such card 42"), poison_on=pattern) == "poison"
    assert action(ValueError("no such luck"), poison_on=pattern) == "retry"


def test_the_narrowest_rule_wins() -> None:
    assert action(HttpError(429), poison_on="4xx", retry_on=429) == "retry"
    assert action(HttpError(404), poison_on="4xx", retry_on=429) == "poison"
    assert action(HttpError(429), poison_on="400-499", discard_on="420-429") == "discard"
    assert action(ConnectionError("x"), poison_on=Exception, retry_on=ConnectionError) == "retry"
    assert action(KeyError("x"), poison_on=Exception, retry_on=ConnectionError) == "poison"
    assert action(HttpError(400), retry_on=HttpError, poison_on=400) == "poison"
    assert action(HttpError(400, "try later"), poison_on=400, retry_on="try later") == "retry"


def test_between_equally_narrow_rules_discard_goes_first_and_retry_last() -> None:
    assert action(ValueError("x"), retry_on=ValueError, poison_on=ValueError) == "poison"
    assert action(ValueError("x"), poison_on=ValueError, discard_on=ValueError) == "discard"
    assert action(HttpError(410), retry_on=410, poison_on=410) == "poison"


def test_a_retry_waits_as_long_as_the_server_asks() -> None:
    rules = policy(retry_on=429)
    assert rules.classify(HttpError(429, **{"Retry-After": "11"})).wait_s == 11
    assert rules.classify(HttpError(503, **{"Retry-After": "12"})).wait_s == 12
    assert rules.classify(HttpError(503, **{"Retry-After": "0"})).wait_s is None
    assert rules.classify(HttpError(503)).wait_s is None


def test_of_a_group_one_poison_part_poisons_the_whole() -> None:
    rules = {"poison_on": ValueError, "discard_on": KeyError, "retry_on": OSError}
    deep = ExceptionGroup("a", [OSError(), ExceptionGroup("b", [KeyError(), ValueError()])])
    assert action(deep, **rules) == "poison"
    assert action(ExceptionGroup("a", [OSError(), KeyError()]), **rules) == "retry"
    assert action(ExceptionGroup("a", [KeyError(), Discard()]), **rules) == "discard"
    assert action(BaseExceptionGroup("a", [KeyboardInterrupt()]), **rules) == "retry"


def test_a_group_waits_for_its_most_patient_part_and_may_have_a_rule_of_its_own() -> None:
    group = ExceptionGroup("a", [RetryLater(after=3), HttpError(503, **{"Retry-After": "9"}), ValueError()])
    assert policy().classify(group).wait_s == 9
    assert action(group, discard_on=ExceptionGroup) == "discard"
    # A rule for every exception speaks of the parts, where narrower rules may know better.
    assert action(ExceptionGroup("a", [OSError()]), poison_on=Exception, retry_on=OSError) == "retry"


def test_a_very_deep_group_is_read_without_recursion() -> None:
    group: ExceptionGroup[Exception] = ExceptionGroup("leaf", [ValueError()])
    for _ in range(5_000):
        group = ExceptionGroup("nest", [group])
    assert action(group, poison_on=ValueError) == "poison"
    while isinstance(group.exceptions[0], ExceptionGroup):  # freed from the outside in, as the interpreter recurses
        group = group.exceptions[0]


def test_an_error_whose_text_cannot_be_read_is_sorted_by_its_class() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise SystemExit("no text")

    assert action(Mute(), poison_on=["pattern", Mute]) == "poison"


@pytest.mark.parametrize(
    "bad",
    [None, object(), True, 42, 600, 99, 4.5, "", "(", b"x", re.compile(b"x"), int, "599-500", range(5),
     range(400, 500, 2), After("30s"), After("30 parsecs", ValueError), After("30s", object())],
)  # fmt: skip
def test_what_sorts_no_errors_is_a_fault_with_a_hint(bad: Any) -> None:
    built = ErrorPolicy.build(poison_on=[ValueError, bad])
    (fault,) = built.faults
    assert fault.argument == "poison_on"
    assert fault.hint
    assert built.classify(ValueError()).action == "poison"


def test_a_retry_cannot_be_held_back() -> None:
    (fault,) = ErrorPolicy.build(retry_on=After("30s", ValueError)).faults
    assert fault.argument == "retry_on"


def test_a_rule_that_is_held_back_retries_until_its_time() -> None:
    """OB-06"""
    rules = policy(discard_on=After("30s", LookupError))
    young = rules.classify(KeyError("row"), age_s=10)
    assert (young.action, young.grace_left_s) == ("retry", 20)
    assert rules.classify(KeyError("row"), age_s=30).action == "discard"
    # A clock behind Redis's must not stretch the grace.
    assert rules.classify(KeyError("row"), age_s=-5).grace_left_s == 30
