"""Channels, ``/settings/channels/``: where teams are told. Addresses are shown masked, keys never."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.datastructures import MultiValueDict
from django.views.decorators.http import require_POST, require_safe

from jobops.alerts.channel_fields import ChannelFields
from jobops.alerts.channel_services import channel_change, channel_create, channel_delete, channel_test, shown_target
from jobops.alerts.deliveries import answer_words
from jobops.alerts.errors import AlertError, InvalidAlertAction
from jobops.alerts.models import Channel
from jobops.alerts.urgency import SEVERITIES
from jobops.web import alert_words
from jobops.web.formats import plural
from jobops.web.selectors.channels import channel_lines, delivery_log, failing_recently, get_channel, team_choices
from jobops.web.views.alerts import refuse_unless, rights
from tenants.models import Team
from tenants.roles import Action

LABELS = {
    "name": "Name",
    "kind": "Kind",
    "target": "Leads to",
    "secret": "Key",
    "team": "Team",
    "least_severity": "Told from this severity on",
}
"""What a field is called on the page."""

Posted = MultiValueDict[str, str]


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """All of them, and the form of a new one."""
    refuse_unless(request.user, Action.SEE_FLEET)
    return render(request, "alerts/channels.html", _context(request, {}))


@require_safe
def one(request: HttpRequest, channel_id: int) -> HttpResponse:
    """One of them, its form and its log."""
    refuse_unless(request.user, Action.SEE_FLEET)
    return render(request, "alerts/channel.html", _one(request, get_channel(channel_id), ""))


@require_POST
def create(request: HttpRequest) -> HttpResponse:
    """Make one."""
    refuse_unless(request.user, Action.CONFIGURE)
    try:
        channel = channel_create(by=request.user, **_fields(request.POST, is_new=True))
    except AlertError as error:
        # The address and the key are secrets: they are not sent back.
        kept = {name: request.POST.get(name, "") for name in ("name", "kind", "team", "least_severity")}
        form = {**kept, "fault": alert_words.fault_words(error, LABELS)}
        return render(request, "alerts/channels.html", _context(request, form), status=422)
    messages.success(request, f"The channel {channel.name} is there. Send a test to see whether it works.")
    return redirect("channel", channel.pk)


@require_POST
def change(request: HttpRequest, channel_id: int) -> HttpResponse:
    """Change one; an empty address or key stays as it is."""
    refuse_unless(request.user, Action.CONFIGURE)
    channel = get_channel(channel_id)
    try:
        channel_change(channel_id=channel.pk, by=request.user, **_fields(request.POST, is_new=False))
    except AlertError as error:
        fault = alert_words.fault_words(error, LABELS)
        return render(request, "alerts/channel.html", _one(request, channel, fault), status=422)
    messages.success(request, "The channel was changed.")
    return redirect("channel", channel.pk)


@require_POST
def delete(request: HttpRequest, channel_id: int) -> HttpResponse:
    """Delete one with its log."""
    refuse_unless(request.user, Action.CONFIGURE)
    try:
        channel_delete(channel_id=channel_id, by=request.user)
    except AlertError as error:
        messages.error(request, f"Nothing was changed. {alert_words.sentence(str(error))}")
    else:
        messages.success(request, "The channel is gone; what waited for it is not sent.")
    return redirect("channels")


@require_POST
def test(request: HttpRequest, channel_id: int) -> HttpResponse:
    """Send a test, and show what the other side said."""
    refuse_unless(request.user, Action.CONFIGURE)
    channel = get_channel(channel_id)
    answer = channel_test(channel_id=channel.pk, by=request.user)
    if answer.ok:
        messages.success(request, f"The test was taken. {answer_words(answer)}")
    else:
        messages.error(request, f"The test was not taken. {answer_words(answer)}")
    return redirect("channel", channel.pk)


def _fields(posted: Posted, *, is_new: bool) -> ChannelFields:
    """What the form says. Raises ``InvalidAlertAction`` for a team that is not there."""
    fields: ChannelFields = {
        "name": posted.get("name") or "",
        "team": _team(posted.get("team") or ""),
        "least_severity": posted.get("least_severity") or SEVERITIES[0],
        "enabled": is_new or posted.get("enabled") == "1",
    }
    if is_new:
        fields["kind"] = posted.get("kind") or ""
    if is_new or posted.get("target"):
        fields["target"] = posted.get("target") or ""
    if is_new or posted.get("secret"):
        fields["secret"] = posted.get("secret") or ""
    return fields


def _team(name: str) -> Team | None:
    if not name:
        return None
    team = Team.objects.filter(name=name).first() if "\0" not in name else None
    if team is None:
        raise InvalidAlertAction("team", f"there is no team {name[:60]!r}: choose one of the list, or every team")
    return team


def _shared(request: HttpRequest) -> dict[str, Any]:
    choices = {"teams": team_choices(), "severities": SEVERITIES, "kinds": Channel.Kind.choices}
    return {**choices, **rights(request.user)}


def _context(request: HttpRequest, form: dict[str, Any]) -> dict[str, Any]:
    lines = channel_lines()
    failing = failing_recently(lines)
    if not lines:
        title = "Nobody is told of alerts yet."
    elif failing:
        title = f"{failing[0].channel.name} does not take its messages."
        title = title if len(failing) == 1 else f"{len(failing)} channels do not take their messages."
    else:
        title = f"{plural(len(lines), 'channel')} for alerts."
    return {"lines": lines, "title": title, "form": form, **_shared(request)}


def _one(request: HttpRequest, channel: Channel, fault: str) -> dict[str, Any]:
    log = delivery_log(channel, request.GET.dict())
    rows = [(row, alert_words.DELIVERIES[row.state], alert_words.event_word(row.event)) for row in log.rows]
    facts = {"channel": channel, "kind": alert_words.KINDS[channel.kind], "target": shown_target(channel)}
    return {**facts, "log": rows, "slice": log, "fault": fault, **_shared(request)}
