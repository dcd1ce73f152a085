"""One POST to a checked address: no redirect, no proxy, and an end in time whatever the other side does."""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import ssl
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from jobops.alerts.addresses import Refused, Resolved, check_url
from jobops.alerts.channels.answers import Answer, told
from jobops.alerts.channels.ending import ended_in_time

TIMEOUT_S = 10.0
"""From the first byte to the last one."""

LARGEST_ANSWER = 4096
LONGEST_RETRY_AFTER_S = 3600.0
SHORTEST_TOKEN = 8
AGENT = "jobops-alerts"


def post(url: str, body: bytes, headers: Mapping[str, str], *, secrets: Iterable[str] = ()) -> Answer:
    """Send ``body`` (JSON) to ``url`` once. Never raises for what the other side does or is.

    ``secrets``: what must not be told of the answer, beside the parts of the URL.
    """
    hidden = [*secrets, *secrets_of(url)]
    try:
        where = check_url(url)
    except Refused as refused:
        return Answer(False, text=told(f"not sent: {refused}", hidden))
    connection = Connection(where)
    try:
        with ended_in_time(connection, TIMEOUT_S):
            connection.request("POST", where.path, body, {**_standing(where), **headers})
            response = connection.getresponse()
            return _answer(response, _body(response), hidden)
    except TimeoutError:
        return Answer(False, text=f"no answer within {TIMEOUT_S:.0f} s")
    except (OSError, http.client.HTTPException, ValueError) as error:
        if connection.out_of_time:
            return Answer(False, text=f"no whole answer within {TIMEOUT_S:.0f} s")
        return Answer(False, text=told(f"{type(error).__name__}: {error}", hidden))
    finally:
        connection.close()


def secrets_of(url: str) -> list[str]:
    """The parts of a URL that may be tokens: what follows the host, as a whole and part by part."""
    rest = url.partition("://")[2].partition("/")[2]
    if not rest:
        return []
    parts = re.split(r"[/?&=#]", rest)
    return [f"/{rest}", rest, *(part for part in parts if len(part) >= SHORTEST_TOKEN)]


class Connection(http.client.HTTPConnection):
    """Connects to the address that was checked, and expects the host's certificate there."""

    def __init__(self, where: Resolved) -> None:
        super().__init__(where.host, where.port, timeout=TIMEOUT_S)
        self.where = where
        self.out_of_time = False

    def connect(self) -> None:
        """Open the connection. Raises ``OSError``, of which ``ssl.SSLError`` is one."""
        self.sock = socket.create_connection((self.where.address, self.where.port), TIMEOUT_S)
        if self.out_of_time:
            raise TimeoutError
        if self.where.scheme == "https":
            context = ssl.create_default_context()
            # Kept before the handshake, so that one that goes on for ever can be ended too.
            self.sock = context.wrap_socket(self.sock, server_hostname=self.where.host, do_handshake_on_connect=False)
            self.sock.do_handshake()

    def cut(self) -> None:
        """End it from another thread: whoever waits for a byte gets an error."""
        self.out_of_time = True
        if isinstance(self.sock, socket.socket):
            with contextlib.suppress(OSError):
                # The plain socket's: that of TLS would first touch what the other thread reads from.
                socket.socket.shutdown(self.sock, socket.SHUT_RDWR)


def _standing(where: Resolved) -> dict[str, str]:
    return {
        "Host": where.authority,
        "User-Agent": AGENT,
        "Content-Type": "application/json",
        "Accept-Encoding": "identity",
        "Connection": "close",
    }


def _body(response: http.client.HTTPResponse) -> str:
    """The beginning of the answer's text. Whose head says that it was taken has taken it, whatever follows."""
    try:
        return response.read(LARGEST_ANSWER).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return ""


def _answer(response: http.client.HTTPResponse, text: str, hidden: list[str]) -> Answer:
    status = response.status
    said = told(text.strip(), hidden)
    if 300 <= status < 400:
        return Answer(False, status, "it redirects elsewhere, where nothing is sent: give the URL that it leads to")
    return Answer(200 <= status < 300, status, said, retry_after_of(response.getheader("Retry-After", "")))


def retry_after_of(value: str | None) -> float | None:
    """Seconds from now that the header asks for, at most an hour; None for none and for what cannot be read."""
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return min(LONGEST_RETRY_AFTER_S, float(text[:400]))
    try:
        at = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return min(LONGEST_RETRY_AFTER_S, max(0.0, (at - datetime.fromtimestamp(time.time(), UTC)).total_seconds()))
