"""One ownership rule. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dlq.owners.facts import BY_RULE, NORMAL, Decision
from dlq.owners.globs import matcher, strictest

FIELDS = {"job": "job_type", "tenant": "tenant", "queue": "queue", "reason": "reason", "error": "error_class"}
"""What a condition can name → the fact that it is about."""

OWNED_BY_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Rule:
    """``conditions``: name → patterns, of which one must fit; all of them must. None: it fits everything.

    ``line``: where it stands, from 1. ``sla_s``: seconds; None: as the contract promises.
    """

    line: int
    conditions: Mapping[str, tuple[str, ...]]
    team: str
    sla_s: int | None = None
    severity: str = NORMAL
    _tests: Mapping[str, tuple[Callable[[str], bool], ...]] = field(init=False, compare=False, repr=False)
    _narrow: Mapping[str, tuple[str, ...]] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        tests = {FIELDS[name]: tuple(map(matcher, patterns)) for name, patterns in self.conditions.items()}
        narrow = {FIELDS[name]: tuple(map(strictest, patterns)) for name, patterns in self.conditions.items()}
        object.__setattr__(self, "_tests", tests)
        object.__setattr__(self, "_narrow", narrow)

    @property
    def condition(self) -> str:
        """Its conditions as they are written; ``*`` for none."""
        return " ".join(f"{name}={','.join(patterns)}" for name, patterns in self.conditions.items()) or "*"

    @property
    def decision(self) -> Decision:
        """What it decides of everything that fits."""
        words = f"{BY_RULE}{self.condition}"
        if len(words) > OWNED_BY_LENGTH:
            words = f"{words[: OWNED_BY_LENGTH - 1]}…"
        return Decision(self.team, self.sla_s, self.severity, words)

    def fits(self, fact: str, value: str) -> bool:
        """Whether its condition on this fact, if it has one, holds for the value."""
        tests = self._tests.get(fact)
        if tests is None or any(test(value) for test in tests):
            return True
        # A class is known by its last part too, as in the filters.
        return fact == "error_class" and any(test(value.rpartition(".")[2]) for test in tests)

    def takes_all_of(self, other: Rule) -> bool:
        """Whether everything that fits the other fits this one. A no can be wrong where several patterns only
        together take what one of the other's does; a yes never is."""
        if not self._tests.keys() <= other._tests.keys():
            return False
        return all(
            any(test(narrow) for test in tests) for fact, tests in self._tests.items() for narrow in other._narrow[fact]
        )
