"""What there is to say of one job type, part by part; every form of the catalog lists the same parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jobops.contracts.catalog.design import Classifier, JobDesign, JobLimits
from jobops.contracts.catalog.facts import RunTimes
from jobops.contracts.catalog.words import NOT_MEASURED, listed, plural, span

NOT_TOLD = "not told"
NO_GUARD = "no guard, and no key of its own: the key of a call (`using(key=…)`) coalesces while its job lives"
NO_WINDOW = "none: a key is free when its job has ended"
ON_FULL = {
    "refuse": "an enqueue is refused",
    "spill": "waits in the outbox until there is room",
    "drop_oldest": "the oldest waiting job of its key gives way",
}
ON_UNKNOWN = {
    "run": "one that was cut off, so that nobody knows whether it happened, runs again",
    "dead": "one that was cut off, so that nobody knows whether it happened, becomes a dead letter",
}
ALERTS = {
    "new_cause": "a new cause of death",
    "sla_warning": "a deadline that is near",
    "sla_forecast": "one that will be missed",
    "sla_breach": "one that was",
    "run_time": "runs that take twice as long as usual",
}
"""Signals of a single job type, and what each of them tells its owner of."""
CHECKPOINTS = "where its code calls `checkpoint`: a run that is started again goes on from there"
NO_CHECKPOINTS = "none: a run that is started again begins from nothing"


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that the contract says, and what was measured of it; ``measured`` empty where nothing can be."""

    name: str
    says: str
    measured: str = ""


def design_parts(job: JobDesign) -> Iterator[Part]:
    """How it is set off, how long it takes, what it does, and what a second run means."""
    yield Part("trigger", job.trigger)
    yield Part("expected duration", f"less than its time-out of {span(job.timeout_s)}", duration(job.run_times))
    yield Part("side effects", job.side_effects or f"{NOT_TOLD}: the function has no docstring")
    yield Part("guard", job.guard or "none")
    yield Part("idempotency", job.idempotent or NOT_TOLD)
    yield Part("lane", job.lane)


def contract_parts(job: JobDesign) -> Iterator[Part]:
    """What it promises: retries, visibility, ownership, checkpoints."""
    yield Part("idempotency key or guard", _guard(job))
    yield Part("dedup window", span(job.dedup_window_s) if job.dedup_window_s else NO_WINDOW)
    yield Part("attempts", f"{job.attempts}")
    yield Part("backoff", job.backoff if job.attempts > 1 else "none: nothing is tried again")
    yield from _classified(job.classifier)
    yield Part("lease", f"{span(job.lease_s)}, renewed while the job runs")
    yield Part("time-out", span(job.timeout_s), p99(job.run_times))
    yield from _limits(job.limits)
    yield Part("at the depth limit", ON_FULL.get(job.on_full, job.on_full))
    yield Part("result kept", _retention(job))
    yield Part("owner", job.owner if job.promises_owner else f"{job.owner}, by default: the contract names none")
    sla = span(job.drain_sla_s)
    yield Part("drain SLA", sla if job.promises_sla else f"{sla}, by default: the contract gives none")
    yield Part("alert", listed(ALERTS.values()))
    yield Part("checkpoint granularity", CHECKPOINTS if job.checkpoints else NO_CHECKPOINTS)
    yield Part("masked arguments", ", ".join(job.redacted) or "none, beside what is called a password or the like")
    if job.aliases:
        yield Part("former names", ", ".join(job.aliases))
    yield Part("defined in", job.defined_in)


def duration(times: RunTimes) -> str:
    """The measured run time in words."""
    average = f"{span(times.average_s)} on average" if times.average_s is not None else ""
    slowest = f"p99 up to {span(times.p99_s)}" if times.p99_s is not None else ""
    runs = f"{plural(times.runs, 'run')} in {span(times.over_s)}" if times.over_s else ""
    return "; ".join(part for part in (average, slowest, runs if average else "") if part) or NOT_MEASURED


def p99(times: RunTimes) -> str:
    """The measured slowest hundredth in words."""
    return f"p99 up to {span(times.p99_s)}" if times.p99_s is not None else NOT_MEASURED


def _guard(job: JobDesign) -> str:
    return f"guard {job.guard}; {ON_UNKNOWN.get(job.on_unknown, job.on_unknown)}" if job.guard else NO_GUARD


def _limits(limits: JobLimits) -> Iterator[Part]:
    """What it declares, or others that share its resource, and what operators put in its place."""
    declared = limits.declared or "none"
    if limits.by and limits.resource:
        declared = f"{declared} (declared by {listed(limits.by)})"
    if limits.resource:
        yield Part("resource", limits.resource)
    yield Part("limits of the resource" if limits.resource else "limits", declared, limits.changed)


def _retention(job: JobDesign) -> str:
    usual = "" if job.promises_result_ttl else ", by default"
    most = f"; the newest {job.keep_results:,} of each tenant" if job.keep_results else ""
    return f"{span(job.result_ttl_s)}{usual}{most}"


def _classified(classifier: Classifier) -> Iterator[Part]:
    retry = _named(classifier, classifier.retry, "RetryLater")
    yield Part(
        "retryable", f"{retry}; and every error that is named nowhere" if retry else "every error not named below"
    )
    yield Part("poison", _named(classifier, classifier.poison, "Poison") or "none named")
    yield Part("discarded", _named(classifier, classifier.discard, "Discard") or "none named")


def _named(classifier: Classifier, rules: tuple[str, ...], signal: str) -> str:
    """The rules of one kind, and the class that the job's own code raises to say the same."""
    return ", ".join([*rules, *(name for name in classifier.in_code if name == signal)])
