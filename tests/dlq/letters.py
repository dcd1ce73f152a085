"""Letters as rows, without a job that died for them: for what reads, filters and acts on many."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from dlq.causes.counting import attach, count_new
from dlq.models import DeadLetter, SearchText
from dlq.searchable import search_text
from tenants.models import Tenant

PAYLOAD = '{"args": [], "kwargs": {"value": 1}}'


def unsaved(tenant: Tenant | None, **fields: Any) -> DeadLetter:
    """A letter of the job type ``tests.echo``, which ``tests.runtime.factory`` registers."""
    now = timezone.now()
    defaults: dict[str, Any] = {
        "job_id": uuid.uuid4().hex,
        "attempt": 1,
        "attempts": 1,
        "job_type": "tests.echo",
        "lane": "interactive",
        "payload": PAYLOAD,
        "owner": "ops",
        "reason": "exhausted",
        "error_class": "ValueError",
        "error": "broken",
        "dead_at": now,
        "due_at": now + timedelta(hours=1),
    }
    defaults |= {"tenant": tenant, "tenant_slug": tenant.slug if tenant else "gone"}
    return DeadLetter(**(defaults | fields))


def letter(tenant: Tenant | None, **fields: Any) -> DeadLetter:
    made = unsaved(tenant, **fields)
    given = made.group_id is not None
    with transaction.atomic():
        if not given:
            attach([made])
        made.save()
        if not given:
            count_new([made])
    SearchText.objects.create(letter=made, text=search_text(made))
    return made


def letters(tenant: Tenant, count: int, **fields: Any) -> Sequence[DeadLetter]:
    """In their groups, which count them, unless one was given: whoever gives it counts."""
    made = [unsaved(tenant, **fields) for _ in range(count)]
    given = bool(made) and made[0].group_id is not None
    with transaction.atomic():
        if not given:
            attach(made)
        saved = DeadLetter.objects.bulk_create(made, batch_size=500)
        if not given:
            count_new(saved)
    return saved


def states(of: Sequence[DeadLetter]) -> list[str]:
    """The states they are in now, in the order given."""
    found = dict(DeadLetter.objects.filter(pk__in=[each.pk for each in of]).values_list("pk", "state"))
    return [found[each.pk] for each in of]


def gather_statistics() -> None:
    """As the scheduler's duty does after a burst: else PostgreSQL would plan for the few rows of before."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE dlq_deadletter, dlq_deadlettergroup, dlq_searchtext, dlq_bulkmember")
