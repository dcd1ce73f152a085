"""What our team sets up, ``/settings/``: where each thing is."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from jobops.web.selectors.settings import settings_index
from tenants.access import Allowed, can
from tenants.roles import Action


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """The index."""
    check_sees(request)
    return render(request, "settings/page.html", {"parts": settings_index()})


def check_sees(request: HttpRequest) -> None:
    """Raises ``PermissionDenied`` for who is none of our team."""
    allowed = can(request.user, Action.SEE_FLEET)
    if not allowed:
        raise PermissionDenied(allowed.reason)


def may_configure(request: HttpRequest) -> Allowed:
    """Whether this person may change what stands there."""
    return can(request.user, Action.CONFIGURE)


def check_configures(request: HttpRequest) -> None:
    """Raises ``PermissionDenied`` for who may not change it."""
    allowed = may_configure(request)
    if not allowed:
        raise PermissionDenied(allowed.reason)
