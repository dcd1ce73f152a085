"""Replays that did their work, and of which a restored database does not know: their letters are open again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from django.utils import timezone

from dlq.endings import Ending, settle
from dlq.models import DeadLetter, ReplayRun, State
from dlq.text import one_line, visible
from jobops.doctor.findings import Finding
from jobops.doctor.site import Site
from jobops.engine.client import Engine
from jobops.engine.records import Fate

Finished = tuple[str, str]
"""A job's id, and the death that its record says it is a replay of."""

_STATES = {"succeeded": ReplayRun.State.SUCCEEDED, "discarded": ReplayRun.State.DISCARDED}


def untold(site: Site, finished: Sequence[Finished]) -> Iterator[Finding]:
    """Those of the finished replays whose letter is open and has no run of them, and whose end nobody will tell."""
    open_letters = _open_letters([_ending(*each) for each in finished])
    if not open_letters:
        return
    # Before the second look: whoever takes an end in commits it before Redis forgets that it is still to be told.
    fates = site.engine.scripts.fates(list(open_letters))
    ended = [(name, replay_of) for name, replay_of in finished if name in open_letters and _is_over(fates[name])]
    still_open = _open_letters([_ending(*each) for each in ended])
    for name, replay_of in ended:
        if letter := still_open.get(name):
            text = f"it is open, but its replay {name} did its work, and the database does not know of that run"
            remedy = partial(_note, site.engine, name, replay_of)
            tenant = letter.tenant_slug
            yield Finding("replay_without_record", "letter", str(letter.pk), text, tenant, remedy, in_database=True)


def _ending(name: str, replay_of: str, fate: Fate | None = None) -> Ending:
    now, death = timezone.now(), visible(replay_of)
    if fate is None:
        return Ending(name, ReplayRun.State.SUCCEEDED, now, death)
    return Ending(name, _STATES[fate.state], now, death, fate.attempt, one_line(fate.error_class, 255), fate.error)


def _is_over(fate: Fate) -> bool:
    return fate.state in _STATES and not fate.pending


def _open_letters(endings: Sequence[Ending]) -> dict[str, DeadLetter]:
    """Job id → the open letter that it is a replay of, for those of no run. Two queries."""
    deaths = {ending.job_id: ending.death for ending in endings if ending.death is not None}
    known = ReplayRun.objects.filter(job_id__in=list(deaths)).values_list("job_id", flat=True) if deaths else ()
    for name in known:
        del deaths[name]
    if not deaths:
        return {}
    letters = DeadLetter.objects.filter(job_id__in={job_id for job_id, _ in deaths.values()}, state=State.OPEN)
    found = {(letter.job_id, letter.attempt): letter for letter in letters.only("job_id", "attempt", "tenant_slug")}
    return {name: found[death] for name, death in deaths.items() if death in found}


def _note(engine: Engine, name: str, replay_of: str) -> str:
    """Note its end, as its outcome would have been that of a run that nobody knows."""
    fate = engine.scripts.fates([name])[name]
    if not _is_over(fate) or not _open_letters([_ending(name, replay_of)]):
        return ""
    settle([_ending(name, replay_of, fate)])
    return "the run is noted, and its letter resolved"
