"""Replays that run at other installations, and which the scheduler does not look after."""

from __future__ import annotations

from collections.abc import Iterator

from dlq.foreign.sources import SETTING
from dlq.foreign.unwatched import unwatched
from dlq.models import ReplayRun
from jobops.doctor.findings import Finding
from jobops.doctor.site import Site


def check(site: Site) -> Iterator[Finding]:
    """Sources with replays under way that the scheduler's settings do not name."""
    for source, count in unwatched(ReplayRun.objects.all()).items():
        are = "1 replay runs there" if count == 1 else f"{count:,} replays run there"
        text = f"{are}, and the scheduler does not know it: name it in {SETTING} of the scheduler, and start that anew"
        yield Finding("source_unknown", "source", source, text)
