"""Queues that nobody takes from: of unknown tenants and lanes, and of lanes that no living worker serves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jobops.doctor import walk
from jobops.doctor.findings import Finding
from jobops.doctor.site import Site
from jobops.engine import keys as rq
from jobops.engine.lanes import known_lanes
from jobops.engine.worker_views import read_supervisors, served_lanes
from tenants.models import Tenant


def check(site: Site) -> Iterator[Finding]:
    """Queues with waiting jobs that will not start, whatever else is right."""
    lanes = known_lanes(site.engine)
    depths: Counter[str] = Counter()
    example: dict[str, str] = {}
    for names in walk.queues(site.engine):
        waiting = _waiting(site, names)
        slugs = {rq.split_queue(queue)[0] for queue in waiting}
        known = set(Tenant.objects.filter(slug__in=slugs).values_list("slug", flat=True))
        for queue, depth in waiting.items():
            tenant, lane = rq.split_queue(queue)
            missing = f"lane {lane}" if lane not in lanes else f"tenant {tenant}" if tenant not in known else ""
            if missing:
                text = f"{depth:,} jobs wait in it, but there is no {missing}: nothing will ever start them"
                yield Finding("unknown_queue", "queue", queue, text, tenant)
            else:
                depths[lane] += depth
                example.setdefault(lane, queue)
    yield from _unserved(site, depths, example)


def _waiting(site: Site, names: list[str]) -> dict[str, int]:
    with site.engine.redis.pipeline(transaction=False) as pipe:
        for queue in names:
            pipe.llen(rq.rq_queue(queue))
            pipe.zcard(site.engine.keys.held(*rq.split_queue(queue)))  # who waits at a gate is to start there, too
        depths = walk.told(pipe.execute(raise_on_error=False))
    waiting = {name: sum(filter(None, depths[2 * at : 2 * at + 2])) for at, name in enumerate(names)}
    return {queue: depth for queue, depth in waiting.items() if depth}


def _unserved(site: Site, depths: Counter[str], example: dict[str, str]) -> Iterator[Finding]:
    if not (depths.keys() - _served(site)):
        return
    site.wait()  # a worker may be just starting
    for lane in sorted(depths.keys() - _served(site)):
        text = (
            f"{depths[lane]:,} jobs wait in lane {lane} (in queue {example[lane]}, for one), and no living worker "
            f"serves it: start one with `manage.py worker --lanes {lane}`"
        )
        yield Finding("queue_unserved", "lane", lane, text)


def _served(site: Site) -> frozenset[str]:
    return served_lanes(read_supervisors(site.engine))
