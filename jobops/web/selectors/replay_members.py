"""What became of the members of a bulk action, page by page: those that succeeded, died again, wait or are skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef

from dlq.access import get_bulk
from dlq.bulk_progress import CAME_BACK, DRAINING
from dlq.models import BulkAction, BulkMember, DeadLetter, ReplayRun
from jobops.web.paging import Slice, slice_by_id
from jobops.web.selectors.letter_rows import error_of, light
from tenants.access import AnyUser, sees_all

RUNS = {
    "died": (ReplayRun.State.DIED, *CAME_BACK),
    "succeeded": DRAINING,
    "running": (ReplayRun.State.RUNNING,),
}
MEMBERS = {
    "waiting": (BulkMember.State.WAITING,),
    "skipped": (BulkMember.State.SKIPPED,),
    "done": (BulkMember.State.DONE,),
}
CANARY = "canary"
OF_REPLAYS = ("died", "canary", "running", "waiting", "skipped", "succeeded")
OF_OTHERS = ("done", "waiting", "skipped")


@dataclass(frozen=True, slots=True)
class MemberLine:
    """One letter, what is said of it, and when that was. ``run``: what became of its job."""

    letter: DeadLetter
    text: str
    at: datetime | None
    run: str = ""


@dataclass(frozen=True, slots=True)
class MemberPage:
    """One page of those that were asked for; ``of``: which, ``kinds``: what can be asked for."""

    bulk: BulkAction
    staff: bool
    of: str
    kinds: Sequence[str]
    slice: Slice[ReplayRun] | Slice[BulkMember]
    lines: Sequence[MemberLine]


def member_page(user: AnyUser, bulk_id: int, params: Mapping[str, str]) -> MemberPage:
    """Fifty of them in a constant number of queries, the newest first; raises ``Http404``."""
    bulk = get_bulk(user, bulk_id)
    kinds = OF_REPLAYS if bulk.kind == BulkAction.Kind.REPLAY else OF_OTHERS
    of = params.get("of", "")
    of = of if of in kinds else kinds[0]
    found, lines = _runs(bulk, of, params) if of in RUNS or of == CANARY else _members(bulk, of, params)
    return MemberPage(bulk, sees_all(user), of, kinds, found, lines)


def _runs(bulk: BulkAction, of: str, params: Mapping[str, str]) -> tuple[Slice[ReplayRun], list[MemberLine]]:
    runs = ReplayRun.objects.filter(bulk=bulk)
    if of == CANARY:
        chosen = BulkMember.objects.filter(bulk=bulk, letter=OuterRef("letter"), canary=True)
        runs = runs.filter(Exists(chosen))
    else:
        runs = runs.filter(state__in=RUNS[of])
    found = slice_by_id(runs, params, {"of": of})
    letters = _letters([run.letter_id for run in found.rows])
    pairs = [(run, letters[run.letter_id]) for run in found.rows if run.letter_id in letters]
    return found, [
        MemberLine(letter, _said(run, letter), run.ended_at or run.started_at, run.state) for run, letter in pairs
    ]


def _said(run: ReplayRun, letter: DeadLetter) -> str:
    """How its run ended; of one that died, and while it goes on, what its letter says."""
    if run.state in (ReplayRun.State.DIED, ReplayRun.State.RUNNING):
        return error_of(letter)
    return run.note or str(run.get_state_display())


def _members(bulk: BulkAction, of: str, params: Mapping[str, str]) -> tuple[Slice[BulkMember], list[MemberLine]]:
    members = BulkMember.objects.filter(bulk=bulk, state__in=MEMBERS[of])
    found = slice_by_id(members, params, {"of": of})
    letters = _letters([member.letter_id for member in found.rows])
    pairs = [(member, letters[member.letter_id]) for member in found.rows if member.letter_id in letters]
    return found, [MemberLine(letter, member.why or error_of(letter), letter.dead_at) for member, letter in pairs]


def _letters(ids: Sequence[int]) -> dict[int, DeadLetter]:
    return light(DeadLetter.objects.filter(pk__in=ids)).in_bulk() if ids else {}
