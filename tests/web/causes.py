"""Causes for the tests of their pages, with counts as the intake keeps them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Min
from django.utils import timezone

from dlq.models import DeadLetter, DeadLetterGroup, GroupSpan, GroupTenant
from tenants.models import Tenant
from tests.web.world import World

COUNTED = ("open", "replaying", "resolved", "discarded")


def cause(title: str = "Provider answered 503", **fields: Any) -> DeadLetterGroup:
    """A cause without letters."""
    number = DeadLetterGroup.objects.count()
    defaults: dict[str, Any] = {
        "fingerprint": f"{number:064x}",
        "title": title,
        "job_type": "shop.jobs.send",
        "error_class": "shop.errors.ProviderError",
        "owner": "billing",
        "first_seen_at": timezone.now() - timedelta(hours=3),
    }
    return DeadLetterGroup.objects.create(**(defaults | fields))


def letter_of(world: World, group: DeadLetterGroup, tenant: Tenant, **fields: Any) -> DeadLetter:
    """A letter of this cause, counted."""
    now = timezone.now()
    made = world.letter(tenant, **({"group": group, "job_type": group.job_type} | fields))
    state = str(made.state)
    share, is_new = GroupTenant.objects.get_or_create(group=group, tenant=tenant)
    for counted in (group, share):
        setattr(counted, state, getattr(counted, state) + 1)
        counted.deaths += 1
        counted.last_seen_at = now
    share.save()
    group.tenants += is_new
    group.sample_id = made.pk
    undrained = DeadLetter.objects.filter(group=group, state__in=("open", "replaying"))
    group.due_at = undrained.aggregate(due=Min("due_at"))["due"]
    if group.state == DeadLetterGroup.State.DRAINED and group.due_at is not None:
        group.state = DeadLetterGroup.State.ACTIVE
    group.save()
    span = now.replace(minute=now.minute - now.minute % 5, second=0, microsecond=0)
    row, _ = GroupSpan.objects.get_or_create(group=group, at=span)
    row.deaths += 1
    row.save()
    return made
