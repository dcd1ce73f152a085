"""The table of every URL: its methods, and what each role gets. The tests hold it against the resolver."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver

from dlq.models import BulkAction, DeadLetter, DeadLetterGroup, DiscardReason, Redirect, RuleSet
from jobops.audit.models import AuditEntry
from jobops.batches.models import Batch
from jobops.limits.models import LimitChange, Pause
from tenants.models import Team, TeamMember, Tenant
from tests.web.alert_things import alert_things, state_of_alerts
from tests.web.causes import cause, letter_of
from tests.web.world import World

METHODS = ("get", "post", "put", "patch", "delete")
FOREIGN, OWN = "rival", "acme"
ROLES = ("superuser", "operator", "on call", "staff viewer", "tenant admin", "tenant viewer", None)
READ, ACT = frozenset({"get"}), frozenset({"post"})

Codes = dict[str | None, int]


def gets(*codes: int) -> Codes:
    """A code for each role, in the order of ``ROLES``."""
    return dict(zip(ROLES, codes, strict=True))


# 403: their role does not allow it; 404: it does not exist for them.
#                 superuser, operator, on call, staff viewer, tenant admin, tenant viewer, no role at all
EVERYBODY = gets(200, 200, 200, 200, 200, 200, 200)
STAFF = gets(200, 200, 200, 200, 403, 403, 403)
STAFF_OR_OWN = gets(200, 200, 200, 200, 200, 200, 404)
MAY_ACT = gets(302, 302, 302, 403, 302, 403, 404)
MAY_ACT_ON_MANY = gets(302, 302, 302, 403, 302, 403, 403)
MAY_CANCEL = gets(302, 302, 302, 403, 403, 403, 404)
AUDIT = gets(200, 200, 200, 403, 200, 403, 403)
SUPERUSER = gets(200, 403, 403, 403, 403, 403, 403)
TRIAGE_ACTS = gets(302, 302, 302, 403, 403, 403, 403)
OPERATES = gets(302, 302, 403, 403, 403, 403, 403)
# Who comes second finds the name taken.
MAKES_ONE = gets(302, 422, 403, 403, 403, 403, 403)
# A bulk action is its maker's; of the tenants' people nobody sees what staff made.
STAFF_ONLY_EXISTS = gets(200, 200, 200, 200, 404, 404, 404)
STAFF_ONLY_ACTS = gets(302, 302, 302, 403, 404, 404, 404)


@dataclass(frozen=True, slots=True)
class Rule:
    """What a URL answers. ``sends``: what a POST carries."""

    methods: frozenset[str]
    codes: Codes
    sends: dict[str, Any] = field(default_factory=dict)


REASON = {"reason": "x"}
EDIT = {"value.shop": '"acme"', "value.order": "2"}
NEW_CHANNEL = {"name": "new", "kind": "email", "target": "a@example.com", "least_severity": "low"}
# What is not here must be in PUBLIC or SIGNED_IN, or under a prefix of OTHERS.
RULES: dict[str, Rule] = {
    "overview": Rule(READ, EVERYBODY),
    "tenants": Rule(READ, EVERYBODY),
    "tenant": Rule(READ, STAFF_OR_OWN),
    "tenant-pause": Rule(ACT, MAY_ACT, REASON),
    "tenant-resume": Rule(ACT, MAY_ACT),
    "dlq": Rule(READ, EVERYBODY),
    "dlq-export": Rule(ACT, EVERYBODY, {"format": "csv"}),
    "dlq-act": Rule(ACT, MAY_ACT_ON_MANY, {"kind": "replay", "all": "1"}),
    "dlq-report": Rule(READ, STAFF),
    "dlq-report-export": Rule(READ, STAFF),
    "group": Rule(READ, STAFF_OR_OWN),
    "groups-act": Rule(ACT, MAY_ACT_ON_MANY, {"do": "replay"}),
    # A cause is of many tenants: what is decided about it is for staff.
    "group-acknowledge": Rule(ACT, TRIAGE_ACTS),
    "group-activate": Rule(ACT, TRIAGE_ACTS),
    "group-snooze": Rule(ACT, TRIAGE_ACTS, {"snooze": "1h"}),
    "group-note": Rule(ACT, TRIAGE_ACTS, {"text": "x"}),
    "group-link": Rule(ACT, TRIAGE_ACTS, {"ticket_url": "https://tracker.example/1"}),
    "group-take": Rule(ACT, TRIAGE_ACTS),
    "group-assign": Rule(ACT, TRIAGE_ACTS, {"assignee": "-"}),
    "group-give-back": Rule(ACT, TRIAGE_ACTS),
    "group-clock-pause": Rule(ACT, TRIAGE_ACTS, {"for": "1h", "reason": "x"}),
    "group-clock-resume": Rule(ACT, TRIAGE_ACTS),
    "letter-take": Rule(ACT, TRIAGE_ACTS),
    "letter-assign": Rule(ACT, TRIAGE_ACTS, {"assignee": "-"}),
    "letter-give-back": Rule(ACT, TRIAGE_ACTS),
    "letter-clock-pause": Rule(ACT, TRIAGE_ACTS, {"for": "1h", "reason": "x"}),
    "letter-clock-resume": Rule(ACT, TRIAGE_ACTS),
    "letter": Rule(READ, STAFF_OR_OWN),
    "letter-payload": Rule(READ, STAFF_OR_OWN),
    "letter-replay": Rule(ACT, MAY_ACT),
    "letter-discard": Rule(ACT, MAY_ACT, REASON),
    "letter-undo": Rule(ACT, MAY_ACT),
    "letter-cancel": Rule(ACT, MAY_CANCEL),
    # A right of its own, which nobody has of their role alone.
    "letter-edit": Rule(READ, gets(200, 403, 403, 403, 403, 403, 404)),
    "letter-edit-preview": Rule(ACT, gets(200, 403, 403, 403, 403, 403, 404), EDIT),
    "letter-edit-send": Rule(ACT, gets(302, 403, 403, 403, 403, 403, 404), EDIT),
    "bulks": Rule(READ, EVERYBODY),
    "bulk": Rule(READ, STAFF_ONLY_EXISTS),
    "bulk-discard": Rule(READ, STAFF_ONLY_EXISTS),
    "bulk-confirm": Rule(ACT, STAFF_ONLY_ACTS),
    "bulk-cancel": Rule(ACT, STAFF_ONLY_ACTS),
    "bulk-undo": Rule(ACT, STAFF_ONLY_ACTS),
    "bulk-plan": Rule(READ, STAFF_ONLY_EXISTS),
    "bulk-pause": Rule(ACT, STAFF_ONLY_ACTS),
    "bulk-resume": Rule(ACT, STAFF_ONLY_ACTS),
    "bulk-speed": Rule(ACT, STAFF_ONLY_ACTS, {"rate": "5"}),
    "bulk-again": Rule(ACT, STAFF_ONLY_ACTS, {"which": "new"}),
    "bulk-members": Rule(READ, STAFF_ONLY_EXISTS),
    "job": Rule(READ, STAFF_OR_OWN),
    "job-cancel": Rule(ACT, MAY_CANCEL),
    "job-stop": Rule(ACT, MAY_CANCEL, REASON),
    "job-run-now": Rule(ACT, MAY_CANCEL),
    "workers": Rule(READ, STAFF),
    "limits": Rule(READ, STAFF),
    "limits-pause": Rule(ACT, TRIAGE_ACTS, {"on": "all:", "reason": "x"}),
    "limits-resume": Rule(ACT, TRIAGE_ACTS, {"on": "all:"}),
    "limits-set": Rule(ACT, OPERATES, {"on": "type:mail.send_order_mail", "concurrency": "3", "reason": "x"}),
    "limits-reset": Rule(ACT, OPERATES, {"on": "type:mail.send_order_mail"}),
    "limits-release": Rule(ACT, OPERATES, {"on": "type:mail.send_order_mail"}),
    "batches": Rule(READ, EVERYBODY),
    "batch": Rule(READ, STAFF_OR_OWN),
    "batch-cancel": Rule(ACT, MAY_CANCEL),
    "catalog": Rule(READ, STAFF),
    "settings": Rule(READ, STAFF),
    "teams": Rule(READ, STAFF),
    "team": Rule(READ, STAFF),
    "team-create": Rule(ACT, OPERATES, {"name": "new"}),
    "team-set": Rule(ACT, OPERATES, {"about": "x", "escalate_after_min": "10"}),
    "team-add": Rule(ACT, OPERATES, {"user": "1"}),
    "team-remove": Rule(ACT, OPERATES, {"user": "1"}),
    "team-delete": Rule(ACT, OPERATES),
    "retention": Rule(READ, STAFF),
    "discard-reasons": Rule(READ, STAFF),
    "discard-reason-add": Rule(ACT, OPERATES, {"text": "new"}),
    "discard-reason-rename": Rule(ACT, OPERATES, {"text": "Fixed by hand", "new": "Mended"}),
    "discard-reason-move": Rule(ACT, OPERATES, {"text": "Fixed by hand", "to": "up"}),
    "discard-reason-retire": Rule(ACT, OPERATES, {"text": "Fixed by hand"}),
    "discard-reason-restore": Rule(ACT, OPERATES, {"text": "Fixed by hand"}),
    "rules": Rule(READ, STAFF),
    "rules-preview": Rule(ACT, STAFF, {"text": "* -> operations"}),
    "rules-save": Rule(ACT, OPERATES, {"text": "* -> operations"}),
    "rules-export": Rule(READ, STAFF),
    "rules-version": Rule(READ, STAFF),
    "rules-restore": Rule(ACT, OPERATES),
    "redirects": Rule(READ, STAFF),
    "redirect-preview": Rule(ACT, STAFF, {"from_type": "old", "to_type": "mail.send_order_mail"}),
    "redirect-create": Rule(ACT, MAKES_ONE, {"from_type": "old", "to_type": "mail.send_order_mail"}),
    "redirect-delete": Rule(ACT, OPERATES),
    "alerts": Rule(READ, STAFF),
    "alert": Rule(READ, STAFF),
    "alert-acknowledge": Rule(ACT, TRIAGE_ACTS, {"minutes": "60"}),
    "silences": Rule(READ, STAFF),
    "silence-create": Rule(ACT, TRIAGE_ACTS, {"tenant": "acme", "for": "2h", "reason": "x"}),
    "silence-end": Rule(ACT, TRIAGE_ACTS),
    "channels": Rule(READ, STAFF),
    "channel": Rule(READ, STAFF),
    "channel-create": Rule(ACT, MAKES_ONE, NEW_CHANNEL),
    "channel-set": Rule(ACT, OPERATES, {"name": "renamed", "least_severity": "low"}),
    "channel-delete": Rule(ACT, OPERATES),
    "channel-test": Rule(ACT, OPERATES),
    "alert-rules": Rule(READ, STAFF),
    "alert-rule-set": Rule(ACT, OPERATES, {"signal": "depth", "threshold": "5"}),
    "alert-rule-delete": Rule(ACT, OPERATES),
    "audit": Rule(READ, AUDIT),
    "audit-export": Rule(ACT, SUPERUSER, {"format": "csv"}),
    "demo": Rule(READ, STAFF),
    "demo-incident": Rule(ACT, TRIAGE_ACTS, {"deaths": "30"}),
    "demo-mend": Rule(ACT, TRIAGE_ACTS),
    "demo-break": Rule(ACT, TRIAGE_ACTS),
    "live-overview": Rule(READ, EVERYBODY),
    "live-tenant": Rule(READ, STAFF_OR_OWN),
    "live-dlq": Rule(READ, EVERYBODY),
    "live-group": Rule(READ, STAFF_OR_OWN),
    "live-letter": Rule(READ, STAFF_OR_OWN),
    "live-bulk": Rule(READ, STAFF_ONLY_EXISTS),
    "live-job": Rule(READ, STAFF_OR_OWN),
    "live-batch": Rule(READ, STAFF_OR_OWN),
    "live-alerts": Rule(READ, STAFF),
    "live-workers": Rule(READ, STAFF),
    "live-limits": Rule(READ, STAFF),
    "live-demo": Rule(READ, STAFF),
}
PUBLIC = {"login", "alive", "ready"}
SIGNED_IN = {"sign-out"}
# Django's own admin has tests in test_admin; RQ's pages have theirs in test_rq_pages.
OTHERS = ("admin/", "rq/")


def patterns(resolver: URLResolver | None = None, prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Every pattern of the resolver with its whole path."""
    for entry in (resolver or get_resolver()).url_patterns:
        path = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from patterns(entry, path)
        else:
            yield path, entry


