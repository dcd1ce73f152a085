"""The cell's epoch: Redis and the database belong together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import cast

from jobops.doctor.findings import Finding
from jobops.doctor.site import Site
from jobops.engine.client import Engine
from jobops.steward.models import CellState
from jobops.steward.policies import check_epoch, is_set_back


def check(site: Site) -> Iterator[Finding]:
    """Whether one of the two was flushed or restored since the scheduler last looked."""
    if not _differs(site.engine):
        return
    site.wait()  # a leading scheduler sees to it within a second
    if _differs(site.engine):
        text = (
            "Redis is not the one that the database knows: one of them was flushed or restored. "
            "Jobs that waited in a flushed Redis are gone, and an older state runs what ended since once more; "
            "the outbox and the dead letters are not touched"
        )
        yield Finding("epoch_differs", "redis", "", text, remedy=partial(_repair, site.engine))


def _differs(engine: Engine) -> bool:
    state = CellState.objects.filter(pk=1).first()
    if state is None or not state.epoch:
        return False  # no scheduler has ever run: another check tells
    epoch, mark = cast("list[bytes | None]", engine.redis.mget(engine.keys.epoch(), engine.keys.mark()))
    is_another = (epoch or b"").decode(errors="replace") != state.epoch
    return is_another or is_set_back(int(mark) if mark and mark.isdigit() else 0, state)


def _repair(engine: Engine) -> str:
    if not _differs(engine):
        return ""
    return f"lanes and {check_epoch(engine, at_once=True)} policies pushed again, the new epoch noted"
