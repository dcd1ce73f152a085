"""What a job returned: its result, or a sign that nothing of it has run."""

from __future__ import annotations

import contextlib
import logging
import types
from typing import Any, Final

from jobops.contracts.error_text import shown_message
from jobops.engine.payload import encode_result
from jobops.engine.records import ClaimedJob, Outcome

logger = logging.getLogger(__name__)

NOT_KEPT: Final = object()
"""Returned instead of a result that an earlier run had, and that was not kept."""

_NOTHING: Final = Outcome.succeeded(encode_result(None))

_NEVER_RUN = (types.CoroutineType, types.GeneratorType, types.AsyncGeneratorType)


def never_run(value: Any) -> str:
    """Why nothing of the job's body has happened, and never will, or is half done and fights its end; empty if not."""
    if not issubclass(type(value), _NEVER_RUN):  # not `isinstance`, which asks the value too
        return ""
    kind = type(value).__name__
    if kind != "async_generator":
        with contextlib.suppress(BaseException):
            value.close()
    return f"the job returned a {kind} that nobody runs; make it a plain function"


def outcome_of(job: ClaimedJob, value: Any) -> Outcome:
    """How a job ended that returned ``value``."""
    if value is None:
        return _NOTHING
    why = never_run(value)
    if why:
        return Outcome.failed("poison", "TypeError", why)
    if value is NOT_KEPT:
        return Outcome.succeeded(b"")
    try:
        return Outcome.succeeded(encode_result(value))
    except BaseException as error:  # noqa: BLE001 - a value may fight being read in any way
        # The job's effect has happened: running it again for the sake of its result would be wrong.
        logger.warning("job %s of %s succeeded, its result is not kept: %s", job.id, job.job_type, shown_message(error))
        return Outcome.succeeded(b"")
