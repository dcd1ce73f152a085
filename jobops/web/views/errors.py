"""What a refused request is shown."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from jobops.web.places import is_poll, page_of

JOBS = "/jobs/"


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without a valid token: an old page, or one of another site. Nothing was changed; htmx gets a notice."""
    template = "parts/out_of_date.html" if request.headers.get("HX-Request") else "403_csrf.html"
    return render(request, template, {"back": page_of(request)}, status=403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The same words for what does not exist and for what is not this person's to see; a poll gets no page."""
    if is_poll(request):
        return HttpResponse("There is nothing here.\n", status=404, content_type="text/plain; charset=utf-8")
    return render(request, "404.html", {"is_job": request.path_info.startswith(JOBS)}, status=404)
