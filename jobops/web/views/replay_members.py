"""The members of a bulk action, ``/dlq/bulk/<id>/members/``: what became of each."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from jobops.web.bulk_words import tongue
from jobops.web.member_words import members_title, tab_word, text_of
from jobops.web.places import bulk_url
from jobops.web.selectors.replay_members import member_page


@require_safe
def page(request: HttpRequest, bulk_id: int) -> HttpResponse:
    """Fifty of them, the newest first."""
    found = member_page(request.user, bulk_id, request.GET)
    here = reverse("bulk-members", args=[found.bulk.pk])
    name = tongue(found.bulk.kind, staff=found.staff).name
    shown = {
        "staff": found.staff,
        "bulk": found.bulk,
        "name": f"{name} {found.bulk.pk}" if found.staff else name,
        "bulk_url": bulk_url(found.bulk),
        "title": members_title(found.of, found.bulk, staff=found.staff),
        "tabs": [(tab_word(of, staff=found.staff), f"{here}?of={of}", of == found.of) for of in found.kinds],
        "lines": [(line, text_of(line, found.of, staff=found.staff)) for line in found.lines],
        "when": "Died" if found.of in ("waiting", "skipped", "done") else "When",
        "slice": found.slice,
    }
    return render(request, "bulk/members.html", shown)
