"""All that the page of a cause shows, from the database alone: Redis may be away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone

from dlq.access import get_group, letters_visible_to
from dlq.bulk_progress import Progress
from dlq.filters import LetterFilter
from dlq.group_filters import GroupFilter
from dlq.models import BulkAction, DeadLetter, DeadLetterGroup, GroupNote
from dlq.owners.several import names_of_others
from jobops.audit.models import AuditEntry
from jobops.web.group_page_words import DID
from jobops.web.selectors.group_bulks import bulks_of
from jobops.web.selectors.group_lines import GroupLine, lines_of
from jobops.web.selectors.group_numbers import numbers_of, own_numbers
from jobops.web.selectors.group_sample import Sample, sample_of
from jobops.web.selectors.groups import scope_of
from jobops.web.selectors.lately import Lately, of_this_cause
from jobops.web.selectors.letter_rows import light
from jobops.web.selectors.letters import LetterLine, line_of
from tenants.access import AnyUser, sees_all, tenants_visible_to

MOST_LETTERS = 10
MOST_NOTES = 50
MOST_HAPPENED = 30


@dataclass(frozen=True, slots=True)
class GroupPage:
    """``line``: its numbers and its clock. ``sample`` None: every letter of it was purged, or is none of theirs.

    ``letters``: those that are due first; ``filter``: all of them. ``notes``, ``happened`` and ``bulks``
    (what was done to all of it, and how far that is): for staff, newest first.
    ``scope``: the tenants whose numbers these are; None: everybody's. ``teams``: who else has letters of it.
    """

    group: DeadLetterGroup
    staff: bool
    scope: Sequence[int] | None
    line: GroupLine
    sample: Sample | None
    letters: Sequence[LetterLine]
    filter: LetterFilter
    lately: Lately | None
    notes: Sequence[GroupNote]
    happened: Sequence[AuditEntry]
    bulks: Sequence[tuple[BulkAction, Progress]]
    one_tenant: bool
    teams: Sequence[str]
    read_at: datetime


def group_page(user: AnyUser, group_id: int, tenant: str = "") -> GroupPage:
    """The cause, if this person may see it; ``tenant``: a slug, of whose letters only is told. Raises ``Http404``.

    A constant number of queries.
    """
    group, now, staff = get_group(user, group_id), timezone.now(), sees_all(user)
    scope = scope_of(user, GroupFilter(tenant=tenant))
    numbers = {group.pk: numbers_of(group)} if scope is None else own_numbers(scope, [group.pk])
    meant = LetterFilter(group=str(group.pk), tenant=tenant)
    visible = letters_visible_to(user)
    if group.pk not in numbers:
        numbers = own_numbers(list(tenants_visible_to(user).values_list("pk", flat=True)), [group.pk])
    line = lines_of(user, [group], numbers, now, scope)[0]
    letters = _due_first(meant, visible)
    return GroupPage(
        group=group,
        staff=staff,
        scope=scope,
        line=line,
        sample=_sample(user, group, letters),
        letters=[line_of(letter, now, staff=staff) for letter in letters],
        filter=meant,
        lately=of_this_cause(group.pk, now, scope) if line.numbers.undrained else None,
        notes=list(group.notes.order_by("-pk")[:MOST_NOTES]) if staff else (),
        happened=_happened(group) if staff else (),
        bulks=bulks_of(group) if staff else (),
        one_tenant=bool(tenant) or (not staff and len(scope or ()) < 2),
        teams=names_of_others(group, scope) if staff else (),
        read_at=now,
    )


def _due_first(meant: LetterFilter, letters: QuerySet[DeadLetter]) -> list[DeadLetter]:
    # One read for each state, as each index begins with it.
    found = [letter for part in meant.parts(letters) for letter in light(part).order_by("due_at", "pk")[:MOST_LETTERS]]
    return sorted(found, key=lambda letter: (letter.due_at, letter.pk))[:MOST_LETTERS]


def _sample(user: AnyUser, group: DeadLetterGroup, letters: Sequence[DeadLetter]) -> Sample | None:
    """The newest letter of the cause, if it is theirs to read; else one of those that are listed."""
    visible = letters_visible_to(user).filter(group=group.pk).select_related("tenant")
    wanted = [group.sample_id or 0, *(letter.pk for letter in letters[:1])]
    found = {letter.pk: letter for letter in visible.filter(pk__in=wanted)}
    chosen = next((found[pk] for pk in wanted if pk in found), None)
    if chosen is None and not letters:
        chosen = visible.order_by("-pk").first()
    return sample_of(user, chosen) if chosen is not None else None


def _happened(group: DeadLetterGroup) -> list[AuditEntry]:
    # Groups of accounts are targets of this kind too, and may be called by a number.
    rows = AuditEntry.objects.filter(target_kind="group", target_id=str(group.pk), action__in=list(DID))
    return list(rows.order_by("-pk")[:MOST_HAPPENED])
