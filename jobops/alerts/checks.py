"""Checks of the alerts' settings before they go into service: ``manage.py check --deploy``.

jobops.W010 webhooks may lead to private addresses · jobops.I010 links in messages have no host.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Info, Tags, register
from django.core.checks import Warning as Suspicion


@register(Tags.security, deploy=True)
def check_alerts(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """What is for tests only, and what messages miss."""
    found: list[CheckMessage] = []
    if settings.JOBOPS_ALERT_ALLOW_PRIVATE_SINK:
        sinks = ", ".join(settings.JOBOPS_ALERT_ALLOW_PRIVATE_SINK)
        found.append(
            Suspicion(
                f"alerts may be sent to {sinks} although it is private or not encrypted",
                hint="that is for tests of a receiver: unset JOBOPS_ALERT_ALLOW_PRIVATE_SINK",
                id="jobops.W010",
            )
        )
    if not settings.JOBOPS_BASE_URL:
        found.append(
            Info(
                "links in alert messages have no host",
                hint="set JOBOPS_BASE_URL to where these pages are opened, such as https://jobops.example.com",
                id="jobops.I010",
            )
        )
    return found
