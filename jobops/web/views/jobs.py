"""A job's page, ``/jobs/<id>/``: what became of it, attempt by attempt."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from jobops.contracts.secret_values import DOTS
from jobops.web import job_words
from jobops.web.selectors.jobs import job_page
from jobops.web.views.live import away_is_said

LIVE_STATES = ("outbox", "queued", "waiting", "scheduled", "started")


@require_safe
@away_is_said
def page(request: HttpRequest, job_id: str) -> HttpResponse:
    """The whole page."""
    return render(request, "jobs/page.html", _context(request, job_id))


@require_safe
@away_is_said
def fragment(request: HttpRequest, job_id: str) -> HttpResponse:
    """The part that changes."""
    return render(request, "jobs/fragment.html", _context(request, job_id))


def _context(request: HttpRequest, job_id: str) -> dict[str, Any]:
    found = job_page(request.user, job_id)
    return {
        "page": found,
        "job": found.job,
        "staff": found.staff,
        "look": job_words.look_of(found.job.state),
        "title": job_words.job_title(found.job, found.read_at, staff=found.staff),
        "as_of": found.read_at,
        "dots": DOTS,
        "live_url": reverse("live-job", args=[job_id]) if found.job.state in LIVE_STATES else "",
    }
