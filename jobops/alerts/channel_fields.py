"""What a channel may be told to be: each field is looked at, and refused with what would be right."""

from __future__ import annotations

from typing import Any, TypedDict

from jobops.alerts.addresses import Refused, check_url
from jobops.alerts.channels.email import addresses_of
from jobops.alerts.errors import InvalidAlertAction
from jobops.alerts.models import Channel
from jobops.alerts.urgency import SEVERITIES
from tenants.models import Team

LONGEST_NAME, LONGEST_TARGET, LONGEST_SECRET = 50, 1000, 200
SHORTEST_SIGNING_KEY = 16
SECRET_NAMES = {Channel.Kind.PAGERDUTY.value: "integration key", Channel.Kind.WEBHOOK.value: "signing key"}


class ChannelFields(TypedDict, total=False):
    """``team``: None is every team. ``target``: addresses, or the URL. ``secret``: PagerDuty's integration key, or what
    a webhook is signed with."""

    name: str
    kind: str
    team: Team | None
    target: str
    secret: str
    least_severity: str
    enabled: bool


def clean(fields: ChannelFields, channel: Channel) -> dict[str, Any]:
    """The fields as they are stored; what is missing is as in ``channel``, of which the whole must make sense.

    Raises ``InvalidAlertAction``.
    """
    cleaned: dict[str, Any] = dict(fields)
    is_new = channel.pk is None
    kind = str(cleaned.get("kind", channel.kind))
    if kind not in Channel.Kind.values:
        raise InvalidAlertAction("kind", f"{kind!r} is none: use one of {', '.join(Channel.Kind.values)}")
    if is_new or "name" in cleaned:
        cleaned["name"] = _name(str(cleaned.get("name", "")))
    if is_new or "target" in cleaned:
        cleaned["target"] = _target(kind, str(cleaned.get("target", "")).strip())
    moves = not is_new and cleaned.get("target", channel.target) != channel.target
    if kind == Channel.Kind.PAGERDUTY and moves and "secret" not in cleaned:
        # Otherwise whoever may change a channel could have its key sent to a host of their own.
        raise InvalidAlertAction("secret", "give the integration key again: it would go to the new address")
    if is_new or "secret" in cleaned:
        cleaned["secret"] = _secret(kind, str(cleaned.get("secret", "")).strip())
    severity = cleaned.get("least_severity", SEVERITIES[0])
    if severity not in SEVERITIES:
        raise InvalidAlertAction("least_severity", f"{severity!r} is none: use one of {', '.join(SEVERITIES)}")
    return cleaned


def _name(value: str) -> str:
    name = value.strip()
    if not name or not name.isprintable() or len(name) > LONGEST_NAME:
        raise InvalidAlertAction("name", f"use 1 to {LONGEST_NAME} visible characters, such as payments on call")
    return name


def _target(kind: str, value: str) -> str:
    if len(value) > LONGEST_TARGET:
        raise InvalidAlertAction("target", f"{len(value)} characters are too many: at most {LONGEST_TARGET}")
    if kind == Channel.Kind.EMAIL:
        try:
            return ", ".join(addresses_of(value))
        except ValueError as error:
            raise InvalidAlertAction("target", str(error)) from None
    if kind == Channel.Kind.PAGERDUTY and not value:
        return ""
    try:
        check_url(value)
    except Refused as refused:
        raise InvalidAlertAction("target", str(refused)) from None
    return value


def _secret(kind: str, value: str) -> str:
    name = SECRET_NAMES.get(kind)
    if name is None:
        return ""
    if not value or not value.isascii() or not value.isprintable() or len(value) > LONGEST_SECRET:
        raise InvalidAlertAction("secret", f"give the {name}: 1 to {LONGEST_SECRET} visible ASCII characters")
    if kind == Channel.Kind.WEBHOOK and len(value) < SHORTEST_SIGNING_KEY:
        raise InvalidAlertAction("secret", f"use at least {SHORTEST_SIGNING_KEY} random characters to sign with")
    return value
