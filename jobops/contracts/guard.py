"""A contract's guard: the job's function runs within ``once``, under a key that is made of its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jobops.contracts.enqueuer import once
from jobops.contracts.error_text import class_of, shown_message
from jobops.contracts.errors import Poison
from jobops.contracts.job_type import JobType
from jobops.contracts.returned import never_run

KEY_LIMIT = 200


def check_key(key: object) -> str:
    """The key as it can be used. Raises ValueError saying what would be right."""
    if isinstance(key, str) and 0 < len(key) <= KEY_LIMIT and key.isprintable():
        return key
    raise ValueError(f"{key!r:.300} cannot be a key; give text of 1 to {KEY_LIMIT} printable characters")


def guarded(job_type: JobType, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What the function returns, now or in the run that did it. Raises Poison if the guard gives no usable key."""
    key = _key(job_type, args, kwargs)

    def call() -> Any:
        value = job_type.func(*args, **kwargs)
        why = never_run(value)
        if why:  # nothing has happened, so nothing may be recorded as done
            raise Poison(why)
        return value

    return once()(key, job_type.on_unknown, call)


def _key(job_type: JobType, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    assert job_type.guard is not None
    try:
        key = job_type.guard(*args, **kwargs)
    except Exception as error:
        raise Poison(f"guard: that of {job_type.name} raised {class_of(error)}: {shown_message(error)}") from error
    try:
        return check_key(key)
    except ValueError as error:
        raise Poison(f"guard: of {job_type.name}: {error}") from None
