"""jobops: background jobs of many tenants, run fairly, and an operations room for them.

The public names are loaded when they are first used, so that ``import jobops.engine`` brings in neither Django
nor the contracts.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jobops.context.current import CurrentJob, NoCurrentJob, current_job
    from jobops.context.once import OnceMisused
    from jobops.contracts.backoff import Backoff
    from jobops.contracts.batch_port import BatchCancelled, BatchGone, BatchStatus
    from jobops.contracts.batches import Batch
    from jobops.contracts.decorator import Job, job
    from jobops.contracts.error_rules import After
    from jobops.contracts.errors import (
        Discard,
        EffectNotRecorded,
        JobFailed,
        LeaseLost,
        NotInstalled,
        OnceBusy,
        OutcomeUnknown,
        Poison,
        ResultGone,
        ResultNotKept,
        ResultNotReady,
        RetryLater,
        UnknownJobType,
    )
    from jobops.contracts.handles import Failure, Handle
    from jobops.engine.errors import (
        DepthExceeded,
        EngineError,
        EnqueueRefused,
        IntakeClosed,
        InvalidJob,
        PayloadTooLarge,
        UnknownTenant,
        Unserializable,
    )
    from jobops.engine.timeouts import JobTimeout

_HOMES = {
    "jobops.context.current": ("CurrentJob", "NoCurrentJob", "current_job"),
    "jobops.contracts.backoff": ("Backoff",),
    "jobops.contracts.batch_port": ("BatchCancelled", "BatchGone", "BatchStatus"),
    "jobops.contracts.batches": ("Batch",),
    "jobops.contracts.decorator": ("Job", "job"),
    "jobops.contracts.error_rules": ("After",),
    "jobops.context.once": ("OnceMisused",),
    "jobops.contracts.errors": (
        "Discard",
        "EffectNotRecorded",
        "JobFailed",
        "LeaseLost",
        "NotInstalled",
        "OnceBusy",
        "OutcomeUnknown",
        "Poison",
        "ResultGone",
        "ResultNotKept",
        "ResultNotReady",
        "RetryLater",
        "UnknownJobType",
    ),
    "jobops.contracts.handles": ("Failure", "Handle"),
    "jobops.engine.errors": (
        "DepthExceeded",
        "EngineError",
        "EnqueueRefused",
        "IntakeClosed",
        "InvalidJob",
        "PayloadTooLarge",
        "UnknownTenant",
        "Unserializable",
    ),
    "jobops.engine.timeouts": ("JobTimeout",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "After",
    "Backoff",
    "Batch",
    "BatchCancelled",
    "BatchGone",
    "BatchStatus",
    "CurrentJob",
    "DepthExceeded",
    "Discard",
    "EffectNotRecorded",
    "EngineError",
    "EnqueueRefused",
    "Failure",
    "Handle",
    "IntakeClosed",
    "InvalidJob",
    "Job",
    "JobFailed",
    "JobTimeout",
    "LeaseLost",
    "NoCurrentJob",
    "NotInstalled",
    "OnceBusy",
    "OnceMisused",
    "OutcomeUnknown",
    "PayloadTooLarge",
    "Poison",
    "ResultGone",
    "ResultNotKept",
    "ResultNotReady",
    "RetryLater",
    "UnknownJobType",
    "UnknownTenant",
    "Unserializable",
    "current_job",
    "job",
]


def __getattr__(name: str) -> Any:
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(module), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
