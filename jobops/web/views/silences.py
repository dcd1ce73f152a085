"""Silences, ``/alerts/silences/``: of what nobody is told for now, why, and until when."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_POST, require_safe

from jobops.alerts.acting import silence_create, silence_end
from jobops.alerts.errors import AlertError, InvalidAlertAction
from jobops.alerts.signals import SIGNALS
from jobops.contracts import durations
from jobops.web import alert_words
from jobops.web.formats import clock, plural
from jobops.web.places import return_path
from jobops.web.selectors.alerts import proposed, silences_page
from jobops.web.views.alerts import refuse_unless, rights, whole
from tenants.roles import Action

FOR = ("30m", "2h", "8h", "1d", "1w")
PARTS = ("signal", "tenant", "lane", "job_type", "team")
LABELS = {
    "signal": "Signal",
    "tenant": "Tenant",
    "lane": "Lane",
    "job_type": "Job type",
    "team": "Team",
    "group": "Cause, by its number",
    "for": "For",
    "until": "Or until",
    "reason": "Why?",
}
"""What a field is called on the page."""


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """Those in force, those that are over, and the form of a new one."""
    refuse_unless(request.user, Action.SEE_FLEET)
    return render(request, "alerts/silences.html", _context(request, {}))


@require_POST
def create(request: HttpRequest) -> HttpResponse:
    """Tells nobody of what fits, until it ends."""
    refuse_unless(request.user, Action.SILENCE)
    matcher: dict[str, Any] = {name: request.POST.get(name, "") for name in PARTS}
    group = request.POST.get("group", "").strip()
    try:
        if group and not whole(group):
            raise InvalidAlertAction("group", "must be the number of a cause, as its page has it")
        ends_at = _ends_at(request.POST.get("until", ""), request.POST.get("for", ""))
        reason = request.POST.get("reason", "")
        silence = silence_create(by=request.user, reason=reason, ends_at=ends_at, **matcher, group=whole(group) or None)
    except AlertError as error:
        # What was typed is not lost.
        labels = {**LABELS, "ends_at": LABELS["until" if request.POST.get("until", "").strip() else "for"]}
        fault = alert_words.fault_words(error, labels)
        kept = {name: request.POST.get(name, "") for name in ("reason", "for", "until")}
        typed = {**matcher, "group": group, **kept, "fault": fault}
        return render(request, "alerts/silences.html", _context(request, typed), status=422)
    messages.success(
        request,
        f"Nobody is told of {alert_words.matcher_words(silence)} until {clock(silence.ends_at)}. "
        "It is shown all the same.",
    )
    return redirect(return_path(request, reverse("silences")))


@require_POST
def end(request: HttpRequest, silence_id: int) -> HttpResponse:
    """People are told again from now on."""
    refuse_unless(request.user, Action.SILENCE)
    try:
        silence = silence_end(silence_id=silence_id, by=request.user)
    except AlertError as error:
        messages.error(request, f"Nothing was changed. {alert_words.sentence(str(error))}")
    else:
        messages.success(request, f"People are told again of {alert_words.matcher_words(silence)}.")
    return redirect("silences")


def _ends_at(until: str, lasts: str) -> datetime:
    """The instant that the form names, in the viewer's zone, or so long from now. Raises ``InvalidAlertAction``."""
    if until.strip():
        try:
            at = parse_datetime(until.strip())
        except ValueError:
            at = None
        if at is None or not 1970 < at.year < 9999:
            raise InvalidAlertAction("until", "write it as 2026-11-30 18:00, or leave it empty")
        return timezone.make_aware(at) if timezone.is_naive(at) else at
    try:
        length = durations.parse(lasts.strip())
    except ValueError as error:
        raise InvalidAlertAction("for", str(error)) from None
    return timezone.now() + max(length, timedelta())


def _context(request: HttpRequest, typed: dict[str, Any]) -> dict[str, Any]:
    standing, over = silences_page(request.GET.dict())
    form = typed or proposed(request.user, request.GET.dict())
    lines = [(each, alert_words.matcher_words(each)) for each in standing]
    old = [(each, alert_words.matcher_words(each)) for each in over.rows]
    title = "Nothing is silenced." if not standing else plural(len(standing), "silence") + " in force."
    shared = {"form": form, "signals": SIGNALS.values(), "lengths": FOR, "title": title}
    return {"standing": lines, "over": old, "slice": over, **shared, **rights(request.user)}
