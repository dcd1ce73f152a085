"""What a bulk action would do, before it is confirmed: exact numbers, and why the others are skipped."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import BooleanField, Count, ExpressionWrapper, Min, Q, QuerySet

from dlq.errors import NotReplayable
from dlq.models import BulkAction, BulkMember, DeadLetter
from dlq.redirects import redirects_for
from dlq.replay_plan import plan_of
from dlq.replaying import KEY_IS_HELD, key_refusals, replay_job
from dlq.retention import kept_since, too_late
from dlq.second_run import may_have_run
from dlq.states import TRANSITIONS, Event, why_not

MOST_CHECKED = 2_000
"""Members whose arguments are held against the contracts of today; of the others, a batch finds out as it goes."""

MOST_LINES = 9
SAMPLE = 5
_LONG = ("traceback", "history", "payload_raw", "error")


@dataclass(slots=True)
class Share:
    """What one tenant, or one job type, has of the action."""

    name: str
    chosen: int = 0
    skipped: int = 0
    oldest: datetime | None = None

    @property
    def will_do(self) -> int:
        """Those that it will be done to."""
        return self.chosen - self.skipped


@dataclass(frozen=True, slots=True)
class Shares:
    """The largest shares, and what all the others come to: ``others`` of them."""

    top: Sequence[Share]
    rest: Share
    others: int


@dataclass(frozen=True, slots=True)
class Preview:
    """``chosen`` = ``will_do`` + the sum of ``skipped`` (why → how many). ``unchecked``: of ``will_do``, those whose
    arguments are looked at only when their turn comes. ``resumable``: those of ``will_do`` that have a checkpoint to
    resume from. ``uncertain``: those of ``will_do`` whose work may be done already, without any record of it.
    ``oldest``: the first death. ``sample``: the first of them."""

    chosen: int
    will_do: int
    skipped: Mapping[str, int]
    unchecked: int
    resumable: int
    uncertain: int
    tenants: Shares
    jobs: Shares
    oldest: datetime | None
    sample: Sequence[DeadLetter]


@dataclass(slots=True)
class _Sums:
    """Counting while the groups are read."""

    skipped: Counter[str] = field(default_factory=Counter)
    tenants: dict[str, Share] = field(default_factory=dict)
    jobs: dict[str, Share] = field(default_factory=dict)
    resumable: int = 0
    uncertain: int = 0

    def shares(self, tenant: str, job: str) -> tuple[Share, Share]:
        return self.tenants.setdefault(tenant, Share(tenant)), self.jobs.setdefault(job, Share(job))

    def add(self, group: Mapping[str, Any], why: str) -> None:
        for share in self.shares(group["letter__tenant_slug"], group["letter__job_type"]):
            share.chosen += group["n"]
            share.skipped += group["n"] if why else 0
            share.oldest = min(filter(None, (share.oldest, group["oldest"])), default=None)
        if why:
            self.skipped[why] += group["n"]
        else:
            self.resumable += group["resumable"]
            self.uncertain += group["uncertain"]

    def skip(self, tenant: str, job: str, why: str, count: int = 1) -> None:
        for share in self.shares(tenant, job):
            share.skipped += count
        self.skipped[why] += count


def preview(bulk: BulkAction) -> Preview:
    """What would happen to the members if the draft were confirmed now; a constant number of queries."""
    event = Event(bulk.kind)
    sums = _Sums()
    refused = next(iter(bulk.skipped_for), "")
    for group in _groups(bulk):
        is_waiting = group["state"] == BulkMember.State.WAITING
        sums.add(group, why_not(group["letter__state"], event) if is_waiting else refused)
    will_do = sum(share.will_do for share in sums.tenants.values())
    candidates = _candidates(bulk, event).annotate(uncertain=ExpressionWrapper(may_have_run(), BooleanField()))
    checked = list(candidates[:MOST_CHECKED]) if event is Event.REPLAY else []
    uncertain = {letter.pk for letter in checked if letter.uncertain}
    plan = plan_of(bulk)
    for letter, why in _unfit(checked, in_turn=plan is not None and plan.in_order):
        sums.skip(letter.tenant_slug, letter.job_type, why)
        sums.resumable -= bool(letter.checkpoint)
        sums.uncertain -= letter.pk in uncertain
    for tenant, job, count in _too_late(bulk) if event is Event.UNDO else ():
        sums.skip(tenant, job, too_late(), count)
    chosen = sum(share.chosen for share in sums.tenants.values())
    return Preview(
        chosen=chosen,
        will_do=chosen - sums.skipped.total(),
        skipped=dict(sums.skipped.most_common()),
        unchecked=max(0, will_do - len(checked)) if event is Event.REPLAY else 0,
        resumable=max(0, sums.resumable) if event is Event.REPLAY else 0,
        uncertain=max(0, sums.uncertain) if event is Event.REPLAY else 0,
        tenants=_shares(sums.tenants.values()),
        jobs=_shares(sums.jobs.values()),
        oldest=min((share.oldest for share in sums.tenants.values() if share.oldest), default=None),
        sample=list(_candidates(bulk, event)[:SAMPLE]),
    )


def _groups(bulk: BulkAction) -> Iterable[Mapping[str, Any]]:
    members = BulkMember.objects.filter(bulk=bulk).order_by()
    groups = members.values("letter__tenant_slug", "letter__job_type", "letter__state", "state")
    resumable = Count("pk", filter=~Q(letter__checkpoint=""))
    uncertain = Count("pk", filter=may_have_run("letter__"))
    return groups.annotate(n=Count("pk"), oldest=Min("letter__dead_at"), resumable=resumable, uncertain=uncertain)


def _candidates(bulk: BulkAction, event: Event) -> QuerySet[DeadLetter]:
    letters = DeadLetter.objects.filter(memberships__bulk=bulk, memberships__state=BulkMember.State.WAITING)
    letters = letters.filter(state__in=TRANSITIONS[event].sources)
    return letters.select_related("tenant").defer(*_LONG).order_by("memberships__pk")


def _too_late(bulk: BulkAction) -> Iterable[tuple[str, str, int]]:
    """How many were discarded too long ago to be opened again, by tenant and job type."""
    late = _candidates(bulk, Event.UNDO).filter(drained_at__lt=kept_since())
    return late.order_by().values_list("tenant_slug", "job_type").annotate(n=Count("pk"))


def _unfit(letters: Sequence[DeadLetter], *, in_turn: bool) -> Iterable[tuple[DeadLetter, str]]:
    """Those that no job can be made of, and why; as its batches will find. ``in_turn``: those with a key in common run
    one after the other, and none is skipped for it."""
    held, redirects = key_refusals(letters), redirects_for(letters)
    keys_taken: set[tuple[str, str, str]] = set()
    for letter in letters:
        try:
            job = replay_job(letter, redirects=redirects)
        except NotReplayable as error:
            yield letter, error.why
            continue
        place = (job.tenant, job.job_type, job.key)
        if letter.pk in held or (job.key and place in keys_taken and not in_turn):
            yield letter, held.get(letter.pk, KEY_IS_HELD)
        keys_taken.add(place)


def _shares(shares: Iterable[Share]) -> Shares:
    ordered = sorted(shares, key=lambda share: (-share.chosen, share.name))
    top, others = ordered[:MOST_LINES], ordered[MOST_LINES:]
    rest = Share(
        name="",
        chosen=sum(share.chosen for share in others),
        skipped=sum(share.skipped for share in others),
        oldest=min((share.oldest for share in others if share.oldest), default=None),
    )
    return Shares(top, rest, len(others))
