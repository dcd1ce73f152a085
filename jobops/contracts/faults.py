"""What is wrong with a contract: recorded when it is declared, reported by the system check.

A decorator that raised would take the whole site down for one missing promise, and would show the
first fault only; so every fault is kept and the check lists them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """The kinds of fault; each has its own id in the system check."""

    OWNER = "owner"
    DRAIN_SLA = "drain_sla"
    IDEMPOTENCY = "idempotency"
    TIMEOUT = "timeout"
    BACKOFF_CAP = "backoff_cap"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: of which argument, what is wrong with it, and what would be right."""

    kind: Kind
    argument: str
    message: str
    hint: str


class BadValue(ValueError):
    """A value that cannot be used, and what would be right instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message}; {hint}")
        self.message = message
        self.hint = hint
