"""What the signals read, each thing once in a round and only if a signal asks for it.

The number of queries and commands depends neither on the tenants nor on the causes. What cannot be read raises
``Unread`` for each signal that asks: such a signal neither fires nor ends anything.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection
from django.db.models import F, Max, Sum
from redis.exceptions import RedisError

from dlq.models import DeadLetterGroup, GroupTenant
from jobops.alerts import baselines, outbox
from jobops.alerts.matching import fits
from jobops.alerts.models import Alert
from jobops.alerts.rules import Limits
from jobops.audit.models import AuditEntry
from jobops.contracts import registry
from jobops.contracts.catalog.facts import RunTimes
from jobops.contracts.job_type import JobType
from jobops.engine.client import Engine
from jobops.engine.link import is_away
from jobops.engine.queues import type_counters
from jobops.engine.records import Counters
from jobops.engine.worker_views import SupervisorView, read_supervisors, served_lanes
from jobops.metrics.fleet import Fleet, read_fleet
from jobops.metrics.rows import WINDOW_MINUTES
from jobops.metrics.run_times import read_run_times
from jobops.metrics.unserved import StrayReader, Unserved, unserved_lanes
from jobops.scheduling.scheduler import LOCK
from tenants.models import Tenant

STALLED_MS = 10_000
"""A lease that ran out so long ago, and is still there, is not being rescued."""
LOSS_FOR = timedelta(hours=24)

T = TypeVar("T")
_strays = StrayReader()


class Unread(Exception):
    """Something cannot be read just now; the text says what and why, without addresses."""


class Sources:
    """One round's view of the system. ``now`` is this host's; ages of what Redis wrote are on Redis's clock."""

    def __init__(self, engine: Engine, now: datetime, limits: Limits, *, redis_away: bool = False) -> None:
        """``redis_away``: it did not answer a moment ago, and nobody is to wait for it again."""
        self.now = now
        self.limits = limits
        self.skews: Counter[str] = Counter()
        """How often an instant of something lay in the future, by what it was: clocks differ."""
        self._engine = engine
        self._away = redis_away

    def ended_lately(self, signal: str, within: timedelta) -> dict[str, datetime]:
        """When the newest episode of each key of this signal was over, if that was so lately."""
        lately = (self.now - within, self.now)  # one that ended in the future, by a clock since set back, tells nothing
        over = Alert.objects.filter(signal=signal, resolved_at__range=lately).order_by()
        return dict(over.values_list("key").annotate(Max("resolved_at")))

    def age_s(self, since: datetime | None, what: str) -> float:
        """Seconds since then. Of an instant in the future, which another host's clock wrote, 0; and it is counted."""
        seconds = (self.now - since).total_seconds() if since is not None else 0.0
        return self._floored(seconds, what)

    # -- dead letters --------------------------------------------------------------------------------------------------

    @cached_property
    def groups(self) -> list[DeadLetterGroup]:
        """The causes with undrained letters, the one that is due first at the head."""
        fields = ("title", "job_type", "error_class", "open", "replaying", "deaths", "tenants", "first_seen_at",
                  "due_at", "owner", "severity", "state", "state_by", "reopened_at", "clock_paused_until",
                  "created_at", "last_seen_at")  # fmt: skip
        found = DeadLetterGroup.objects.filter(due_at__isnull=False).order_by("due_at", "pk").only(*fields)
        return [group for group in found if group.undrained > 0]

    @cached_property
    def letters_kept(self) -> int:
        """All rows in the table, from the kept counts."""
        total = F("open") + F("replaying") + F("resolved") + F("discarded")
        return int(DeadLetterGroup.objects.aggregate(all=Sum(total))["all"] or 0)

    def letters_by_tenant(self, signal: str) -> list[tuple[str, int]]:
        """Undrained letters of the tenants that rules of this signal name; nothing is read when none does."""
        globs = self.limits.globs(signal, "tenant")
        if not globs:
            return []
        slugs = dict(Tenant.objects.order_by("slug").values_list("pk", "slug"))
        chosen = {pk: slug for pk, slug in slugs.items() if any(fits(glob, slug) for glob in globs)}
        rows = (
            GroupTenant.objects.filter(tenant__in=list(chosen))
            .order_by()
            .values_list("tenant")
            .annotate(undrained=Sum(F("open") + F("replaying")))
        )
        return [(chosen[pk], count) for pk, count in rows if pk in chosen]

    # -- queues and workers --------------------------------------------------------------------------------------------

    @cached_property
    def fleet(self) -> Fleet:
        """Queues with something in them, and the counters of the last minutes."""
        return self._ask("the queues", read_fleet)

    @cached_property
    def counters(self) -> dict[str, Counters]:
        """What happened in the last minutes, by tenant."""
        return self.fleet.history.window(WINDOW_MINUTES)

    @cached_property
    def type_counters(self) -> dict[str, dict[str, int]]:
        """The same by job type."""
        return self._ask("the counters", lambda engine: type_counters(engine, WINDOW_MINUTES))

    @cached_property
    def run_times(self) -> dict[JobType, RunTimes]:
        """How long runs took, by job type."""
        types = registry.all_types()
        found = self._ask("the run times", lambda engine: read_run_times(engine, types, self._redis_ms))
        return {each: found[each.name] for each in types}

    @cached_property
    def baselines(self) -> dict[str, float]:
        """What is usual, by name of the job type."""
        return baselines.known()

    @cached_property
    def supervisors(self) -> Sequence[SupervisorView]:
        """The workers."""
        return self._ask("the workers", read_supervisors)

    @cached_property
    def unserved_lanes(self) -> list[Unserved]:
        """Lanes with jobs and without a living worker."""
        served = served_lanes(self.supervisors)
        return self._ask("the lanes", lambda engine: unserved_lanes(engine, served))

    @cached_property
    def stray_queues(self) -> list[Unserved]:
        """Queues that are nobody's; looked for every quarter of a minute."""
        return self._ask("the queues' names", _strays.read)

    @cached_property
    def paused_tenants(self) -> frozenset[str]:
        """Those whose jobs wait because somebody chose so."""
        return frozenset(Tenant.objects.filter(paused=True).values_list("slug", flat=True))

    @property
    def urgent_lane(self) -> str:
        """The settings name it first."""
        return next(iter(self._engine.lanes), "")

    @cached_property
    def stalled_jobs(self) -> int:
        """Leases that ran out, and that nobody rescues."""
        until = self._redis_ms - STALLED_MS
        return int(self._ask("the leases", lambda engine: engine.redis.zcount(engine.keys.leases(), "-inf", until)))

    @cached_property
    def has_scheduler(self) -> bool:
        """Whether one leads."""
        return bool(self._ask("the scheduler's lock", lambda engine: engine.redis.exists(engine.keys.lock(LOCK))))

    @cached_property
    def clock_difference_s(self) -> float:
        """Between this host's clock and Redis's, less the time that asking took."""
        before = time.time()
        seconds, micros = self._ask("the clock", lambda engine: engine.redis.time())
        after = time.time()
        theirs = int(seconds) + int(micros) / 1_000_000
        return max(0.0, before - theirs, theirs - after)

    # -- flow ----------------------------------------------------------------------------------------------------------

    @cached_property
    def intake_lag_s(self) -> float:
        """How long the oldest death, or end of a replay, has waited in Redis."""

        def oldest(engine: Engine) -> list[Any]:
            with engine.redis.pipeline(transaction=False) as pipe:
                for key in (engine.keys.dead(), engine.keys.outcomes()):
                    pipe.zrange(key, 0, 0, withscores=True)
                return list(pipe.execute())

        now_ms = self._redis_ms
        scores = [score for answer in self._ask("the dead intake", oldest) for _, score in answer]
        return max((self._floored((now_ms - score) / 1000, "a death") for score in scores), default=0.0)

    @cached_property
    def outbox_lag(self) -> tuple[float, str]:
        """How long the row has waited that should have gone first, and its tenant; held ones wait rightly."""
        tenant, due_at = outbox.first_due()
        return self.age_s(due_at, "an outbox row"), tenant

    @cached_property
    def outbox_parked(self) -> int:
        """Rows that a person must decide."""
        return outbox.parked()

    # -- Redis and the database ----------------------------------------------------------------------------------------

    @cached_property
    def redis_answers(self) -> bool:
        """Whether it does, now."""
        if self._away:
            return False
        try:
            return bool(self._engine.redis.ping())
        except RedisError:
            self._away = True
            return False

    @cached_property
    def redis_info(self) -> Mapping[str, Any]:
        """What it says of itself."""
        return self._ask("Redis itself", lambda engine: dict(engine.redis.info("everything")))

    @cached_property
    def last_loss(self) -> str | None:
        """The epoch of the Redis that turned out to be another one than the database knew, within the last day. The
        duty that puts it right is faster than any look at the difference, but it leaves a row in the audit."""
        rows = AuditEntry.objects.filter(action="policies.push", at__gt=self.now - LOSS_FOR).order_by("-id")
        after = rows.values_list("after", flat=True).first()
        return None if after is None else str(after.get("epoch", ""))[:64]

    @cached_property
    def disk_used_percent(self) -> float | None:
        """Of the disk that the database's file is on; None where there is no such file."""
        if connection.vendor != "sqlite":
            return None
        folder = Path(str(settings.DATABASES["default"]["NAME"])).parent
        if not folder.is_absolute() or not folder.is_dir():
            return None
        usage = shutil.disk_usage(folder)
        return (usage.total - usage.free) / usage.total * 100 if usage.total else None

    @cached_property
    def database_bytes(self) -> int:
        """How large it is."""
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("SELECT pg_database_size(current_database())")
            else:
                cursor.execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
            return int(cursor.fetchone()[0])

    # -- asking --------------------------------------------------------------------------------------------------------

    @property
    def _redis_ms(self) -> int:
        return int(self.fleet.read_at.timestamp() * 1000)

    def _ask(self, what: str, work: Callable[[Engine], T]) -> T:
        """Raises Unread. Once Redis is away it is asked no more in this round: each question would wait in vain."""
        if self._away:
            raise Unread(f"{what}: Redis is away")
        try:
            return work(self._engine)
        except RedisError as error:
            self._away = is_away(error)
            raise Unread(f"{what}: {type(error).__name__}") from error

    def _floored(self, seconds: float, what: str) -> float:
        if seconds < 0:
            self.skews[what] += 1
        return max(0.0, seconds)
