"""What of a tenant is still alive, wherever it may be."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.db.models import QuerySet
from redis.exceptions import ResponseError

from jobops.context import outbox_rows
from jobops.context.models import OutboxEntry
from jobops.engine import keys as rq
from jobops.engine.client import Engine
from jobops.engine.errors import EngineError
from jobops.engine.lanes import known_lanes, of_every_lane
from jobops.engine.link import is_away
from jobops.engine.queues import read_queues
from tenants.models import Tenant

CHUNK = 500

Counter = Callable[[Tenant], int]
_counters: dict[str, Counter] = {}

Listener = Callable[[Sequence[str]], object]
_listeners: list[Listener] = []

Holder = Callable[[Tenant], object]
_holders: list[Holder] = []


def register_leftover(name: str, counter: Counter) -> None:
    """Have ``counter(tenant)`` asked too: above 0 it stands in the way of a deletion as "<count> <name>".

    For the layers above, whose tables this one cannot know.
    """
    _counters[name] = counter


def hold_before_deletion(holder: Holder) -> None:
    """Have ``holder(tenant)`` called in the transaction that deletes a tenant, before anything of it is written: to
    lock what refers to it, in the order in which all others do, or the two would wait for each other."""
    _holders.append(holder)


def hold(tenant: Tenant) -> None:
    """Lock what refers to it, in the caller's transaction."""
    for holder in _holders:
        holder(tenant)


def tell_cancelled(listener: Listener) -> None:
    """Have ``listener(job_ids)`` called, in its transaction, when a deletion cancels rows of the outbox."""
    _listeners.append(listener)


def leftovers(tenant: Tenant, engine: Engine) -> dict[str, int]:
    """What is left, by name; empty: nothing. Walks all delayed jobs, so not for pages. Raises ``redis.RedisError``."""
    queues = read_queues(of_every_lane(engine), [tenant.slug])
    found = {
        "waiting jobs": sum(queue.depth for queue in queues),
        "running jobs": sum(queue.running for queue in queues),
        "delayed jobs": sum(1 for _ in delayed_ids(engine, tenant.slug)),
        "jobs in the outbox": _rows(tenant).count(),
    }
    found |= {name: counter(tenant) for name, counter in _counters.items()}
    return {name: count for name, count in found.items() if count}


def cancel_jobs(tenant: Tenant, engine: Engine) -> int:
    """Cancel its waiting and delayed jobs; answers how many. The intake must be closed and nothing may start.

    Raises ``redis.RedisError``; what was cancelled before stays so.
    """
    ids = list(delayed_ids(engine, tenant.slug))
    for lane in known_lanes(engine):
        queue = rq.rq_queue(f"{tenant.slug}.{lane}")
        ids += [_text(raw) for raw in engine.redis.lrange(queue, 0, -1)]
        # Those that wait for a gate; read after the queue, to which nothing comes back now.
        held: Any = engine.redis.zrange(engine.keys.held(tenant.slug, lane), 0, -1)
        ids += [_text(raw) for raw in held]
    return sum(_is_cancelled(engine, job_id, tenant.slug) for job_id in ids)


def cancel_rows(tenant: Tenant) -> int:
    """Cancel its rows of the outbox, in the caller's transaction; answers how many.

    Nobody must be able to write more of them, and Redis must take no job of it: what is being pushed at this moment
    is refused there.
    """
    # In one order, as everybody who takes many.
    ids = list(_rows(tenant).select_for_update().order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(ids), CHUNK):
        chunk = ids[start : start + CHUNK]
        outbox_rows.give_up(OutboxEntry.objects.filter(pk__in=chunk))
        for listener in _listeners:
            listener(chunk)
    return len(ids)


def _rows(tenant: Tenant) -> QuerySet[OutboxEntry]:
    """Those that may still run. What a former owner of the slug left says so, and is refused when it is pushed."""
    alive = (OutboxEntry.State.WAITING, OutboxEntry.State.PARKED)
    return OutboxEntry.objects.filter(tenant=tenant.slug, state__in=alive, tenant_uid__in=("", str(tenant.pk)))


def _is_cancelled(engine: Engine, job_id: str, slug: str) -> bool:
    try:
        return engine.scripts.cancel(job_id, slug) == "cancelled"
    except (ResponseError, EngineError) as error:
        if is_away(error):
            raise
        return False  # no record of a job: nothing that could run


def delayed_ids(engine: Engine, slug: str) -> Iterator[str]:
    """The ids of its jobs that wait for a time; of all tenants' delayed jobs, one at a time would not do."""
    chunk: list[bytes] = []
    for member, _due in engine.redis.zscan_iter(rq.RQ_SCHEDULED, count=CHUNK):
        chunk.append(member)
        if len(chunk) >= CHUNK:
            yield from _of_tenant(engine, slug, chunk)
            chunk = []
    yield from _of_tenant(engine, slug, chunk)


def _of_tenant(engine: Engine, slug: str, members: list[bytes]) -> list[str]:
    ids = [_text(member) for member in members]
    with engine.redis.pipeline(transaction=False) as pipe:
        for job_id in ids:
            pipe.hget(rq.rq_job(job_id), "jo_tenant")
        owners = pipe.execute(raise_on_error=False)  # a key of another kind is nobody's job
    for owner in owners:
        if isinstance(owner, Exception) and is_away(owner):
            raise owner
    return [job_id for job_id, owner in zip(ids, owners, strict=True) if owner == slug.encode()]


def _text(raw: bytes | str) -> str:
    return raw if isinstance(raw, str) else raw.decode(errors="backslashreplace")
