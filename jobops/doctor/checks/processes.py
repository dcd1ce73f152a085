"""Whether anybody works: a leading scheduler and a living worker."""

from __future__ import annotations

from collections.abc import Iterator

from jobops.doctor.findings import Finding
from jobops.doctor.site import Site
from jobops.engine.client import Engine
from jobops.engine.worker_views import read_supervisors
from jobops.scheduling.scheduler import LOCK


def check(site: Site) -> Iterator[Finding]:
    """What is missing at two looks: one may be just starting, or following a leader that died."""
    if _leads(site.engine) and _works(site.engine):
        return
    site.wait()
    if not _leads(site.engine):
        text = "no scheduler leads: delayed jobs, deaths, the outbox and rescue stand still; run `manage.py scheduler`"
        yield Finding("no_scheduler", "scheduler", "", text)
    if not _works(site.engine):
        lost = len(read_supervisors(site.engine))
        known = f"; {lost} {'is' if lost == 1 else 'are'} lost or draining" if lost else ""
        yield Finding("no_worker", "worker", "", f"no worker takes jobs{known}: start one with `manage.py worker`")


def _leads(engine: Engine) -> bool:
    return bool(engine.redis.exists(engine.keys.lock(LOCK)))


def _works(engine: Engine) -> bool:
    return any(worker.state == "running" for worker in read_supervisors(engine))
