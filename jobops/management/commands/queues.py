"""``manage.py queues``: what waits and runs, per tenant and lane."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import CommandParser

from jobops.engine.keys import split_queue
from jobops.engine.lanes import of_every_lane
from jobops.engine.queues import active_tenants, read_queues
from jobops.engine.records import QueueView
from jobops.engine.worker_views import read_supervisors, served_lanes
from jobops.management.base import OperatorCommand, Usage, unknown_tenant
from jobops.metrics.unserved import Unserved, stray_queues
from jobops.runtime import get_engine
from tenants.models import Tenant

COLUMNS = ("tenant", "lane", "depth", "waiting", "oldest_age", "running", "cap", "weight", "paused", "served")


class Command(OperatorCommand):
    help = (
        "Shows the queues, those with the oldest waiting job first; oldest age in seconds. Waiting: how many of the "
        "depth wait for a limit. Served: a living worker takes jobs of the lane."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Options of the command."""
        super().add_arguments(parser)
        parser.add_argument("--tenant", metavar="SLUG", help="only this tenant's")
        parser.add_argument("--active", action="store_true", help="only queues with waiting or running jobs")
        parser.add_argument("--watch", action="store_true", help="again every 2 seconds, until Ctrl-C")

    def run(self, options: dict[str, Any]) -> None:
        """Print once, or until interrupted."""
        if options["watch"] and options["as_json"]:
            raise Usage("queues: --watch prints again and again, and --json one document: give one of the two")
        self._print(options)
        with _until_interrupted():
            while options["watch"]:
                time.sleep(2)
                if self.stdout.isatty():
                    self.stdout.write("\x1b[H\x1b[2J", ending="")
                self._print(options)

    def _print(self, options: dict[str, Any]) -> None:
        rows = read_rows(options["tenant"], active=options["active"])
        if options["as_json"]:
            self.print_json(rows)
        else:
            # A queue that is no tenant's has a name only.
            named = [{**row, "lane": row["lane"] or row["queue"]} for row in rows]
            self.print_table(COLUMNS, named, "no queues: no tenant has work" if options["active"] else "no tenants yet")


def read_rows(tenant: str | None = None, *, active: bool = False) -> list[dict[str, Any]]:
    """One row a queue, the longest waiting first. Raises Refused for an unknown tenant, and ``redis.RedisError``."""
    engine = get_engine()
    # With work in a lane that JOBOPS_LANES no longer names: nobody would find it otherwise.
    every = of_every_lane(engine)
    found = Tenant.objects.filter(slug=tenant) if tenant is not None else Tenant.objects.order_by("slug")
    policies = {each.slug: each for each in found}
    if tenant is not None and not policies:
        raise unknown_tenant("--tenant", tenant)
    # Work of a tenant that was deleted meanwhile is shown too: nothing is hidden that may still run.
    slugs = list(dict.fromkeys([*policies, *([] if tenant is not None else active_tenants(every))]))
    served = served_lanes(read_supervisors(engine))
    rows = [
        _row(queue, policies.get(queue.tenant), served)
        for queue in read_queues(every, slugs)
        if queue.depth or queue.running or (queue.lane in engine.lanes and not active)
    ]
    rows += [row for row in map(_stray_row, stray_queues(engine)) if tenant is None or row["tenant"] == tenant]
    return sorted(rows, key=lambda row: (-(row["oldest_age"] or 0.0), -row["depth"], row["queue"]))


def _row(queue: QueueView, tenant: Tenant | None, served: Collection[str]) -> dict[str, Any]:
    return {
        "tenant": queue.tenant,
        "lane": queue.lane,
        "queue": f"{queue.tenant}.{queue.lane}",
        "depth": queue.depth,
        "waiting": queue.waiting,
        "oldest_age": None if queue.oldest_age_s is None else round(queue.oldest_age_s, 3),
        "running": queue.running,
        "cap": tenant.lane_caps.get(queue.lane, tenant.cap) if tenant else None,
        "weight": tenant.weight if tenant else None,
        "paused": tenant.paused if tenant else None,
        "served": queue.lane in served,
    }


def _stray_row(stray: Unserved) -> dict[str, Any]:
    """A queue that nothing here knows (RD-02): of a lane that is none, or not of a tenant at all."""
    try:
        tenant, lane = split_queue(stray.name)
    except ValueError:
        tenant, lane = None, None
    unknown = dict.fromkeys(("oldest_age", "cap", "weight", "paused"))
    counts = {"depth": stray.depth, "waiting": 0, "running": 0}
    return {"tenant": tenant, "lane": lane, "queue": stray.name, **counts, **unknown, "served": False}


@contextmanager
def _until_interrupted() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        return
