"""What a job raises to say how its failure is to be taken, and the errors of calling one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from jobops.contracts.retry_after import seconds_until
from jobops.engine.errors import EngineError, InvalidJob


class Poison(Exception):
    """Raised by a job: it will never succeed. It becomes a dead letter at once, without further attempts."""


class Discard(Exception):
    """Raised by a job: there is nothing left to do. It ends without a dead letter, counted and shown."""


class RetryLater(Exception):
    """Raised by a job: try again, after ``after`` if given, else after the contract's backoff.

    ``after`` takes a duration ("30s", a timedelta, seconds), an aware datetime, or the text of a
    ``Retry-After`` header (seconds or an HTTP date); None means the contract's backoff. The attempt counts.
    Seven days are the longest, and a day for a header's text.

    ``resource=True``: what it calls wants everybody to stop, as with an answer 429. Until then no job starts that needs
    the same resource (without one: no job of this type). The attempt does not count then: 100 times at most, and no
    longer than the drain SLA.
    """

    def __init__(self, message: str = "", *, after: object = None, resource: bool = False) -> None:
        super().__init__(message)
        self.resource = resource
        self.after: float | None = None if after is None else seconds_until(after)


class OutcomeUnknown(Poison):
    """Somebody began what ``once`` guards, and nobody knows whether it happened: a person has to look.

    Raised where the contract or the call says ``on_unknown="dead"``. A job may raise it within the block, to say that
    it does not know itself.
    """


class OnceBusy(Exception):
    """Another run is at what ``once`` guards. The job is postponed, and its attempt does not count.

    ``holder``: the job that is at it; empty where only a lock in the database tells of it. ``retry_in``: seconds after
    which it is worth another look.
    """

    def __init__(self, key: str, holder: str, retry_in: float) -> None:
        who = f"job {holder} is at it" if holder else "its record is locked, so another run may be at it"
        super().__init__(f"once {key!r}: {who}; this one comes again")
        self.key = key
        self.holder = holder
        self.retry_in = retry_in


class LeaseLost(BaseException):
    """The job's lease is over and was given away: this run is a leftover, and nothing of it counts any more.

    Not an ``Exception``, as a time-out is none: a broad ``except Exception`` must not keep such a run alive.
    """

    def __init__(self, job_id: str) -> None:
        super().__init__(f"job {job_id}: its lease is over; somebody else runs it, or it is dead")
        self.job_id = job_id


class EffectNotRecorded(Exception):
    """What ``once`` guards has happened, and the database could not take that in: to the next run it is unknown."""

    def __init__(self, key: str) -> None:
        super().__init__(f"once {key!r}: it has happened, but the database is away and could not record it")
        self.key = key


class NotInstalled(EngineError):
    """Jobs cannot be enqueued here, as nothing has plugged an engine in."""

    def __init__(self, what: str) -> None:
        super().__init__(f"jobops has no {what}: add 'jobops' to INSTALLED_APPS and call django.setup() first")


class UnknownJobType(InvalidJob):
    """No registered job type has this name or alias."""

    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        near = get_close_matches(name, list(known), n=3, cutoff=0.5)
        hint = (
            f"did you mean {' or '.join(near)}?"
            if near
            else "it must be declared in a jobs.py of an installed app, or in a module of JOBOPS_JOB_MODULES"
        )
        super().__init__("job", f"no job type is called {name!r}; {hint}")
        self.name = name


class JobFailed(EngineError):
    """The job whose result was asked for ended without one."""

    def __init__(self, job_id: str, state: str, error_class: str, error: str) -> None:
        cause = ": ".join(part for part in (error_class, error) if part)
        super().__init__(f"job {job_id} ended {state}" + (f" ({cause})" if cause else ""))
        self.job_id = job_id
        self.state = state
        self.error_class = error_class
        self.error = error


class ResultNotReady(EngineError, TimeoutError):
    """The job had not ended when the wait for its result was over. The job itself goes on."""

    def __init__(self, job_id: str, state: str, waited_s: float) -> None:
        super().__init__(f"job {job_id} is still {state} after {waited_s:g} s")
        self.job_id = job_id
        self.state = state


class ResultNotKept(EngineError):
    """It succeeded, and what it returned is not kept: it could not be carried as JSON, was too large, or is gone."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} succeeded, and its result is not kept: no JSON, above the limit, or forgotten since")


class ResultGone(EngineError):
    """Nothing is kept of this job any more: its result has expired, or it never existed."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"job {job_id}: nothing is kept of it any more, or it never existed")
        self.job_id = job_id


# The public names are what a dead letter shows and groups by; where they are defined may change.
for _public in (Poison, Discard, RetryLater, OutcomeUnknown, OnceBusy, LeaseLost, EffectNotRecorded):
    _public.__module__ = "jobops"
