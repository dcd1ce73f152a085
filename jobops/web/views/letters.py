"""Dead letters, ``/dlq/``: what gave up, whose it is, and until when it must be dealt with."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobops.web import words
from jobops.web.selectors.letters import letter_list
from tenants.access import get_tenant


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """Fifty of them, due first; ``?tenant=`` shows one tenant's."""
    slug = request.GET.get("tenant", "")
    found = letter_list(request.user, request.GET, get_tenant(request.user, slug) if slug else None)
    title = words.letters_title if found.staff else words.own_letters_title
    context = {
        "page": found,
        "slice": found.slice,
        "staff": found.staff,
        "title": title(found.open, found.overdue, found.tenant.slug if found.tenant else ""),
        "as_of": timezone.now(),
    }
    return render(request, "dlq/page.html", context)
