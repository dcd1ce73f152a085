"""Which letters are meant: one filter for the page and its links, for bulk actions, the export and the command."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Right
from django.db.models.lookups import Exact
from django.utils import timezone

from dlq.asking import LONGEST_VALUE, ME, MINE, NOBODY, Asking, Word, names_in, numbers_in
from dlq.drained_in import period_of
from dlq.models import UNDRAINED, DeadLetter, Reason, Severity, State
from dlq.narrowing import narrowed
from dlq.occurring import values_in
from dlq.people import person_named, teams_of
from dlq.searching import matching, search
from jobops.batches.models import Batch
from tenants.models import Tenant

__all__ = ["LONGEST_VALUE", "LetterFilter", "Word", "parse"]

UNDRAINED_STATUS, ALL_STATUS = "undrained", "all"
STATUSES: dict[str, tuple[State, ...]] = {
    UNDRAINED_STATUS: UNDRAINED,
    **{state.value: (state,) for state in State},
    ALL_STATUS: tuple(State),
}
SORTS = {"due": ("due_at", "id"), "newest": ("-dead_at", "-id")}
STATUSES_SHOWN = {UNDRAINED_STATUS: "To drain", ALL_STATUS: "Any", **{state.value: state.label for state in State}}
MOST_CLASSES = 500
"""Beyond so many classes of errors it is cheaper to read them all than to look them up one by one."""

LEADS = ("group", "tenant", "assignee", "job", "error", "owner", "severity", "reason")
"""What an index holds together with the state and the due times, the rarest first."""


LABELS = {
    "status": "State",
    "tenant": "Tenant",
    "job": "Job",
    "owner": "Owner",
    "assignee": "Assignee",
    "severity": "Severity",
    "reason": "Died of",
    "error": "Error",
    "group": "Cause",
    "older_than": "Older than",
    "overdue": "Overdue",
    "drained": "Drained",
    "batch": "Batch",
    "q": "Search",
}
CHOICES: dict[str, tuple[str, ...]] = {
    "status": tuple(STATUSES),
    "sort": tuple(SORTS),
    "reason": tuple(Reason.values),
    "severity": tuple(Severity.values),
}


@dataclass(frozen=True, slots=True)
class LetterFilter(Asking):
    """What is asked of letters; a field at its default asks nothing.

    ``status``: ``undrained``, ``all`` or a state. ``tenant``: a slug; of a tenant that is gone, the slug it had.
    ``owner``: teams, with commas between them, or ``mine``. ``assignee``: a login, ``me`` or ``none``.
    ``group``: causes by their numbers, with commas between them.
    ``error``: an error's class, whole or its last dotted part. ``older_than``: since the first death.
    ``overdue``: undrained after its due time. ``drained``: in this time (``dlq.drained_in``). ``batch``: members of
    this one. ``q``: words that must all occur;
    ``deep``: in any letter, not only the newest (``dlq.searching``).
    ``sort``: ``due`` or ``newest``. ``me``: the id of whoever asks, for what says me or mine; in no address.
    """

    labels = MappingProxyType(LABELS)
    choices = MappingProxyType(CHOICES)

    status: str = UNDRAINED_STATUS
    tenant: str = ""
    job: str = ""
    owner: str = ""
    assignee: str = ""
    severity: str = ""
    reason: str = ""
    error: str = ""
    group: str = ""
    older_than: timedelta | None = None
    overdue: bool = False
    drained: str = ""
    batch: str = ""
    q: str = ""
    deep: bool = False
    sort: str = "due"
    me: int | None = field(default=None, compare=False)

    @property
    def states(self) -> tuple[State, ...]:
        """The states that letters may be in; none if what is asked contradicts itself."""
        asked = STATUSES[self.status]
        if self.drained:
            asked = tuple(state for state in asked if state not in UNDRAINED)
        return tuple(state for state in asked if state in UNDRAINED) if self.overdue else asked

    @property
    def order(self) -> tuple[str, ...]:
        """The fields to sort by, for ``order_by``."""
        return SORTS[self.sort]

    @property
    def is_empty(self) -> bool:
        """Whether it asks nothing; in which order is no question."""
        return replace(self, sort="due") == LetterFilter()

    def parts(self, letters: QuerySet[DeadLetter]) -> list[QuerySet[DeadLetter]]:
        """Those of the letters that are meant, one queryset for each state: each is read from an index of its own."""
        found = search(self.q, deep=self.deep)
        conditions = self._conditions()
        meant = self._narrowed(letters, conditions) if self.states else letters.none()
        parts = [meant.filter(state=state) for state in self.states]
        return [found.in_order(each) for each in parts] if found else parts

    def apply(self, letters: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
        """Those of the letters that are meant, in no order: to count, to export, to make members of."""
        if not self.states:
            return letters.none()
        narrowed = self._narrowed(letters.filter(state__in=self.states), self._conditions())
        return matching(narrowed, self.q, deep=self.deep)

    def shown(self, name: str, value: str) -> str:
        """A value as people read it."""
        if name == "reason":
            return str(Reason(value).label)
        return STATUSES_SHOWN.get(value, value) if name == "status" else Asking.shown(self, name, value)

    @property
    def is_counted(self) -> bool:
        """Whether one index holds all that is asked, so that whatever matches is quickly counted."""
        asked = {name for name, _ in self.asked()} - {"status", "sort", "q", "deep"}
        by_age = replace(self, sort="newest" if self.older_than is not None else "due")
        return asked <= by_age._lead(asked - self._on_rows)

    @property
    def _on_rows(self) -> set[str]:
        """What no index holds; that nobody has taken a letter, as it is so of most of them."""
        return {"batch", "assignee"} if self.assignee == NOBODY else {"batch"}

    def _narrowed(self, letters: QuerySet[DeadLetter], conditions: Mapping[str, Q]) -> QuerySet[DeadLetter]:
        lead = self._lead(set(conditions) - self._on_rows)
        return narrowed(letters, self.states, conditions, lead, self._on_rows)

    def _lead(self, names: set[str]) -> set[str]:
        """The conditions that one index holds together with the order."""
        if self.sort == "newest":
            return names & {"tenant", "older_than"}
        if {"tenant", "group"} <= names:
            return {"tenant", "group"} | names & {"overdue"}
        return {next((name for name in LEADS if name in names), ""), *names & {"overdue"}}

    def _conditions(self) -> dict[str, Q]:
        now = timezone.now()
        found = self._whose()
        if self.tenant:
            found["tenant"] = _of_tenant(self.tenant)
        for name, column in (("job", "job_type"), ("reason", "reason"), ("severity", "severity")):
            if value := getattr(self, name):
                found[name] = Q(**{column: value})
        if self.error:
            found["error"] = self._of_error()
        if self.batch:
            found["batch"] = _of_batch(self.batch)
        if self.overdue:
            found["overdue"] = Q(due_at__lte=now)
        if self.drained:
            period = period_of(self.drained, now)
            found["drained"] = Q(drained_at__gte=period.since, drained_at__lt=period.until)
        if self.older_than is not None:
            found["older_than"] = Q(dead_at__lte=now - self.older_than)
        return found

    def _whose(self) -> dict[str, Q]:
        found: dict[str, Q] = {}
        if self.owner:
            found["owner"] = owned_by(self.owner, self.me)
        if self.assignee:
            found["assignee"] = assigned_to(self.assignee, self.me)
        if self.group:
            found["group"] = Q(group__in=numbers_in(self.group))
        return found

    def _of_error(self) -> Q:
        """The classes of that name, spelled out, so that the index on them is of use."""
        whole, tail = Q(error_class=self.error), f".{self.error}"
        occurring = values_in("error_class", self.states, MOST_CLASSES + 1)
        if len(occurring) > MOST_CLASSES:
            return whole | Q(Exact(Right("error_class", len(tail)), Value(tail)))
        longer = [name for name in occurring if name.endswith(tail)]
        return Q(error_class__in=[self.error, *longer]) if longer else whole


DEFAULTS: dict[str, Any] = LetterFilter.defaults()


def parse(params: Mapping[str, str]) -> tuple[LetterFilter, dict[str, str]]:
    """As ``LetterFilter.parse``."""
    return LetterFilter.parse(params)


def owned_by(asked: str, me: int | None) -> Q:
    """Owned by one of these teams; ``mine``: by one that ``me`` is in."""
    names = teams_of(me) if asked == MINE else names_in(asked)
    return Q(owner=names[0]) if len(names) == 1 else Q(owner__in=names)


def assigned_to(asked: str, me: int | None) -> Q:
    """Assigned to this login, to ``me`` or to ``none``; to somebody who is not there is nothing."""
    if asked == NOBODY:
        return Q(assignee__isnull=True)
    who = me if asked == ME else person_named(asked)
    return Q(pk__in=[]) if who is None else Q(assignee=who)


def _of_tenant(slug: str) -> Q:
    # By key: letters of a former tenant of the same name are not this one's.
    tenant = Tenant.objects.filter(slug=slug).values_list("pk", flat=True).first()
    return Q(tenant=tenant) if tenant is not None else Q(tenant__isnull=True, tenant_slug=slug)


def _of_batch(batch_id: str) -> Q:
    # No index holds the batch; one holds its tenant and the time since it began.
    batch = Batch.objects.filter(pk=batch_id).first()
    if batch is None or not batch.tenant_uid.isdigit():
        return Q(batch=batch_id)
    return Q(tenant=int(batch.tenant_uid), dead_at__gte=batch.created_at, batch=batch_id)
