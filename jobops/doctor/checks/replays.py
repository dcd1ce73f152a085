"""I1: a letter is being replayed exactly while one run of its runs, and that run's job is somewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from dlq.changing import move
from dlq.locking import lock_letters
from dlq.models import DeadLetter, ReplayRun, State
from dlq.states import Event
from dlq.watch import watch
from jobops.context.models import OutboxEntry
from jobops.doctor.findings import Finding, NotRepaired
from jobops.doctor.site import Site
from jobops.engine.client import Engine

CHUNK = 500
_FIRST = datetime(2000, 1, 1, tzinfo=UTC)  # before whatever else the watch has to look at
_RUNNING = ReplayRun.State.RUNNING


def check(site: Site) -> Iterator[Finding]:
    """Letters that wait for a run that will never end, and runs that no letter waits for."""
    for letter_id, tenant in _without_run().values_list("pk", "tenant_slug").order_by("pk").iterator(chunk_size=CHUNK):
        text = "it is being replayed, but no run of it is on its way: it would stay so for ever"
        yield _finding("letter_replaying_without_job", letter_id, text, tenant, partial(_open, letter_id))
    for run in _without_letter().select_related("letter").order_by("pk").iterator(chunk_size=CHUNK):
        text = f"its replay {run.number} counts as on its way, but the letter is {run.letter.state}"
        remedy = partial(_end_run, run.pk)
        yield _finding("run_without_replaying_letter", run.letter_id, text, run.letter.tenant_slug, remedy)
    for runs in _running():
        for run, what in _forgotten(site, runs):
            text = f"it is being replayed, but the job {run.job_id} of that replay {what}"
            remedy = partial(_look_after, site.engine, run.pk)
            tenant = run.letter.tenant_slug
            yield Finding("letter_replaying_without_job", "letter", str(run.letter_id), text, tenant, remedy)


def _finding(code: str, letter_id: int, text: str, tenant: str, remedy: partial[str]) -> Finding:
    return Finding(code, "letter", str(letter_id), text, tenant, remedy, in_database=True)


def _without_run() -> QuerySet[DeadLetter]:
    running = ReplayRun.objects.filter(letter=OuterRef("pk"), state=_RUNNING)
    return DeadLetter.objects.filter(~Exists(running), state=State.REPLAYING)


def _without_letter() -> QuerySet[ReplayRun]:
    return ReplayRun.objects.filter(state=_RUNNING).exclude(letter__state=State.REPLAYING)


def _open(letter_id: int) -> str:
    letters = lock_letters([letter_id])
    if not letters or not _without_run().filter(pk=letter_id).exists():
        return ""
    move(letters, Event.CAME_BACK, note="its replay was lost: no run of it was on its way")
    return "open again, with its old clock"


def _end_run(run_id: int) -> str:
    letter_id = ReplayRun.objects.filter(pk=run_id).values_list("letter_id", flat=True).first()
    lock_letters([letter_id] if letter_id else [])
    note = "its letter did not wait for it any more"
    lost = {"state": ReplayRun.State.LOST, "ended_at": timezone.now(), "note": note}
    return "the run counts as lost" if _without_letter().filter(pk=run_id).update(**lost) else ""


def _running() -> Iterator[list[ReplayRun]]:
    """Runs of letters that are being replayed, by key."""
    runs = ReplayRun.objects.filter(state=_RUNNING, letter__state=State.REPLAYING).select_related("letter")
    # Those of other installations are in no Redis of ours.
    runs = runs.filter(letter__foreign__isnull=True)
    after = 0
    while chunk := list(runs.filter(pk__gt=after).order_by("pk")[:CHUNK]):
        yield chunk
        after = chunk[-1].pk


def _forgotten(site: Site, runs: Sequence[ReplayRun]) -> list[tuple[ReplayRun, str]]:
    """Those of the runs whose job is nowhere, or ended without anybody being told."""
    untold = _untold(site.engine, runs)
    # Asked last: whoever takes an end in commits it before Redis forgets that it is still to be told.
    running = ReplayRun.objects.filter(pk__in=[run.pk for run, _ in untold], state=_RUNNING)
    still = set(running.values_list("pk", flat=True)) if untold else set()
    return [(run, what) for run, what in untold if run.pk in still]


def _untold(engine: Engine, runs: Sequence[ReplayRun]) -> list[tuple[ReplayRun, str]]:
    ids = [run.job_id for run in runs]
    # The outbox first: a row is deleted only when Redis has the job. One that was parked or cancelled is still known
    # of, and the watch ends its run.
    known = set(OutboxEntry.objects.filter(pk__in=ids).values_list("pk", flat=True))
    fates = engine.scripts.fates([job_id for job_id in ids if job_id not in known])
    found = []
    for run in runs:
        fate = fates.get(run.job_id)
        if fate is not None and not fate.pending and fate.state != "alive":
            is_gone = fate.state == "missing"
            found.append((run, "is nowhere" if is_gone else f"ended ({fate.state}), and nobody was told"))
    return found


def _look_after(engine: Engine, run_id: int) -> str:
    """Have the watch look at it now instead of in a minute; it opens or resolves the letter as usual."""
    if not ReplayRun.objects.filter(pk=run_id, state=_RUNNING).update(check_at=_FIRST):
        return ""
    watch(engine)
    run = ReplayRun.objects.get(pk=run_id)
    if run.state == _RUNNING:
        raise NotRepaired("the watch leaves it as it is")
    return f"the watch ended the run: {run.get_state_display().lower()}"
