"""What to do with an error: try again, give up (poison), or end without a dead letter (discard).

In this order:

1. What the job itself raised to say so: ``Poison``, ``Discard``, ``RetryLater``.
2. The narrowest rule that matches: a pattern for the message before an exact status, before a range of
   statuses (the smaller first), before a class (the nearest ancestor first). Among equally narrow rules
   discard goes before poison, and poison before retry.
3. Retry. An unknown error is one that nobody has thought about yet, and most pass.

So ``poison_on="4xx", retry_on=429`` retries 429 alone, and ``poison_on=Exception, retry_on=ConnectionError``
retries nothing but lost connections.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jobops.contracts.error_rules import Action, ClassMatcher, ErrorFacts, Rule, read_rules
from jobops.contracts.errors import Discard, Poison, RetryLater
from jobops.contracts.faults import Fault, Kind
from jobops.contracts.http_errors import retry_after_of

MOST_LEAVES = 1_000
"""Exceptions of a group that are looked at."""

_ORDER: dict[Action, int] = {"discard": 0, "poison": 1, "retry": 2}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do with an error. ``wait_s``: the job or the server said when to come back.
    ``grace_left_s``: a rule is held back for so long, and the retry is on its account."""

    action: Action
    wait_s: float | None = None
    grace_left_s: float | None = None


@dataclass(frozen=True, slots=True)
class ErrorPolicy:
    """The rules of one contract."""

    rules: tuple[Rule, ...] = ()
    faults: tuple[Fault, ...] = ()

    @classmethod
    def build(cls, *, retry_on: object = (), poison_on: object = (), discard_on: object = ()) -> ErrorPolicy:
        """From the contract's arguments, single values or lists; what is no rule becomes a fault."""
        rules: list[Rule] = []
        faults: list[Fault] = []
        given: tuple[tuple[str, Action, object], ...] = (
            ("discard_on", "discard", discard_on),
            ("poison_on", "poison", poison_on),
            ("retry_on", "retry", retry_on),
        )
        for argument, action, value in given:
            read, bad = read_rules(action, value)
            rules += read
            faults += [Fault(Kind.VALUE, argument, error.message, error.hint) for error in bad]
        return cls(tuple(rules), tuple(faults))

    def classify(self, error: BaseException, *, age_s: float = float("inf")) -> Verdict:
        """What to do with ``error`` in a job enqueued ``age_s`` seconds ago.

        Of an exception group each part is judged: one poison part means that the whole will never succeed;
        else one that retries means retry; only if all are discarded is the whole.
        """
        if not isinstance(error, BaseExceptionGroup) or self._names_groups(error):
            return self._judge(error, age_s)
        verdicts = [self._judge(leaf, age_s) for leaf in _leaves(error)]
        for action in ("poison", "retry"):
            found = [verdict for verdict in verdicts if verdict.action == action]
            if found:
                return max(found, key=_most_patient)
        return verdicts[0] if verdicts else Verdict("retry")

    def _judge(self, error: BaseException, age_s: float) -> Verdict:
        if isinstance(error, Poison):
            return Verdict("poison")
        if isinstance(error, Discard):
            return Verdict("discard")
        if isinstance(error, RetryLater):
            return Verdict("retry", wait_s=error.after)
        rule = self._narrowest(ErrorFacts(error))
        if rule is None or rule.action == "retry":
            # A server that says 0 has named no time, and is not to be hammered.
            return Verdict("retry", wait_s=retry_after_of(error) or None)
        if age_s < rule.grace_s:
            return Verdict("retry", grace_left_s=rule.grace_s - max(age_s, 0.0))
        return Verdict(rule.action)

    def _names_groups(self, group: BaseExceptionGroup[BaseException]) -> bool:
        # A rule for Exception would match every group, and say nothing of what is in it.
        return any(
            isinstance(rule.matcher, ClassMatcher)
            and issubclass(rule.matcher.cls, BaseExceptionGroup)
            and isinstance(group, rule.matcher.cls)
            for rule in self.rules
        )

    def _narrowest(self, facts: ErrorFacts) -> Rule | None:
        best: tuple[tuple[int, int], int] | None = None
        chosen = None
        for rule in self.rules:
            rank = rule.matcher.rank(facts)
            if rank is not None and (best is None or (rank, _ORDER[rule.action]) < best):
                best, chosen = (rank, _ORDER[rule.action]), rule
        return chosen


def _most_patient(verdict: Verdict) -> float:
    return verdict.wait_s or 0.0


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    # Without recursion: a group may be nested deeper than the stack has room for.
    waiting: list[BaseException] = [group]
    given = 0
    while waiting and given < MOST_LEAVES:
        error = waiting.pop()
        if isinstance(error, BaseExceptionGroup):
            waiting.extend(reversed(error.exceptions))
        else:
            given += 1
            yield error
