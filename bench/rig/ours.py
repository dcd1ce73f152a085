"""Our side: jobs in through the engine, a worker process of N slots as `manage.py worker` runs it, without Django."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from uuid import uuid4

from jobops.contracts.runner import ContractRunner
from jobops.engine.client import Engine, connect
from jobops.engine.payload import encode
from jobops.engine.records import NewJob
from jobops.engine.supervisor import Supervisor
from jobops.engine.worker_options import WorkerOptions

LANES = {"interactive": 4.0, "bulk": 1.0}


def engine_at(url: str) -> Engine:
    """An engine on that Redis, its lanes set."""
    engine = Engine(connect(url), lanes=LANES)
    engine.prepare()
    return engine


def new_job(tenant: str, job_type: str, *, lane: str = "bulk", **kwargs: object) -> NewJob:
    """A job of the bench's types."""
    name = f"rig.work.{job_type}"
    return NewJob(uuid4().hex, tenant, lane, name, encode(name, (), kwargs))


def enqueue(engine: Engine, jobs: Iterable[NewJob]) -> None:
    """Takes all in; a refusal ends the bench."""
    for answer in engine.scripts.enqueue_many(list(jobs)):
        if isinstance(answer, Exception):
            raise answer


def start_worker(
    url: str, slots: int, *, burst: bool, session: bool = False, lanes: str = ",".join(LANES)
) -> subprocess.Popen[bytes]:
    """A worker process that serves these lanes; with ``session`` in one of its own."""
    args = [sys.executable, "-m", "rig.ours", url, str(slots), "burst" if burst else "stay", lanes]
    return subprocess.Popen(args, cwd=Path(__file__).parents[1], stderr=subprocess.DEVNULL, start_new_session=session)


def main() -> int:
    """What the worker process runs."""
    url, slots, mode, lanes = sys.argv[1:]
    import rig.work  # noqa: F401  (registers the job types, in the worker only)

    options = WorkerOptions(lanes=tuple(lanes.split(",")), processes=int(slots), burst=mode == "burst")
    return Supervisor(lambda: engine_at(url), ContractRunner(), options).run()


if __name__ == "__main__":
    sys.exit(main())
