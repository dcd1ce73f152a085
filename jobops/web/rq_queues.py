"""The queues that RQ's own pages show. The settings import this module, so it imports nothing of Django."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jobops.web.rq_view import ShownJSON

MOST_TENANTS = 25
"""The queues of the first so many tenants, by name, are shown: the home page reads every queue in its list."""


class ShownQueues(Mapping[str, dict[str, Any]]):
    """django-rq's ``RQ_QUEUES``: queue name → how to reach it. Its names are read when somebody looks."""

    def __getitem__(self, name: str) -> dict[str, Any]:
        return {"USE_REDIS_CACHE": "rq-pages", "SERIALIZER": ShownJSON}

    def __iter__(self) -> Iterator[str]:
        from jobops.web.selectors.snapshot import snapshot

        shot = snapshot()
        return iter([f"{slug}.{lane}" for slug in sorted(shot.rows)[:MOST_TENANTS] for lane in shot.lanes])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __bool__(self) -> bool:
        return True
