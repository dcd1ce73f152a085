"""Standing redirects of renamed job types, ``/settings/redirects/``."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from dlq.access import MAX_ID
from dlq.errors import InvalidAction
from dlq.redirects import LONGEST_TYPE, redirect_create, redirect_delete, redirect_doubt
from jobops.web.redirect_words import FIELDS, redirects_title
from jobops.web.selectors.redirects import Previewed, previewed, redirects_page
from jobops.web.views.settings import check_configures, check_sees, may_configure

LONGEST = 2 * LONGEST_TYPE
"""More than is taken: that it is too long is said, and not hidden by cutting it."""


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """All of them, and the form for another; ``from``: the old name that it begins with."""
    check_sees(request)
    return _page(request, {"from_type": request.GET.get("from", "")[:LONGEST]})


@require_POST
def preview(request: HttpRequest) -> HttpResponse:
    """What one would do: a fragment for who types, the whole page for who has no script."""
    check_sees(request)
    typed = _typed(request)
    found = previewed(typed["from_type"], typed["to_type"])
    if request.headers.get("HX-Request"):
        return render(request, "settings/redirects_preview.html", {"previewed": found, "fields": FIELDS})
    return _page(request, typed, found)


@require_POST
def create(request: HttpRequest) -> HttpResponse:
    """Add one."""
    check_configures(request)
    typed = _typed(request)
    try:
        made = redirect_create(**typed, by=request.user)
    except InvalidAction as error:
        messages.error(request, f"Nothing was added. {FIELDS.get(error.field, error.field)}: {error.problem}.")
        return _page(request, typed, previewed(typed["from_type"], typed["to_type"]), status=422)
    if doubt := redirect_doubt(made.from_type):
        messages.warning(request, f"{doubt[:1].upper()}{doubt[1:]}")
    messages.success(request, f"Dead letters of {made.from_type} are replayed as {made.to_type} from now on.")
    return redirect("redirects")


@require_POST
def delete(request: HttpRequest, redirect_id: int) -> HttpResponse:
    """Take one back."""
    check_configures(request)
    if not 0 < redirect_id <= MAX_ID:
        raise Http404("No such redirect.")
    try:
        gone = redirect_delete(redirect_id=redirect_id, by=request.user)
    except InvalidAction:  # somebody was faster
        messages.info(request, "That redirect is not there any more.")
    else:
        messages.success(request, f"Dead letters of {gone.from_type} are led nowhere any more.")
    return redirect("redirects")


def _typed(request: HttpRequest) -> dict[str, str]:
    return {name: request.POST.get(name, "")[:LONGEST] for name in ("from_type", "to_type", "note")}


def _page(
    request: HttpRequest, typed: dict[str, str], found: Previewed | None = None, status: int = 200
) -> HttpResponse:
    listed = redirects_page()
    context: dict[str, Any] = {
        "found": listed,
        "title": redirects_title(listed),
        "typed": typed,
        "previewed": found or previewed(typed.get("from_type", ""), typed.get("to_type", "")),
        "fields": FIELDS,
        "may": may_configure(request),
    }
    return render(request, "settings/redirects.html", context, status=status)
