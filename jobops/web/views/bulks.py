"""The list of bulk actions, ``/dlq/replays/``: what was done to many dead letters, by whom, how far it is."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobops.web.bulk_list_words import bulk_look, how_chosen
from jobops.web.bulk_words import tongue
from jobops.web.places import bulk_url
from jobops.web.selectors.bulk_list import bulk_list


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """Fifty of them, the newest first."""
    found = bulk_list(request.user, request.GET)
    staff, now = found.staff, timezone.now()
    lines = [
        {
            "bulk": line.bulk,
            "name": tongue(line.bulk.kind, staff=staff).name,
            "url": bulk_url(line.bulk),
            "look": bulk_look(line.bulk, goes_on=line.goes_on, plan=line.plan, now=now),
            "died": line.died,
            "chosen": how_chosen(line.bulk, staff=staff),
            "at": line.bulk.started_at or line.bulk.created_at,
        }
        for line in found.lines
    ]
    return render(request, "bulk/list.html", {"staff": staff, "slice": found.slice, "lines": lines})
