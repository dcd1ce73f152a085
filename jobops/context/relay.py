"""Pushing outbox rows to Redis: at least once, each with its own id, a second push of which is a no-op.

A claim (token and ``next_try_at``) makes one process push a row at a time; marks are guarded by the token. It is an
economy and not what correctness rests on: Redis takes each id once. It knows an id for a day, hence
``first_pushed_at``, committed before the push.

The tenants take turns (``turns``), and one that Redis lets nothing in for is left alone for a while (``holds``). The
number of queries for a batch does not depend on how many rows are in it.
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
from django.db.models import Case, CharField, F, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce
from django.utils import timezone

from jobops.context import holds
from jobops.context.models import OutboxEntry
from jobops.context.outbox import job_of
from jobops.context.turns import Turns
from jobops.engine.errors import EngineError, EnqueueRefused
from jobops.engine.link import is_away
from jobops.engine.records import Enqueued, NewJob

log = logging.getLogger("jobops.outbox")

CLAIM_FOR = timedelta(seconds=60)
UNKNOWN_AFTER = timedelta(hours=23)
"""Redis remembers a pushed id for 24 h; the hour between is for clocks that differ and a push on its way."""
PARK_AFTER = 10
MAX_BACKOFF_S = 300.0
KEEP_ENDED = timedelta(hours=24)


class Pusher(Protocol):
    """Takes jobs into Redis."""

    def enqueue_many(self, jobs: Sequence[NewJob], /) -> Sequence[Enqueued | EngineError]:
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

    def only(self, ids: set[str]) -> Claimed:
        """The same claim on the rows that are in ``ids``."""
        return Claimed([row for row in self.rows if row.id in ids], self.token, self.deadline)


@dataclass(frozen=True, slots=True)
class Pushed:
    """What became of a batch: how many rows left the outbox, and the tenants that are full or closed, or take jobs."""

    left: int = 0
    refused: frozenset[str] = frozenset()
    taking: frozenset[str] = frozenset()


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
    return _end(rows.filter(idle))


def give_up(rows: QuerySet[OutboxEntry]) -> int:
    """Cancel those of the rows that have not ended, also what is being pushed; answers how many.

    For when Redis refuses their jobs anyway, as their tenant is gone.
    """
    return _end(rows)


def _end(rows: QuerySet[OutboxEntry]) -> int:
    alive = (OutboxEntry.State.WAITING, OutboxEntry.State.PARKED)
    return rows.filter(state__in=alive).update(
        state=OutboxEntry.State.CANCELLED, ended_at=timezone.now(), parked_as="", claim_token=""
    )


def forget_ended(limit: int = 1000) -> int:
    """Delete rows that were coalesced or cancelled over a day ago. Parked ones stay until a person decides."""
    holds.forget()
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


def _push(pusher: Pusher, claimed: Claimed) -> Pushed:
    if not claimed.rows or time.time() > claimed.deadline:  # a process that slept: somebody else may have the rows
        return Pushed()
    try:
        answers = pusher.enqueue_many([job_of(row) for row in claimed.rows])
    except Exception as error:
        if is_away(error):
            _give_back(claimed, error)
            raise
        log.warning("a batch of %d outbox rows failed, pushing them singly: %s", len(claimed.rows), error)
        return _push_singly(pusher, claimed)
    return _settle(claimed, dict(zip((row.id for row in claimed.rows), answers, strict=True)))


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
                _settle(claimed, done)
                _give_back(claimed.without(set(done)), error)
                raise
            answer = error
        done[row.id] = answer
        if isinstance(answer, holds.TEMPORARY):
            refused.add(row.tenant)
    pushed = _settle(claimed, done)
    _mine(claimed.without(set(done))).update(claim_token="", next_try_at=timezone.now())
    return pushed


def _settle(claimed: Claimed, answers: dict[str, Enqueued | Exception]) -> Pushed:
    """Record what became of each that was answered."""
    left: list[str] = []
    taking: set[str] = set()
    coalesced: list[OutboxEntry] = []
    full: list[tuple[OutboxEntry, Exception]] = []
    refused: list[tuple[OutboxEntry, Exception]] = []
    for row in claimed.rows:
        match answers.get(row.id):
            case Enqueued(state="coalesced", id=first):
                row.coalesced_into = first
                coalesced.append(row)
            case Enqueued(state=state):
                left.append(row.id)
                if state != "duplicate":  # that one is answered whether or not there is room
                    taking.add(row.tenant)
            case Exception() as error:
                (full if isinstance(error, holds.TEMPORARY) else refused).append((row, error))
    # Without the token: the job is in Redis, whoever holds the row by now.
    _rows().filter(pk__in=left).delete()
    _coalesced(coalesced)
    _wait_for_room(full, claimed, taking)
    _refused(refused, claimed)
    return Pushed(len(left), frozenset(row.tenant for row, _ in full), frozenset(taking))


def _coalesced(rows: Sequence[OutboxEntry]) -> None:
    for row in rows:
        row.state, row.ended_at = OutboxEntry.State.COALESCED, timezone.now()
    if rows:
        _waiting().bulk_update(rows, ["state", "coalesced_into", "ended_at"])


def _wait_for_room(full: Sequence[tuple[OutboxEntry, Exception]], claimed: Claimed, taking: set[str]) -> None:
    """The tenant waits, with all its rows: they stay due, so that they go in their order when it may go on."""
    if not full:
        return
    first: dict[str, Exception] = {}
    for row, error in full:
        first.setdefault(row.tenant, error)
    holds.begin(first, taking)
    ids = {row.pk for row, _ in full}
    _mine(claimed.only(ids)).update(
        claim_token="",
        next_try_at=timezone.now(),
        first_pushed_at=None,  # a refusal proves that this id is not in Redis
        last_error=Case(
            *(When(tenant=slug, then=Value(_text(error))) for slug, error in first.items()), output_field=CharField()
        ),
    )


def _refused(refused: Sequence[tuple[OutboxEntry, Exception]], claimed: Claimed) -> None:
    """Each waits for itself, for longer each time, until a person must decide."""
    groups: dict[tuple[str, bool, str], list[tuple[int, Exception]]] = {}
    for row, error in refused:
        row.attempts += 1
        wait = min(MAX_BACKOFF_S, 2.0 ** min(row.attempts, 16)) * random.uniform(0.75, 1.0)
        park = row.attempts >= PARK_AFTER
        row.next_try_at = timezone.now() + timedelta(seconds=wait)
        if isinstance(error, EnqueueRefused):  # after any other error nobody knows whether it is in Redis
            row.first_pushed_at = None
        row.claim_token = ""
        row.last_error = _text(error)
        row.state = OutboxEntry.State.PARKED if park else OutboxEntry.State.WAITING
        row.parked_as = OutboxEntry.Parked.REFUSED if park else ""
        groups.setdefault((row.tenant, park, type(error).__name__), []).append((row.attempts, error))
    if refused:
        _mine(claimed).bulk_update([row for row, _ in refused], _REFUSED_FIELDS)
    for (slug, park, _), found in groups.items():
        log.log(
            logging.ERROR if park else logging.WARNING,
            "%d outbox row(s) of tenant %s %s after %d refusal(s): %s",
            len(found), slug, "parked" if park else "wait", max(attempts for attempts, _ in found), found[0][1],
        )  # fmt: skip


_REFUSED_FIELDS = ("attempts", "next_try_at", "first_pushed_at", "claim_token", "last_error", "state", "parked_as")


def _give_back(claimed: Claimed, error: Exception) -> None:
    """Redis is away: the rows wait, and are in doubt from their first push on."""
    _mine(claimed).update(claim_token="", next_try_at=timezone.now(), last_error=_text(error))


def _mine(claimed: Claimed) -> QuerySet[OutboxEntry]:
    """Those of the rows that nobody else has claimed meanwhile."""
    return _rows().filter(pk__in=[row.pk for row in claimed.rows], claim_token=claimed.token)


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:2000].replace("\0", "\\0")
