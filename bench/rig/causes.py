"""The causes of the letters, and all that is kept beside them: shares of tenants, five minutes, counts."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from rig.loading import Table

if TYPE_CHECKING:
    from rig.letters import Letter

ERRORS = ("503 Service Unavailable", "connection timeout after 30 s", "no such customer", "the card was refused")
HOURS = (4, 24, 24 * 15)
STATES = ("open", "replaying", "resolved", "discarded")
SPANS_FOR = timedelta(days=8)
COUNTED = (*STATES, "deaths", "first_seen_at", "last_seen_at")
GROUP_FIELDS = (
    "id", "fingerprint", "title", "job_type", "error_class", "culprit", "owner", "severity", "assignee", "state",
    "tenants", "due_at", "sample_id", *COUNTED,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cause:
    """What is the same of all its letters."""

    number: int
    assignee_id: int | None
    job_type: str
    error_class: str
    error: str
    owner: str
    severity: str
    sla_s: int

    @property
    def pk(self) -> int:
        return self.number + 1

    @property
    def is_drained(self) -> bool:
        return self.number % 20 == 19


@dataclass(slots=True)
class Has:
    """What a cause, or one tenant of it, has of the letters."""

    counts: Counter[str] = field(default_factory=Counter)
    first: datetime | None = None
    last: datetime | None = None
    due: datetime | None = None
    newest: int | None = None

    def add(self, letter: Letter) -> None:
        at, due = letter.dead_at, letter.dead_at + timedelta(seconds=letter.cause.sla_s)
        self.counts[letter.state] += 1
        self.first = at if self.first is None or at < self.first else self.first
        if self.last is None or at > self.last:
            self.last, self.newest = at, letter.number
        if letter.drained_at is None and (self.due is None or due < self.due):
            self.due = due

    def numbers(self) -> tuple[Any, ...]:
        """The columns of ``COUNTED``."""
        return (*(self.counts[state] for state in STATES), self.counts.total(), self.first, self.last)


class Sums:
    """The letters counted while they are made, as the intake and the services would have."""

    def __init__(self) -> None:
        self.causes: dict[int, Has] = defaultdict(Has)
        self.shares: dict[tuple[int, int], Has] = defaultdict(Has)
        self.spans: dict[tuple[int, datetime], list[int]] = defaultdict(lambda: [0, 0])

    def add(self, letter: Letter, now: datetime) -> None:
        pk = letter.cause.pk
        self.causes[pk].add(letter)
        self.shares[pk, letter.tenant_id].add(letter)
        for place, at in enumerate((letter.dead_at, letter.drained_at)):
            if at is not None and at > now - SPANS_FOR:
                begin = at - timedelta(minutes=at.minute % 5, seconds=at.second, microseconds=at.microsecond)
                self.spans[pk, begin][place] += 1


def causes(count: int) -> list[Cause]:
    """So many, of a tenth as many job types; each tenth has been taken by the one who reads, the next by another."""
    from django.contrib.auth.models import User

    people = {turn: User.objects.get_or_create(username=name)[0].pk for turn, name in ((1, "reader-staff"), (2, "kim"))}
    found = []
    for number in range(count):
        job = number % _types(count)
        found.append(
            Cause(
                number,
                people.get(number % 10),
                f"shop.jobs.job_{job}",
                f"shop.errors.Error{number % 30}",
                f"{ERRORS[number % 4]} at step {number} for order",
                f"team-{job % 12}",
                ("normal", "normal", "high", "low")[number % 4],
                HOURS[job % 3] * 3600,
            )
        )
    return found


def _types(causes: int) -> int:
    return max(1, causes // 10)


def register(causes: int) -> None:
    """Contracts for all their job types, so that a replay could run."""
    from jobops.contracts.decorator import job

    for number in range(_types(causes)):

        @job(
            name=f"shop.jobs.job_{number}", owner=f"team-{number % 12}", drain_sla="4h", idempotent="does nothing",
            lane="bulk", timeout="30s",
        )  # fmt: skip
        def deliver(order: str, note: str) -> None:
            """Nothing."""


def write_causes(known: list[Cause], sums: Sums, now: datetime) -> None:
    """The rows of the causes, of their tenants' shares and of their five minutes."""
    from dlq.models import DeadLetterGroup, GroupSpan, GroupTenant

    tenants = Counter(pk for pk, _ in sums.shares)
    Table(DeadLetterGroup, GROUP_FIELDS).write(_row(one, sums.causes[one.pk], tenants[one.pk], now) for one in known)
    shares = ((pk, tenant_id, *has.numbers()) for (pk, tenant_id), has in sums.shares.items())
    Table(GroupTenant, ("group", "tenant", *COUNTED)).write(shares)
    spans = ((pk, at, deaths, drained) for (pk, at), (deaths, drained) in sums.spans.items())
    Table(GroupSpan, ("group", "at", "deaths", "drained")).write(spans)


def _row(one: Cause, has: Has, tenants: int, now: datetime) -> tuple[Any, ...]:
    state = {3: "acknowledged", 4: "acknowledged", 5: "snoozed"}.get(one.number % 20, "active")
    numbers = has.numbers() if has.first else (*[0] * (len(COUNTED) - 2), now, now)
    return (
        one.pk, hashlib.sha256(str(one.number).encode()).hexdigest(), f"{one.error} …", one.job_type, one.error_class,
        f"shop/jobs.py in deliver_{one.number}", one.owner, one.severity, one.assignee_id,
        state if has.due else "drained", tenants, has.due, has.newest, *numbers,
    )  # fmt: skip
