"""What somebody typed in a form of a page that acts on one thing, for the page that says why it could not be taken."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from jobops.web.places import return_path

FORMS = ("acknowledge", "snooze", "note", "link", "assign", "clock-pause")
"""Acts with fields to fill in, by what their addresses are called after what they act on."""


def stays(request: HttpRequest, here: str) -> bool:
    """Whether a form with fields was sent from the page ``here``: what was typed is to be kept."""
    return _act(request) in FORMS and return_path(request, here).startswith(here)


def typed_in(request: HttpRequest) -> dict[str, Any]:
    """``faulty``: which form was sent; ``typed``: what was in it."""
    return {"faulty": _act(request), "typed": request.POST}


def _act(request: HttpRequest) -> str:
    name = request.resolver_match.url_name if request.resolver_match is not None else None
    return (name or "").partition("-")[2]
