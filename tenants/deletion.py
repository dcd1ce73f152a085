"""Deleting a tenant: only when nothing of it is left, unless it is forced."""

import logging
from typing import NoReturn

from django.db import OperationalError, transaction
from redis.exceptions import RedisError

from jobops.audit import recording
from jobops.engine.client import Engine
from tenants.errors import AlreadyPaused, EngineAway, TenantBusy, TenantGone
from tenants.leftovers import cancel_jobs, cancel_rows, hold, leftovers
from tenants.models import Tenant
from tenants.policy import get_pusher
from tenants.recorded import facts_of, record_membership, record_tenant
from tenants.services import Actor, actor_name, tenant_pause, tenant_set

log = logging.getLogger(__name__)

TRIES = 3
_DEADLOCK = "40P01"
"""What PostgreSQL calls it when it ends one of two that wait for each other."""


def tenant_delete(*, tenant: Tenant, by: Actor, engine: Engine, force: bool = False) -> None:
    """Delete the tenant and its memberships, here and in the engine. Dead letters keep its slug.

    Raises ``TenantBusy`` while anything of it is left, ``EngineAway`` without Redis, ``TenantGone``; then the intake
    is as it was. ``force`` cancels what waits, lets finish what runs, and asks nobody about dead letters.
    """
    tenant = Tenant.objects.filter(pk=tenant.pk).first() or _gone(tenant.slug)
    was_closed = tenant.intake_closed
    try:
        if force:
            _clear_away(tenant, by, engine)
        else:
            _refuse_if_busy(tenant, by, engine)
        _delete(tenant, by)
    except RedisError as error:
        _reopen(tenant, by, was_closed)
        raise EngineAway(f"Redis could not be reached ({type(error).__name__}); the tenant was not deleted") from error
    except (TenantBusy, EngineAway):
        _reopen(tenant, by, was_closed)
        raise
    log.info("%s deleted tenant %s%s", actor_name(by), tenant.slug, " by force" if force else "")


def _refuse_if_busy(tenant: Tenant, by: Actor, engine: Engine) -> None:
    # A busy tenant is told so without its intake having been touched.
    if left := leftovers(tenant, engine):
        raise TenantBusy(tenant.slug, left)
    # Then closed and looked at once more: a job that came in after the first look would be orphaned.
    change = tenant_set(tenant=tenant, by=by, intake_closed=True)
    if not change.in_force:
        raise EngineAway(f"{change.problem}; the tenant was not deleted")
    if left := leftovers(tenant, engine):
        raise TenantBusy(tenant.slug, left)


def _clear_away(tenant: Tenant, by: Actor, engine: Engine) -> None:
    try:
        change = tenant_pause(tenant=tenant, by=by, reason="is being deleted", close_intake=True)
    except AlreadyPaused:
        change = tenant_set(tenant=tenant, by=by, intake_closed=True)
    if not change.in_force:
        raise EngineAway(f"{change.problem}; the tenant was paused, not deleted")
    _note_cancelled(tenant, by, cancel_jobs(tenant, engine))


def _note_cancelled(tenant: Tenant, by: Actor, count: int) -> None:
    if not count:
        return
    change = recording.Change(
        "tenant.cancel_jobs", "tenant", tenant.slug, tenant.pk, tenant.slug, {}, {"cancelled": count}
    )
    recording.record(by, change)
    log.warning("%d jobs of tenant %s were cancelled for its deletion", count, tenant.slug)


def _delete(tenant: Tenant, by: Actor) -> None:
    """Once more where the database gave it up for somebody else, so that no person has to."""
    for left in reversed(range(TRIES)):
        try:
            _delete_once(tenant, by)
            break
        except OperationalError as error:
            if not left or getattr(error.__cause__, "sqlstate", "") != _DEADLOCK:
                raise
            log.warning("the deletion of tenant %s met somebody who waited for it; trying again", tenant.slug)


def _delete_once(tenant: Tenant, by: Actor) -> None:
    slug, pk = tenant.slug, tenant.pk
    with transaction.atomic():
        # Before the tenant: who has a letter of its may have to refer to it.
        hold(tenant)
        now = Tenant.objects.select_for_update().filter(pk=pk).first() or _gone(slug)
        # Once more: letters that came in between, of which nobody makes new ones now.
        hold(now)
        for membership in now.memberships.select_related("user", "tenant"):
            record_membership(membership, by, membership.role, "")
        record_tenant("tenant.delete", now, by, facts_of(now), {})
        Tenant.objects.filter(pk=pk).delete()
        # After that statement, which waits for everybody who has a letter of its locked: no replay is missed.
        _note_cancelled(tenant, by, cancel_rows(tenant))
        # Dropped before the commit: without Redis the row stays, and no policy is left behind that nobody would
        # ever clear away. If the commit fails, the row is there and its policy is pushed again.
        get_pusher().drop_policy(slug)


def _gone(slug: str) -> NoReturn:
    raise TenantGone(slug)


def _reopen(tenant: Tenant, by: Actor, was_closed: bool) -> None:
    if not was_closed and Tenant.objects.filter(pk=tenant.pk, intake_closed=True).exists():
        tenant_set(tenant=tenant, by=by, intake_closed=False)