OURS = {str(entry.name): path for path, entry in patterns() if not path.startswith(OTHERS)}


@dataclass(frozen=True, slots=True)
class Things:
    """One thing of each kind that a URL can name."""

    slug: str
    job_id: str
    letter_id: int
    bulk_id: int
    endpoint: str = "payments"
    batch_id: str = "0" * 32
    group_id: int = 2**40
    team_id: int = 2**40
    version_id: int = 2**40
    alert_id: int = 2**40
    silence_id: int = 2**40
    channel_id: int = 2**40
    rule_id: int = 2**40
    redirect_id: int = 2**40

    def address(self, name: str) -> str:
        """The URL of this name for these things."""
        return "/" + re.sub(r"<\w+:(\w+)>", lambda found: str(getattr(self, found[1])), OURS[name])


def things_of(world: World, tenant: Tenant) -> Things:
    """A job, an open letter, a drafted bulk action, made by staff, and a batch of this tenant."""
    group = cause()
    letter = letter_of(world, group, tenant)
    bulk = BulkAction.objects.create(kind="replay", by="somebody of ours", matched=1)
    bulk.members.create(letter=letter)
    batch = Batch.objects.create(
        id=f"batch-{tenant.slug}", tenant=tenant.slug, tenant_uid=str(tenant.pk), state="running", total=1
    )
    # The default team, which nobody can delete.
    team, _ = Team.objects.get_or_create(name=settings.JOBOPS_DEFAULT_OWNER)
    rules, _ = RuleSet.objects.get_or_create(text=f"* -> {team.name}\n", by="somebody of ours")
    # By which the letter has a signature.
    redirect, _ = Redirect.objects.get_or_create(
        from_type=group.job_type, to_type="mail.send_order_mail", by="somebody of ours"
    )
    return Things(
        tenant.slug,
        world.enqueue(tenant.slug),
        letter.pk,
        bulk.pk,
        batch_id=batch.pk,
        group_id=group.pk,
        team_id=team.pk,
        version_id=rules.pk,
        redirect_id=redirect.pk,
        **alert_things(tenant.slug),
    )


