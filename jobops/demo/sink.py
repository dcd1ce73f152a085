"""The demo's receiver of alerts: what a team's chat or ticket system would be.

It takes what a signed webhook of jobops sends, looks at the signature as its documentation says, and keeps the newest.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

KEEP_MESSAGES = 60
OLDEST_S = 300.0
"""A message that was signed longer ago is refused: somebody may have kept a copy of it."""


class Sink:
    """Safe to call from many threads. ``key``: what messages are signed with; without one none is taken."""

    def __init__(self, key: str = "", *, now: Callable[[], float] = time.time) -> None:
        self._key = key
        self._now = now
        self._lock = threading.Lock()
        self._messages: OrderedDict[str, dict[str, Any]] = OrderedDict()

    def take(self, headers: Mapping[str, str], body: bytes) -> tuple[int, str]:
        """Judge a message and keep it; answers the HTTP status and a text. The same delivery twice is kept once."""
        if not self._is_signed(headers.get("X-Jobops-Timestamp", ""), headers.get("X-Jobops-Signature", ""), body):
            return 401, "the signature is not right, or too old"
        try:
            message = json.loads(body)
            identity = str(message["id"])
        except (ValueError, TypeError, KeyError):
            return 400, "this is no message of an alert"
        with self._lock:
            if identity not in self._messages:
                self._messages[identity] = {**message, "taken_at": self._now()}
            while len(self._messages) > KEEP_MESSAGES:
                self._messages.popitem(last=False)
        return 200, "thank you"

    def messages(self) -> list[dict[str, Any]]:
        """What was taken, the newest first; ``taken_at`` is when, in seconds since 1970."""
        with self._lock:
            return list(reversed(self._messages.values()))

    def _is_signed(self, stamp: str, signature: str, body: bytes) -> bool:
        if not self._key or not stamp.isascii() or not stamp.isdigit() or len(stamp) > 12:
            return False
        right = hmac.new(self._key.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
        is_right = hmac.compare_digest(f"v1={right}".encode(), signature.encode("utf-8", "replace"))
        return is_right and abs(self._now() - int(stamp)) <= OLDEST_S
