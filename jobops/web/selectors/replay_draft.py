"""What the preview of a replay shows beside its numbers: the one cause it is about, and who else is at its letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Count
from redis.exceptions import RedisError

from dlq.access import bulks_visible_to
from dlq.models import BulkAction, BulkMember, DeadLetterGroup, ReplayPlan, ReplayRun
from jobops.contracts import registry
from jobops.engine.queues import read_queues
from jobops.runtime import get_engine
from jobops.web.limit_words import rate_words
from jobops.web.selectors.reach import reading_redis
from tenants.access import AnyUser

MOST_ELSEWHERE = 3


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A replay that has some of the chosen letters already. ``bulk`` None: they were sent one by one."""

    bulk: BulkAction | None
    count: int


@dataclass(frozen=True, slots=True)
class DraftFacts:
    """``group``: the one cause of all that is chosen, None: several. ``elsewhere``: who replays some of it already,
    most first. ``allowed``: how often the one job type of it may start, in words; empty: no limit, or several types.
    ``ahead``: lane → how many jobs of the same tenants wait there now, and come first."""

    group: DeadLetterGroup | None = None
    elsewhere: Sequence[Elsewhere] = ()
    allowed: str = ""
    ahead: Mapping[str, int] = field(default_factory=dict)


def draft_facts(
    user: AnyUser, bulk: BulkAction, job_types: Sequence[str], tenants: Sequence[str] | None, *, staff: bool
) -> DraftFacts:
    """All of it, in a constant number of queries; a tenant's people read of no cause and of no machine.
    ``tenants``: slugs of all whose letters they are; None: more than are asked for."""
    if bulk.kind != BulkAction.Kind.REPLAY:
        return DraftFacts()
    elsewhere = _elsewhere(user, bulk)
    if not staff:
        return DraftFacts(elsewhere=elsewhere)
    return DraftFacts(_group(bulk), elsewhere, _allowed(job_types), _ahead(tenants or ()))


def _ahead(tenants: Sequence[str]) -> dict[str, int]:
    """From the lengths of their queues; nothing while Redis is away."""
    slugs = [slug for slug in tenants if slug]
    if not slugs:
        return {}
    try:
        with reading_redis():
            rows = read_queues(get_engine(), slugs)
    except RedisError:
        return {}
    found: Counter[str] = Counter()
    for row in rows:
        found[row.lane] += row.depth
    return dict(+found)


def _group(bulk: BulkAction) -> DeadLetterGroup | None:
    plan = ReplayPlan.objects.filter(bulk=bulk).select_related("group").first()
    return plan.group if plan is not None else None


def _elsewhere(user: AnyUser, bulk: BulkAction) -> list[Elsewhere]:
    chosen = BulkMember.objects.filter(bulk=bulk).values("letter")
    runs = ReplayRun.objects.filter(state=ReplayRun.State.RUNNING, letter__in=chosen).order_by()
    rows = list(runs.values_list("bulk").annotate(n=Count("pk")).order_by("-n", "bulk")[:MOST_ELSEWHERE])
    seen = bulks_visible_to(user).in_bulk([pk for pk, _ in rows if pk is not None])
    return [Elsewhere(seen.get(pk), count) for pk, count in rows if pk is None or pk in seen]


def _allowed(job_types: Sequence[str]) -> str:
    """The rate that the contract of the only type declares."""
    found = registry.resolve(job_types[0]) if len(job_types) == 1 and job_types[0] else None
    return rate_words(found.rate) if found is not None else ""
