"""Standing redirects as their page shows them: where each leads, what it is for now, and what could use one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Sum

from dlq.errors import InvalidAction
from dlq.models import DeadLetterGroup, Redirect
from dlq.redirects import RedirectPreview, redirect_preview
from jobops.contracts import registry
from jobops.web.redirect_words import preview_words, state_words, unfit_words

MOST_LISTED = 500
MOST_NAMELESS = 50


@dataclass(frozen=True, slots=True)
class RedirectLine:
    """A redirect. ``open``: open dead letters of the old type; ``problem``: why it leads nowhere, empty if it leads."""

    redirect: Redirect
    open: int
    problem: str


@dataclass(frozen=True, slots=True)
class RedirectsPage:
    """``lines``: by the old name; ``unknown``: names of open dead letters that are not registered and that no redirect
    leads anywhere → how many, most first; ``targets``: names of the registered types."""

    lines: Sequence[RedirectLine]
    more: int
    unknown: Mapping[str, int]
    targets: Sequence[str]

    @property
    def waiting(self) -> int:
        """Open dead letters that no redirect leads anywhere."""
        return sum(self.unknown.values())


@dataclass(frozen=True, slots=True)
class Previewed:
    """What a redirect that is being typed would do, in words. ``problem``: why it cannot be, by ``field``."""

    words: str = ""
    unfit: Sequence[str] = ()
    field: str = ""
    problem: str = ""
    found: RedirectPreview | None = None


def redirects_page() -> RedirectsPage:
    """All of it, in three queries."""
    rows = list(Redirect.objects.order_by("from_type")[:MOST_LISTED])
    count = Redirect.objects.count() if len(rows) == MOST_LISTED else len(rows)
    open_by_type = _open_by_type()
    lines = [RedirectLine(row, open_by_type.get(row.from_type, 0), state_words(row)) for row in rows]
    led = {row.from_type for row in rows}
    if count > len(rows):
        led = set(Redirect.objects.values_list("from_type", flat=True))
    unknown = {
        name: letters for name, letters in open_by_type.items() if name not in led and registry.resolve(name) is None
    }
    most = sorted(unknown.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_NAMELESS]
    return RedirectsPage(lines, count - len(rows), dict(most), [each.name for each in registry.all_types()])


def previewed(from_type: str, to_type: str) -> Previewed:
    """What the redirect would do; never raises for what was typed. Nothing of one that is not filled in."""
    if not from_type.strip() or not to_type.strip():
        return Previewed()
    try:
        found = redirect_preview(from_type, to_type)
    except InvalidAction as error:
        return Previewed(field=error.field, problem=error.problem)
    return Previewed(preview_words(found), unfit_words(found), found=found)


def _open_by_type() -> dict[str, int]:
    """Open dead letters by type, from the counts of their causes: letters may be a million."""
    rows = DeadLetterGroup.objects.filter(open__gt=0).exclude(job_type="").order_by().values_list("job_type")
    return dict(rows.annotate(n=Sum("open")))
