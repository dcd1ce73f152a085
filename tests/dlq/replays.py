"""Letters of real deaths, and replays of them that really run, without a worker's process."""

from __future__ import annotations

from typing import Any

from dlq.intake import take_in
from dlq.models import DeadLetter, ReplayRun
from dlq.outcomes import take_outcomes
from dlq.services import letter_replay
from jobops.contracts.decorator import job
from jobops.engine.client import Engine
from jobops.engine.payload import encode
from jobops.engine.records import Outcome
from tests.dlq.deaths import die
from tests.runtime import factory

TYPE = "tests.replayed"
FAILED = Outcome.failed("poison", "ValueError", "broken again", "Traceback …\nValueError: broken again")


@job(
    name=TYPE, aliases=["tests.former"], owner="billing", drain_sla="4h", idempotent="upserts by number", lane="bulk",
    max_attempts=2, timeout="7s", redact=["card"],
)  # fmt: skip
def replayed(number: int = 0, card: str = "") -> int:
    return number


def dead(
    engine: Engine, *, job_type: str = TYPE, number: int = 7, card: str = "4242-4242", **fields: Any
) -> DeadLetter:
    """A letter: its job died in its only attempt."""
    data = encode(job_type, [], {"number": number, "card": card})
    job_id = die(engine, job_type=job_type, data=data, front=True, **fields)  # whatever waits already
    take_in(engine)
    return DeadLetter.objects.get(job_id=job_id)


def replaying(engine: Engine, **fields: Any) -> DeadLetter:
    """A letter whose replay waits in its queue."""
    letter = dead(engine, **fields)
    letter_replay(letter_id=letter.pk, by="tests")
    letter.refresh_from_db()
    return letter


def run_replays(engine: Engine, outcome: Outcome | None = None) -> list[str]:
    """Run whatever waits, and take in how it ended. Answers the ids of the jobs."""
    ran = factory.run_all(engine, outcome)
    take_in(engine)
    take_outcomes(engine)
    return ran


def run_of(letter: DeadLetter) -> ReplayRun:
    """The letter's newest replay."""
    return ReplayRun.objects.filter(letter=letter).latest("number")
