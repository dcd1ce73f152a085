"""E-mail by Django's mail. Plain text only: there is nothing in it that could be taken for markup."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import formatdate
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.validators import validate_email

from dlq.text import one_line
from jobops.alerts.channels.answers import Answer, told
from jobops.alerts.channels.smtp import BoundedBackend
from jobops.alerts.messages import headline, lines
from jobops.alerts.models import Channel

MOST_ADDRESSES = 20
LONGEST_SUBJECT = 180
NO_SERVER = "not sent: no mail server is configured, set JOBOPS_ALERT_MAIL_URL"


def send(channel: Channel, message: Mapping[str, Any]) -> Answer:
    """Send it to every address of the channel in one mail. The same delivery has the same ``Message-ID``."""
    is_smtp = settings.EMAIL_BACKEND == "django.core.mail.backends.smtp.EmailBackend"
    if is_smtp and not settings.EMAIL_HOST:
        return Answer(False, text=NO_SERVER)
    to = addresses_of(channel.target)
    mail = EmailMessage(
        subject=one_line(f"[jobops] {headline(message)}", LONGEST_SUBJECT),
        body="\n".join(
            [
                headline(message),
                "",
                *lines(message),
                "",
                f"Open: {message['url']}",
                f"Alert: {message['alert_url']}",
                "",
            ]
        ),
        to=to,
        connection=BoundedBackend() if is_smtp else None,
        headers={
            "Message-ID": f"<{sha256(str(message['id']).encode()).hexdigest()[:40]}@jobops.invalid>",
            "Date": formatdate(),
            "Auto-Submitted": "auto-generated",
        },
    )
    try:
        mail.send()
    except OSError as error:  # smtplib's own are among them
        return Answer(False, text=told(f"{type(error).__name__}: {error}", [settings.EMAIL_HOST_PASSWORD or ""]))
    return Answer(True, text=f"the mail server took it for {len(to)} {'address' if len(to) == 1 else 'addresses'}")


def addresses_of(target: str) -> list[str]:
    """The addresses of a target, parted by commas, semicolons or white space. Raises ``ValueError``, which names the
    one that is none."""
    found = [part for part in re.split(r"[,;\s]+", target) if part]
    if not found:
        raise ValueError("give an address such as on-call@example.com")
    if len(found) > MOST_ADDRESSES:
        raise ValueError(f"{len(found)} addresses are too many: at most {MOST_ADDRESSES}, or a mailing list")
    for address in found:
        try:
            validate_email(address)
        except ValidationError:
            raise ValueError(f"{one_line(address, 80)!r} is no address: use one such as on-call@example.com") from None
    return found
