"""The table of every URL: its methods, and what each role gets. The tests hold it against the resolver."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from dlq.models import BulkAction, DeadLetter
from jobops.audit.models import AuditEntry
from jobops.batches.models import Batch
from jobops.limits.models import LimitChange, Pause
from tenants.models import Tenant
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
    "letter": Rule(READ, STAFF_OR_OWN),
    "letter-payload": Rule(READ, STAFF_OR_OWN),
    "letter-replay": Rule(ACT, MAY_ACT),
    "letter-discard": Rule(ACT, MAY_ACT, REASON),
    "letter-undo": Rule(ACT, MAY_ACT),
    "letter-cancel": Rule(ACT, MAY_CANCEL),
    "bulks": Rule(READ, EVERYBODY),
    "bulk": Rule(READ, STAFF_ONLY_EXISTS),
    "bulk-discard": Rule(READ, STAFF_ONLY_EXISTS),
    "bulk-confirm": Rule(ACT, STAFF_ONLY_ACTS),
    "bulk-cancel": Rule(ACT, STAFF_ONLY_ACTS),
    "bulk-undo": Rule(ACT, STAFF_ONLY_ACTS),
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
    "audit": Rule(READ, AUDIT),
    "audit-export": Rule(ACT, SUPERUSER, {"format": "csv"}),
    "demo": Rule(READ, STAFF),
    "demo-mend": Rule(ACT, TRIAGE_ACTS),
    "demo-break": Rule(ACT, TRIAGE_ACTS),
    "live-overview": Rule(READ, EVERYBODY),
    "live-tenant": Rule(READ, STAFF_OR_OWN),
    "live-dlq": Rule(READ, EVERYBODY),
    "live-letter": Rule(READ, STAFF_OR_OWN),
    "live-bulk": Rule(READ, STAFF_ONLY_EXISTS),
    "live-job": Rule(READ, STAFF_OR_OWN),
    "live-batch": Rule(READ, STAFF_OR_OWN),
    "live-workers": Rule(READ, STAFF),
    "live-limits": Rule(READ, STAFF),
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

    def address(self, name: str) -> str:
        """The URL of this name for these things."""
        return "/" + re.sub(r"<\w+:(\w+)>", lambda found: str(getattr(self, found[1])), OURS[name])


def things_of(world: World, tenant: Tenant) -> Things:
    """A job, an open letter, a drafted bulk action, made by staff, and a batch of this tenant."""
    letter = world.letter(tenant)
    bulk = BulkAction.objects.create(kind="replay", by="somebody of ours", matched=1)
    bulk.members.create(letter=letter)
    batch = Batch.objects.create(
        id=f"batch-{tenant.slug}", tenant=tenant.slug, tenant_uid=str(tenant.pk), state="running", total=1
    )
    return Things(tenant.slug, world.enqueue(tenant.slug), letter.pk, bulk.pk, batch_id=batch.pk)


MISSING = Things("nobody", "0" * 32, 2**40, 2**40, "nothing")


def state_of_everything() -> list[Any]:
    """All that an action could change, to be compared."""
    return [
        list(Tenant.objects.order_by("pk").values("slug", "paused", "intake_closed")),
        list(DeadLetter.objects.order_by("pk").values("pk", "state", "replays", "discard_reason")),
        list(BulkAction.objects.order_by("pk").values("pk", "state", "kind")),
        list(AuditEntry.objects.order_by("pk").values("pk", "action")),
        list(Batch.objects.order_by("pk").values("pk", "state")),
        list(Pause.objects.order_by("pk").values("target", "name")),
        list(LimitChange.objects.order_by("pk").values("resource", "concurrency", "rate")),
    ]
