"""Pushing outbox rows to Redis: at least once, each with its own id, a second push of which is a no-op.

A claim (token and ``next_try_at``) makes one process push a row at a time; marks are guarded by the token. It is an
economy and not what correctness rests on: Redis takes each id once. It knows an id for a day, hence
``first_pushed_at``, committed before the push.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol
from uuid import uuid4

from django.db import DEFAULT_DB_ALIAS
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from jobops.context.models import OutboxEntry
from jobops.context.outage import is_outage
from jobops.context.outbox import job_of
from jobops.engine.errors import DepthExceeded, EnqueueRefused, IntakeClosed
from jobops.engine.records import Enqueued, NewJob

log = logging.getLogger("jobops.outbox")

CLAIM_FOR = timedelta(seconds=60)
UNKNOWN_AFTER = timedelta(hours=23)
"""Redis remembers a pushed id for 24 h; the hour between is for clocks that differ and a push on its way."""
PARK_AFTER = 10
MAX_BACKOFF_S = 300.0
KEEP_ENDED = timedelta(hours=24)
_TEMPORARY = (DepthExceeded, IntakeClosed)


class Pusher(Protocol):
    """Takes jobs into Redis."""

    def enqueue_many(self, jobs: Sequence[NewJob], /) -> Sequence[Enqueued | EnqueueRefused]:
        """One answer for each job, in order. Raises ``redis.RedisError``."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """Rows that this process may push until ``deadline`` (local clock, seconds)."""

    rows: list[OutboxEntry]
    token: str
    deadline: float

    def without(self, ids: set[str]) -> Claimed:
        """The same claim on the rows that are not in ``ids``."""
        return Claimed([row for row in self.rows if row.id not in ids], self.token, self.deadline)


def push_now(pusher: Pusher, ids: Sequence[str], batch: int = 500) -> int:
    """Push these new rows, right after their commit; answers how many left the outbox. Raises ``redis.RedisError``."""
    done = 0
    for start in range(0, len(ids), batch):
        mine = Q(pk__in=ids[start : start + batch], claim_token="", attempts=0)
        done += _push(pusher, _claim(mine))
    return done


def relay(pusher: Pusher, *, limit: int = 200, ready: Callable[[], object] = lambda: None) -> int:
    """Push up to ``limit`` rows that are due; answers how many it dealt with.

    ``ready`` is called before rows are marked as pushed and raises when Redis is away: an outage of days then
    leaves no row in doubt. Raises ``redis.RedisError``.
    """
    parked = park_unknown()
    due = Q(next_try_at__lte=timezone.now())
    ids = list(_waiting().filter(due).order_by("next_try_at", "created_at").values_list("pk", flat=True)[:limit])
    if not ids:
        return parked
    ready()
    claimed = _claim(due & Q(pk__in=ids))
    _push(pusher, claimed)
    return parked + len(claimed.rows)


def park_unknown() -> int:
    """Park the rows whose push may have arrived so long ago that Redis has forgotten the id. Answers how many."""
    lost = _waiting().filter(first_pushed_at__lt=timezone.now() - UNKNOWN_AFTER)
    parked = lost.update(state=OutboxEntry.State.PARKED, parked_as=OutboxEntry.Parked.OUTCOME_UNKNOWN, claim_token="")
    if parked:
        log.error("%d outbox row(s) parked: pushed over a day ago, and nobody knows whether they arrived", parked)
    return parked


def unpark(job_id: str) -> bool:
    """A person decides that a parked row is pushed again, from scratch. False when it is not parked."""
    parked = _rows().filter(pk=job_id, state=OutboxEntry.State.PARKED)
    return bool(
        parked.update(
            state=OutboxEntry.State.WAITING,
            parked_as="",
            attempts=0,
            first_pushed_at=None,
            claim_token="",
            next_try_at=timezone.now(),
        )
    )


def cancel(rows: QuerySet[OutboxEntry]) -> int:
    """Cancel those of the rows that nobody is pushing at this moment; answers how many."""
    idle = Q(claim_token="") | Q(next_try_at__lte=timezone.now())
    alive = Q(state__in=[OutboxEntry.State.WAITING, OutboxEntry.State.PARKED])
    return rows.filter(idle & alive).update(
        state=OutboxEntry.State.CANCELLED, ended_at=timezone.now(), parked_as="", claim_token=""
    )


def forget_ended(limit: int = 1000) -> int:
    """Delete rows that were coalesced or cancelled over a day ago. Parked ones stay until a person decides."""
    old = _rows().filter(ended_at__lt=timezone.now() - KEEP_ENDED)
    ids = list(old.values_list("pk", flat=True)[:limit])
    return _rows().filter(pk__in=ids).delete()[0] if ids else 0


def _rows() -> QuerySet[OutboxEntry]:
    return OutboxEntry.objects.using(DEFAULT_DB_ALIAS)


def _waiting() -> QuerySet[OutboxEntry]:
    return _rows().filter(state=OutboxEntry.State.WAITING)


def _claim(which: Q) -> Claimed:
    token, now = uuid4().hex, timezone.now()
    deadline = time.time() + CLAIM_FOR.total_seconds() / 2
    claimed = (
        _waiting()
        .filter(which)
        .update(
            claim_token=token,
            next_try_at=now + CLAIM_FOR,
            first_pushed_at=Coalesce(F("first_pushed_at"), now),
        )
    )
    rows = list(_rows().filter(claim_token=token).order_by("created_at", "pk")) if claimed else []
    return Claimed(rows, token, deadline)


def _push(pusher: Pusher, claimed: Claimed) -> int:
    if not claimed.rows or time.time() > claimed.deadline:  # a process that slept: somebody else may have the rows
        return 0
    try:
        answers = pusher.enqueue_many([job_of(row) for row in claimed.rows])
    except Exception as error:
        if is_outage(error):
            _give_back(claimed, error)
            raise
        log.warning("a batch of %d outbox rows failed, pushing them singly: %s", len(claimed.rows), error)
        return _push_singly(pusher, claimed)
    return _settle(claimed, dict(zip((row.id for row in claimed.rows), answers, strict=True)))


def _push_singly(pusher: Pusher, claimed: Claimed) -> int:
    done: dict[str, Enqueued | Exception] = {}
    for row in claimed.rows:
        try:
            done[row.id] = pusher.enqueue_many([job_of(row)])[0]
        except Exception as error:
            if is_outage(error):
                _settle(claimed, done)
                _give_back(claimed.without(set(done)), error)
                raise
            done[row.id] = error
    return _settle(claimed, done)


def _settle(claimed: Claimed, answers: dict[str, Enqueued | Exception]) -> int:
    """Record what became of each; answers how many left the outbox."""
    left = [job_id for job_id, answer in answers.items() if isinstance(answer, Enqueued)]
    for row in claimed.rows:
        answer = answers.get(row.id)
        if isinstance(answer, Enqueued) and answer.state == "coalesced":
            left.remove(row.id)
            _waiting().filter(pk=row.pk).update(
                state=OutboxEntry.State.COALESCED, coalesced_into=answer.id, ended_at=timezone.now()
            )
        elif isinstance(answer, Exception):
            _refused(row, claimed.token, answer)
    # Without the token: the job is in Redis, whoever holds the row by now.
    _rows().filter(pk__in=left).delete()
    return len(left)


def _refused(row: OutboxEntry, token: str, error: Exception) -> None:
    attempts = row.attempts + 1
    wait = min(MAX_BACKOFF_S, 2.0 ** min(attempts, 16)) * random.uniform(0.75, 1.0)
    park = attempts >= PARK_AFTER and not isinstance(error, _TEMPORARY)
    # A refusal proves that this id is not in Redis; after any other error nobody knows.
    first = None if isinstance(error, EnqueueRefused) else F("first_pushed_at")
    _rows().filter(pk=row.pk, claim_token=token).update(
        attempts=attempts,
        next_try_at=timezone.now() + timedelta(seconds=wait),
        first_pushed_at=first,
        claim_token="",
        last_error=f"{type(error).__name__}: {error}"[:2000].replace("\0", "\\0"),
        state=OutboxEntry.State.PARKED if park else OutboxEntry.State.WAITING,
        parked_as=OutboxEntry.Parked.REFUSED if park else "",
    )
    log.log(
        logging.ERROR if park else logging.WARNING,
        "outbox row %s %s after %d refusal(s): %s", row.pk, "parked" if park else "waits", attempts, error,
    )  # fmt: skip


def _give_back(claimed: Claimed, error: Exception) -> None:
    """Redis is away: the rows wait, and are in doubt from their first push on."""
    mine = _rows().filter(pk__in=[row.pk for row in claimed.rows], claim_token=claimed.token)
    mine.update(claim_token="", next_try_at=timezone.now(), last_error=f"{type(error).__name__}: {error}"[:2000])
