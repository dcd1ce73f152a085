"""Letters by the thousand for the tests of how much a page reads, in causes that count them."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from typing import Any

from django.db import transaction
from django.utils import timezone

from dlq.causes.counting import attach, count_new
from dlq.models import DeadLetter, SearchText
from tenants.models import Tenant
from tests.dlq.letters import gather_statistics, unsaved

STATES = ("open", "open", "replaying", "resolved", "discarded")
AT_ONCE = 2_000
MANY = 1_000
_numbers = count()


def many(tenants: list[Tenant], letters: int, causes: int, **fields: Any) -> None:
    """So many, spread over the tenants, the states and so many causes; with search texts."""
    for start in range(0, letters, AT_ONCE):
        made = [_letter(tenants, number, causes, fields) for number in range(start, min(letters, start + AT_ONCE))]
        with transaction.atomic():
            attach(made)
            saved = DeadLetter.objects.bulk_create(made, batch_size=500)
            count_new(saved)
            texts = (SearchText(letter=each, text=f"{each.job_type} {each.error}") for each in saved)
            SearchText.objects.bulk_create(texts, batch_size=1_000)
    if letters > MANY:
        gather_statistics()


def _letter(tenants: list[Tenant], number: int, causes: int, fields: dict[str, Any]) -> DeadLetter:
    unique, now = next(_numbers), timezone.now()
    state, cause = STATES[number % len(STATES)], number // len(STATES) % causes
    terms: dict[str, Any] = {
        "job_type": f"shop.jobs.job_{cause}",
        "error": "the provider did not answer in time",
        "owner": ("billing", "exports")[cause % 2],
        "severity": ("normal", "high")[number % 2],
        "reason": ("exhausted", "poison")[number % 2],
        "state": state,
        "dead_at": now - timedelta(hours=2, seconds=unique % 4_000),
        "due_at": now + timedelta(seconds=1800 if number % 3 else -unique % 4_000 - 60),
    }
    if state in ("resolved", "discarded"):
        terms |= {"drained_at": now - timedelta(minutes=1), "drain_s": unique % 7_000, "drained_by": "ada"}
    return unsaved(tenants[number % len(tenants)], **(terms | fields))
