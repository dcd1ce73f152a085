"""A worker process of the tests: `python -m tests.worker.main '<options as JSON>'`."""

from __future__ import annotations

import json
import logging
import sys

from tests.worker import shifted_clock  # noqa: F401  (first: others take the clocks by name)

# isort: split
from jobops.engine.client import Engine, connect
from jobops.engine.supervisor import Supervisor
from jobops.engine.worker_options import WorkerOptions
from tests.worker.functions import FunctionRunner
from tests.worker.hooks import HOOKS


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(message)s")
    options = json.loads(sys.argv[1])
    url = options.pop("url")
    socket_timeout = options.pop("socket_timeout", 5.0)
    hooks = HOOKS[options.pop("hooks", "none")]
    lanes = options.pop("lanes", ["interactive", "bulk"])
    options["job_types"] = frozenset(options.pop("job_types", ()))

    def engine() -> Engine:
        return Engine(connect(url, socket_timeout=socket_timeout), lanes={"interactive": 4.0, "bulk": 1.0})

    return Supervisor(engine, FunctionRunner(), WorkerOptions(lanes=tuple(lanes), hooks=hooks, **options)).run()


if __name__ == "__main__":
    sys.exit(main())
