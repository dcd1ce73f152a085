"""Limits, ``/limits/``: what holds starts back, beside a tenant's own policy; its pauses, changes and brakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe
from redis.exceptions import RedisError

from jobops.limits import services
from jobops.limits.errors import InvalidLimit, LimitError
from jobops.limits.fields import read_concurrency
from jobops.limits.services import Change
from jobops.limits.targets import Target
from jobops.web import limit_words
from jobops.web.selectors.limits import fields_of, limits_page, target_of
from jobops.web.selectors.snapshot import forget
from jobops.web.views.live import away_is_said, live_url
from tenants.access import can
from tenants.roles import Action

LONGEST_NAME = 260


@require_safe
@away_is_said
def page(request: HttpRequest) -> HttpResponse:
    """The whole page; ``on`` chooses what is to be paused or changed."""
    return render(request, "limits/page.html", _context(request))


@require_safe
@away_is_said
def fragment(request: HttpRequest) -> HttpResponse:
    """The part that changes."""
    return render(request, "limits/fragment.html", _context(request))


@require_POST
def pause(request: HttpRequest) -> HttpResponse:
    """Nothing of it starts any more."""
    return _act(request, Action.PAUSE_ANY, services.pause, "paused")


@require_POST
def resume(request: HttpRequest) -> HttpResponse:
    """It may start again."""
    return _act(request, Action.PAUSE_ANY, services.resume, "resumed")


@require_POST
def set_limit(request: HttpRequest) -> HttpResponse:
    """Other limits in place of the declared ones; an empty field is any number."""

    def act(*, target: Target, by: Any, reason: str) -> Change:
        concurrency = read_concurrency(request.POST.get("concurrency", ""))
        rate = request.POST.get("rate", "").strip()
        return services.limit_set(target=target, by=by, reason=reason, concurrency=concurrency, rate=rate)

    return _act(request, Action.SET_LIMITS, act, "limited")


@require_POST
def reset(request: HttpRequest) -> HttpResponse:
    """What the contracts declare holds again."""
    return _act(request, Action.SET_LIMITS, services.limit_reset, "as its contracts declare it")


@require_POST
def release(request: HttpRequest) -> HttpResponse:
    """Takes the brake off."""

    def act(*, target: Target, by: Any, reason: str) -> Change:
        services.brake_release(target=target, by=by, reason=reason)
        return Change(target, in_force=True)

    return _act(request, Action.SET_LIMITS, act, "released from its brake")


def _act(request: HttpRequest, action: Action, act: Callable[..., Change], done: str) -> HttpResponse:
    allowed = can(request.user, action)
    if not allowed:
        raise PermissionDenied(allowed.reason)
    try:
        target = target_of(request.POST.get("on", "")[:LONGEST_NAME])
        change = act(target=target, by=request.user, reason=request.POST.get("reason", ""))
    except InvalidLimit as error:
        messages.error(request, f"Nothing was changed. {str(error)[:1].upper()}{str(error)[1:]}.")
    except LimitError as error:
        messages.error(request, f"Nothing was changed: {error}.")
    except RedisError:  # its text goes nowhere: it may name hosts and passwords
        messages.error(request, "Nothing was changed: Redis cannot be reached.")
    else:
        what = f"{limit_words.first_letter(str(target))} is {done}"
        if change.in_force:
            messages.success(request, f"{what}.")
        else:
            messages.warning(request, f"{what}, but not yet: {change.problem}.")
    forget()
    return redirect("limits")


def _context(request: HttpRequest) -> dict[str, Any]:
    allowed = can(request.user, Action.SEE_FLEET)
    if not allowed:
        raise PermissionDenied(allowed.reason)
    found = limits_page(request.GET.get("on", "")[:LONGEST_NAME])
    concurrency, rate = fields_of(found.line)
    now = timezone.now()
    everything = found.found.everything
    return {
        "page": found,
        "title": limit_words.limits_title(found.found),
        "everything_words": limit_words.paused_words(everything, now),
        "concurrency": concurrency,
        "rate": rate,
        "may_pause": can(request.user, Action.PAUSE_ANY),
        "may_set": can(request.user, Action.SET_LIMITS),
        "now": now,
        "as_of": found.found.read_at,
        "live_url": live_url(reverse("live-limits"), request),
    }
