"""The list of dead letters that somebody still has to deal with. From the database alone: Redis may be away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, Q
from django.utils import timezone

from dlq.access import letters_visible_to
from dlq.models import UNDRAINED, DeadLetter
from dlq.payloads import shown_error
from dlq.text import one_line
from jobops.web.formats import SOON_S
from jobops.web.paging import Slice, slice_by_instant
from tenants.access import AnyUser, sees_all, tenants_visible_to
from tenants.models import Tenant

LONG_TEXTS = ("traceback", "payload_raw", "history")
LONGEST_ERROR = 240


@dataclass(frozen=True, slots=True)
class LetterLine:
    """A row: the letter, what went wrong without what is secret, and how near its deadline is."""

    letter: DeadLetter
    error: str
    overdue: bool
    soon: bool


@dataclass(frozen=True, slots=True)
class LetterList:
    """One page of letters, those due first first; ``open`` and ``overdue`` count all of them.

    ``tenants``: the slugs among which this person's letters are, at most two of them.
    """

    staff: bool
    tenant: Tenant | None
    tenants: Sequence[str]
    open: int
    overdue: int
    slice: Slice[DeadLetter]
    lines: Sequence[LetterLine]

    @property
    def one_tenant(self) -> bool:
        """Whether it goes without saying whose letters these are."""
        return self.tenant is not None or (not self.staff and len(self.tenants) < 2)


def letter_list(user: AnyUser, params: Mapping[str, str], tenant: Tenant | None = None) -> LetterList:
    """The letters this person may see, all or (``tenant``) one tenant's, in a constant number of queries."""
    letters = letters_visible_to(user)
    if tenant is not None:
        letters = letters.filter(tenant=tenant)
    now, staff = timezone.now(), sees_all(user)
    sums = letters.filter(state__in=UNDRAINED).aggregate(n=Count("pk"), late=Count("pk", filter=Q(due_at__lte=now)))
    # One read for each state, as the index begins with it.
    parts = [letters.filter(state=state).select_related("tenant").defer(*LONG_TEXTS) for state in UNDRAINED]
    page = slice_by_instant(parts, "due_at", params, {"tenant": tenant.slug if tenant else ""})
    own = [] if staff else list(tenants_visible_to(user).values_list("slug", flat=True)[:2])
    lines = []
    for letter in page.rows:
        error = one_line(shown_error(letter).strip() or letter.get_reason_display(), LONGEST_ERROR)
        left_s = (letter.due_at - now).total_seconds()
        lines.append(LetterLine(letter, error, left_s <= 0, 0 < left_s < SOON_S))
    return LetterList(staff, tenant, own, sums["n"], sums["late"], page, lines)
