"""The words of the list of a bulk action's members. Pure."""

from __future__ import annotations

from dlq.bulk_progress import CAME_BACK
from dlq.models import BulkAction
from jobops.web.bulk_words import tongue, whys
from jobops.web.selectors.replay_members import MemberLine

TABS = {
    "died": "Open again",
    "canary": "Canary",
    "running": "Running",
    "waiting": "Waiting",
    "skipped": "Skipped",
    "succeeded": "Succeeded",
    "done": "Done",
}
OWN_TABS = TABS | {"died": "Failed again", "canary": "Tried first", "succeeded": "Worked"}
TITLES = {
    "died": "What died again in {}",
    "canary": "The canary of {}",
    "running": "What runs of {}",
    "waiting": "What waits in {}",
    "skipped": "What {} skips",
    "succeeded": "What succeeded in {}",
    "done": "What {} has done",
}
OWN_TITLES = TITLES | {
    "died": "What failed again in {}",
    "canary": "What {} tried first",
    "succeeded": "What worked in {}",
}


def tab_word(of: str, *, staff: bool) -> str:
    """A kind of members, over the list."""
    return (TABS if staff else OWN_TABS)[of]


def members_title(of: str, bulk: BulkAction, *, staff: bool) -> str:
    """The list in one line."""
    name = tongue(bulk.kind, staff=staff).name.lower()
    return (TITLES if staff else OWN_TITLES)[of].format(f"{name} {bulk.pk}" if staff else f"this {name}")


def text_of(line: MemberLine, of: str, *, staff: bool) -> str:
    """What is said of a member; a tenant's people read no part of the machine."""
    if staff:
        return line.text
    if of == "skipped":
        return next(iter(whys({line.text: 1}, staff=False)))
    return "It did not run to its end" if line.run in CAME_BACK else line.text
