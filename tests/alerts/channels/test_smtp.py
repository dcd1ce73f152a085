"""A mail server that never comes to an end holds no thread for longer than one delivery may take."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from jobops.alerts import channels
from jobops.alerts.channels import smtp
from jobops.alerts.messages import message_of
from tests.alerts.channels.conftest import alert_of, channel_of

pytestmark = pytest.mark.django_db
CERTIFICATE = Path(__file__).with_name("sink.pem")
Talk = Callable[[socket.socket], None]


@contextlib.contextmanager
def mail_server(settings: Settings, talk: Talk) -> Iterator[threading.Event]:
    """One that answers each connection with ``talk``; the event is set when the client has gone."""
    gone = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with contextlib.suppress(OSError):
                taken, _ = listening.accept()
                with taken, contextlib.suppress(OSError):
                    talk(taken)
            gone.set()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", listening.getsockname()[1]
        yield gone


def drip(taken: socket.socket, line: bytes = b"2", every_s: float = 0.05) -> None:
    """Never ends a line, and never lets the time limit of the socket pass."""
    while True:
        taken.sendall(line)
        time.sleep(every_s)


def greet_and_drip(taken: socket.socket) -> None:
    taken.sendall(b"220 here\r\n")
    taken.recv(1024)
    drip(taken, b"250-and more\r\n")


def take_and_drip(taken: socket.socket) -> None:
    """Takes the mail, and drips at the farewell."""
    taken.sendall(b"220 here\r\n")
    for answer in (b"250 hello", b"250 ok", b"250 ok", b"354 go on"):
        taken.recv(4096)
        taken.sendall(answer + b"\r\n")
    body = b""
    while not body.endswith(b"\r\n.\r\n"):
        body += taken.recv(4096)
    taken.sendall(b"250 taken\r\n")
    drip(taken)


def offer_tls_and_drip(taken: socket.socket) -> None:
    taken.sendall(b"220 here\r\n")
    taken.recv(1024)
    taken.sendall(b"250-here\r\n250 STARTTLS\r\n")
    taken.recv(1024)
    taken.sendall(b"220 go on\r\n")
    drip_tls(taken)


def drip_tls(taken: socket.socket) -> None:
    """The head of a record that says that it is long, and then byte after byte."""
    taken.recv(4096)
    taken.sendall(b"\x16\x03\x03\x40\x00")
    drip(taken, b"\x02")


def tls_and_drip(taken: socket.socket) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    with context.wrap_socket(taken, server_side=True) as inner:
        drip(inner)


@pytest.mark.parametrize(
    ("talk", "tls", "starttls"),
    [
        (drip, False, False),
        (greet_and_drip, False, False),
        (offer_tls_and_drip, False, True),
        (drip_tls, True, False),
        (tls_and_drip, True, False),
    ],
)
def test_a_server_that_drips_is_left_in_time(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, talk: Talk, tls: bool, starttls: bool
) -> None:
    monkeypatch.setattr(smtp, "DELIVERY_S", 0.5)
    if talk is tls_and_drip:
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        monkeypatch.setattr(smtp.BoundedBackend, "ssl_context", trusting)
    settings.EMAIL_USE_SSL, settings.EMAIL_USE_TLS = tls, starttls
    with mail_server(settings, talk) as gone:
        began = time.monotonic()
        answer = channels.send(channel_of("a@example.com", "email"), {**message_of(alert_of(), "fired"), "id": "1"})
        took = time.monotonic() - began
        assert gone.wait(5), "the connection is still open"
    assert not answer.ok
    assert answer.text == "TimeoutError: no end within 0 s"
    assert 0.4 < took < 3


def test_what_was_taken_before_the_time_was_up_was_taken(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smtp, "DELIVERY_S", 1.0)
    with mail_server(settings, take_and_drip) as gone:
        answer = channels.send(channel_of("a@example.com", "email"), {**message_of(alert_of(), "fired"), "id": "1"})
        assert gone.wait(5)
    assert (answer.ok, answer.text) == (True, "the mail server took it for 1 address")
