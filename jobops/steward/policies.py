"""Policies: the database is the truth, and Redis gets back what it lost or missed.

Redis holds a random epoch, and so does the database. When they differ, Redis was flushed or restored, or the database
was: then everything is pushed again. A Redis that was restored to an older state of its own has the same epoch; but it
is behind the marks of which the database knows, and is given another one.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import Error as DatabaseError
from django.utils import timezone

from dlq.watch import watch_all
from jobops.audit import recording
from jobops.engine.client import Engine
from jobops.engine.link import is_away
from jobops.limits.pushing import restore
from jobops.runtime.plug import EnginePolicyPusher
from jobops.scheduling.duties import Context
from jobops.steward.models import CellState
from tenants.models import Tenant
from tenants.policy import policy_of, push_all, push_slug, push_stale

log = logging.getLogger("jobops.steward")

MARK_EVERY = timedelta(seconds=5)
MOST_BEHIND = 4
"""Marks that a Redis may be behind: the last seconds before a crash or a failover, which its settings may cost."""


def run(context: Context) -> int:
    """Look at the epoch and push what changed; answers how many policies were pushed."""
    return check_epoch(context.engine) + push_stale(EnginePolicyPusher())


def check_epoch(engine: Engine, *, at_once: bool = False) -> int:
    """Push everything if Redis is not the one that the database knows; answers how many policies were pushed.

    Whether it was set back is looked at every few seconds, or ``at_once``.
    """
    state = CellState.objects.filter(pk=1).first()
    is_due = state is not None and (at_once or _is_due(state))
    epoch = _marked(engine, state) if state is not None and is_due else engine.scripts.epoch()
    if state is not None and state.epoch == epoch:
        return 0
    if state is not None and state.epoch:
        log.error(
            "Redis was flushed or restored, or the database was (epoch %s, expected %s): "
            "lanes and policies are pushed again; jobs that waited in a flushed Redis are gone, and what ended since "
            "the state that was restored may run again",
            epoch, state.epoch,
        )  # fmt: skip
    engine.scripts.set_lanes(engine.lanes)
    restore(engine, again=True)  # before anybody's policy: what is paused must not start meanwhile
    pushed = push_all(EnginePolicyPusher())
    # Replays may be gone with the old Redis; their letters must not wait for the minute to pass.
    watch_all()
    if state is not None and state.epoch:
        done = {"epoch": epoch, "pushed": pushed}
        change = recording.Change("policies.push", "redis", "policies", before={"epoch": state.epoch}, after=done)
        recording.record("scheduler", change)
    # Last: whoever dies before this begins again.
    CellState.objects.update_or_create(pk=1, defaults={"epoch": epoch, "epoch_seen_at": timezone.now()})
    return pushed


def is_set_back(mark: int, state: CellState) -> bool:
    """Whether a Redis with this mark is an older state of itself than the one that the database knows."""
    return mark + MOST_BEHIND < state.mark


def _is_due(state: CellState) -> bool:
    return state.marked_at is None or abs(timezone.now() - state.marked_at) >= MARK_EVERY


def _marked(engine: Engine, state: CellState) -> str:
    """Make the next mark, in Redis first: whoever dies in between leaves it ahead, which says nothing. Answers the
    epoch."""
    epoch, mark = engine.scripts.epoch_mark(state.mark, MOST_BEHIND)
    CellState.objects.filter(pk=state.pk, mark__lt=mark).update(mark=mark, marked_at=timezone.now())
    return epoch


@dataclass(slots=True)
class PolicyAudit:
    """Compares what Redis holds with the database, a slice of the tenants at each run, and repairs what differs.

    For losses that leave the epoch alone: a deleted key, a restored backup of some seconds ago.
    """

    batch: int = 200
    every_s: float = 60.0
    """Seconds between two rounds over all tenants."""
    _after: str = ""
    _next_round: float = 0.0
    _broken: set[str] = field(default_factory=set)

    def run(self, context: Context) -> int:
        """Compare one slice; answers how many tenants it looked at, 0 between two rounds."""
        if not self._after:
            if time.monotonic() < self._next_round:
                return 0
            context.engine.scripts.set_lanes(context.engine.lanes)
        slice_ = list(Tenant.objects.filter(slug__gt=self._after).order_by("slug")[: self.batch])
        for tenant in slice_:
            self._audit(context.engine, tenant)
        self._after = slice_[-1].slug if len(slice_) == self.batch else ""
        if not self._after:
            self._next_round = time.monotonic() + self.every_s
        return len(slice_) if self._after else 0

    def _audit(self, engine: Engine, tenant: Tenant) -> None:
        """One tenant. What is wrong with its key alone is logged once, and the others go on."""
        slug = tenant.slug
        try:
            if engine.scripts.policy(slug) != policy_of(tenant) and push_slug(slug):
                log.warning("the policy of tenant %s was missing or different in Redis; pushed again", slug)
                recording.record("scheduler", recording.Change("policy.repair", "tenant", slug, tenant.pk, slug))
        except Exception as error:
            if is_away(error) or isinstance(error, DatabaseError):
                raise
            if slug not in self._broken:
                log.error("the policy of tenant %s cannot be compared: %s: %s", slug, type(error).__name__, error)
            self._broken.add(slug)
            return
        if slug in self._broken:
            self._broken.discard(slug)
            log.info("the policy of tenant %s can be compared again", slug)
