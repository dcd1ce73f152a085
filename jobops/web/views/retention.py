"""How long what is drained is kept, ``/settings/retention/``, and what is deleted next."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from jobops.web import retention_words as words
from jobops.web.selectors.retention import retention_page
from jobops.web.views.settings import check_sees
from tenants.access import can
from tenants.roles import Action


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """The announcement by day and team, and what was deleted lately."""
    check_sees(request)
    found = retention_page()
    context = {
        "found": found,
        "title": words.retention_title(found),
        "due": words.due_words(found),
        "sees_audit": can(request.user, Action.SEE_AUDIT),
    }
    return render(request, "settings/retention.html", context)
