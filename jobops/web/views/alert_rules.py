"""Thresholds, ``/settings/alert-rules/``: what each signal fires at, and where a team has one of its own."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from jobops.alerts.acting import rule_delete, rule_set
from jobops.alerts.errors import AlertError, InvalidAlertAction
from jobops.alerts.rules import SCOPE
from jobops.alerts.urgency import SEVERITIES
from jobops.contracts import durations
from jobops.web import alert_words
from jobops.web.formats import plural
from jobops.web.selectors.channels import chosen_rule, signal_lines
from jobops.web.views.alerts import refuse_unless, rights
from tenants.roles import Action


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """Every signal with its default and its rules; ``signal`` or ``rule`` chooses what is to be set."""
    refuse_unless(request.user, Action.SEE_FLEET)
    return render(request, "alerts/rules.html", _context(request, {}))


@require_POST
def put(request: HttpRequest) -> HttpResponse:
    """Set a threshold; what is left empty is as the signal has it."""
    refuse_unless(request.user, Action.CONFIGURE)
    posted = {name: request.POST.get(name, "").strip() for name in (*SCOPE, *FIELDS)}
    try:
        rule_set(
            by=request.user,
            signal=posted["signal"],
            threshold=_number(posted["threshold"]),
            for_s=_seconds(posted["for"]),
            severity=posted["severity"],
            owner=posted["owner"],
            enabled=posted["off"] != "1",
            **{name: posted[name] for name in SCOPE},
        )
    except AlertError as error:
        typed = {**posted, "fault": alert_words.fault_words(error, LABELS)}
        return render(request, "alerts/rules.html", _context(request, typed), status=422)
    messages.success(request, f"{alert_words.signal_title(posted['signal'])}: the threshold is set.")
    return redirect("alert-rules")


@require_POST
def delete(request: HttpRequest, rule_id: int) -> HttpResponse:
    """The next wider rule or the default holds again."""
    refuse_unless(request.user, Action.CONFIGURE)
    try:
        rule_delete(rule_id=rule_id, by=request.user)
    except AlertError as error:
        messages.error(request, f"Nothing was changed. {alert_words.sentence(str(error))}")
    else:
        messages.success(request, "The threshold is gone; what holds without it holds again.")
    return redirect("alert-rules")


LABELS = {
    "signal": "Signal",
    "threshold": "Threshold",
    "for": "Held for",
    "for_s": "Held for",
    "tenant": "Tenant",
    "lane": "Lane",
    "job_type": "Job type",
    "team": "Team",
    "severity": "Severity",
    "owner": "Told to",
}
"""What a field is called on the page."""
FIELDS = ("signal", "threshold", "for", "severity", "owner", "off")


def _number(text: str) -> float | None:
    if not text:
        return None
    try:
        return float(text.replace(",", ""))
    except ValueError:
        raise InvalidAlertAction("threshold", f"must be a number, 0 or more, or empty; not {text[:40]!r}") from None


def _seconds(text: str) -> int | None:
    if not text:
        return None
    try:
        return round(durations.parse(text).total_seconds())
    except ValueError as error:
        raise InvalidAlertAction("for", str(error)) from None


def _context(request: HttpRequest, typed: dict[str, Any]) -> dict[str, Any]:
    lines = signal_lines()
    own = sum(len(line.rules) for line in lines)
    title = f"{plural(len(lines), 'signal')} watched, {f'{own:,}' if own else 'none'} with a threshold of your own."
    chosen = chosen_rule({**request.GET.dict(), **({"signal": typed["signal"]} if typed else {})})
    return {"lines": lines, "title": title, "typed": typed, "severities": SEVERITIES, **chosen, **rights(request.user)}
