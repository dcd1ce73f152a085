"""Which causes are meant: the filter of their list, and the letters that a tick on one of them stands for."""

from dataclasses import dataclass, field, replace
from types import MappingProxyType

from django.db.models import Q, QuerySet
from django.utils import timezone

from dlq.asking import Asking
from dlq.filters import LetterFilter, assigned_to, owned_by
from dlq.models import DeadLetter, DeadLetterGroup, Severity
from dlq.searchable import words_of
from dlq.searching import search

UNDRAINED_STATUS, ALL_STATUS = "undrained", "all"
State = DeadLetterGroup.State
STATUSES = (UNDRAINED_STATUS, *State.values, ALL_STATUS)
SORTS = ("due", "-open", "-tenants", "-last", "owner")
NAMED = ("title", "job_type", "error_class", "culprit")
"""What a search looks at, beside the letters."""

SHARED = ("tenant", "job", "owner", "assignee", "severity", "error", "overdue", "q", "deep")
"""What is asked of causes and of letters by the same names."""

LABELS = {
    "status": "State",
    "tenant": "Tenant",
    "job": "Job",
    "owner": "Owner",
    "assignee": "Assignee",
    "severity": "Severity",
    "error": "Error",
    "overdue": "Overdue",
    "q": "Search",
}
CHOICES: dict[str, tuple[str, ...]] = {
    "status": STATUSES,
    "sort": SORTS,
    "severity": tuple(Severity.values),
}


@dataclass(frozen=True, slots=True)
class Searched:
    """Causes that are called what is searched, or in one of whose letters it stands: of very many letters that it
    stands in, the newest ones. ``since``: the id of the letter from which on was searched; None: in all."""

    where: Q
    since: int | None = None


@dataclass(frozen=True, slots=True)
class GroupFilter(Asking):
    """What is asked of causes; a field at its default asks nothing.

    ``status``: ``undrained`` (somebody has to deal with a letter of it), ``all``, or a state of causes. ``tenant``: a
    slug; numbers are that tenant's then. ``overdue``: a letter of it is past its due time. The others as in
    ``LetterFilter``. ``sort``: ``due``, or most open, most tenants, last seen first, or by owner.
    """

    labels = MappingProxyType(LABELS)
    choices = MappingProxyType(CHOICES)

    status: str = UNDRAINED_STATUS
    tenant: str = ""
    job: str = ""
    owner: str = ""
    assignee: str = ""
    severity: str = ""
    error: str = ""
    overdue: bool = False
    q: str = ""
    deep: bool = False
    sort: str = "due"
    me: int | None = field(default=None, compare=False)

    @property
    def order(self) -> str:
        """How it is sorted: what has no due time comes by when it was last seen."""
        by_due = self.status not in (State.DRAINED, ALL_STATUS)
        return "-last" if self.sort == "due" and not by_due else self.sort

    def apply(self, groups: QuerySet[DeadLetterGroup], searched: Searched | None = None) -> QuerySet[DeadLetterGroup]:
        """Those of the causes that are meant, whatever their tenants; in no order. ``searched``: by whom has it."""
        now = timezone.now()
        if self.status == UNDRAINED_STATUS:
            groups = groups.filter(due_at__isnull=False)
        elif self.status != ALL_STATUS:
            groups = groups.filter(state=self.status)
        for column, value in (("job_type", self.job), ("severity", self.severity)):
            if value:
                groups = groups.filter(**{column: value})
        if self.owner:
            groups = groups.filter(owned_by(self.owner, self.me))
        if self.assignee:
            groups = groups.filter(assigned_to(self.assignee, self.me))
        if self.error:
            groups = groups.filter(Q(error_class=self.error) | Q(error_class__endswith=f".{self.error}"))
        if self.overdue:
            groups = groups.filter(due_at__lte=now)
        found = searched or self.searched()
        return groups.filter(found.where) if found else groups

    def letters(self, group_ids: list[int] | None = None) -> LetterFilter:
        """The letters to drain that this filter, or a tick on these of its causes, stands for."""
        group = ",".join(str(pk) for pk in group_ids or [])
        if group_ids is not None:
            return LetterFilter(tenant=self.tenant, group=group, me=self.me)
        shared = {name: getattr(self, name) for name in SHARED}
        return LetterFilter(**shared, me=self.me)

    def shown(self, name: str, value: str) -> str:
        """A value as people read it."""
        return value.replace("undrained", "to drain") if name == "status" else Asking.shown(self, name, value)

    @property
    def is_narrowed(self) -> bool:
        """Whether it asks for anything but a state and an order."""
        return replace(self, status=UNDRAINED_STATUS, sort="due") != GroupFilter()

    def searched(self) -> Searched | None:
        """What the search finds, if there is anything to search; for ``apply``, more than once."""
        if not self.q:
            return None
        words, found = words_of(self.q), search(self.q, deep=self.deep)
        if not words or found is None:
            return Searched(Q(pk__in=[]))
        named = Q()
        for word in words:
            each = Q()
            for column in NAMED:
                each |= Q(**{f"{column}__icontains": word})
            named &= each
        ids = DeadLetter.objects.filter(pk__in=found.first).order_by().values_list("group", flat=True).distinct()
        return Searched(named | Q(pk__in=[pk for pk in ids if pk is not None]), found.since)
