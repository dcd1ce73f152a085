"""What a rule looks at, and what it decides. Pure."""

from __future__ import annotations

from typing import NamedTuple

from dlq.models import DeadLetter, Severity


class Facts(NamedTuple):
    """Of a dead letter, all that rules go by. ``queue``: ``<tenant>.<lane>``, or the name of one of RQ's own."""

    job_type: str
    tenant: str
    queue: str
    reason: str
    error_class: str


class Decision(NamedTuple):
    """Whose it is. ``sla_s``: its drain SLA in seconds; None: what its contract promises. ``owned_by``: what decided
    that, in words for people."""

    owner: str
    sla_s: int | None
    severity: str
    owned_by: str


BY_CONTRACT = "its contract"
BY_DEFAULT = "the default team"
BY_RULE = "rule: "
NORMAL = str(Severity.NORMAL.value)


def facts_of(letter: DeadLetter) -> Facts:
    """The facts of this letter."""
    return Facts(letter.job_type, letter.tenant_slug, letter.queue, str(letter.reason), letter.error_class)
