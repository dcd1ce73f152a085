"""Reconciling: walks all queues by cursor and repairs what outsiders and cut-off writes left behind.

Plain RQ enqueues and requeues never enter the ring; a job that is marked as running may have lost its lease.
"""

from __future__ import annotations

import logging
from collections.abc import Container
from dataclasses import dataclass, field

from django.db import Error as DatabaseError

from jobops.audit import recording
from jobops.engine.keys import split_queue
from jobops.engine.lanes import known_lanes
from jobops.engine.link import is_away
from jobops.scheduling.duties import Context
from tenants.models import Tenant

log = logging.getLogger("jobops.steward")

_QUEUE_PREFIX = b"rq:queue:"


@dataclass(slots=True)
class Reconciler:
    """Keeps its place between runs; a new one starts from the beginning, which is always right."""

    batch: int = 100
    _cursor: int = 0
    _broken: set[str] = field(default_factory=set)

    def run(self, context: Context) -> int:
        """Repair the next slice of queues; answers how many were looked at, 0 at the end of a round."""
        cursor, names = context.engine.redis.sscan("rq:queues", cursor=self._cursor, count=self.batch)
        lanes, seen = known_lanes(context.engine), 0
        for name in names:
            if context.stopping():
                return 0
            seen += self._repair(context, name if isinstance(name, bytes) else name.encode(), lanes)
        self._cursor = int(cursor)
        return seen if self._cursor else 0

    def _repair(self, context: Context, name: bytes, lanes: Container[str]) -> int:
        queue = name.removeprefix(_QUEUE_PREFIX).decode(errors="replace")
        try:
            _tenant, lane = split_queue(queue)
        except ValueError:
            return 0  # a queue of plain RQ is none of ours
        if lane not in lanes:
            return 0
        try:
            found = context.engine.scripts.reconcile(queue)
        except Exception as error:
            if is_away(error):
                raise
            # Somebody else's data under one of its keys: the other queues must not wait for that to be mended.
            if queue not in self._broken:
                log.error("queue %s cannot be reconciled: %s: %s", queue, type(error).__name__, error)
            self._broken.add(queue)
            return 1
        if queue in self._broken:
            self._broken.discard(queue)
            log.info("queue %s can be reconciled again", queue)
        if found.recovered or found.ring or found.active:
            log.warning(
                "queue %s repaired: %d job(s) ran without a lease, ring %s, index %s",
                queue, found.recovered, "repaired" if found.ring else "right", "repaired" if found.active else "right",
            )  # fmt: skip
        if found.recovered:
            _record(queue, found.recovered)
        return 1


def _record(queue: str, recovered: int) -> None:
    """Say in the audit that jobs were moved. The repair is done by then, and the queues after it need no database."""
    slug = split_queue(queue)[0]
    try:
        tenant = Tenant.objects.filter(slug=slug).first()
        done = {"recovered": recovered}
        change = recording.Change("queue.repair", "queue", queue, tenant.pk if tenant else None, slug, after=done)
        recording.record("scheduler", change)
    except DatabaseError as error:
        log.error("the audit does not hold that %d job(s) of %s were recovered: %s", recovered, queue, error)
