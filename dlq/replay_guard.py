"""What stops a replay by itself: its canary, whose first members are watched to their end, and the breaker after it.

What counts is how runs stand when it is asked, so that an end that comes late counts too. Whoever asks holds the
replay's row.
"""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from django.db.models import Q, QuerySet
from django.db.models.expressions import F, Window
from django.db.models.functions import RowNumber

from dlq.models import BulkAction, BulkMember, ReplayPlan, ReplayRun
from dlq.models import State as LetterState
from dlq.text import one_line

CANARY, BREAKER = "canary", "breaker"
"""What ``ReplayPlan.paused_by`` says when no person paused it."""

Member, Phase, Run = BulkMember.State, ReplayPlan.Phase, ReplayRun.State

WELL = (Run.SUCCEEDED, Run.DISCARDED)
FAILED = (Run.DIED, Run.CANCELLED, Run.REFUSED, Run.LOST)
"""One that was taken into another live job is in neither: nobody has seen how it would have run."""


@dataclass(frozen=True, slots=True)
class CanaryStanding:
    """Of the canary's ``total``: those that run, succeeded or failed (died again, cancelled, refused, lost); the others
    wait. Of a canary that was stopped and begun anew, the newest one."""

    total: int
    running: int
    succeeded: int
    failed: int

    @property
    def ended(self) -> int:
        """How many there is something to be said of."""
        return self.succeeded + self.failed


@dataclass(frozen=True, slots=True)
class BreakerStanding:
    """Of at most ``window`` newest ends, ``ended`` so far, ``failed`` failed. It is ``tripped`` when more than
    ``limit_percent`` of the whole window failed."""

    window: int
    failed: int
    limit_percent: float
    tripped: bool
    ended: int = 0

    @property
    def may_fail(self) -> int:
        """How many ends of a whole window may fail without tripping it."""
        return may_fail(self.window, self.limit_percent)


def may_fail(window: int, limit_percent: float) -> int:
    """How many of a whole window may fail without tripping the breaker."""
    return int(window * limit_percent / 100)


def canary_members(bulk: BulkAction) -> QuerySet[BulkMember]:
    """Its canary, the newest one if there were several."""
    return bulk.members.filter(canary=True)


def canary_runs(bulk: BulkAction) -> QuerySet[ReplayRun]:
    """The runs of its canary, those that are there; in no order."""
    return ReplayRun.objects.filter(bulk=bulk, letter__in=canary_members(bulk).values("letter_id"))


def choose_canary(bulk: BulkAction, wanted: int) -> int:
    """Make so many more waiting members the canary; answers how many there were.

    From different tenants where possible, of each the oldest ones, so that those with a key in common keep their order;
    of a tenant that is paused, whose jobs nobody could watch, only if there is no other. Those that would be skipped
    are taken if nothing else is left: should one of them be open by then, it is watched too.
    """
    if wanted <= 0:
        return 0
    turn = Window(RowNumber(), partition_by=[F("letter__tenant_id")], order_by=[F("pk").asc()])
    waiting = bulk.members.filter(state=Member.WAITING, canary=False)
    fit = waiting.filter(letter__state=LetterState.OPEN, letter__tenant__isnull=False).annotate(turn=turn)
    ids = list(fit.order_by("letter__tenant__paused", "turn", "pk").values_list("pk", flat=True)[:wanted])
    ids = ids or list(waiting.order_by("pk").values_list("pk", flat=True)[:wanted])
    return BulkMember.objects.filter(pk__in=ids).update(canary=True)


def canary_anew(bulk: BulkAction, plan: ReplayPlan) -> None:
    """A fresh canary of those that wait: something was mended since the last one."""
    canary_members(bulk).update(canary=False)
    choose_canary(bulk, plan.canary)
    plan.phase, plan.canary_passed_at = Phase.CANARY, None


