"""Which alerts a rule or a silence is about: a glob for each part of a scope; an empty one fits everything."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from typing import Any

PARTS = ("tenant", "lane", "job_type", "team")
"""The parts of a scope that a matcher can name by glob. What has no such part is fitted by an empty glob only."""


@lru_cache(maxsize=4096)
def _pattern(glob: str) -> re.Pattern[str]:
    return re.compile(translate(glob))


def fits(glob: str, value: object) -> bool:
    """Whether the value is one that the glob names; the empty glob names every value, and none at all."""
    if not glob:
        return True
    return isinstance(value, str) and bool(value) and bool(_pattern(glob).match(value))


@dataclass(frozen=True, slots=True)
class Matcher:
    """The globs of a rule or a silence. ``group``: the number of a cause; None: any."""

    signal: str = ""
    tenant: str = ""
    lane: str = ""
    job_type: str = ""
    team: str = ""
    group: int | None = None

    def fits(self, signal: str, scope: Mapping[str, Any], owner: str) -> bool:
        """Whether it is about this signal of this scope. ``team`` is compared with who is told of it."""
        if self.group is not None and scope.get("group") != self.group:
            return False
        if not fits(self.signal, signal) or not fits(self.team, owner):
            return False
        return (
            fits(self.tenant, scope.get("tenant"))
            and fits(self.lane, scope.get("lane"))
            and (fits(self.job_type, scope.get("job_type")))
        )

    @property
    def narrowness(self) -> tuple[int, int]:
        """What makes one matcher narrower than another: more parts first, then more letters that are no wildcards."""
        globs = [glob for glob in (self.tenant, self.lane, self.job_type, self.team) if glob]
        return len(globs), sum(len(glob) - glob.count("*") - glob.count("?") for glob in globs)
