"""Which members of a replay come next: in their order, and of those with a key in common one after the other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import cast

from django.db.models import Q, QuerySet

from dlq.among import Among
from dlq.models import BulkAction, BulkMember, DeadLetter, ReplayPlan, ReplayRun
from dlq.redirects import redirects_for
from dlq.replaying import key_place, key_refusals
from tenants.models import Tenant

LOOKS = 10
"""So often it looks beyond members that wait for others with their key, for some that may go."""
MOST_PASSED = 100
"""So many places of keys are told to the database to look beyond."""

Place = tuple[str, str, str]


@dataclass(slots=True)
class _Light:
    """What of a letter its next job is made of, with the model's names: many are read, and an object of the model
    costs ten times as much. What the counts need is read under the lock (``dlq.replay_send.unchanged``), and is not
    there before: a letter without it would be left out of them."""

    pk: int
    job_id: str
    attempt: int
    tenant_id: int | None
    tenant_slug: str
    lane: str
    job_type: str
    payload: str
    state: str
    checkpoint: str
    batch: str
    key: str
    correlation_id: str
    replays: int
    last_died_at: datetime | None
    tenant: Tenant | None = None
    group_id: int | None = field(init=False, repr=False)
    due_at: datetime = field(init=False, repr=False)
    dead_at: datetime = field(init=False, repr=False)
    replay_job_id: str = ""


_READ = tuple(field.name for field in fields(_Light))[:15]


@dataclass(slots=True)
class Next:
    """``letters``: those that may go, in order, their tenants read; ``held``: as ``key_refusals`` answers; ``gone``:
    letter ids of members whose letters were deleted while they were made members."""

    letters: list[DeadLetter] = field(default_factory=list)
    held: Mapping[int, str] = field(default_factory=dict)
    gone: Sequence[int] = ()


def next_members(bulk: BulkAction, plan: ReplayPlan | None, size: int) -> Next:
    """At most ``size`` members that may go now, as far as can be seen without a lock; asks Redis who holds keys."""
    waiting = bulk.members.filter(state=BulkMember.State.WAITING).order_by("pk")
    if plan is not None and plan.phase == ReplayPlan.Phase.CANARY:
        waiting = waiting.filter(canary=True)
    if plan is None or not plan.in_order:
        ids = list(waiting.values_list("letter_id", flat=True)[:size])
        chosen = letters_of(ids)
        gone = _without(ids, chosen)
    else:
        chosen, gone = _in_order(bulk, waiting, size)
    return Next(chosen, key_refusals(chosen), gone)


def _without(ids: Sequence[int], letters: Sequence[DeadLetter]) -> list[int]:
    """Those of the ids that none of the letters has."""
    there = {letter.pk for letter in letters}
    return [each for each in ids if each not in there]


def _in_order(bulk: BulkAction, waiting: QuerySet[BulkMember], size: int) -> tuple[list[DeadLetter], list[int]]:
    """Those that may go, and the ids of those that are gone, of the members that it came across."""
    chosen: list[DeadLetter] = []
    gone: list[int] = []
    taken: set[Place] = set()
    passed: dict[tuple[int | None, str], None] = {}
    after = 0
    for _ in range(LOOKS):
        beyond = waiting.filter(pk__gt=after)
        for tenant_id, key in list(passed)[:MOST_PASSED]:
            beyond = beyond.exclude(Q(letter__key=key, letter__tenant_id=tenant_id))
        rows = list(beyond.values_list("pk", "letter_id")[: size - len(chosen)])
        if not rows:
            break
        after = rows[-1][0]
        ids = [letter_id for _, letter_id in rows]
        letters = letters_of(ids)
        gone += _without(ids, letters)
        taken |= _running(bulk, letters)
        redirects = redirects_for(letter for letter in letters if letter.key)
        for letter in letters:
            place = key_place(letter, redirects)
            if place is not None and place in taken:
                passed[letter.tenant_id, letter.key] = None
                continue
            chosen.append(letter)
            if place is not None:
                taken.add(place)
        if len(chosen) >= size or not passed:
            break
    return chosen, gone


def letters_of(ids: Sequence[int]) -> list[DeadLetter]:
    """The letters of these ids with what their jobs need, in the order of the ids, which is the members' too."""
    rows = DeadLetter.objects.filter(Among("pk", ids)).order_by("pk").values_list(*_READ)
    letters = [_Light(*row) for row in rows]
    tenants = Tenant.objects.in_bulk({letter.tenant_id for letter in letters if letter.tenant_id is not None})
    for letter in letters:
        letter.tenant = tenants.get(letter.tenant_id) if letter.tenant_id is not None else None
    return cast("list[DeadLetter]", letters)


def _running(bulk: BulkAction, letters: Sequence[DeadLetter]) -> set[Place]:
    """The places of keys that jobs of this replay have, on their way or running."""
    keys = {letter.key for letter in letters if letter.key}
    if not keys:
        return set()
    runs = ReplayRun.objects.filter(bulk=bulk, state=ReplayRun.State.RUNNING, letter__key__in=keys)
    ids = list(runs.values_list("letter_id", flat=True))
    running = letters_of(ids)
    redirects = redirects_for(running)
    return {place for letter in running if (place := key_place(letter, redirects)) is not None}
