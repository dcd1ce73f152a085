"""A dead-letter queue as large as one gets: many tenants, owners, job types, errors, and people who read it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.test import Client

    from dlq.models import DeadLetter
    from tenants.models import Tenant

BATCH = 2_000
TRACEBACK = "Traceback (most recent call last):\n" + '  File "/srv/shop/jobs.py", line 88, in deliver\n' * 20
STATES = ("open",) * 12 + ("replaying",) + ("resolved",) * 5 + ("discarded",) * 2
REASONS = ("exhausted",) * 6 + ("poison", "worker_lost", "timeout", "unresolvable")
ERRORS = ("503 Service Unavailable", "connection timeout after 30 s", "no such customer", "the card was refused")


def fill(letters: int, tenants: int) -> None:
    """So many letters, three of five still open, spread over the tenants with a few large ones; with search texts."""
    from django.db import connection
    from django.utils import timezone

    from dlq.models import DeadLetter, SearchText
    from tenants.models import Tenant

    dice, now = random.Random(7), timezone.now()
    Tenant.objects.bulk_create(Tenant(slug=f"tenant-{n}", name=f"Tenant {n}") for n in range(tenants))
    owners = list(Tenant.objects.filter(slug__startswith="tenant-").order_by("pk"))
    made = _letters(letters, owners, dice, now)
    while batch := [letter for letter, _ in zip(made, range(BATCH), strict=False)]:
        DeadLetter.objects.bulk_create(batch)
        SearchText.objects.bulk_create(SearchText(letter=letter, text=_text(letter)) for letter in batch)
    if connection.vendor == "postgresql":
        # Its autovacuum would do so by itself; SQLite is measured as it comes, without.
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")


def reader(slug: str = "") -> Client:
    """A signed-in person: on call or, with a slug, this tenant's admin."""
    from django.contrib.auth.models import User
    from django.test import Client

    from tenants.models import Membership, Tenant
    from tenants.roles import Role
    from tenants.staff import membership_set, staff_role_give

    user = User.objects.create_user(f"reader-{slug or 'staff'}")
    if slug:
        membership_set(user=user, tenant=Tenant.objects.get(slug=slug), role=Membership.Role.ADMIN, by="command:bench")
    else:
        staff_role_give(user=user, role=Role.ON_CALL, by="command:bench")
    client = Client(SERVER_NAME="localhost")
    client.force_login(user, "django.contrib.auth.backends.ModelBackend")
    return client


def _letters(count: int, tenants: list[Tenant], dice: random.Random, now: datetime) -> Iterator[DeadLetter]:
    for number in range(1, count + 1):
        yield _letter(number, tenants[int(len(tenants) * dice.random() ** 3)], dice, now)


def _letter(number: int, tenant: Tenant, dice: random.Random, now: datetime) -> DeadLetter:
    from dlq.models import DeadLetter

    dead_at = now - timedelta(seconds=dice.random() * 14 * 86_400)
    job = int(40 * dice.random() ** 2)
    return DeadLetter(
        job_id=f"{number:032x}",
        attempt=3,
        attempts=3,
        max_attempts=3,
        tenant=tenant,
        tenant_slug=tenant.slug,
        lane="bulk",
        queue=f"{tenant.slug}.bulk",
        job_type=f"shop.jobs.job_{job}",
        payload=json.dumps({"args": [], "kwargs": {"order": f"{number:08d}", "note": "as the customer wished"}}),
        state=dice.choice(STATES),
        reason=dice.choice(REASONS),
        error_class=f"shop.errors.Error{int(30 * dice.random() ** 2)}",
        error=f"{dice.choice(ERRORS)} for order {number:08d}",
        traceback=TRACEBACK,
        history=[{"n": n, "outcome": "retry", "error": "503 Service Unavailable"} for n in (1, 2, 3)],
        owner=f"team-{job % 6}",
        due_at=dead_at + timedelta(hours=dice.choice((4, 24, 24 * 15))),
        dead_at=dead_at,
        enqueued_at=dead_at - timedelta(minutes=4),
    )


def _text(letter: DeadLetter) -> str:
    parts = (letter.job_type, letter.job_id, letter.error_class, letter.error, letter.payload, letter.tenant_slug)
    return (" ".join(parts) + " " + "https://hooks.example/orders/notify " * 8).lower()[:1500]
