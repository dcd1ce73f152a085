"""Which letters are meant: one filter for the page and its links, for bulk actions, the export and the command."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Right
from django.db.models.lookups import Exact
from django.utils import timezone

from dlq.models import UNDRAINED, DeadLetter, Reason, State
from dlq.occurring import values_in
from dlq.searching import matching, search
from jobops.batches.models import Batch
from jobops.contracts import durations
from tenants.models import Tenant

UNDRAINED_STATUS, ALL_STATUS = "undrained", "all"
STATUSES: dict[str, tuple[State, ...]] = {
    UNDRAINED_STATUS: UNDRAINED,
    **{state.value: (state,) for state in State},
    ALL_STATUS: tuple(State),
}
SORTS = {"due": ("due_at", "id"), "newest": ("-dead_at", "-id")}
STATUSES_SHOWN = {UNDRAINED_STATUS: "To drain", ALL_STATUS: "Any", **{state.value: state.label for state in State}}
CHOICES = {"status": tuple(STATUSES), "sort": tuple(SORTS), "reason": tuple(Reason.values)}
LONGEST_VALUE = 200
MOST_CLASSES = 500
"""Beyond so many classes of errors it is cheaper to read them all than to look them up one by one."""

# What each is called beside its value.
LABELS = {
    "status": "State",
    "tenant": "Tenant",
    "job": "Job",
    "owner": "Owner",
    "reason": "Died of",
    "error": "Error",
    "older_than": "Older than",
    "overdue": "Overdue",
    "batch": "Batch",
    "q": "Search",
}


class Word(NamedTuple):
    """One thing that a filter asks for, as people read it; ``without`` is the query string without it."""

    name: str
    label: str
    value: str
    without: str


@dataclass(frozen=True, slots=True)
class LetterFilter:
    """What is asked of letters; a field at its default asks nothing.

    ``status``: ``undrained``, ``all`` or a state. ``tenant``: a slug; of a tenant that is gone, the slug it had.
    ``error``: an error's class, whole or its last dotted part. ``older_than``: since the first death.
    ``overdue``: undrained after its due time. ``batch``: members of this one. ``q``: words that must all occur.
    ``sort``: ``due`` or ``newest``.
    """

    status: str = UNDRAINED_STATUS
    tenant: str = ""
    job: str = ""
    owner: str = ""
    reason: str = ""
    error: str = ""
    older_than: timedelta | None = None
    overdue: bool = False
    batch: str = ""
    q: str = ""
    sort: str = "due"

    @property
    def states(self) -> tuple[State, ...]:
        """The states that letters may be in; none if what is asked contradicts itself."""
        asked = STATUSES[self.status]
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
        found = search(self.q)
        conditions = self._conditions()
        narrowed = [self._narrowed(letters.filter(state=state), (state,), conditions) for state in self.states]
        return [found.in_order(each) for each in narrowed] if found else narrowed

    def apply(self, letters: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
        """Those of the letters that are meant, in no order: to count, to export, to make members of."""
        if not self.states:
            return letters.none()
        return matching(self._narrowed(letters.filter(state__in=self.states), self.states, self._conditions()), self.q)

    def as_query(self, **changes: Any) -> str:
        """The query string that ``parse`` reads as this filter with these changes; defaults are left out."""
        return urlencode(dict(replace(self, **changes)._asked()))

    def words(self) -> list[Word]:
        """What it asks for, one by one."""
        return [
            Word(name, LABELS[name], _shown(name, value), self.as_query(**{name: DEFAULTS[name]}))
            for name, value in self._asked()
            if name in LABELS
        ]

    def _asked(self) -> Iterator[tuple[str, str]]:
        for name, default in DEFAULTS.items():
            value = getattr(self, name)
            if value != default:
                yield name, _written(value)

    def _narrowed(
        self, letters: QuerySet[DeadLetter], states: tuple[State, ...], conditions: Mapping[str, Q]
    ) -> QuerySet[DeadLetter]:
        """One condition leads, together with the order; an index holds both. The others name ids, each read off an
        index alone: a row is long, and reading a thousand of them to leave most of them out takes its time."""
        lead = self._lead(conditions)
        for name, condition in conditions.items():
            if name in lead:
                letters = letters.filter(condition)
            else:
                ids = DeadLetter.objects.filter(condition, state__in=states)
                letters = letters.filter(pk__in=ids.order_by().values("pk"))
        return letters

    def _lead(self, conditions: Mapping[str, Q]) -> set[str]:
        if self.sort == "newest":
            return {"tenant", "older_than"}
        first = next((name for name in ("tenant", "job", "owner", "error", "reason") if name in conditions), "")
        return {first, "overdue"}

    def _conditions(self) -> dict[str, Q]:
        now = timezone.now()
        found: dict[str, Q] = {}
        if self.tenant:
            found["tenant"] = _of_tenant(self.tenant)
        for name, field in (("job", "job_type"), ("owner", "owner"), ("reason", "reason")):
            if value := getattr(self, name):
                found[name] = Q(**{field: value})
        if self.error:
            found["error"] = self._of_error()
        if self.batch:
            found["batch"] = _of_batch(self.batch)
        if self.overdue:
            found["overdue"] = Q(due_at__lte=now)
        if self.older_than is not None:
            found["older_than"] = Q(dead_at__lte=now - self.older_than)
        return found

    def _of_error(self) -> Q:
        """The classes of that name, spelled out, so that the index on them is of use."""
        whole, tail = Q(error_class=self.error), f".{self.error}"
        occurring = values_in("error_class", self.states, MOST_CLASSES + 1)
        if len(occurring) > MOST_CLASSES:
            return whole | Q(Exact(Right("error_class", len(tail)), Value(tail)))
        longer = [name for name in occurring if name.endswith(tail)]
        return Q(error_class__in=[self.error, *longer]) if longer else whole


DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(LetterFilter)}


def parse(params: Mapping[str, str]) -> tuple[LetterFilter, dict[str, str]]:
    """The filter that a query string asks for, and what of it was passed over: parameter → what would be right.

    Never raises: whatever cannot be meant is left out, and said.
    """
    values: dict[str, Any] = {}
    faults: dict[str, str] = {}
    for name in DEFAULTS:
        text = str(params.get(name) or "").strip()
        if not text:
            continue
        try:
            values[name] = _read(name, text)
        except ValueError as error:
            faults[name] = str(error)
    return LetterFilter(**values), faults


def _read(name: str, text: str) -> Any:
    if len(text) > LONGEST_VALUE:
        raise ValueError(f"longer than {LONGEST_VALUE} characters")
    if not text.isprintable():
        raise ValueError("holds characters that cannot be seen")
    choices = CHOICES.get(name)
    if choices is not None and text not in choices:
        raise ValueError(f"must be one of {', '.join(choices)}")
    if name == "overdue":
        if text not in ("0", "1"):
            raise ValueError("must be 1 or nothing")
        return text == "1"
    if name == "older_than":
        return durations.parse(text)
    return text


def _written(value: Any) -> str:
    if isinstance(value, timedelta):
        return durations.show(value)
    return "1" if value is True else str(value)


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


def _shown(name: str, value: str) -> str:
    if name == "reason":
        return str(Reason(value).label)
    return {"overdue": "yes", "status": STATUSES_SHOWN.get(value, value)}.get(name, value)
