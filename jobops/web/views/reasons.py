"""The reasons for a discard that people choose from, ``/settings/reasons/``."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from dlq import discard_reasons as services
from dlq.errors import InvalidAction
from jobops.web.retention_words import reasons_title
from jobops.web.views.settings import check_configures, check_sees, may_configure

LONGEST = 200
"""Of a field; the service says what is too long for a reason."""


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """The list in order, what was retired, and a form for one more."""
    check_sees(request)
    reasons = services.all_reasons()
    offered = [reason.text for reason in reasons if not reason.retired]
    context = {
        "offered": offered,
        "retired": [reason.text for reason in reasons if reason.retired],
        "other": services.OTHER,
        "title": reasons_title(len(offered)),
        "may": may_configure(request),
    }
    return render(request, "settings/reasons.html", context)


@require_POST
def add(request: HttpRequest) -> HttpResponse:
    """One more, at the end."""
    return _act(request, "It is in the list now.", lambda text: services.reason_add(text=text, by=request.user))


@require_POST
def rename(request: HttpRequest) -> HttpResponse:
    """Other words for one."""
    new = request.POST.get("new", "")[:LONGEST]
    done = "It is renamed; what was discarded with it keeps the old words."
    return _act(request, done, lambda text: services.reason_rename(text=text, new=new, by=request.user))


@require_POST
def move(request: HttpRequest) -> HttpResponse:
    """One up or down, as ``to`` says."""
    up = request.POST.get("to") != "down"
    return _act(request, "", lambda text: services.reason_move(text=text, up=up, by=request.user))


@require_POST
def retire(request: HttpRequest) -> HttpResponse:
    """One is no longer offered."""
    done = "It is no longer offered; what was discarded with it keeps it."
    return _act(request, done, lambda text: services.reason_retire(text=text, by=request.user))


@require_POST
def restore(request: HttpRequest) -> HttpResponse:
    """One is offered again."""
    return _act(request, "It is offered again.", lambda text: services.reason_restore(text=text, by=request.user))


def _act(request: HttpRequest, done: str, act: Callable[[str], object]) -> HttpResponse:
    check_configures(request)
    try:
        act(request.POST.get("text", "")[:LONGEST])
    except InvalidAction as error:
        messages.error(request, f"Nothing was changed: {error.problem}.")
    else:
        if done:
            messages.success(request, done)
    return redirect("discard-reasons")
