"""The people who look at the pages, and what else these show: alerts."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.test import Client

TEAMS = ("team-3", "team-5")


def reader(slug: str = "") -> Client:
    """A signed-in person: on call and in two teams or, with a slug, this tenant's admin."""
    from django.contrib.auth.models import User
    from django.test import Client

    from tenants.models import Membership, Team, TeamMember, Tenant
    from tenants.roles import Role
    from tenants.staff import membership_set, staff_role_give

    user, _ = User.objects.get_or_create(username=f"reader-{slug or 'staff'}")
    if slug:
        membership_set(user=user, tenant=Tenant.objects.get(slug=slug), role=Membership.Role.ADMIN, by="command:bench")
    else:
        staff_role_give(user=user, role=Role.ON_CALL, by="command:bench")
        for name in TEAMS:
            TeamMember.objects.get_or_create(team=Team.objects.get_or_create(name=name)[0], user=user)
    client = Client(SERVER_NAME="localhost")
    client.force_login(user, "django.contrib.auth.backends.ModelBackend")
    return client


def alerts(still: int, over: int) -> None:
    """So many that go on, one of three acknowledged, and so many that are over."""
    from django.utils import timezone

    from jobops.alerts.models import Alert
    from rig.loading import Table

    now = timezone.now()
    fields = (
        "key", "signal", "state", "owner", "title", "path", "value", "threshold", "since", "seen_at", "resolved_at"
    )  # fmt: skip

    def rows():  # type: ignore[no-untyped-def]
        for number in range(still + over):
            ended = now - timedelta(minutes=number) if number >= still else None
            state = "resolved" if ended else "acknowledged" if number % 3 == 0 else "firing"
            since = (ended or now) - timedelta(minutes=30)
            title = f"4 died in 5 minutes of cause {number}"
            yield (
                f"new_cause:{number}", "new_cause", state, f"team-{number % 12}", title, f"/dlq/groups/{number + 1}/",
                4.0, 1.0, since, now, ended,
            )  # fmt: skip

    Table(Alert, fields).write(rows())
