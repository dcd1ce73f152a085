"""What people do to channels. Pages and commands call these and nothing else; callers have asked ``access.can`` before.

A channel's address and key are secrets: they go into its row and to the other side, and nowhere else. The audit has the
address without what may be a token, and whether there is a key.
"""

from __future__ import annotations

from typing import Any, TypedDict, Unpack
from uuid import uuid4

from django.db import IntegrityError, transaction
from django.utils import timezone

from jobops.alerts.addresses import shown_url
from jobops.alerts.channel_fields import ChannelFields, clean
from jobops.alerts.channels.answers import Answer
from jobops.alerts.deliveries import TAKE
from jobops.alerts.errors import InvalidAlertAction, NoSuchAlert
from jobops.alerts.messages import test_message
from jobops.alerts.models import Channel, Delivery
from jobops.alerts.sending import send_now
from jobops.audit import recording
from tenants.services import Actor, actor_name


def channel_create(*, by: Actor, **fields: Unpack[ChannelFields]) -> Channel:
    """Make a channel; ``name``, ``kind`` and ``target`` must be given (PagerDuty's target may be empty).

    Raises ``InvalidAlertAction`` for what cannot be used and for a name that is taken.
    """
    cleaned = clean(fields, Channel(kind=""))
    try:
        with transaction.atomic():
            channel = Channel.objects.create(**cleaned)
            _record("channel.create", channel, by, {}, facts_of(channel))
    except IntegrityError:
        raise _taken(cleaned["name"]) from None
    return channel


def channel_change(*, channel_id: int, by: Actor, **fields: Unpack[ChannelFields]) -> Channel:
    """Change what is given and nothing else; its kind stays. Raises ``NoSuchAlert`` or ``InvalidAlertAction``."""
    try:
        with transaction.atomic():
            channel = _locked(channel_id)
            before, old = facts_of(channel), (channel.target, channel.secret)
            if fields.get("kind", channel.kind) != channel.kind:
                raise InvalidAlertAction("kind", "it stays as it is: make another channel, and delete this one")
            cleaned = clean(fields, channel)
            for name, value in cleaned.items():
                setattr(channel, name, value)
            channel.save(update_fields=list(cleaned))
            was, now = recording.difference(before, facts_of(channel))
            # Two that look alike may differ in what is not shown.
            now |= {"target": f"{shown_target(channel)}, another one"} if channel.target != old[0] else {}
            now |= {"key": "another one"} if channel.secret != old[1] and "key" not in now else {}
            if now:
                _record("channel.set", channel, by, was, now)
    except IntegrityError:
        raise _taken(str(fields.get("name"))) from None
    return channel


def channel_delete(*, channel_id: int, by: Actor) -> None:
    """Delete a channel with its delivery log; what waits for it is never sent. Raises ``NoSuchAlert``."""
    with transaction.atomic():
        channel = _locked(channel_id)
        _record("channel.delete", channel, by, facts_of(channel), {})
        channel.delete()


def channel_test(*, channel_id: int, by: Actor) -> Answer:
    """Send a test through the channel now, on or off, and answer what the other side said; takes seconds at most.

    It is kept in the delivery log. Raises ``NoSuchAlert``.
    """
    with transaction.atomic():
        channel = _locked(channel_id)
        delivery = Delivery.objects.create(
            key=f"test:{channel.pk}:{uuid4().hex}",
            channel=channel,
            event="test",
            message=test_message(channel, actor_name(by)),
            # Nobody else may send it, not even when this process is killed over it.
            state=Delivery.State.GIVEN_UP,
            taken_until=timezone.now() + TAKE,
        )
        _record("channel.test", channel, by, {}, {})
    # Outside of the transaction: the other side may take its time.
    return send_now(channel, delivery)


def shown_target(channel: Channel) -> str:
    """Where a channel leads, as anybody may read it."""
    if channel.kind == Channel.Kind.EMAIL:
        return channel.target
    if not channel.target:
        return "PagerDuty"
    return shown_url(channel.target)


class Facts(TypedDict):
    """A channel as the audit tells it."""

    name: str
    kind: str
    team: str
    target: str
    key: str
    least_severity: str
    enabled: bool


def facts_of(channel: Channel) -> dict[str, Any]:
    """What the audit keeps of a channel: no token and no key."""
    facts = Facts(
        name=channel.name,
        kind=channel.kind,
        team=channel.team.name if channel.team is not None else "",
        target=shown_target(channel),
        key="set" if channel.secret else "",
        least_severity=channel.least_severity,
        enabled=channel.enabled,
    )
    return dict(facts)


def _locked(channel_id: int) -> Channel:
    channel = Channel.objects.select_for_update().filter(pk=channel_id).first() if 0 < channel_id < 2**63 else None
    if channel is None:
        raise NoSuchAlert("channel", channel_id)
    return channel


def _taken(name: str) -> InvalidAlertAction:
    return InvalidAlertAction("name", f"another channel is called {name!r}: use another name")


def _record(action: str, channel: Channel, by: Actor, before: dict[str, Any], after: dict[str, Any]) -> None:
    recording.record(by, recording.Change(action, "channel", channel.name, before=before, after=after))
