"""A job type: a function, and what its contract promises."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from jobops.contracts.backoff import Backoff
from jobops.contracts.error_policy import ErrorPolicy
from jobops.contracts.faults import Fault
from jobops.engine.errors import InvalidJob
from jobops.engine.rates import Rate
from jobops.engine.records import OnFull

if TYPE_CHECKING:
    from jobops.contracts.calls import Call

OnUnknown = Literal["run", "dead"]
"""What is done when nobody knows whether a guarded effect happened."""

Fingerprint = Callable[[str, str, Mapping[str, Any]], str | None]
"""From a death's error class, its error and the job's arguments by name to what tells its cause from others."""

DEFAULT_MAX_ATTEMPTS = 5
DEFAULT_TIMEOUT = timedelta(seconds=30)
DEFAULT_BACKOFF = Backoff.exponential(base="1s", cap="5m")


@dataclass(frozen=True, slots=True, eq=False)
class JobType:
    """What the contract of ``func`` promises. Missing promises have safe values here and are listed in ``faults``.

    ``lane`` empty: the first configured one. ``lease`` None: the configured one. ``guard``: from the arguments
    to the key under which a run counts as done. ``redact``: names of arguments to mask wherever they are shown.
    ``concurrency`` and ``rate`` are those of the ``resource``, or, without one, of the job type itself.
    ``fingerprint``: which deaths have one cause, where the contract says it.
    """

    name: str
    func: Callable[..., Any]
    signature: inspect.Signature
    aliases: tuple[str, ...] = ()
    owner: str = ""
    drain_sla: timedelta | None = None
    idempotent: str = ""
    guard: Callable[..., str] | None = None
    lane: str = ""
    max_attempts: int = DEFAULT_MAX_ATTEMPTS
    backoff: Backoff = DEFAULT_BACKOFF
    policy: ErrorPolicy = field(default_factory=ErrorPolicy)
    timeout: timedelta = DEFAULT_TIMEOUT
    lease: timedelta | None = None
    redact: frozenset[str] = frozenset()
    resource: str = ""
    concurrency: int | None = None
    rate: Rate | None = None
    dedup_window: timedelta | None = None
    on_full: OnFull = "refuse"
    on_unknown: OnUnknown = "run"
    result_ttl: timedelta | None = None
    keep_results: int | None = None
    fingerprint: Fingerprint | None = None
    faults: tuple[Fault, ...] = ()

    def using(
        self,
        *,
        tenant: str,
        key: str | None = None,
        lane: str | None = None,
        run_after: timedelta | datetime | None = None,
        correlation_id: str | None = None,
        priority: str | None = None,
    ) -> Call[...]:
        """A call of this type, to be enqueued: see ``Job.using``. For callers that know the type by name only."""
        from jobops.contracts.calls import make_call

        return make_call(
            self,
            tenant=tenant,
            key=key,
            lane=lane,
            run_after=run_after,
            correlation_id=correlation_id,
            priority=priority,
        )

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments as the function would take them, by name wherever it allows.

        Raises InvalidJob naming what is missing, unknown or given twice.
        """
        named = _bound_by_name(self, args, kwargs)
        if named is not None:
            return (), named
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise InvalidJob("arguments", f"{error}; {self.name} takes {self.signature}") from None
        if any(self._by_position_only(parameter) for parameter in self.signature.parameters.values()):
            return bound.args, dict(bound.kwargs)
        # By name, so that masks and people find an argument however it was given.
        named = {}
        for name, value in bound.arguments.items():
            named.update(value if self._is_rest(name) else {name: value})
        return (), named

    def argument_names(self, count: int) -> list[str]:
        """What the first ``count`` positional arguments are called: ``["path", "lines[0]", "lines[1]"]``."""
        names: list[str] = []
        for parameter in self.signature.parameters.values():
            if parameter.kind is parameter.VAR_POSITIONAL:
                names += [f"{parameter.name}[{i}]" for i in range(count - len(names))]
            elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                names.append(parameter.name)
        return (names + [f"args[{i}]" for i in range(len(names), count)])[:count]

    def named_arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """A stored job's arguments by name, as ``argument_names`` calls those that have none."""
        return {**dict(zip(self.argument_names(len(args)), args, strict=True)), **kwargs}

    def redacts(self, name: str) -> bool:
        """Whether ``redact`` names this argument, or the ``*rest`` or ``**rest`` that it is part of."""
        if name.partition("[")[0] in self.redact:
            return True
        if name in self.signature.parameters:
            return False
        return any(self._is_rest(other) for other in self.redact & self.signature.parameters.keys())

    def _is_rest(self, name: str) -> bool:
        return self.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD

    @staticmethod
    def _by_position_only(parameter: inspect.Parameter) -> bool:
        return parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL)


class _Names(NamedTuple):
    """Of a function's parameters, in order. ``positional``: how many can be given by position."""

    all: tuple[str, ...]
    required: frozenset[str]
    positional: int


@lru_cache(maxsize=1024)
def _names_of(job_type: JobType) -> _Names | None:
    """None if the function takes anything that has no name of its own."""
    parameters = job_type.signature.parameters.values()
    if any(one.kind not in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) for one in parameters):
        return None
    return _Names(
        all=tuple(one.name for one in parameters),
        required=frozenset(one.name for one in parameters if one.default is one.empty),
        positional=sum(one.kind is one.POSITIONAL_OR_KEYWORD for one in parameters),
    )


def _bound_by_name(job_type: JobType, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
    """As `inspect.Signature.bind`, several times as fast, where each argument has its parameter; None for others."""
    names = _names_of(job_type)
    if names is None or len(args) > names.positional:
        return None
    given = {**dict(zip(names.all, args, strict=False)), **kwargs} if args else kwargs
    if len(given) != len(args) + len(kwargs) or not given.keys() >= names.required:
        return None
    named = {name: given[name] for name in names.all if name in given}
    return named if len(named) == len(given) else None
