"""What a refused request is shown."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from jobops.web.places import is_poll, page_of
from tenants.access import sees_all

JOBS = "/jobs/"
LISTS = (
    ("/dlq/replays/", "bulks", "To the bulk actions", "To what was done to many"),
    ("/dlq/discards/", "bulks", "To the bulk actions", "To what was done to many"),
    ("/dlq/", "dlq", "To the dead letters", "To what did not work"),
    ("/alerts/", "alerts", "To the alerts", ""),
    ("/tenants/", "tenants", "To the tenants", ""),
)
"""How a path begins; the list of such things; the words on its button, for us and for a tenant's people (empty: it is
not theirs)."""


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without a valid token: an old page, or one of another site. Nothing was changed; htmx gets a notice."""
    template = "parts/out_of_date.html" if request.headers.get("HX-Request") else "403_csrf.html"
    return render(request, template, {"back": page_of(request)}, status=403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The same words for what does not exist and for what is not this person's to see; a poll gets no page."""
    if is_poll(request):
        return HttpResponse("There is nothing here.\n", status=404, content_type="text/plain; charset=utf-8")
    shown = {"is_job": request.path_info.startswith(JOBS), "lists": _lists(request)}
    return render(request, "404.html", shown, status=404)


def _lists(request: HttpRequest) -> list[tuple[str, str]]:
    """Where the person may find what they looked for: address and words, as far as such a list is theirs."""
    if not request.user.is_authenticated:
        return []
    staff = sees_all(request.user)
    for path, name, words, own in LISTS:
        if request.path_info.startswith(path) and (staff or own):
            return [(reverse(name), words if staff else own)]
    return []
