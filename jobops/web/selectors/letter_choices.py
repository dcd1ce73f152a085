"""What the filter form offers: values that occur, of each no more than a person would look through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dlq.drained_in import drained_words
from dlq.filters import STATUSES, LetterFilter
from dlq.models import UNDRAINED, Reason, Severity
from dlq.occurring import values_in
from jobops.contracts import durations
from jobops.web.formats import duration
from tenants.access import AnyUser, sees_all, tenants_visible_to

MOST = 200
"""Beyond this a list of choices becomes a field to type into."""

AGES = ("10m", "1h", "6h", "1d", "3d", "7d", "30d")
DRAINED_IN = ("1h", "1d", "7d", "30d")


@dataclass(frozen=True, slots=True)
class Choice:
    """A field of the form. ``options``: value and label of each; none: it is typed."""

    name: str
    label: str
    value: str
    options: Sequence[tuple[str, str]] = ()
    hint: str = ""


def choices_for(user: AnyUser, asked: LetterFilter) -> list[Choice]:
    """The fields for this person. Of a tenant's people nobody has to know what code runs, or which team has it."""
    staff = sees_all(user)
    tenants = list(tenants_visible_to(user).order_by("slug").values_list("slug", flat=True)[: MOST + 1])
    age = durations.show(asked.older_than) if asked.older_than is not None else ""
    fields = [_choice("tenant", "Tenant", asked.tenant, tenants)] if staff or len(tenants) > 1 else []
    if staff:
        states = STATUSES[asked.status]
        fields += [
            _choice("job", "Job", asked.job, values_in("job_type", states, MOST + 1)),
            _owners(asked, values_in("owner", states, MOST + 1)),
            Choice("assignee", "Assignee", asked.assignee, hint="me, none or a login"),
            Choice("severity", "Severity", asked.severity, Severity.choices),
            Choice("reason", "Died of", asked.reason, Reason.choices),
            Choice("error", "Error class", asked.error, hint="PaymentGatewayError"),
        ]
    ages = [(text, f"more than {duration(durations.parse(text).total_seconds())}") for text in _with(AGES, age)]
    fields.append(Choice("older_than", "Died" if staff else "Failed", age, [(t, f"{label} ago") for t, label in ages]))
    if asked.drained or any(state not in UNDRAINED for state in asked.states):
        times = [(text, drained_words(text)) for text in _with(DRAINED_IN, asked.drained)]
        fields.append(Choice("drained", "Drained" if staff else "Dealt with", asked.drained, times))
    return fields


def _owners(asked: LetterFilter, names: Sequence[str]) -> Choice:
    found = _choice("owner", "Owner", asked.owner, names)
    if not found.options:
        return found
    return replace(found, options=[("mine", "My teams"), *(each for each in found.options if each[0] != "mine")])


def _choice(name: str, label: str, value: str, values: Sequence[str]) -> Choice:
    if len(values) > MOST:
        return Choice(name, label, value)
    return Choice(name, label, value, [(each, each) for each in _with(values, value)])


def _with(values: Sequence[str], value: str) -> list[str]:
    """The values, and what is chosen though it does not occur."""
    return [*values, value] if value and value not in values else list(values)
