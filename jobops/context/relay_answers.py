"""What Redis answered to a batch of outbox rows, taken down: what left, joined another job, waits or was refused."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Case, CharField, Value, When
from django.utils import timezone

from jobops.context import holds
from jobops.context.models import OutboxEntry
from jobops.context.outbox_rows import rows, waiting
from jobops.context.relay_claims import Claimed, error_line
from jobops.engine.errors import EnqueueRefused
from jobops.engine.records import Enqueued

log = logging.getLogger("jobops.outbox")

PARK_AFTER = 10
MAX_BACKOFF_S = 300.0


@dataclass(frozen=True, slots=True)
class Pushed:
    """What became of a batch: how many rows left the outbox, and the tenants that are full or closed, or take jobs."""

    left: int = 0
    refused: frozenset[str] = frozenset()
    taking: frozenset[str] = frozenset()


def settle(claimed: Claimed, answers: Mapping[str, Enqueued | Exception]) -> Pushed:
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
    rows().filter(pk__in=left).delete()
    _coalesced(coalesced)
    _wait_for_room(full, claimed, taking)
    _refused(refused, claimed)
    return Pushed(len(left), frozenset(row.tenant for row, _ in full), frozenset(taking))


def _coalesced(found: Sequence[OutboxEntry]) -> None:
    for row in found:
        row.state, row.ended_at = OutboxEntry.State.COALESCED, timezone.now()
    if found:
        waiting().bulk_update(found, ["state", "coalesced_into", "ended_at"])


def _wait_for_room(full: Sequence[tuple[OutboxEntry, Exception]], claimed: Claimed, taking: set[str]) -> None:
    """The tenant waits, with all its rows: they stay due, so that they go in their order when it may go on."""
    if not full:
        return
    first: dict[str, Exception] = {}
    for row, error in full:
        first.setdefault(row.tenant, error)
    holds.begin(first, taking)
    ids = {row.pk for row, _ in full}
    claimed.only(ids).mine().update(
        claim_token="",
        next_try_at=timezone.now(),
        first_pushed_at=None,  # a refusal proves that this id is not in Redis
        last_error=Case(
            *(When(tenant=slug, then=Value(error_line(error))) for slug, error in first.items()),
            output_field=CharField(),
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
        row.last_error = error_line(error)
        row.state = OutboxEntry.State.PARKED if park else OutboxEntry.State.WAITING
        row.parked_as = OutboxEntry.Parked.REFUSED if park else ""
        groups.setdefault((row.tenant, park, type(error).__name__), []).append((row.attempts, error))
    if refused:
        claimed.mine().bulk_update([row for row, _ in refused], _REFUSED_FIELDS)
    for (slug, park, _), found in groups.items():
        log.log(
            logging.ERROR if park else logging.WARNING,
            "%d outbox row(s) of tenant %s %s after %d refusal(s): %s",
            len(found), slug, "parked" if park else "wait", max(attempts for attempts, _ in found), found[0][1],
        )  # fmt: skip


_REFUSED_FIELDS = ("attempts", "next_try_at", "first_pushed_at", "claim_token", "last_error", "state", "parked_as")
