"""Writing a tally: the groups' counts, times and states, their tenants' shares, their five minutes.

In the caller's transaction, after its letters: the groups are locked first, by id, so that whoever counts after it
sees all that was counted before; and few changes hold them up for long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from django.utils import timezone

from dlq.causes.lookups import due_times, samples
from dlq.causes.shares import COUNTS, add_shares, add_spans, existing
from dlq.causes.tally import GroupDelta, Tally
from dlq.causes.waking import STATE_FIELDS, Turn, turn
from dlq.locking import lock_groups
from dlq.models import DeadLetter, DeadLetterGroup
from dlq.rows import update_rows
from jobops.audit.recording import Change, record_many

BY_ITSELF = "scheduler"
"""Who changes a group's state when its counts do."""

_OWNED = ("owner", "owned_by", "severity")
_FIELDS = (*COUNTS, *_OWNED, "tenants", "first_seen_at", "last_seen_at", "due_at", "sample_id")


def write(tally: Tally) -> None:
    """Add the tally to what is counted. A group that is not there any more, as it was restored without, is left out."""
    if not tally.groups:
        return
    groups = lock_groups(tally.groups)
    known = {group.pk for group in groups}
    shares = {place: delta for place, delta in tally.shares.items() if place[0] in known}
    # Under the groups' locks: nobody else makes a share of theirs now.
    there = existing(shares)
    new_tenants = Counter(group_id for group_id, _ in shares.keys() - there)
    now = timezone.now()
    calm: list[DeadLetterGroup] = []
    turns: list[tuple[DeadLetterGroup, Turn]] = []
    for group in groups:
        delta = tally.groups[group.pk]
        before = group.deaths
        _add(group, delta, new_tenants[group.pk])
        died = delta.counts["deaths"] > 0
        made = turn(group, died=died, first=before == 0, at=now, by=BY_ITSELF)
        if made is None:
            calm.append(group)
        else:
            turns.append((group, made))
    _look_up(groups, tally)
    update_rows(DeadLetterGroup, calm, _FIELDS)
    update_rows(DeadLetterGroup, [group for group, _ in turns], [*_FIELDS, *STATE_FIELDS])
    add_shares(shares, there)
    add_spans({place: span for place, span in tally.spans.items() if place[0] in known})
    record_turns(turns)


def record_turns(turns: Iterable[tuple[DeadLetterGroup, Turn]], by: str = BY_ITSELF) -> None:
    """Add a row to the audit for each group whose state changed by itself."""
    record_many(
        by,
        [
            Change(
                action=made.action,
                target_kind="group",
                target_id=group.pk,
                before={"state": str(made.before)},
                after={"state": str(group.state)},
                reason=made.why,
            )
            for group, made in turns
            if made.action
        ],
    )


def _add(group: DeadLetterGroup, delta: GroupDelta, new_tenants: int) -> None:
    for name in COUNTS:
        if delta.counts[name]:
            setattr(group, name, getattr(group, name) + delta.counts[name])
    group.tenants += new_tenants
    group.first_seen_at = _earliest(group.first_seen_at, delta.first)
    if delta.last is not None and delta.last > group.last_seen_at:
        group.last_seen_at = delta.last
    if delta.newest is not None and delta.newest[0] >= group.last_seen_at:
        group.sample_id = delta.newest[1]
    if not group.owner and delta.entered is not None:
        _own(group, delta.entered)


def _own(group: DeadLetterGroup, letter: DeadLetter) -> None:
    """A group that is nobody's becomes whose its letter is. Here, as its row is written anyhow."""
    group.owner, group.severity = letter.owner, letter.severity
    # A person's word on one letter is none on its cause.
    group.owned_by = "" if letter.by_hand else letter.owned_by


def _look_up(groups: Sequence[DeadLetterGroup], tally: Tally) -> None:
    """Set due times and samples, from the letters where what was known of them does not tell."""
    stale_due, stale_sample = [], []
    for group in groups:
        delta = tally.groups[group.pk]
        if group.undrained == 0:
            group.due_at = None
        elif delta.left_due is not None and (group.due_at is None or delta.left_due <= group.due_at):
            stale_due.append(group)
        elif delta.entered_due is not None:
            group.due_at = _earliest(group.due_at or delta.entered_due, delta.entered_due)
        if group.sample_id is None or group.sample_id in delta.gone:
            stale_sample.append(group)
    dues = due_times([group.pk for group in stale_due]) if stale_due else {}
    for group in stale_due:
        group.due_at = dues.get(group.pk)
    found = samples([group.pk for group in stale_sample]) if stale_sample else {}
    for group in stale_sample:
        group.sample_id = found.get(group.pk)


def _earliest(known: datetime, other: datetime | None) -> datetime:
    return known if other is None or known <= other else other
