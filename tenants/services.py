"""What can be done to a tenant. Pages, commands and the API call these and nothing else.

Each change is committed first and pushed to the engine right after; the answer says whether it is in force.
Callers ask ``access.can`` before; services do not know who may do what.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, Unpack

from django.db import IntegrityError, transaction
from django.utils import timezone

from tenants.access import AnyUser, acts_as_staff
from tenants.errors import AlreadyPaused, InvalidTenant, NotPaused, PausedByStaff, TenantExists, TenantGone
from tenants.fields import REASON_LENGTH, TenantFields, clean_fields, clean_slug, clean_text
from tenants.models import Tenant
from tenants.policy import PolicyPush, new_version, next_version
from tenants.recorded import facts_of, record_tenant

log = logging.getLogger(__name__)

# Who does it: a signed-in person, or the name of what acts by itself ("command:root", "scheduler").
Actor: TypeAlias = AnyUser | str


@dataclass(frozen=True, slots=True)
class Change:
    """What a service did. ``in_force``: the engine obeys it already; else ``problem`` says why not yet.

    Once a pause is in force, no job of the tenant starts any more.
    """

    tenant: Tenant
    in_force: bool
    problem: str = ""


def tenant_create(*, slug: str, by: Actor, **fields: Unpack[TenantFields]) -> Change:
    """Take on a tenant; what is not given has the model's default (weight 1, cap 10, neither rate nor depth limit).

    Raises ``InvalidTenant`` or ``TenantExists``.
    """
    slug = clean_slug(slug)
    cleaned = clean_fields(fields)
    cleaned["name"] = cleaned.get("name") or slug
    if Tenant.objects.filter(slug=slug).exists():
        raise TenantExists(slug)
    try:
        with transaction.atomic():
            tenant = Tenant.objects.create(slug=slug, policy_version=new_version(), **cleaned)
            record_tenant("tenant.create", tenant, by, {}, facts_of(tenant))
            push = _push_on_commit(tenant)
    except IntegrityError as error:  # somebody else was faster
        raise TenantExists(slug) from error
    return _done("created", tenant, push, by)


def tenant_set(*, tenant: Tenant, by: Actor, **fields: Unpack[TenantFields]) -> Change:
    """Change what is given and nothing else. Raises ``InvalidTenant`` or ``TenantGone``."""
    cleaned = clean_fields(fields)
    if cleaned.get("name") == "":
        cleaned["name"] = tenant.slug
    return _change("tenant.set", f"set {', '.join(cleaned) or 'nothing'} of", tenant, by, lambda now: cleaned)


def tenant_pause(*, tenant: Tenant, by: Actor, reason: str, close_intake: bool = False) -> Change:
    """No job of this tenant starts any more; what runs finishes, what comes in waits.

    Who repeats a pause of theirs that is not in force yet tries to bring it into force; nothing else of it changes.
    ``close_intake`` refuses new jobs too. A pause by staff or by a command is theirs alone to lift.
    Raises ``InvalidTenant`` without a reason, ``AlreadyPaused`` (nothing is changed then), or ``TenantGone``.
    """
    reason = clean_text("reason", reason, REASON_LENGTH)
    if not reason:
        raise InvalidTenant("reason", "say why, for those who find the tenant paused")
    closing: dict[str, Any] = {"intake_closed": True} if close_intake else {}
    marks = {"paused": True, "paused_by": actor_name(by), "paused_by_staff": _is_staff(by), "pause_reason": reason}

    def fields(now: Tenant) -> dict[str, Any]:
        if not now.paused:
            return {**marks, "paused_at": timezone.now(), **closing}
        if now.policy_is_stale and now.paused_by == marks["paused_by"]:
            return closing
        raise AlreadyPaused(
            now.slug,
            by=now.paused_by,
            since=now.paused_at,
            reason=now.pause_reason,
            in_force=not now.policy_is_stale,
        )

    return _change("tenant.pause", "paused", tenant, by, fields, reason)


def tenant_resume(*, tenant: Tenant, by: Actor, open_intake: bool = False) -> Change:
    """Its jobs start again; ``open_intake`` takes new ones again too, also when it was not paused.

    Raises ``PausedByStaff`` for others, ``NotPaused``, or ``TenantGone``. Of a tenant that is not paused the limits
    are pushed all the same: the engine may know otherwise, as after a restored database.
    """
    there_was = True

    def fields(now: Tenant) -> dict[str, Any]:
        nonlocal there_was
        if now.paused and now.paused_by_staff and not _is_staff(by):
            raise PausedByStaff(now.slug)
        there_was = now.paused or now.policy_is_stale or (open_intake and now.intake_closed)
        return {**marks, "intake_closed": False} if open_intake else marks

    marks = {"paused": False, "paused_by": "", "paused_at": None, "pause_reason": "", "paused_by_staff": False}
    change = _change("tenant.resume", "resumed", tenant, by, fields)
    if not there_was:
        raise NotPaused(tenant.slug)
    return change


def actor_name(by: Actor) -> str:
    """How the one who acts is called in records."""
    return (by if isinstance(by, str) else by.get_username())[:150]


def _is_staff(by: Actor) -> bool:
    # What acts without a signed-in person is a command, and whoever runs commands operates the system.
    return isinstance(by, str) or acts_as_staff(by)


def _change(
    action: str, what: str, tenant: Tenant, by: Actor, fields: Callable[[Tenant], dict[str, Any]], reason: str = ""
) -> Change:
    """``fields``: what to write, decided on the row as it is under the lock; it may refuse instead."""
    with transaction.atomic():
        # Locked, and read afresh: the caller's copy may be as old as a form that stood open over lunch.
        now = Tenant.objects.select_for_update().filter(pk=tenant.pk).first()
        if now is None:
            raise TenantGone(tenant.slug)
        values = fields(now)
        Tenant.objects.filter(pk=tenant.pk).update(**values, policy_version=next_version(), updated_at=timezone.now())
        before = facts_of(now)
        record_tenant(action, now, by, before, {name: values.get(name, was) for name, was in before.items()}, reason)
        push = _push_on_commit(now)
    return _done(what, tenant, push, by)


def _push_on_commit(tenant: Tenant) -> PolicyPush:
    push = PolicyPush(tenant.pk)
    transaction.on_commit(push)
    return push


def _done(what: str, tenant: Tenant, push: PolicyPush, by: Actor) -> Change:
    tenant.refresh_from_db()
    log.info("%s %s tenant %s", actor_name(by), what, tenant.slug)
    return Change(tenant, push.in_force, push.problem)
