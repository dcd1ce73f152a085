"""Django's SMTP with one deadline for the whole delivery: from connecting to the last answer."""

from __future__ import annotations

import contextlib
import smtplib
import socket
from typing import Any

from django.core.mail.backends.smtp import EmailBackend

from jobops.alerts.channels.ending import ended_in_time

DELIVERY_S = 15.0
"""For one mail, however slowly the server talks: less than a round of sending waits for its channels."""


class Line:
    """The connection of one delivery, as it can be cut from another thread."""

    def __init__(self) -> None:
        self.out_of_time = False
        self._own: socket.socket | None = None

    def watch(self, sock: socket.socket) -> None:
        """Cut this one when it is time. Raises ``TimeoutError`` when that is over.

        TLS takes the socket's number away from it; a number of our own leads to the same connection all the time.
        """
        self.close()
        self._own = sock.dup()
        if self.out_of_time:
            raise TimeoutError

    def cut(self) -> None:
        """Whoever waits for a byte gets an error."""
        self.out_of_time = True
        if self._own is not None:
            with contextlib.suppress(OSError):
                self._own.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the number of our own back."""
        if self._own is not None:
            self._own.close()


class Watched(smtplib.SMTP):
    """Tells its line of each socket, before anything is said through it."""

    line: Line

    def _get_socket(self, *args: Any) -> socket.socket:
        sock: socket.socket = super()._get_socket(*args)  # type: ignore[misc]
        self.line.watch(sock)
        return sock


class WatchedTls(smtplib.SMTP_SSL, Watched):
    """The plain socket is watched before the handshake."""


class BoundedBackend(EmailBackend):
    """Ends in time. Raises ``TimeoutError`` when the message was not taken by then."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.line = Line()

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        """A class, as Django has it made with what it knows only."""
        kind = WatchedTls if self.use_ssl else Watched
        return type(kind.__name__, (kind,), {"line": self.line})

    def send_messages(self, email_messages: Any) -> int:
        """As Django's, within ``DELIVERY_S``."""
        self.line = Line()
        try:
            with ended_in_time(self.line, DELIVERY_S):
                try:
                    return int(super().send_messages(email_messages) or 0)
                finally:
                    self.close()
        except OSError:
            if self.line.out_of_time:
                raise TimeoutError(f"no end within {DELIVERY_S:.0f} s") from None
            raise
        finally:
            self.line.close()
