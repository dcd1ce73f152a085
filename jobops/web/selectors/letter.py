"""All that a dead letter's page shows, from the database alone: Redis may be away."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from dlq.access import get_letter
from dlq.clock.standing import WARNS_AT, Kind, letter_standing
from dlq.foreign.homes import Home, homes_of
from dlq.models import DeadLetter, ReplayRun, State
from dlq.payloads import Shown
from dlq.second_run import second_run
from dlq.states import Event
from jobops.contracts import masking, registry
from jobops.engine.records import JobView
from jobops.runtime.lookup import view_of_letter
from jobops.web import letter_page_words as words
from jobops.web import tracebacks
from jobops.web.progress_words import ProgressLine, progress_line
from jobops.web.selectors.attempts import AttemptLine, attempt_lines, attempts_note, with_ends
from jobops.web.selectors.lately import Lately, of_the_same, of_this_cause
from jobops.web.selectors.letter_arguments import Arguments, arguments_of
from jobops.web.selectors.letter_buttons import Button, buttons_of
from jobops.web.selectors.letter_cause import Cause, Clock, cause_of, clock_of
from jobops.web.selectors.letter_history import Happening, history_of, reader_of, runs_of
from jobops.web.values import value_text
from jobops.web.words import Look
from tenants.access import AnyUser, masked, sees_all


@dataclass(frozen=True, slots=True)
class Deadline:
    """The clock as a bar of 1,000 units: how much is used, and where the warning begins (None: nobody waits)."""

    tone: str
    filled: int
    tick: int | None
    overdue: bool


@dataclass(frozen=True, slots=True)
class LetterPage:
    """What the page shows. ``error``, ``traceback``, ``arguments`` and ``attempts`` are masked if ``is_masked``.

    ``claim`` and ``because`` say what a second run means. ``arguments`` None: they cannot be read. ``home``: of a job
    of another installation, where it runs. ``by_contract``: what drained it is that its contract ended a replay.
    """

    letter: DeadLetter
    job: JobView
    staff: bool
    is_masked: bool
    error: str
    traceback: str
    stacks: Sequence[tracebacks.Stack]
    arguments: Arguments | None
    attempts: Sequence[AttemptLine]
    attempts_title: str
    attempts_note: str
    lately: Lately | None
    second_look: Look
    claim: str
    because: str
    deadline: Deadline
    buttons: Sequence[Button]
    history: Sequence[Happening]
    read_at: datetime
    cause: Cause | None = None
    clock: Clock | None = None
    home: Home | None = None
    progress: ProgressLine | None = None
    checkpoint: str = ""
    by_contract: bool = False

    @property
    def has_replay_page(self) -> bool:
        """Whether the newest replay's job has a page: of a lost one, there is nothing to show."""
        return any(one.job_id == self.letter.replay_job_id for one in self.history if one.job_id)

    @property
    def may_resume(self) -> bool:
        """Whether who replays it has the choice between its checkpoint and the beginning."""
        replay = any(button.event == Event.REPLAY and not button.reason for button in self.buttons)
        return replay and bool(self.letter.checkpoint)


def letter_page(user: AnyUser, letter_id: int) -> LetterPage:
    """The letter, if this person may see it; raises ``Http404``. A constant number of queries."""
    letter, now, staff = get_letter(user, letter_id), timezone.now(), sees_all(user)
    hide = masked(user, letter.tenant)
    shown, job = Shown(letter, mask=hide), view_of_letter(letter)
    runs = runs_of(letter)
    attempts = with_ends(attempt_lines(job, shown.job_type, shown.secrets, now, _replays(letter)), runs)
    # Of a lost worker nobody knows more than the error says.
    trace = _text(shown, letter.traceback) if staff and letter.traceback.strip() != letter.error.strip() else ""
    look, claim, because = _second_run(letter, staff=staff)
    return LetterPage(
        letter=letter,
        job=job,
        staff=staff,
        is_masked=hide,
        error=masking.masked_text(shown.error),
        traceback=trace,
        stacks=tracebacks.parse(trace, own_packages()),
        arguments=arguments_of(shown.argument_list()),
        attempts=attempts,
        attempts_title=words.attempts_title(letter, [line.replay for line in attempts], staff=staff),
        attempts_note=attempts_note(attempts, staff=staff),
        lately=_lately(letter, now, staff=staff) if letter.is_undrained else None,
        second_look=look,
        claim=claim,
        because=because,
        deadline=_deadline(letter, now),
        buttons=buttons_of(user, letter),
        history=history_of(letter, runs, reader_of(letter, staff=staff), mask=hide),
        read_at=now,
        cause=cause_of(user, letter),
        clock=clock_of(letter, now, staff=staff),
        home=homes_of([letter]).get(letter.pk),
        progress=progress_line(job.progress),
        checkpoint=_checkpoint(shown),
        by_contract=_by_contract(letter, runs),
    )


def _by_contract(letter: DeadLetter, runs: Sequence[ReplayRun]) -> bool:
    """Whether the replay that drained it was ended by its contract."""
    drained = letter.state == State.RESOLVED and letter.drained_at is not None
    its = [run.state for run in runs if run.ended_at == letter.drained_at]
    return drained and ReplayRun.State.DISCARDED in its and ReplayRun.State.SUCCEEDED not in its


def _replays(letter: DeadLetter) -> list[int]:
    return [told["replay"] if isinstance(told.get("replay"), int) else 0 for told in letter.history]


def _checkpoint(shown: Shown) -> str:
    value = shown.checkpoint()
    return "" if value is None else masking.masked_text(value_text(value))


def _text(shown: Shown, text: str) -> str:
    # Logins in URLs are nobody's to read, whatever else may be seen.
    return masking.masked_text(shown.text(text))


def own_packages() -> Collection[tracebacks.Package]:
    """The packages that have job types in them: their code is ours, also where it is installed as a library."""
    names = (job_type.func.__module__.split(".") for job_type in registry.all_types())
    # Our own package is a job's author's only where it is the demo's.
    return {tuple(name[:2]) if name[0] == "jobops" else (name[0],) for name in names if len(name) > 1}


def _second_run(letter: DeadLetter, *, staff: bool) -> tuple[Look, str, str]:
    told = second_run(letter)
    look = words.SECOND_RUN_LOOKS[told.tone]
    return (look, *words.second_run(told.text)) if staff else (look, *words.own_second_run(told.tone))


def _lately(letter: DeadLetter, now: datetime, *, staff: bool) -> Lately:
    # Of other tenants, a tenant's people are told nothing.
    tenants = None if staff else [letter.tenant_id or 0]
    if letter.group_id is not None:
        return of_this_cause(letter.group_id, now, tenants, letter)
    return of_the_same(letter, now, tenants)


def _deadline(letter: DeadLetter, now: datetime) -> Deadline:
    stands = letter_standing(letter, now)
    tone = {Kind.BREACHED: "danger", Kind.WARNING: "warn"}.get(stands.kind, "mark")
    tick = round(WARNS_AT * 1000) if letter.is_undrained else None
    return Deadline(tone, round(min(1.0, stands.used) * 1000), tick, stands.kind is Kind.BREACHED)
