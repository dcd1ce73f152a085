"""Children: jobs that a job enqueues, each made once however often their parent is tried again."""

from __future__ import annotations

import hashlib
import re

from jobops.contracts.running import running_job
from jobops.engine.errors import InvalidJob

# How the job of a replay is named after the one that died: it has the same children.
_REPLAY = re.compile(r"-\d{1,9}-r\d{1,9}$", re.ASCII)


def child_id(job_type: str, key: str) -> str:
    """The id of the child of this type and key of the job that this code runs in: always the same one.

    Redis takes each id once, so that a second child is none. Raises InvalidJob outside of a job.
    """
    parent = running_job()
    if parent is None:
        raise InvalidJob("child", "this code runs in no job")
    named = "\0".join((_REPLAY.sub("", parent.id), job_type, key))
    return hashlib.sha256(named.encode()).hexdigest()[:32]
