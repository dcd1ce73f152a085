"""What can be set up, as its index shows it."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import NoReverseMatch, reverse

from dlq.discard_reasons import reasons_offered
from dlq.models import Redirect
from dlq.owners.rules import rules_in_force
from dlq.retention import kept_for
from jobops.web.formats import plural
from tenants.models import Team


@dataclass(frozen=True, slots=True)
class Part:
    """One thing to set up: its name, what it is for, where it is, and how much of it there is."""

    name: str
    about: str
    url: str
    many: str


# Name, what it is for, the address's name, and how many there are of it: those that exist are shown.
_PARTS = (
    ("Teams", "Who drains dead letters and is told of alerts, and to whom a team escalates.", "teams"),
    ("Rules", "Whose a dead letter is, by when it must be drained, and how much it matters.", "rules"),
    ("Channels", "Where a team is told: e-mail, Slack, PagerDuty, or a webhook of your own.", "channels"),
    ("Alert thresholds", "From when on a signal fires, for a tenant, a lane, a job type or a team.", "alert-rules"),
    ("Discard reasons", "What people choose from when they give a dead letter up.", "discard-reasons"),
    ("Retention", "How long drained dead letters are kept, and which are deleted next.", "retention"),
    ("Redirects", "Where dead letters of a renamed job type are sent when they are replayed.", "redirects"),
)


def settings_index() -> list[Part]:
    """The parts that this version has."""
    many = {
        "teams": plural(Team.objects.count(), "team"),
        "rules": plural(len(rules_in_force().rules), "rule"),
        "discard-reasons": plural(len(reasons_offered()), "reason"),
        "redirects": plural(Redirect.objects.count(), "redirect"),
        "retention": plural(kept_for().days, "day"),
    }
    return [
        Part(name, about, address, many.get(url, ""))
        for name, about, url in _PARTS
        if (address := _address(url)) is not None
    ]


def _address(name: str) -> str | None:
    try:
        return reverse(name)
    except NoReverseMatch:
        return None
