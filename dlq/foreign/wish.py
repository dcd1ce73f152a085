"""What somebody wants to be taken over, and what was done about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from dlq.foreign.letters import error_of
from dlq.foreign.records import Record
from dlq.foreign.sources import Source
from tenants.models import Tenant
from tenants.services import Actor

MOST_NAMED = 1_000
"""Kinds of errors that are told apart in a report."""


@dataclass(frozen=True)
class Wish:
    """What is to be taken over and how. ``queues``: only these; ``leave``: what is taken over stays in the source's
    registry; ``dry_run``: only look; ``by``: who does it."""

    source: Source
    by: Actor
    queues: Sequence[str] = ()
    tenant: Tenant | None = None
    owner: str = ""
    leave: bool = False
    dry_run: bool = False


@dataclass(slots=True)
class Report:
    """``imported``: new letters (dry run: those there would be); ``again``: deaths of jobs that have a letter, which
    tells of them now; ``known``: taken over before; ``removed``: from the source's registry; ``skipped``: why → how
    many; ``queues``, ``errors``: how many new ones in each."""

    imported: int = 0
    again: int = 0
    known: int = 0
    removed: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    queues: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)

    def count(self, each: Record) -> None:
        """Count one new letter."""
        self.imported += 1
        self.queues[each.queue] += 1
        name = error_of(each)
        self.errors[name if name in self.errors or len(self.errors) < MOST_NAMED else "other errors"] += 1
