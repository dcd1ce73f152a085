"""I7: every letter that is not drained has an owner. The table itself keeps empty ones out; this looks at the rest."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from django.db.models import QuerySet
from django.db.models.functions import Trim

from dlq.models import UNDRAINED, DeadLetter
from dlq.ownership import owner_for
from jobops.doctor.findings import Finding
from jobops.doctor.site import Site


def check(site: Site) -> Iterator[Finding]:
    """Letters that are nobody's."""
    site.looked_at["letters"] += DeadLetter.objects.filter(state__in=UNDRAINED).count()
    rows = _nobodys().order_by("pk").values_list("pk", "tenant_slug")
    for letter_id, tenant in rows.iterator(chunk_size=1000):
        text = "nobody owns it, so that nobody will drain it"
        remedy = partial(_give, letter_id)
        yield Finding("letter_without_owner", "letter", str(letter_id), text, tenant, remedy, in_database=True)


def _nobodys() -> QuerySet[DeadLetter]:
    return DeadLetter.objects.filter(state__in=UNDRAINED).alias(name=Trim("owner")).filter(name="")


def _give(letter_id: int) -> str:
    letter = _nobodys().filter(pk=letter_id).first()
    if letter is None:
        return ""
    owner = owner_for(letter.job_type)
    return f"given to {owner}" if _nobodys().filter(pk=letter_id).update(owner=owner) else ""
