"""Batches: the list, and all that the page of one shows. A foreign batch is as one that does not exist."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet
from django.http import Http404
from django.utils import timezone
from redis.exceptions import RedisError

from dlq.access import letters_visible_to
from dlq.models import DeadLetter
from jobops.batches.members import on_the_way
from jobops.batches.models import Batch
from jobops.batches.verdict import status_of
from jobops.contracts.batch_port import BatchStatus
from jobops.engine.batch_commands import BatchCounts
from jobops.engine.jobs import read_jobs
from jobops.engine.records import JobView
from jobops.runtime import get_engine
from jobops.web.paging import Slice, slice_by_instant
from jobops.web.selectors.letter_rows import error_of, light
from jobops.web.selectors.reach import reading_redis
from tenants.access import Allowed, AnyUser, can, sees_all, tenants_visible_to
from tenants.models import Tenant
from tenants.roles import Action

log = logging.getLogger(__name__)

MOST_SHOWN = 20
"""Members of each kind that the page names."""
MOST_READ = 200
"""Members read to find those that run."""


@dataclass(frozen=True, slots=True)
class BatchList:
    """One page of batches. ``tenants``: slugs that can be chosen, none where there is nothing to choose."""

    staff: bool
    slice: Slice[Batch]
    tenant: str
    state: str
    tenants: Sequence[str]


@dataclass(frozen=True, slots=True)
class DeadMember:
    """The letter of a member, with its error on one line."""

    letter: DeadLetter
    error: str
    at: datetime


@dataclass(frozen=True, slots=True)
class BatchPage:
    """All that the page shows. ``parked``: members that a person has to let go; ``members``: some that have not ended,
    those that run in front; ``away``: Redis could not be asked, and this is what was counted last."""

    batch: Batch
    status: BatchStatus
    tenant: Tenant | None
    staff: bool
    may: Allowed
    read_at: datetime
    parked: int
    dead: Sequence[DeadMember]
    members: Sequence[JobView]
    away: bool


def batches_visible_to(user: AnyUser) -> QuerySet[Batch]:
    """Those that exist for this person: all for staff, those of their own tenants for members."""
    if sees_all(user):
        return Batch.objects.all()
    own = Q(pk__in=[])
    for pk, slug in tenants_visible_to(user).values_list("pk", "slug"):
        own |= Q(tenant=slug, tenant_uid=str(pk))  # the slug may have been another customer's
    return Batch.objects.filter(own)


def get_batch(user: AnyUser, batch_id: str) -> Batch:
    """The batch; raises ``Http404``, the same for a foreign one and for none at all."""
    batch = batches_visible_to(user).filter(pk=batch_id).first() if len(batch_id) <= 64 else None
    if batch is None:
        raise Http404("No such batch.")
    return batch


def batch_list(user: AnyUser, params: Mapping[str, str]) -> BatchList:
    """Those that this person may see, the newest first. A tenant or state that is none is passed over."""
    batches = batches_visible_to(user)
    slugs = list(tenants_visible_to(user).order_by("slug").values_list("slug", flat=True)[:201])
    tenant, state = params.get("tenant", ""), params.get("state", "")
    tenant = tenant if tenant.isprintable() and len(tenant) <= 50 else ""
    state = state if state in Batch.State.values else ""
    if tenant:
        batches = batches.filter(tenant=tenant)
    if state:
        batches = batches.filter(state=state)
    keep = {"tenant": tenant, "state": state}
    found = slice_by_instant([batches.defer("then_data")], "created_at", params, keep, newest=True, text_ids=True)
    return BatchList(sees_all(user), found, tenant, state, slugs if 1 < len(slugs) <= 200 else [])


def batch_page(user: AnyUser, batch_id: str) -> BatchPage:
    """The batch as it stands, in a constant number of queries. Raises ``Http404``."""
    batch = get_batch(user, batch_id)
    tenant = _tenant(user, batch)
    counts, away = _counts(batch)
    status = status_of(batch, counts)
    is_open = batch.ended_at is None
    return BatchPage(
        batch=batch,
        status=status,
        tenant=tenant,
        staff=sees_all(user),
        may=can(user, Action.CANCEL, tenant),
        read_at=timezone.now(),
        parked=on_the_way(batch).parked if is_open else 0,
        dead=_dead(user, batch, tenant) if status.dead else [],
        members=_members(batch) if is_open and not away else [],
        away=away,
    )


def _tenant(user: AnyUser, batch: Batch) -> Tenant | None:
    uid = batch.tenant_uid
    if not (uid.isascii() and uid.isdigit() and len(uid) < 19):
        return None
    return tenants_visible_to(user).filter(pk=int(uid), slug=batch.tenant).first()


def _counts(batch: Batch) -> tuple[BatchCounts | None, bool]:
    """What Redis tells of it, and whether it could not be asked."""
    if batch.ended_at is not None:
        return None, False
    try:
        with reading_redis():
            return get_engine().scripts.batch_state(batch.pk), False
    except RedisError as error:
        log.warning("a batch is shown as it was counted last: %s", type(error).__name__)
        return None, True


def _dead(user: AnyUser, batch: Batch, tenant: Tenant | None) -> list[DeadMember]:
    # By its tenant and since it began, which an index holds; the batch alone is in none.
    letters = letters_visible_to(user).filter(tenant=tenant, dead_at__gte=batch.created_at, batch=batch.pk)
    newest = light(letters).order_by("-dead_at", "-pk")[:MOST_SHOWN]
    return [DeadMember(letter, error_of(letter), letter.last_died_at or letter.dead_at) for letter in newest]


def _members(batch: Batch) -> list[JobView]:
    engine = get_engine()
    try:
        with reading_redis():
            _, ids = engine.scripts.batch_members(batch.pk, "left", 0, MOST_READ)
            jobs = read_jobs(engine, ids[:MOST_READ])
    except RedisError as error:
        log.warning("the members of a batch are not shown: %s", type(error).__name__)
        return []
    # A record may say anything: what claims to be another tenant's is not shown here.
    own = [job for job in jobs if job.tenant == batch.tenant]
    return sorted(own, key=lambda job: (job.state != "started", job.enqueued_at or batch.created_at))[:MOST_SHOWN]