def canary_standing(bulk: BulkAction) -> CanaryStanding:
    """How the canary stands: two queries."""
    states = Counter(canary_runs(bulk).order_by().values_list("state", flat=True))
    members = canary_members(bulk).exclude(state=Member.SKIPPED).count()
    return CanaryStanding(
        members - states[Run.COALESCED],
        running=states[Run.RUNNING],
        succeeded=sum(states[state] for state in WELL),
        failed=sum(states[state] for state in FAILED),
    )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be done before anything more is sent: ``go``, ``wait`` (the canary is watched), ``more`` (so many more
    must be in the canary), ``passed``, or stop because of ``by`` (the canary or the breaker) and ``why``."""

    act: Literal["go", "wait", "more", "passed", "stop"]
    more: int = 0
    by: str = ""
    why: str = ""


GO = Verdict("go")


def canary_verdict(bulk: BulkAction, plan: ReplayPlan) -> Verdict:
    """What the canary says, in its phase; ``go`` for those of it that wait, and in the other phase."""
    if plan.phase != Phase.CANARY:
        return GO
    found = canary_standing(bulk)
    if found.failed > plan.canary_failures:
        return Verdict("stop", by=CANARY, why=_canary_why(bulk, plan, found))
    waiting = bulk.members.filter(state=Member.WAITING)
    if found.total < plan.canary and waiting.filter(canary=False).exists():
        return Verdict("more", more=plan.canary - found.total)
    if canary_members(bulk).filter(state=Member.WAITING).exists():
        return GO
    if found.running and waiting.exists():
        return Verdict("wait")
    return Verdict("passed") if waiting.exists() else GO


def breaker_verdict(bulk: BulkAction, plan: ReplayPlan) -> Verdict:
    """What the breaker says of the rest."""
    if plan.phase != Phase.REST:
        return GO
    found = breaker_standing(bulk, plan)
    if not found.tripped:
        return GO
    share = f"{found.failed} of the last {found.ended} failed"
    return Verdict("stop", by=BREAKER, why=f"{share}; {found.may_fail} of {found.window} may")


def _canary_why(bulk: BulkAction, plan: ReplayPlan, found: CanaryStanding) -> str:
    newest = canary_runs(bulk).filter(state__in=FAILED).order_by("-ended_at", "-pk").values_list("letter_id", "note")
    allowed = f"; {plan.canary_failures} may" if plan.canary_failures else ""
    told = _which_died(*(newest.first() or (0, "")))
    head = f"{found.failed} of {found.total} that ran first failed{allowed}"
    return f"{head}. {told}" if told else head


def _which_died(letter_id: int, note: str) -> str:
    """A run's note, as told of its letter: on the page of a replay, its own number would be taken for that replay's."""
    told = re.sub(r"^Replay \d+ ", f"No. {letter_id} ", note)
    return one_line(re.sub(r"^(No\. \d+ died again in) attempt", r"\1 its attempt", told), 300)


def breaker_standing(bulk: BulkAction, plan: ReplayPlan) -> BreakerStanding:
    """How near the breaker is: one query, of as many rows as its window has."""
    window, limit = plan.breaker_window, plan.breaker_percent
    if limit >= 100:
        return BreakerStanding(window, 0, limit, False)
    ended = ReplayRun.objects.filter(bulk=bulk, state__in=(*WELL, *FAILED), ended_at__isnull=False)
    if plan.judged_from is not None:
        # Redis tells when a job ended, and its clock may be behind: what began after it ended after it.
        since = plan.judged_from
        ended = ended.filter(Q(ended_at__gte=since) | Q(started_at__gte=since))
    states = list(ended.order_by("-ended_at", "-pk").values_list("state", flat=True)[:window])
    failed = sum(state in FAILED for state in states)
    # Of the whole window, also while fewer have ended: one bad end among the first ten says little.
    tripped = failed * 100 > limit * window
    return BreakerStanding(window, failed, limit, tripped, len(states))
