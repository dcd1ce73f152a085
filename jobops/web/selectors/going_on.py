"""What goes on with many letters at once, or stands still and waits for a person: the banners over their lists."""

from __future__ import annotations

from dataclasses import dataclass

from dlq.access import bulks_visible_to
from dlq.models import BulkAction, ReplayPlan
from jobops.web.bulk_list_words import bulk_look, going_on_words
from jobops.web.places import bulk_url
from jobops.web.words import Look
from tenants.access import AnyUser, sees_all

MOST = 3
"""Of those that stand still, and of those that run."""
MOST_READ = 50


@dataclass(frozen=True, slots=True)
class GoingOn:
    """A bulk action that runs or was stopped. ``text``: what it does; ``who``: the end of the sentence, for staff."""

    bulk: BulkAction
    look: Look
    text: str
    who: str
    url: str

    @property
    def is_stopped(self) -> bool:
        """Whether nothing happens until somebody lets it go on."""
        return self.bulk.state == BulkAction.State.PAUSED


def going_on(user: AnyUser) -> list[GoingOn]:
    """The newest that stand still and the newest that run, of those that this person may see. Two queries at most."""
    staff, states = sees_all(user), (BulkAction.State.PAUSED, BulkAction.State.RUNNING)
    rows = list(bulks_visible_to(user).filter(state__in=states).order_by("state", "-pk")[:MOST_READ])
    found = [bulk for state in states for bulk in [row for row in rows if row.state == state][:MOST]]
    plans = ReplayPlan.objects.in_bulk([bulk.pk for bulk in found]) if found else {}
    return [_banner(bulk, plans.get(bulk.pk), staff=staff) for bulk in found]


def _banner(bulk: BulkAction, plan: ReplayPlan | None, *, staff: bool) -> GoingOn:
    text, who = going_on_words(bulk, plan, staff=staff)
    return GoingOn(bulk, bulk_look(bulk, goes_on=True, plan=plan), text, who, bulk_url(bulk))
