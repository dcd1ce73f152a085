"""What the teams were told, as it arrived."""

from __future__ import annotations

import os
import smtplib
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from jobops.alerts.channels import email, webhook
from jobops.alerts.messages import message_of
from jobops.alerts.models import Alert, Channel
from jobops.demo.control import ServerAway
from jobops.demo.places import Places
from jobops.demo.receiver import Desk
from jobops.demo.told import told_lately
from tenants.roles import Role
from tests.demo.test_mailbox import message
from tests.demo.test_page import shown
from tests.web.world import World

pytestmark = pytest.mark.django_db
LONG = "A new cause: “Überweisung” was refused by the provider of … because it is down for maintenance"


@pytest.fixture
def told(desk: Desk, places: Places, settings: Any) -> Any:
    """``told(title, …)``: an alert's message by mail and by chat, or one of them."""
    services = places.services()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = services.mail_host, services.mail_port
    settings.JOBOPS_ALERT_ALLOW_PRIVATE_SINK = [services.receiver_url]
    settings.JOBOPS_BASE_URL = "http://127.0.0.1:9"
    key = places.alert_key.read_text()
    ways = {
        "mail": (email, Channel(kind="email", target="payments@teams.example")),
        "chat": (webhook, Channel(kind="webhook", target=f"{services.receiver_url}/alerts", secret=key)),
    }

    def tell(title: str, number: int = 7, event: str = "fired", by: tuple[str, ...] = ("mail", "chat")) -> None:
        alert = Alert(
            pk=number,
            key="k",
            signal="new_cause",
            owner="payments",
            title=title,
            detail="5 dead letters",
            since=timezone.now(),
        )
        for way in by:
            channel, to = ways[way]
            assert channel.send(to, {**message_of(alert, event), "id": f"{number}:{event}"}).ok

    return tell


def test_what_came_by_both_ways_is_one_message(told: Any, places: Places) -> None:
    told(LONG)
    (found,) = told_lately(places)
    assert found.headline == f"Firing: {LONG}"
    assert dict(found.ways) == {"mail": "payments@teams.example", "chat": "payments"}
    assert found.path == "/alerts/7/"
    assert found.text.startswith("5 dead letters Owner: payments. Severity: normal. Since ")
    assert "http" not in found.text


def test_what_is_told_twice_is_two_messages(told: Any, places: Places) -> None:
    told("The same", by=("mail",))
    first = next(iter(places.team_mail.glob("*.eml")))
    at = (timezone.now() - timedelta(hours=1)).timestamp()
    os.utime(first, (at, at))
    told("The same", by=("mail", "chat"))
    assert [len(each.ways) for each in told_lately(places)] == [2, 1]


def test_another_alert_and_another_event_are_others(told: Any, places: Places) -> None:
    told("One")
    told("One", number=8)
    told("One", event="resolved")
    assert [each.headline for each in told_lately(places)] == ["Resolved. It was: One", "Firing: One", "Firing: One"]
    assert len(told_lately(places, 2)) == 2


def test_the_shops_mail_is_not_among_them_and_pushes_nothing_out(told: Any, places: Places) -> None:
    told("Ours")
    with smtplib.SMTP(places.services().mail_host, places.services().mail_port, timeout=5) as client:
        for _ in range(3):
            client.send_message(message("ada@mail.example"))
    assert len(list(places.mail.glob("*.eml"))) == 3
    assert [each.headline for each in told_lately(places)] == ["Firing: Ours"]


def test_without_the_servers_it_says_so(places: Places) -> None:
    with pytest.raises(ServerAway, match="make demo"):
        told_lately(places)


def test_the_page_escapes_what_arrived(told: Any, engine: Any) -> None:
    told("<b>bold</b> & <script>alert(1)</script>")
    text = shown(World(engine).client(Role.STAFF_VIEWER))
    assert "<script>alert" not in text
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; &lt;script&gt;" in text
    assert 'href="/alerts/7/"' in text
