"""A contract's error rules in words, and what the function's own code says about its errors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

from jobops.contracts.catalog.design import Classifier
from jobops.contracts.catalog.words import span
from jobops.contracts.error_policy import ErrorPolicy
from jobops.contracts.error_rules import ClassMatcher, Matcher, MessageMatcher, Rule, StatusMatcher
from jobops.contracts.errors import Discard, Poison, RetryLater
from jobops.contracts.job_type import JobType

SIGNALS: tuple[type[Exception], ...] = (Poison, Discard, RetryLater)
_SIGNAL_NAMES = frozenset(signal.__name__ for signal in SIGNALS)
MOST_HELPERS = 200
"""Functions that are looked through for one job type."""


def classifier_of(job_type: JobType) -> Classifier:
    """How this type's errors are sorted. Rules of a set come in any order, so each kind is sorted."""
    return Classifier(
        retry=_rules(job_type.policy, "retry"),
        poison=_rules(job_type.policy, "poison"),
        discard=_rules(job_type.policy, "discard"),
        in_code=used_in_code(job_type.func),
    )


def used_in_code(func: Callable[..., Any]) -> tuple[str, ...]:
    """Which of ``Poison``, ``Discard`` and ``RetryLater`` the function names, itself or in helpers of its module."""
    found: set[str] = set()
    for function, name in _named_in(func):
        value = function.__globals__.get(name)
        found.update(signal.__name__ for signal in SIGNALS if value is signal)
        if value is None and name in _SIGNAL_NAMES and "jobops" in function.__code__.co_names:
            found.add(name)  # imported in the function, or read as jobops.Poison
    return tuple(sorted(found))


def checkpoints_in_code(func: Callable[..., Any]) -> bool:
    """Whether the function calls a ``checkpoint``, itself or in helpers of its module."""
    return any(name == "checkpoint" for _, name in _named_in(func))


def _named_in(func: Callable[..., Any]) -> Iterator[tuple[FunctionType, str]]:
    """The names that the function and the helpers of its module use, each with who uses it.

    Read from the compiled code; nothing is run. What a helper of another module does is not seen.
    """
    first = inspect.unwrap(func)
    if not inspect.isfunction(first):
        return
    seen: set[FunctionType] = set()
    waiting = [first]
    while waiting and len(seen) < MOST_HELPERS:
        function = waiting.pop()
        if function in seen:
            continue
        seen.add(function)
        for name in _names(function.__code__):
            value = function.__globals__.get(name)
            if inspect.isfunction(value) and value.__module__ == first.__module__:
                waiting.append(value)
            yield function, name


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _rules(policy: ErrorPolicy, action: str) -> tuple[str, ...]:
    return tuple(sorted({_in_words(rule) for rule in policy.rules if rule.action == action}))


def _in_words(rule: Rule) -> str:
    grace = f" (once it is {span(rule.grace_s)} old)" if rule.grace_s else ""
    return f"{_matches(rule.matcher)}{grace}"


def _matches(matcher: Matcher) -> str:
    if isinstance(matcher, ClassMatcher):
        module, name = matcher.cls.__module__, matcher.cls.__qualname__
        return name if module in ("builtins", "jobops") else f"{module}.{name}"
    if isinstance(matcher, StatusMatcher):
        return f"HTTP {matcher.low}" if matcher.low == matcher.high else f"HTTP {matcher.low}-{matcher.high}"
    return f'message with "{matcher.pattern.pattern}"' if isinstance(matcher, MessageMatcher) else repr(matcher)
