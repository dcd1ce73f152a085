"""The lines that every execution design is held against: ``manage.py catalog --check`` fails where one does not hold.

A part of a line whose capability is still to come is *not built*: it is said, and fails nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from jobops.contracts.catalog.design import Failure, JobDesign, Line, State
from jobops.contracts.catalog.facts import Installation, Measured
from jobops.contracts.catalog.words import NOT_BUILT, listed, span
from jobops.contracts.faults import Fault, Kind

SHORTEST_REASON = 8
"""A shorter sentence for ``idempotent`` gives no reason."""
LONG_S = 300.0
"""A job that may run longer than this is long: it should not begin again from nothing."""

_ARGUMENTS = {
    "idempotency": ("idempotent", "guard", "function"),
    "retries": ("max_attempts", "backoff", "retry_on", "poison_on", "discard_on"),
    "visibility": ("timeout", "lease"),
    "ownership": ("owner", "drain_sla"),
    "fairness": ("lane", "resource", "concurrency", "rate"),
}
"""Which line a value that cannot be used belongs to, by the first word of its argument."""


def judge(jobs: Sequence[JobDesign], installation: Installation, measured: Measured) -> tuple[Line, ...]:
    """Each line with what it was judged by and what breaks it."""
    visibility = _line(
        "visibility", "Visibility is above the run time", jobs, lambda job: _visibility(job, installation)
    )
    return (
        _line("idempotency", "Every job is idempotent or guarded", jobs, _idempotency,
              more=[*_unimportable(installation)]),
        _line("retries", "Attempts, backoff with jitter, classifier", jobs, _retries),
        replace(visibility, measured=_p99_known(jobs)),
        _line("ownership", "Owner, drain SLA and alert", jobs, _ownership),
        _line("checkpoints", "Long jobs checkpoint", jobs, _checkpoints, _long_note(jobs)),
        _line("fairness", "Fairness is bounded", jobs, lambda job: _fairness(job, installation), _shared_note(jobs),
              [*_unserved(jobs, measured)]),
        Line("schedules", "Schedules have an overlap and a missed-run policy", State.NOT_BUILT,
             f"schedules: {NOT_BUILT}"),
        _line("drain", "Graceful drain", jobs, lambda job: _drain(job, installation),
              f"running jobs have {span(installation.drain_timeout_s)}, then they are given back"),
    )  # fmt: skip


def is_long(job: JobDesign) -> bool:
    """Whether its time-out allows a run that should not begin again from nothing."""
    return job.timeout_s > LONG_S


def outlasts_drain(job: JobDesign, installation: Installation) -> bool:
    """Whether a run may still go on when the usual drain time-out is over."""
    return job.timeout_s > installation.drain_timeout_s


def _line(
    key: str,
    promise: str,
    jobs: Sequence[JobDesign],
    broken: Callable[[JobDesign], Iterable[str]],
    note: str = "",
    more: Sequence[Failure] = (),
) -> Line:
    """One line, held against each job type; ``broken`` tells in what ways one breaks it."""
    failures = [*more]
    for job in jobs:
        found = [*broken(job), *_bad_values(job.faults, key)]
        if found:
            failures.append(Failure(job.name, "; ".join(found)))
    held = len(jobs) - len({failure.subject for failure in failures} & {job.name for job in jobs})
    state = State.FAILED if failures else State.PASSED
    return Line(key, promise, state, note, tuple(failures), held, len(jobs))


def _bad_values(faults: Iterable[Fault], key: str) -> Iterator[str]:
    for fault in faults:
        if fault.kind in (Kind.VALUE, Kind.BACKOFF_CAP) and fault.argument.split()[0] in _ARGUMENTS.get(key, ()):
            yield f"{fault.argument} {fault.message}: {fault.hint}"


def _missing(job: JobDesign, kind: Kind) -> Iterator[str]:
    for fault in job.faults:
        if fault.kind is kind:
            yield f"{fault.argument} {fault.message}: {fault.hint}"


def _idempotency(job: JobDesign) -> Iterator[str]:
    yield from _missing(job, Kind.IDEMPOTENCY)
    if job.idempotent and len(job.idempotent) < SHORTEST_REASON and not job.guard:
        yield f'idempotent={job.idempotent!r} gives no reason: say why a second run is safe ("upserts by invoice id")'


def _checkpoints(job: JobDesign) -> Iterator[str]:
    if is_long(job) and not job.checkpoints:
        yield (
            f"may run for {span(job.timeout_s)} and begins again from nothing: call `current_job().checkpoint(…)`, "
            "or cut it into shorter jobs"
        )


def _shared_note(jobs: Sequence[JobDesign]) -> str:
    resources = sorted({job.limits.resource for job in jobs if job.limits.resource})
    return f"shared resources: {listed(resources)}" if resources else ""


def _unimportable(installation: Installation) -> Iterator[Failure]:
    for module in installation.unimportable:
        yield Failure(module, "cannot be imported, so that its job types are not in this catalog; see manage.py check")


def _retries(job: JobDesign) -> Iterator[str]:
    if job.attempts == 1:
        return  # nothing is tried again
    if job.longest_wait_s <= 0:
        yield "waits nothing between attempts: give a backoff"
    elif not job.jitter:
        yield f'has no jitter ({job.backoff}), so that what failed together comes back together: give jitter="full"'
    if not job.classifier:
        yield (
            "sorts no errors, so that what will never succeed is tried again like the rest: give poison_on, "
            "discard_on or retry_on, or raise Poison"
        )


def _visibility(job: JobDesign, installation: Installation) -> Iterator[str]:
    yield from _missing(job, Kind.TIMEOUT)
    p99_s = job.run_times.p99_s
    if p99_s is not None and p99_s > job.timeout_s:
        yield (
            f"its p99 of up to {span(p99_s)} is not clearly below its time-out of {span(job.timeout_s)}: "
            "give it more time, or less to do"
        )
    if job.lease_s < 2 * installation.heartbeat_s:
        yield f"its lease of {span(job.lease_s)} is less than two heartbeats: give {span(2 * installation.heartbeat_s)}"


def _p99_known(jobs: Sequence[JobDesign]) -> str:
    known = sum(job.run_times.p99_s is not None for job in jobs)
    return f"p99 is known of {known}" if jobs else ""


def _long_note(jobs: Sequence[JobDesign]) -> str:
    long = [job.name for job in jobs if is_long(job)]
    return f"may run longer than {span(LONG_S)}: {listed(long) or 'none'}"


def _ownership(job: JobDesign) -> Iterator[str]:
    yield from _missing(job, Kind.OWNER)
    yield from _missing(job, Kind.DRAIN_SLA)


def _fairness(job: JobDesign, installation: Installation) -> Iterator[str]:
    if job.lane not in installation.lanes:
        yield f"lane {job.lane!r} is not configured: the lanes are {listed(installation.lanes)}"
    limits = job.limits
    if limits.resource and not limits.declared and not limits.changed:
        yield f"needs resource {limits.resource}, which nobody limits: give concurrency= or rate= to one that names it"


def _unserved(jobs: Sequence[JobDesign], measured: Measured) -> Iterator[Failure]:
    """Lanes that nobody works on while workers run: what waits there waits for ever."""
    if measured.live is None or not measured.live.workers:
        return
    for lane in sorted({job.lane for job in jobs} - measured.live.served):
        yield Failure(f"lane {lane}", "no running worker serves it: start one with `manage.py worker --lanes`")


def _drain(job: JobDesign, installation: Installation) -> Iterator[str]:
    if outlasts_drain(job, installation) and not job.idempotent:
        yield (
            f"may outlast a drain ({span(job.timeout_s)}) and is started again then, which no sentence says is safe: "
            "give idempotent=, or a shorter time-out"
        )
