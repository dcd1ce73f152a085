"""What the forms about causes offer: values that occur, the teams, and the people who can take something."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db.models import Q

from dlq.filters import UNDRAINED_STATUS
from dlq.group_filters import GroupFilter
from dlq.models import DeadLetterGroup, Severity
from dlq.owners.names import known_owners
from jobops.web.selectors.letter_choices import MOST, Choice
from tenants.access import AnyUser, sees_all, tenants_visible_to
from tenants.roles import STAFF_GROUPS, TABLE, Action, Rule

STATUSES = ((UNDRAINED_STATUS, "To drain"), *DeadLetterGroup.State.choices, ("all", "Drained or not"))


def choices_for(user: AnyUser, asked: GroupFilter) -> list[Choice]:
    """The fields of the filter form for this person."""
    staff = sees_all(user)
    slugs = list(tenants_visible_to(user).order_by("slug").values_list("slug", flat=True)[: MOST + 1])
    found = [_choice("tenant", "Tenant", asked.tenant, slugs)] if staff or len(slugs) > 1 else []
    if staff:
        groups = DeadLetterGroup.objects.filter(due_at__isnull=False).order_by()
        jobs = sorted(groups.values_list("job_type", flat=True).distinct()[: MOST + 1])
        owners = sorted(groups.values_list("owner", flat=True).distinct()[: MOST + 1])
        found += [
            Choice("status", "State", asked.status if asked.status != UNDRAINED_STATUS else "", STATUSES[1:]),
            _choice("job", "Job", asked.job, jobs),
            _choice("owner", "Owner", asked.owner, ["mine", *owners]),
            Choice("assignee", "Assignee", asked.assignee, hint="me, none or a login"),
            Choice("severity", "Severity", asked.severity, Severity.choices),
            Choice("error", "Error class", asked.error, hint="PaymentGatewayError"),
        ]
    return found


def teams() -> list[str]:
    """To whom a cause can be handed: every owner that somebody knows."""
    return sorted(known_owners())[:MOST]


def people() -> Sequence[str]:
    """The logins of who could take one: those of our staff who may work on it."""
    roles = [role for role in STAFF_GROUPS if TABLE[Action.ASSIGN][role] == Rule.YES]
    staff = User.objects.filter(Q(groups__name__in=roles) | Q(is_superuser=True), is_active=True)
    return list(staff.order_by("username").values_list("username", flat=True).distinct()[:MOST])


def _choice(name: str, label: str, value: str, values: Sequence[str]) -> Choice:
    if len(values) > MOST:
        return Choice(name, label, value)
    shown = [*values, value] if value and value not in values else values
    labels = {"mine": "My teams"} if name == "owner" else {}
    return Choice(name, label, value, [(each, labels.get(each, each)) for each in shown if each])
