"""What the doctor can find. One table of codes says which invariant each is about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Invariant = Literal["I1", "I2", "I4", "I7", "config"]

CODES: dict[str, Invariant] = {
    "in_no_list": "I1",
    "in_two_lists": "I1",
    "ended_in_list": "I1",
    "entry_without_job": "I1",
    "job_without_lease": "I1",
    "lease_without_job": "I1",
    "death_without_record": "I1",
    "replay_without_record": "I1",
    "letter_and_live_job": "I1",
    "letter_replaying_without_job": "I1",
    "run_without_replaying_letter": "I1",
    "outbox_parked": "I1",
    "outbox_late": "I1",
    "batch_not_looked_at": "I1",
    "over_cap": "I2",
    "over_limit": "I2",
    "ring_out_of_date": "I4",
    "queue_unserved": "I4",
    "unknown_queue": "I4",
    "letter_without_owner": "I7",
    "policy_drift": "config",
    "limit_drift": "config",
    "eviction_on": "config",
    "memory_tight": "config",
    "append_only_off": "config",
    "append_fsync_everysec": "config",
    "epoch_differs": "config",
    "search_text_missing": "config",
    "group_counts_wrong": "config",
    "source_unknown": "config",
    "no_scheduler": "config",
    "no_worker": "config",
    "unreadable": "config",
}
"""Every code, and the invariant that it breaks; ``config``: how the system is set up or kept."""


class NotRepaired(Exception):
    """A remedy did not help; the text says why, in words that follow "not repaired:"."""


Remedy = Callable[[], str]
"""Mends one thing and says what it did; empty: it was right when looked at again. Raises ``NotRepaired``."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be. ``kind`` and ``name``: of what (``job`` and its id, ``queue``, …).

    A note is worth knowing and no fault. ``in_database``: the remedy writes to the database alone, so that its row of
    the audit goes into the same transaction.
    """

    code: str
    kind: str
    name: str
    text: str
    tenant: str = ""
    remedy: Remedy | None = field(default=None, repr=False, compare=False)
    in_database: bool = field(default=False, repr=False)
    is_note: bool = False
    repaired: bool = False
    done: str = ""

    @property
    def invariant(self) -> Invariant:
        """Which invariant it breaks."""
        return CODES[self.code]

    @property
    def subject(self) -> str:
        """Of what it is told, for people."""
        return f"{self.kind} {self.name}".strip()

    @property
    def repairable(self) -> bool:
        """Whether the doctor has a remedy."""
        return self.remedy is not None

    def row(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            "invariant": self.invariant,
            "code": self.code,
            "subject": self.subject,
            "kind": self.kind,
            "name": self.name,
            "tenant": self.tenant or None,
            "text": self.text,
            "note": self.is_note,
            "repairable": self.repairable,
            "repaired": self.repaired,
            "done": self.done or None,
        }
