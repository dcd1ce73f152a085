"""Plugging the layers into each other, once in a process, without opening a connection."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings

from dlq.ports import set_key_holders
from jobops.context.lease import set_engine
from jobops.context.once import guarded
from jobops.contracts.batch_port import set_batches
from jobops.contracts.config import ContractConfig, configure
from jobops.contracts.enqueuer import set_enqueuer, set_lookup, set_once
from jobops.engine.records import Policy
from jobops.limits.ports import set_engine_source
from jobops.limits.pushing import restore
from jobops.runtime.batches import DatabaseBatches
from jobops.runtime.engine import get_engine
from jobops.runtime.enqueuer import enqueuer
from jobops.runtime.lookup import lookup
from tenants.policy import set_pusher


class EnginePolicyPusher:
    """Carries policies to the engine of the process that calls: also after a fork."""

    def set_policy(self, policy: Policy, /) -> bool:
        """Put this policy in force; False if a newer one is. Raises ``redis.RedisError`` and ``django.db.Error``."""
        engine = get_engine()
        restore(engine)  # first: once it knows the tenant, what must be paused or limited might start
        return engine.scripts.set_policy(policy)

    def drop_policy(self, slug: str, /) -> object:
        """Forget the tenant. Raises ``redis.RedisError``."""
        return get_engine().scripts.drop_policy(slug)


def held_keys(wanted: Sequence[tuple[str, str, str]], /) -> list[str | None]:
    """For each (tenant, job type, key) the live job that holds the key, or None. Raises what ``is_away`` knows."""
    return get_engine().scripts.key_holders(wanted)


def install() -> None:
    """Give contracts, tenants and letters what they need of the runtime. To be called when Django is ready; may be
    repeated."""
    configure(
        ContractConfig(
            lanes=tuple(settings.JOBOPS_LANES),
            lease=timedelta(seconds=settings.JOBOPS_LEASE_SECONDS),
            heartbeat=timedelta(seconds=settings.JOBOPS_HEARTBEAT_SECONDS),
            payload_limit=settings.JOBOPS_PAYLOAD_LIMIT,
        )
    )
    set_enqueuer(enqueuer())
    set_lookup(lookup)
    set_batches(DatabaseBatches())
    set_once(guarded)
    set_engine(get_engine)
    set_pusher(EnginePolicyPusher())
    set_key_holders(held_keys)
    set_engine_source(get_engine)