MISSING = Things("nobody", "0" * 32, 2**40, 2**40, "nothing")


def state_of_everything() -> list[Any]:
    """All that an action could change, to be compared."""
    return [
        list(Tenant.objects.order_by("pk").values("slug", "paused", "intake_closed")),
        list(DeadLetter.objects.order_by("pk").values("pk", "state", "replays", "discard_reason", "owner", "due_at")),
        list(DeadLetterGroup.objects.order_by("pk").values("pk", "state", "owner", "assignee", "ticket_url", "due_at")),
        list(BulkAction.objects.order_by("pk").values("pk", "state", "kind")),
        list(AuditEntry.objects.order_by("pk").values("pk", "action")),
        list(Batch.objects.order_by("pk").values("pk", "state")),
        list(Pause.objects.order_by("pk").values("target", "name")),
        list(LimitChange.objects.order_by("pk").values("resource", "concurrency", "rate")),
        state_of_alerts(),
        list(Team.objects.order_by("pk").values("pk", "name", "about")),
        list(TeamMember.objects.order_by("pk").values("team", "user")),
        list(RuleSet.objects.order_by("pk").values("pk", "text")),
        list(Redirect.objects.order_by("pk").values("from_type", "to_type")),
        list(DiscardReason.objects.order_by("pk").values("text", "position", "retired")),
    ]
