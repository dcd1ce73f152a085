"""A webhook of one's own: the message as JSON, signed, so that the receiver can tell who sent it and when."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

from jobops.alerts.channels.answers import Answer
from jobops.alerts.channels.posting import post
from jobops.alerts.models import Channel

VERSION = "v1"
TIMESTAMP, SIGNATURE = "X-Jobops-Timestamp", "X-Jobops-Signature"


def send(channel: Channel, message: Mapping[str, Any]) -> Answer:
    """Post the message with the instant of this try and its signature."""
    body = json.dumps(dict(message), separators=(",", ":"), ensure_ascii=False).encode()
    stamp = str(int(time.time()))
    headers = {
        TIMESTAMP: stamp,
        SIGNATURE: f"{VERSION}={signature(channel.secret, stamp, body)}",
        "Idempotency-Key": str(message["id"]),
    }
    return post(channel.target, body, headers, secrets=[channel.secret])


def signature(secret: str, stamp: str, body: bytes) -> str:
    """HMAC-SHA256 over ``<timestamp>.<body>`` in hex. A receiver compares it, and refuses timestamps that are old."""
    return hmac.new(secret.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
