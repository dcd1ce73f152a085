"""A webhook that takes what Slack's takes: Slack, Mattermost, Rocket.Chat, Google Chat's bridges and others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jobops.alerts.channels.answers import Answer
from jobops.alerts.channels.posting import post
from jobops.alerts.messages import headline, lines
from jobops.alerts.models import Channel

ZERO_WIDTH = "\u200b"


def send(channel: Channel, message: Mapping[str, Any]) -> Answer:
    """Post one text; only ``text`` is understood by all that call themselves compatible."""
    text = "\n".join([f"*{escaped(headline(message))}*", *map(escaped, lines(message)), escaped_link(message["url"])])
    body = json.dumps({"text": text}).encode()
    return post(channel.target, body, {"Idempotency-Key": str(message["id"])}, secrets=[channel.secret])


def escaped(text: str) -> str:
    """Text in which nothing is a mention, a link, an image or a block of code: not in Slack's syntax, nor in Markdown.

    What Slack's own escapes do not cover is parted by a space without width, so that it still reads the same.
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = text.replace("@", f"@{ZERO_WIDTH}").replace("](", f"]{ZERO_WIDTH}(").replace("`", "ˋ")
    return text.replace("*", f"*{ZERO_WIDTH}").replace("://", f":{ZERO_WIDTH}//")


def escaped_link(url: str) -> str:
    """Our own address, which is to be pressed: it is percent-encoded where it holds anything odd."""
    return url.replace("&", "&amp;").replace("<", "%3C").replace(">", "%3E").replace("|", "%7C")
