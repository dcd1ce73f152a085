"""Which letters are of other installations, and whether those can take a replay now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from dlq.errors import NotReplayable
from dlq.foreign.names import may_be_foreign
from dlq.foreign.sources import SETTING, ping, sources
from dlq.models import DeadLetter, ForeignJob
from jobops.engine.records import NewJob


class Home(NamedTuple):
    """Where a letter's job runs: a queue of a source."""

    source: str
    rq_id: str
    queue: str


class HomeJob(NewJob):
    """A replay that goes to its letter's own queue at its source. Of the engine's fields it has an id only."""

    __slots__ = ()


def homes_of(letters: Iterable[DeadLetter]) -> dict[int, Home]:
    """By letter id, the homes of those that are of other installations; one query, none where no letter can be."""
    ids = [letter.pk for letter in letters if may_be_foreign(letter.job_id)]
    return homes_by_id(ids) if ids else {}


def homes_by_id(letter_ids: Sequence[int]) -> dict[int, Home]:
    """The same by the ids of the letters."""
    rows = ForeignJob.objects.filter(pk__in=letter_ids).order_by("pk")
    return {pk: Home(*home) for pk, *home in rows.values_list("pk", "source", "rq_id", "queue")}


def home_job(letter: DeadLetter, replay: str, payload: str = "") -> HomeJob:
    """The job of the letter's replay of this id. Raises ``NotReplayable``, also for a ``payload`` not its own."""
    if payload:
        raise NotReplayable(letter.pk, "a job of another installation runs with its own arguments only")
    if letter.tenant_slug:
        if letter.tenant is None:
            raise NotReplayable(letter.pk, "its tenant was deleted")
        if letter.tenant.intake_closed:
            why = f"tenant {letter.tenant.slug} takes no jobs at present; its intake is closed"
            raise NotReplayable(letter.pk, why)
    return HomeJob(id=replay, tenant=letter.tenant_slug, lane="", job_type=letter.job_type, data=b"")


def why_unknown(name: str) -> str:
    """Why nothing goes to a source that the settings do not name; empty if they do."""
    return "" if name in sources() else f"its source {name} is not in {SETTING}: add {name}=redis://… to it"


def away_refusals(homes: Mapping[int, Home]) -> dict[int, str]:
    """Letter id → why it cannot be replayed now: its source is not known here, or does not answer.

    Asks each source once: best outside of a transaction.
    """
    known = sources()
    names = sorted({home.source for home in homes.values()})
    whys = {name: why_unknown(name) or ping(known[name]) for name in names}
    return {pk: why for pk, home in homes.items() if (why := whys[home.source])}
