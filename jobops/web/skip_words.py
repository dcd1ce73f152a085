"""Why some of a bulk action are skipped, and what can be done about them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dlq.replaying import KEY_IS_HELD
from jobops.web.bulk_words import skipped_lines
from jobops.web.formats import clock, listed, number
from jobops.web.selectors.replay_draft import Elsewhere

REPLAYED = "already being replayed"
# How a reason begins: its icon, and what to do.
KNOWN = {
    REPLAYED: ("refresh", ""),
    "already resolved": ("circle-check", "Nothing is to be done: a replay succeeded."),
    "already discarded": ("trash", "Undo the discard first, if they are to run."),
    "it is open": ("ring", "Nothing is to be done: it is open."),
    "it was discarded anew": ("trash", "Undo that discard, if it is to be open."),
    KEY_IS_HELD: ("lock", "Replay it once that job has ended."),
    "its arguments do not fit": ("ban", "Mend the job type, or edit their arguments one by one."),
    "its arguments cannot be read": ("ban", "It can only be discarded."),
    "job type": ("ban", "Bring the name back, or an alias or a redirect for it; then replay them."),
    "its tenant was deleted": ("ban", "They can only be discarded."),
    "tenant ": ("lock", "Open its intake first."),
    "you may not": ("lock", "Ask somebody who may."),
}


@dataclass(frozen=True, slots=True)
class SkipLine:
    """One reason; ``help``: what can be done, empty where there is nothing to say."""

    count: int
    why: str
    icon: str
    help: str


def skipped_rows(skipped: Mapping[str, int], elsewhere: Sequence[Elsewhere], *, staff: bool) -> Sequence[SkipLine]:
    """The reasons, most first."""
    lines = skipped_lines(skipped, staff=staff)
    return [SkipLine(count, why, *_known(why, elsewhere, staff=staff)) for count, why in lines]


def _known(why: str, elsewhere: Sequence[Elsewhere], *, staff: bool) -> tuple[str, str]:
    if why == REPLAYED:
        return "refresh", _by(elsewhere)
    icon, text = next((found for start, found in KNOWN.items() if why.startswith(start)), ("ban", ""))
    return icon, text if staff else ""


def _by(elsewhere: Sequence[Elsewhere]) -> str:
    """``by replay 317, started by olga at 03:09``."""
    told = []
    for one in elsewhere:
        if one.bulk is None:
            told.append(f"{number(one.count)} one by one" if len(elsewhere) > 1 else "one by one")
            continue
        some = f"{number(one.count)} by" if len(elsewhere) > 1 else "by"
        at = f" at {clock(one.bulk.started_at)}" if one.bulk.started_at else ""
        told.append(f"{some} replay {one.bulk.pk}, started by {one.bulk.by}{at}")
    return listed(told) if told else ""
