"""Policies: Redis works from the limits that the database says, and knows no tenant that the database does not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from redis.exceptions import ResponseError

from jobops.doctor import walk
from jobops.doctor.examination import unreadable
from jobops.doctor.findings import Finding, NotRepaired
from jobops.doctor.site import Site
from jobops.engine import keys as rq
from jobops.engine.client import Engine
from jobops.engine.lanes import known_lanes
from jobops.engine.link import is_away
from tenants.models import Tenant
from tenants.policy import policy_of, push_slug


def check(site: Site) -> Iterator[Finding]:
    """Lanes and policies that differ, after a second look: a change is committed first and pushed right after."""
    yield from _lanes(site)
    for tenants in walk.tenants_by_chunk():
        site.looked_at["tenants"] += len(tenants)
        suspects = []
        for tenant in tenants:
            try:
                if site.engine.scripts.policy(tenant.slug) != policy_of(tenant):
                    suspects.append(tenant.slug)
            except (ResponseError, ValueError) as error:
                if is_away(error):
                    raise
                yield unreadable("tenant", tenant.slug, error)
        if suspects:
            site.wait()
            yield from _different(site.engine, suspects)
    yield from _ghosts(site)


def _lanes(site: Site) -> Iterator[Finding]:
    raw: Any = site.engine.redis.hgetall(site.engine.keys.lanes())
    stored = {lane.decode(): float(share) for lane, share in raw.items()}
    wrong = [lane for lane, share in site.engine.lanes.items() if stored.get(lane) != share]
    if wrong:
        text = f"Redis does not know the settings' share of {', '.join(wrong)}"
        yield Finding("policy_drift", "redis", "lanes", text, remedy=partial(_push_lanes, site.engine))


def _push_lanes(engine: Engine) -> str:
    engine.scripts.set_lanes(engine.lanes)
    return "lanes pushed"


def _different(engine: Engine, slugs: list[str]) -> Iterator[Finding]:
    for tenant in Tenant.objects.filter(slug__in=slugs).order_by("slug"):
        held = engine.scripts.policy(tenant.slug)
        wanted = policy_of(tenant)
        if held != wanted:
            names = [name for name in wanted.__slots__ if held and getattr(held, name) != getattr(wanted, name)]
            what = f"has another {', '.join(names)} of it than the database" if names else "does not know it"
            remedy = partial(_push, engine, tenant.slug)
            yield Finding("policy_drift", "tenant", tenant.slug, f"Redis {what}", tenant.slug, remedy)


def _push(engine: Engine, slug: str) -> str:
    tenant = Tenant.objects.filter(slug=slug).first()
    if tenant is None or engine.scripts.policy(slug) == policy_of(tenant):
        return ""
    push_slug(slug)
    tenant.refresh_from_db()
    if engine.scripts.policy(slug) != policy_of(tenant):
        raise NotRepaired("Redis did not take the policy; see the log")
    return "policy pushed"


def _ghosts(site: Site) -> Iterator[Finding]:
    """Tenants that only Redis knows. Found by their queues; one without any can do nothing."""
    lanes = known_lanes(site.engine)
    told: set[str] = set()
    for names in walk.queues(site.engine):
        slugs = {tenant for tenant, lane in map(rq.split_queue, names) if lane in lanes} - told
        known = set(Tenant.objects.filter(slug__in=slugs).values_list("slug", flat=True))
        for slug in sorted(slugs - known):
            if site.engine.scripts.policy(slug) is not None and not Tenant.objects.filter(slug=slug).exists():
                told.add(slug)
                text = "Redis has its policy and runs its jobs, but the database knows no such tenant"
                yield Finding("policy_drift", "tenant", slug, text, slug, partial(_drop, site.engine, slug))


def _drop(engine: Engine, slug: str) -> str:
    if Tenant.objects.filter(slug=slug).exists():
        return ""
    return "policy dropped; its jobs wait" if engine.scripts.drop_policy(slug) else ""
