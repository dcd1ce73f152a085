"""How a tenant's policy reaches the engine.

The database is where a policy is changed; the engine works from a copy in Redis. Each change raises
``policy_version``, which travels with it: Redis never replaces a newer one by an older. A push that fails loses
nothing: the versions here differ until ``push_stale`` or ``push_all`` (duties of the scheduler) have repaired it.
"""

import logging
import time
from typing import Protocol

from django.db import Error as DatabaseError
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Greatest
from django.utils import timezone
from redis.exceptions import RedisError, ResponseError

from jobops.engine.errors import EngineError, EngineUnavailable, InvalidJob
from jobops.engine.link import is_away
from jobops.engine.rates import Rate, parse_rate
from jobops.engine.records import Policy
from tenants.errors import EngineAway
from tenants.models import Tenant

log = logging.getLogger(__name__)

NO_RATE = Rate(0, 0)
"""Stands for a text in a tenant's row that is no rate."""


class PolicyPusher(Protocol):
    """What carries policies into Redis; the engine's ``scripts`` are one.

    Both may raise ``redis.RedisError`` when Redis cannot be reached.
    """

    def set_policy(self, policy: Policy, /) -> bool:
        """Put this policy in force, creating or replacing the one of its slug; False: a newer one is in force."""

    def drop_policy(self, slug: str, /) -> object:
        """Forget the tenant: enqueues for it are refused from now on."""


_pusher: PolicyPusher | None = None


def set_pusher(pusher: PolicyPusher | None) -> None:
    """Plug in what carries policies to Redis; the runtime does so once at start, None unplugs it."""
    global _pusher
    _pusher = pusher


def get_pusher() -> PolicyPusher:
    """The plugged pusher; raises ``EngineAway`` when there is none."""
    if _pusher is None:
        raise EngineAway("no engine is plugged in: policies stay in the database until the scheduler pushes them")
    return _pusher


def policy_of(tenant: Tenant) -> Policy:
    """The engine's view of this tenant."""
    return Policy(
        slug=tenant.slug,
        weight=tenant.weight,
        cap=tenant.cap,
        rate=_rate_of(tenant),
        lane_caps=dict(tenant.lane_caps),
        depth_limit=tenant.depth_limit,
        paused=tenant.paused,
        intake_closed=tenant.intake_closed,
        version=tenant.policy_version,
        uid=str(tenant.pk),
    )


def _rate_of(tenant: Tenant) -> Rate | None:
    """The tenant's rate. One written past the services that is none becomes a rate that no engine takes: as with a bad
    weight it is the push that is refused, and who only compares policies reads on."""
    try:
        return parse_rate(tenant.rate) if tenant.rate else None
    except ValueError:
        return NO_RATE


def belongs(uid: str, tenant: Tenant) -> bool:
    """Whether a job with this tenant ``uid`` is this tenant's, and not a former owner's of the same slug. Jobs that
    carry none (of plain RQ) go by the slug."""
    return not uid or uid == str(tenant.pk)


def new_version() -> int:
    """A first version. From the clock, so that a slug that is taken again, or a database that was restored, does not
    count on below what Redis may still hold."""
    return int(time.time() * 1000)


def next_version() -> Greatest:
    """The version after the row's own, for an ``update()`` of it."""
    return Greatest(F("policy_version") + 1, new_version())


class PolicyPush:
    """One push to be made on commit; afterwards it tells whether the policy is in force.

    It never raises: an error in a commit hook would keep the other hooks of that transaction from running.
    """

    def __init__(self, tenant_id: int) -> None:
        self.tenant_id = tenant_id
        self.in_force = False
        self.problem = "it takes effect when the surrounding transaction commits"

    def __call__(self) -> None:
        try:
            self.in_force = _push(get_pusher(), Tenant.objects.filter(pk=self.tenant_id)) > 0
            self.problem = "" if self.in_force else "the engine did not take it; see the log"
        except (RedisError, EngineError) as error:
            self.problem = f"Redis could not be reached ({type(error).__name__}); the scheduler pushes it later"
            log.warning("the policy of tenant id %s was not pushed: %s", self.tenant_id, error)
        except EngineAway as error:
            self.problem = str(error)
        except DatabaseError as error:
            self.problem = (
                f"the database failed after the commit ({type(error).__name__}); the scheduler pushes it later"
            )
            log.warning("the policy of tenant id %s was not pushed: %s", self.tenant_id, error)


def push_slug(slug: str, pusher: PolicyPusher | None = None) -> bool:
    """Push the policy of one tenant now; False if the database knows no such tenant.

    For an enqueue that the engine refused because Redis was flushed. Raises ``redis.RedisError``,
    or ``EngineAway`` when none is plugged in.
    """
    return _push(pusher or get_pusher(), Tenant.objects.filter(slug=slug)) > 0


def push_all(pusher: PolicyPusher, batch: int = 500) -> int:
    """Push every policy again, ``batch`` tenants at a time; answers how many.

    For the time after Redis was flushed or restored. Raises ``redis.RedisError``; what went before stays pushed.
    """
    return _push_in_batches(pusher, Tenant.objects.all(), batch)


def push_stale(pusher: PolicyPusher, batch: int = 500) -> int:
    """Push the policies that were changed while Redis was away; answers how many. Raises like ``push_all``."""
    return _push_in_batches(pusher, stale(), batch)


def stale() -> QuerySet[Tenant]:
    """The tenants whose policy has not reached the engine yet."""
    return Tenant.objects.filter(~Q(policy_pushed_version=F("policy_version")))


def _push_in_batches(pusher: PolicyPusher, tenants: QuerySet[Tenant], batch: int) -> int:
    pushed, after = 0, 0
    while True:
        ids = list(tenants.filter(pk__gt=after).order_by("pk").values_list("pk", flat=True)[:batch])
        if not ids:
            return pushed
        pushed += _push(pusher, Tenant.objects.filter(pk__in=ids))
        after = ids[-1]


def _push(pusher: PolicyPusher, tenants: QuerySet[Tenant]) -> int:
    # The rows stay locked while their policies travel (SQLite: the transaction is IMMEDIATE), as a deletion must not
    # come in between: a policy pushed after it would let a tenant live on that nobody can see.
    with transaction.atomic():
        found = list(tenants.select_for_update(no_key=True).order_by("pk"))
        pushed = [tenant.pk for tenant in found if _in_force(pusher, tenant)]
        Tenant.objects.filter(pk__in=pushed).update(
            policy_pushed_version=F("policy_version"), policy_pushed_at=timezone.now()
        )
    return len(pushed)


def _in_force(pusher: PolicyPusher, tenant: Tenant) -> bool:
    try:
        if pusher.set_policy(policy_of(tenant)):
            return True
        # Redis holds a version that this row, locked as it is, never had: the database was restored. It decides.
        log.warning("tenant %s: Redis holds a newer policy than the database; the database's is put in force", tenant)
        Tenant.objects.filter(pk=tenant.pk).update(policy_version=next_version())
        tenant.refresh_from_db(fields=["policy_version"])
        if pusher.set_policy(policy_of(tenant)):
            return True
    except (InvalidJob, EngineUnavailable, ResponseError) as error:
        # Written past the services, or a key of another kind: the others must not wait for it.
        if is_away(error):
            raise
        log.error("the policy of tenant %s cannot be put in force: %s", tenant.slug, error)
        return False
    log.error("the policy of tenant %s cannot be put in force: Redis holds one from the future", tenant.slug)
    return False
