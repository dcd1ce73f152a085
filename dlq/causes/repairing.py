"""Putting the counts of groups right, group by group, while all else goes on.

Under a group's lock its letters say what it should count: whoever has changed a letter and not counted it yet waits
for the lock, and adds to what is written here; whoever has counted it has committed both.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from dlq.causes.checking import STATES, Difference, compare, read
from dlq.causes.lookups import samples
from dlq.causes.shares import add_shares, existing
from dlq.causes.tally import Delta
from dlq.causes.waking import STATE_FIELDS, GroupState, set_state
from dlq.locking import lock_groups
from dlq.models import DeadLetterGroup
from jobops.audit.recording import Change, record
from tenants.services import Actor, actor_name


def repair(group_id: int, by: Actor) -> list[Difference]:
    """Put one group right; answers what was not. A row in the audit, if anything. Raises ``django.db.Error``."""
    with transaction.atomic():
        found = put_right(group_id, by)
        if found:
            _record(group_id, found, by)
    return found


def put_right(group_id: int, by: Actor) -> list[Difference]:
    """As ``repair``, without a row in the audit: for who writes one of their own in the same transaction."""
    with transaction.atomic():
        groups = lock_groups([group_id])
        if not groups:
            return []
        # By a statement after the one that locked: it sees what others had committed until then.
        found = list(compare(group_id, read([group_id])[group_id]))
        if found:
            _write(groups[0], found, by)
    return found


def _write(group: DeadLetterGroup, found: Sequence[Difference], by: Actor) -> None:
    now = timezone.now()
    for difference in found:
        if difference.tenant_id is None and difference.what != "state":
            setattr(group, difference.what, difference.right)
    _write_shares(group, found)
    # Its tenants may have become more with a share that was missing.
    group.tenants = max(group.tenants, group.shares.count())
    if (group.undrained == 0) != (group.state == GroupState.DRAINED):
        state = GroupState.DRAINED if group.undrained == 0 else GroupState.ACTIVE
        set_state(group, state, at=now, by=actor_name(by))
    group.sample_id = group.sample_id or samples([group.pk]).get(group.pk)
    group.save(update_fields=[*_WRITTEN, *STATE_FIELDS])


_WRITTEN = (*STATES, "deaths", "tenants", "due_at", "first_seen_at", "last_seen_at", "sample_id")


def _write_shares(group: DeadLetterGroup, found: Sequence[Difference]) -> None:
    deltas: dict[tuple[int, int], Delta] = {}
    for difference in found:
        if difference.tenant_id is not None:
            delta = deltas.setdefault((group.pk, difference.tenant_id), Delta())
            delta.counts[difference.what] += difference.right - difference.counted
    there = existing(deltas)
    for place in deltas.keys() - there:
        # All its letters are missing in it, and each died once at least.
        deltas[place].counts["deaths"] = sum(deltas[place].counts[state] for state in STATES)
        deltas[place].see(group.first_seen_at)
        deltas[place].see(group.last_seen_at)
    add_shares(deltas, there)


def _record(group_id: int, found: Sequence[Difference], by: Actor) -> None:
    own = [difference for difference in found if difference.tenant_id is None]
    shares = {difference.tenant_id for difference in found if difference.tenant_id is not None}
    record(
        by,
        Change(
            action="group.repair",
            target_kind="group",
            target_id=group_id,
            before={each.what: _plain(each.counted) for each in own},
            after={each.what: _plain(each.right) for each in own},
            reason=f"The counts of {len(shares)} of its tenants were wrong." if shares else "",
        ),
    )


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value
