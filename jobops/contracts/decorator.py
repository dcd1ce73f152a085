"""``@job``: a function becomes a job type, and stays a function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Generic, ParamSpec, TypedDict, TypeVar, Unpack, overload

from jobops.contracts import registry
from jobops.contracts.backoff import Backoff
from jobops.contracts.calls import Call, make_call
from jobops.contracts.durations import Duration
from jobops.contracts.error_policy import ErrorPolicy
from jobops.contracts.job_type import DEFAULT_MAX_ATTEMPTS, JobType
from jobops.contracts.promises import Promises

P = ParamSpec("P")
R = TypeVar("R")


class Job(Generic[P, R]):
    """A function with a contract. Calling it runs it here and now, as a plain function; ``using`` enqueues it."""

    job_type: JobType
    __wrapped__: Callable[P, R]
    __name__: str
    __qualname__: str

    def __init__(self, func: Callable[P, R], job_type: JobType) -> None:
        functools.update_wrapper(self, func)
        self.job_type = job_type

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.__wrapped__(*args, **kwargs)

    def using(
        self,
        *,
        tenant: str,
        key: str | None = None,
        lane: str | None = None,
        run_after: timedelta | datetime | None = None,
        correlation_id: str | None = None,
        priority: str | None = None,
    ) -> Call[P]:
        """How to enqueue it: ``send_invoice.using(tenant="acme").enqueue(invoice_id=42)``.

        ``key``: while a job with this key is live, another is not added but coalesced into it.
        ``lane``: in place of the contract's. ``run_after``: a timedelta from now or an aware datetime.
        ``correlation_id``: by default that of the job this is called in, else the new job's own id.
        ``priority="front"``: ahead of the tenant's other jobs in its lane. Raises InvalidJob naming the option.
        """
        call: Call[Any] = make_call(
            self.job_type,
            tenant=tenant,
            key=key,
            lane=lane,
            run_after=run_after,
            correlation_id=correlation_id,
            priority=priority,
        )
        return call

    def __reduce__(self) -> str:
        # As a function is pickled: by its name.
        return str(self.__wrapped__.__qualname__)

    def __repr__(self) -> str:
        return f"<job {self.job_type.name}>"


class Contract(TypedDict, total=False):
    """The arguments of ``job``."""

    name: str | None
    aliases: str | Iterable[str]
    owner: str | None
    drain_sla: Duration | None
    idempotent: str | None
    guard: Callable[..., str] | None
    lane: str | None
    max_attempts: int
    backoff: Backoff | None
    retry_on: Any
    poison_on: Any
    discard_on: Any
    timeout: Duration | None
    lease: Duration | None
    redact: str | Iterable[str]
    resource: str | None
    concurrency: int | None
    rate: str | None
    dedup_window: Duration | None
    on_full: str
    on_unknown: str
    result_ttl: Duration | None
    keep_results: int | None
    fingerprint: Callable[[str, str, Mapping[str, Any]], str | None] | None


@overload
def job(func: Callable[P, R], /) -> Job[P, R]: ...
@overload
def job(**contract: Unpack[Contract]) -> Callable[[Callable[P, R]], Job[P, R]]: ...
def job(func: Callable[..., Any] | None = None, /, **contract: Any) -> Any:
    """Declare a function as a job type, with its contract.

    ``name`` (default ``module.function``) and ``aliases``, its former names. ``owner``: the team that drains its dead
    letters, within ``drain_sla``. ``idempotent``: a sentence that says why a second run is safe. ``guard``: from the
    arguments to the key under which a run counts as done: a second run gets the first one's result; ``on_unknown``:
    "run" it again, or "dead", when a run was cut off and nobody knows whether it happened. ``lane`` (default: the
    first configured). ``max_attempts``, ``backoff``. ``retry_on``, ``poison_on``, ``discard_on``: exception classes,
    HTTP statuses (429, "5xx", "500-599") or patterns for the message, single or as a list; see ``error_policy``.
    ``timeout``: how long a run may take. ``lease``: how long it is believed alive without a heartbeat. ``redact``:
    names of arguments to mask. ``resource``: what it needs while it runs, such as "stripe", with at most
    ``concurrency`` jobs at once and starts at a ``rate`` ("50/s") over all tenants and workers; without a resource
    both are of this job type. ``dedup_window``: for so long after a success its key still stands for it. ``on_full``:
    "refuse", "spill" (to the outbox) or "drop_oldest" (of the same key) at the tenant's depth limit; with the last the
    older arguments run below it and the newer ones at it, so the key must say all that matters. ``result_ttl``: how
    long a finished job is kept; ``keep_results``: how many of them for each tenant. ``fingerprint``: which of its dead
    letters have one cause, from the error's class, its message and the arguments by name to a short text that names
    it (people read it, so keep customers' data out), or None for how it is told otherwise; it must be quick.

    Never raises for a missing promise or a bad value: ``manage.py check`` lists them, each with a hint.
    """
    unknown = sorted(set(contract) - set(Contract.__annotations__))
    if unknown:
        raise TypeError(f"job() has no argument {', '.join(unknown)}; it takes {', '.join(Contract.__annotations__)}")

    def declare(function: Callable[P, R]) -> Job[P, R]:
        job_type = read_contract(function, contract)
        registry.register(job_type)
        return Job(function, job_type)

    return declare if func is None else declare(func)


def read_contract(func: Callable[..., Any], contract: Mapping[str, Any]) -> JobType:
    """The job type that these arguments of ``job`` declare, with the faults they have."""
    read = Promises()
    given = contract.get
    signature = read.signature(func)
    idempotent, guard = read.idempotency(given("idempotent"), given("guard"))
    resource = read.resource(given("resource"))
    policy = ErrorPolicy.build(
        retry_on=given("retry_on", ()), poison_on=given("poison_on", ()), discard_on=given("discard_on", ())
    )
    return JobType(
        name=read.name(given("name"), func),
        func=func,
        signature=signature,
        aliases=read.aliases(given("aliases", ())),
        owner=read.owner(given("owner")),
        drain_sla=read.drain_sla(given("drain_sla")),
        idempotent=idempotent,
        guard=guard,
        lane=read.lane(given("lane")),
        max_attempts=read.max_attempts(given("max_attempts", DEFAULT_MAX_ATTEMPTS)),
        backoff=read.backoff(given("backoff")),
        policy=policy,
        timeout=read.timeout(given("timeout")),
        lease=read.lease(given("lease")),
        redact=read.redact(given("redact", ()), signature),
        resource=resource,
        concurrency=read.concurrency(given("concurrency")),
        rate=read.rate(given("rate")),
        dedup_window=read.dedup_window(given("dedup_window")),
        on_full=read.on_full(given("on_full", "refuse")),
        on_unknown=read.on_unknown(given("on_unknown", "run")),
        result_ttl=read.result_ttl(given("result_ttl")),
        keep_results=read.keep_results(given("keep_results")),
        fingerprint=read.fingerprint(given("fingerprint")),
        # Last: the readings above add to it.
        faults=(*read.faults, *policy.faults),
    )
