"""A tenant's page, ``/tenants/<slug>/``, and its pause button."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from jobops.web import words
from jobops.web.limit_words import own_rate_words
from jobops.web.selectors.snapshot import forget
from jobops.web.selectors.tenants import tenant_page
from jobops.web.tables import LetterTable
from jobops.web.views.live import away_is_said, live_url
from tenants.access import can, can_resume, get_tenant, sees_all
from tenants.errors import AlreadyPaused, InvalidTenant, TenantError
from tenants.models import Tenant
from tenants.roles import Action
from tenants.services import Change, tenant_pause, tenant_resume


@require_safe
@away_is_said
def page(request: HttpRequest, slug: str) -> HttpResponse:
    """The whole page: for staff with every number, for the tenant's people in plain words."""
    context = _context(request, get_tenant(request.user, slug))
    return render(request, "tenants/page.html", context)


@require_safe
@away_is_said
def fragment(request: HttpRequest, slug: str) -> HttpResponse:
    """The part that changes."""
    return render(request, "tenants/fragment.html", _context(request, get_tenant(request.user, slug)))


@require_POST
def pause(request: HttpRequest, slug: str) -> HttpResponse:
    """No job of this tenant starts any more; the reason is for those who find it paused."""
    tenant = get_tenant(request.user, slug)
    allowed = can(request.user, Action.PAUSE, tenant)
    if not allowed:
        raise PermissionDenied(allowed.reason)
    reason = request.POST.get("reason", "")
    return _act(request, tenant, lambda: tenant_pause(tenant=tenant, by=request.user, reason=reason), "is paused")


@require_POST
def resume(request: HttpRequest, slug: str) -> HttpResponse:
    """Its jobs start again."""
    tenant = get_tenant(request.user, slug)
    allowed = can_resume(request.user, tenant)
    if not allowed:
        raise PermissionDenied(allowed.reason)
    return _act(request, tenant, lambda: tenant_resume(tenant=tenant, by=request.user), "is resumed")


def _act(request: HttpRequest, tenant: Tenant, act: Any, done: str) -> HttpResponse:
    try:
        change: Change = act()
    except AlreadyPaused as error:
        by = error.by if sees_all(request.user) else words.who_paused(Tenant.objects.get(pk=tenant.pk), staff=False)
        messages.error(request, f"Nothing was changed: {error.text(by)}.")
        forget()
    except InvalidTenant as error:
        messages.error(request, f"Nothing was changed. {str(error)[:1].upper()}{str(error)[1:]}.")
    except TenantError as error:
        messages.error(request, f"Nothing was changed: {error}.")
    else:
        text = f"{tenant.slug} {done}." if change.in_force else f"{tenant.slug} {done}, but not yet: {change.problem}."
        messages.success(request, text) if change.in_force else messages.warning(request, text)
        forget()
    return redirect("tenant", tenant.slug)


def _context(request: HttpRequest, tenant: Tenant) -> dict[str, Any]:
    found = tenant_page(request.user, tenant)
    staff = sees_all(request.user)
    may_resume = can_resume(request.user, tenant)
    return {
        "page": found,
        "tenant": tenant,
        "row": found.row,
        "line": found.line,
        "as_of": found.as_of,
        "staff": staff,
        "title": words.tenant_title(found.row) if staff else words.own_title([found.row]),
        "lede": "" if staff else words.limits_lede(found.row) + own_rate_words(tenant.rate),
        "may_pause": may_resume if tenant.paused else can(request.user, Action.PAUSE, tenant),
        "who_paused": words.who_paused(tenant, staff=staff),
        "worker_s": found.row.counters.worker_ms / 1000,
        "letters": LetterTable(found.letters),
        "live_url": live_url(reverse("live-tenant", args=[tenant.slug]), request),
    }
