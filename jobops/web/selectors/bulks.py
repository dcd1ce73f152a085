"""What the page of a bulk action shows: the preview of a draft, or how far one is that runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count
from django.utils import timezone

from dlq.access import can_run, get_bulk, tenants_where
from dlq.bulk_preview import Preview, preview
from dlq.bulk_progress import Progress, died_again, progress
from dlq.models import BulkAction, BulkMember, DeadLetter, ReplayRun, State
from jobops.audit.models import AuditEntry
from jobops.web.selectors.acting import ACTIONS, may_act
from jobops.web.selectors.lately import Lately, of_these_types, of_this_cause
from jobops.web.selectors.letter_buttons import refusal
from jobops.web.selectors.letter_rows import error_of, light
from jobops.web.selectors.replay_draft import DraftFacts, draft_facts
from jobops.web.selectors.replay_run import ReplayFacts, replay_facts
from tenants.access import Allowed, AnyUser, can, sees_all, tenants_visible_to
from tenants.models import Tenant
from tenants.roles import Action

MOST_DIED = 20
MOST_HAPPENINGS = 20


@dataclass(frozen=True, slots=True)
class Row:
    """A letter with its error on one line, and when it died (again)."""

    letter: DeadLetter
    error: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class BulkPage:
    """A draft has a ``preview``, any other ``progress``. ``may``: whether this person may confirm, stop or undo it.

    ``undone_by``: the undo of this discard, if there is one. ``paused``: tenants that are paused, each with how many
    replayed jobs wait for that to end, most first. ``choice`` and ``replay``: what more there is of a replay.
    """

    bulk: BulkAction
    staff: bool
    may: Allowed
    read_at: datetime
    preview: Preview | None = None
    progress: Progress | None = None
    sample: Sequence[Row] = ()
    lately: Lately = field(default_factory=Lately)
    died: Sequence[Row] = ()
    undone_by: BulkAction | None = None
    happened: Sequence[AuditEntry] = ()
    paused: Sequence[tuple[Tenant, int]] = ()
    choice: DraftFacts = field(default_factory=DraftFacts)
    replay: ReplayFacts = field(default_factory=ReplayFacts)

    @property
    def is_draft(self) -> bool:
        return self.preview is not None


def bulk_page(user: AnyUser, bulk_id: int) -> BulkPage:
    """The action, if it exists for this person; raises ``Http404``. A constant number of queries."""
    bulk = get_bulk(user, bulk_id)
    staff, now = sees_all(user), timezone.now()
    may = may_run(user, bulk)
    if bulk.state == BulkAction.State.DRAFT:
        found = preview(bulk)
        ids = [letter.pk for letter in found.sample]
        tenants = None if found.tenants.others else [share.name for share in found.tenants.top]
        choice = draft_facts(user, bulk, [share.name for share in found.jobs.top], tenants, staff=staff)
        return BulkPage(
            bulk, staff, may, now, preview=found, sample=_rows(ids), lately=_lately(user, bulk, found, choice, now),
            paused=_paused(bulk), choice=choice,
        )  # fmt: skip
    at = progress(bulk)
    ended = dict(died_again(bulk).values_list("letter_id", "ended_at")[:MOST_DIED]) if at.died else {}
    undone_by = BulkAction.objects.filter(undoes=bulk).exclude(state=BulkAction.State.CANCELLED).first()
    if _is_undoable(bulk):
        may = may_undo(user, bulk)
    return BulkPage(
        bulk, staff, may, now, progress=at, died=_rows(list(ended), ended), undone_by=undone_by,
        happened=_happened(bulk), paused=_paused(bulk), replay=replay_facts(user, bulk, at, now),
    )  # fmt: skip


def may_run(user: AnyUser, bulk: BulkAction) -> Allowed:
    """Whether this person may confirm or stop it: do what it does to all that it is still to be done to."""
    if sees_all(user):
        return can(user, ACTIONS[bulk.kind])
    somewhere = may_act(user, bulk.kind)
    return can_run(user, bulk) if somewhere else Allowed(False, somewhere.reason)


def may_undo(user: AnyUser, bulk: BulkAction) -> Allowed:
    """Whether this person may open all letters again that it has closed."""
    where = tenants_where(user, Action.UNDO)
    if where is None:
        return Allowed(True)
    done = bulk.members.filter(state=BulkMember.State.DONE)
    if where and not done.exclude(letter__tenant__in=where).exists():
        return Allowed(True)
    return Allowed(False, refusal(user, can(user, Action.UNDO, tenants_visible_to(user).first())))


def _is_undoable(bulk: BulkAction) -> bool:
    over = bulk.state in (BulkAction.State.FINISHED, BulkAction.State.CANCELLED)
    return bulk.kind == BulkAction.Kind.DISCARD and over and bulk.done > 0


def _rows(ids: Sequence[int], ended: dict[int, datetime | None] | None = None) -> list[Row]:
    letters = light(DeadLetter.objects.filter(pk__in=ids)).in_bulk() if ids else {}
    found = [letters[pk] for pk in ids if pk in letters]
    return [Row(letter, error_of(letter), (ended or {}).get(letter.pk, letter.dead_at)) for letter in found]


def _lately(user: AnyUser, bulk: BulkAction, found: Preview, choice: DraftFacts, now: datetime) -> Lately:
    if bulk.kind != BulkAction.Kind.REPLAY:
        return Lately()
    if choice.group is not None:
        return of_this_cause(choice.group.pk, now)
    names = [share.name for share in found.jobs.top]
    tenants = None if sees_all(user) else list(tenants_visible_to(user).values_list("pk", flat=True))
    return of_these_types(names, now, tenants)


def _paused(bulk: BulkAction) -> list[tuple[Tenant, int]]:
    paused = Tenant.objects.filter(paused=True).in_bulk() if bulk.kind == BulkAction.Kind.REPLAY else {}
    if not paused:
        return []
    to_come = bulk.members.filter(state=BulkMember.State.WAITING, letter__state=State.OPEN)
    if bulk.state == BulkAction.State.CANCELLED:
        to_come = to_come.none()
    sent = bulk.runs.filter(state=ReplayRun.State.RUNNING)
    waiting: Counter[int] = Counter()
    for rows in (to_come, sent):
        theirs = rows.filter(letter__tenant__in=paused).order_by().values_list("letter__tenant")
        waiting.update(dict(theirs.annotate(n=Count("pk"))))
    return [(paused[pk], count) for pk, count in waiting.most_common()]


def _happened(bulk: BulkAction) -> list[AuditEntry]:
    rows = AuditEntry.objects.filter(target_kind="bulk", target_id=str(bulk.pk))
    return list(rows.order_by("-id")[:MOST_HAPPENINGS])
