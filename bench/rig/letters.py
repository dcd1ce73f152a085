"""A dead-letter queue as large as one gets: many tenants, causes, owners and errors, with replays and search texts."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple

from rig.causes import Cause, Sums, causes, write_causes
from rig.loading import BATCH, Table, indexed_afterwards

DAYS = 14
TRACEBACK = "Traceback (most recent call last):\n" + '  File "/srv/shop/jobs.py", line 88, in deliver\n' * 20
HISTORY = json.dumps([{"n": n, "outcome": "retry", "error": "503 Service Unavailable"} for n in (1, 2, 3)])
STATES = ("open",) * 12 + ("replaying",) + ("resolved",) * 5 + ("discarded",) * 2
DRAINED = ("resolved",) * 3 + ("discarded",)
REASONS = ("exhausted",) * 6 + ("poison", "worker_lost", "timeout", "unresolvable")

FIELDS = (
    "id", "job_id", "attempt", "attempts", "max_attempts", "tenant", "tenant_slug", "lane", "queue", "job_type",
    "payload", "state", "reason", "error_class", "error", "traceback", "history", "group", "owner", "assignee",
    "severity", "sla_s", "due_at", "dead_at", "enqueued_at", "replays", "discard_reason", "drained_by", "drained_at",
    "drain_s",
)  # fmt: skip
RUN_FIELDS = ("letter", "number", "job_id", "by", "state", "started_at", "ended_at")


class Letter(NamedTuple):
    """What is told one letter from another."""

    number: int
    tenant_id: int
    slug: str
    cause: Cause
    state: str
    reason: str
    dead_at: datetime
    drained_at: datetime | None


def fill(count: int, tenants: int, groups: int) -> None:
    """So many letters, two of three still to be drained, spread over the tenants and causes with a few large ones."""
    from django.utils import timezone

    from dlq.models import DeadLetter, GroupSpan, GroupTenant, ReplayRun, SearchText

    now, sums = timezone.now(), Sums()
    known = causes(groups)
    letters = Table(DeadLetter, FIELDS)
    texts, runs = Table(SearchText, ("letter", "text")), Table(ReplayRun, RUN_FIELDS)
    made = _letters(count, _tenants(tenants), known, now)
    with indexed_afterwards(DeadLetter, ReplayRun, GroupTenant, GroupSpan):
        while batch := list(islice(made, BATCH)):
            letters.write(_row(letter) for letter in batch)
            texts.write((letter.number, _text(letter)) for letter in batch)
            runs.write(run for letter in batch for run in _runs(letter))
            for letter in batch:
                sums.add(letter, now)
        write_causes(known, sums, now)


def _tenants(count: int) -> list[tuple[int, str]]:
    from tenants.models import Tenant

    Tenant.objects.bulk_create(Tenant(slug=f"tenant-{n}", name=f"Tenant {n}") for n in range(count))
    return list(Tenant.objects.filter(slug__startswith="tenant-").order_by("pk").values_list("pk", "slug"))


def _letters(count: int, tenants: list[tuple[int, str]], known: list[Cause], now: datetime) -> Iterator[Letter]:
    dice = random.Random(7)
    for number in range(1, count + 1):
        tenant_id, slug = tenants[int(len(tenants) * dice.random() ** 3)]
        # The largest cause has a sixth of them, the largest tenant a tenth.
        cause = known[int(len(known) * dice.random() ** 4.25)]
        dead_at = now - timedelta(seconds=dice.random() * DAYS * 86_400)
        state = dice.choice(DRAINED if cause.is_drained else STATES)
        drained_at = dead_at + (now - dead_at) * dice.random() ** 2 if state in DRAINED else None
        yield Letter(number, tenant_id, slug, cause, state, dice.choice(REASONS), dead_at, drained_at)


def _row(letter: Letter) -> tuple[Any, ...]:
    number, cause, dead_at, drained_at = letter.number, letter.cause, letter.dead_at, letter.drained_at
    payload = f'{{"args": [], "kwargs": {{"order": "{number:08d}", "note": "as the customer wished"}}}}'
    again = letter.state in ("resolved", "replaying")
    return (
        number, f"{number:032x}", 3, 3, 3, letter.tenant_id, letter.slug, "bulk", f"{letter.slug}.bulk",
        cause.job_type, payload, letter.state, letter.reason, cause.error_class, f"{cause.error} {number:08d}",
        TRACEBACK, HISTORY, cause.pk, cause.owner, cause.assignee_id, cause.severity, cause.sla_s,
        dead_at + timedelta(seconds=cause.sla_s), dead_at, dead_at - timedelta(minutes=4), int(again),
        "Fixed by hand" if letter.state == "discarded" else "", "reader" if drained_at else "", drained_at,
        int((drained_at - dead_at).total_seconds()) if drained_at else None,
    )  # fmt: skip


def _runs(letter: Letter) -> Iterator[tuple[Any, ...]]:
    """The replay of one that is replaying or was resolved; one of ten discarded ones had died of its own."""
    state = {"replaying": "running", "resolved": "succeeded", "discarded": "died"}.get(letter.state)
    if state is None or (state == "died" and letter.number % 10):
        return
    ended = letter.drained_at
    began = (ended or letter.dead_at + timedelta(minutes=5)) - timedelta(seconds=3)
    yield letter.number, 1, f"{letter.number:032x}-r1", "reader", state, began, ended


def _text(letter: Letter) -> str:
    cause = letter.cause
    parts = (cause.job_type, f"{letter.number:032x}", cause.error_class, f"{cause.error} {letter.number:08d}")
    text = " ".join((*parts, letter.slug, f'"order": "{letter.number:08d}", "note": "as the customer wished" '))
    return (text + "https://hooks.example/orders/notify " * 8).lower()[:1500]
