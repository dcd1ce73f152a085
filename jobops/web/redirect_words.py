"""Standing redirects in words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dlq.models import Redirect
from dlq.redirects import RedirectPreview
from jobops.contracts import registry
from jobops.web.formats import plural

if TYPE_CHECKING:
    from jobops.web.selectors.redirects import RedirectsPage

LETTERS = "open dead letter"
FIELDS = {"from_type": "The old name", "to_type": "The new type", "note": "The note", "redirect": "The redirect"}
"""What a field is called on the page."""


def redirects_title(found: RedirectsPage) -> str:
    """The page in one sentence."""
    lines = len(found.lines) + found.more
    if found.waiting:
        are = "is" if found.waiting == 1 else "are"
        return f"{plural(found.waiting, LETTERS)} {are} of a type that is not registered."
    if not lines:
        return "No redirect: every dead letter is replayed as what it is."
    broken = sum(bool(line.problem) for line in found.lines)
    if broken:
        return f"{plural(lines, 'redirect')}, {broken:,} of them without effect."
    return f"{plural(lines, 'redirect')}, and each leads to a registered type."


def state_words(row: Redirect) -> str:
    """Why the redirect has no effect; empty if it has."""
    if registry.resolve(row.from_type) is not None:
        return f"without effect: {row.from_type} is registered again"
    return "" if registry.resolve(row.to_type) is not None else f"without effect: {row.to_type} is not registered"


def preview_words(found: RedirectPreview) -> str:
    """How many letters it would make replayable."""
    if not found.open:
        return "No open dead letter has that name now: it is for those to come."
    if found.fit == found.checked:
        rest = found.open - found.checked
        more = f" The first {found.checked:,} were looked at, the others when their turn comes." if rest else ""
        return f"{plural(found.open, LETTERS)} would be replayable.{more}"
    of = plural(found.checked, LETTERS)
    return f"{found.fit:,} of {'the first ' if found.open > found.checked else ''}{of} would be replayable."


def unfit_words(found: RedirectPreview) -> list[str]:
    """Why the others would not."""
    return [f"{count:,} would not: {why}." for why, count in found.unfit.items()]
