"""Pushing outbox rows to Redis: at least once, each with its own id, a second push of which is a no-op.

A claim (token and ``next_try_at``) makes one process push a row at a time; marks are guarded by the token. It is an
economy and not what correctness rests on: Redis takes each id once. It knows an id for a day, hence
``first_pushed_at``, committed before the push.

The tenants take turns (``turns``), and one that Redis lets nothing in for is left alone for a while (``holds``). The
number of queries for a batch does not depend on how many rows are in it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Protocol
from uuid import uuid4

from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from jobops.context import holds
from jobops.context.outbox import job_of
from jobops.context.outbox_rows import park_unknown, rows, waiting
from jobops.context.relay_answers import Pushed, settle
from jobops.context.relay_claims import Claimed
from jobops.context.turns import Turns
from jobops.engine.errors import EngineError
from jobops.engine.link import is_away
from jobops.engine.records import Enqueued, NewJob

log = logging.getLogger("jobops.outbox")

CLAIM_FOR = timedelta(seconds=60)


class Pusher(Protocol):
    """Takes jobs into Redis."""

    def enqueue_many(self, jobs: Sequence[NewJob], /) -> Sequence[Enqueued | EngineError]:
        """One answer for each job, in order. Raises ``redis.RedisError``."""


def push_now(pusher: Pusher, ids: Sequence[str], batch: int = 500) -> int:
    """Push these new rows, right after their commit; answers how many left the outbox. Raises ``redis.RedisError``."""
    done, refused = 0, frozenset[str]()
    for start in range(0, len(ids), batch):
        mine = Q(pk__in=ids[start : start + batch], claim_token="", attempts=0)
        # The relay has the rest of a tenant that is full: it would only be refused too.
        pushed = _push(pusher, _claim(mine & ~Q(tenant__in=refused) if refused else mine))
        done, refused = done + pushed.left, refused | pushed.refused
    return done


def relay(
    pusher: Pusher,
    *,
    limit: int = 200,
    ready: Callable[[], bool] = lambda: True,
    turns: Turns | None = None,
) -> int:
    """Push up to ``limit`` rows that are due, of many tenants alike; answers how many it dealt with.

    ``ready`` is called before rows are marked as pushed. It raises when Redis is away (an outage of days then leaves no
    row in doubt), and answers False when Redis is to get nothing more at present: the rows wait. ``turns`` remembers
    whose turn it is. Raises ``redis.RedisError``.
    """
    parked = park_unknown()
    ids = (turns or Turns()).take(limit)
    if not ids:
        return parked
    if not ready():
        return parked
    claimed = _claim(Q(next_try_at__lte=timezone.now(), pk__in=ids))
    pushed = _push(pusher, claimed)
    holds.end(pushed.taking - pushed.refused)
    return parked + len(claimed.rows)


def _claim(which: Q) -> Claimed:
    token, now = uuid4().hex, timezone.now()
    deadline = time.time() + CLAIM_FOR.total_seconds() / 2
    claimed = (
        waiting()
        .filter(which)
        .update(
            claim_token=token,
            next_try_at=now + CLAIM_FOR,
            first_pushed_at=Coalesce(F("first_pushed_at"), now),
        )
    )
    mine = list(rows().filter(claim_token=token).order_by("created_at", "pk")) if claimed else []
    return Claimed(mine, token, deadline)


def _push(pusher: Pusher, claimed: Claimed) -> Pushed:
    if not claimed.rows or time.time() > claimed.deadline:  # a process that slept: somebody else may have the rows
        return Pushed()
    try:
        answers = pusher.enqueue_many([job_of(row) for row in claimed.rows])
    except Exception as error:
        if is_away(error):
            claimed.give_back(error)
            raise
        log.warning("a batch of %d outbox rows failed, pushing them singly: %s", len(claimed.rows), error)
        return _push_singly(pusher, claimed)
    return settle(claimed, dict(zip((row.id for row in claimed.rows), answers, strict=True)))


def _push_singly(pusher: Pusher, claimed: Claimed) -> Pushed:
    done: dict[str, Enqueued | Exception] = {}
    refused: set[str] = set()
    for row in claimed.rows:
        if row.tenant in refused:
            continue
        try:
            answer: Enqueued | Exception = pusher.enqueue_many([job_of(row)])[0]
        except Exception as error:
            if is_away(error):
                settle(claimed, done)
                claimed.without(set(done)).give_back(error)
                raise
            answer = error
        done[row.id] = answer
        if isinstance(answer, holds.TEMPORARY):
            refused.add(row.tenant)
    pushed = settle(claimed, done)
    claimed.without(set(done)).mine().update(claim_token="", next_try_at=timezone.now())
    return pushed
