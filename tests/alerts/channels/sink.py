"""A receiver of webhooks on this machine, which answers as a test wants and keeps what it got."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CERTIFICATE = Path(__file__).with_name("sink.pem")
"""Of ``sink.test``, signed by itself."""


@dataclass
class Got:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Sink:
    """``url``: where it listens. ``status``, ``headers`` and ``body``: what it answers. ``waits``: before it does."""

    url: str
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"ok"
    got: list[Got] = field(default_factory=list)
    waits: threading.Event = field(default_factory=threading.Event)
    answers: Callable[[Any], None] | None = None


@contextmanager
def sink(*, tls: bool = False) -> Iterator[Sink]:
    """One that answers 200 until it is told otherwise."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            here.got.append(Got(self.path, dict(self.headers), body))
            here.waits.wait(60)
            if here.answers is not None:
                here.answers(self)
                return
            self.send_response(here.status)
            for name, value in here.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(here.body)))
            self.end_headers()
            self.wfile.write(here.body)

        def log_message(self, *args: object) -> None: ...

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *args: object) -> None: ...  # a client that hung up is what some tests want

    server = Server(("127.0.0.1", 0), Handler)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    here = Sink(f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}")
    here.waits.set()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield here
    finally:
        here.waits.set()
        server.shutdown()
        server.server_close()
        thread.join()


def drips_head(handler: Any) -> None:
    """Answers a byte at a time, for ever, and never comes to the end of the line that says how it went."""
    _drip(handler, b"HTTP/1.1 2")


def drips_body(handler: Any) -> None:
    """The same with its body."""
    _drip(handler, b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n")


def _drip(handler: Any, begin: bytes) -> None:
    handler.wfile.write(begin)
    for _ in range(4000):
        handler.wfile.write(b"x")
        handler.wfile.flush()
        time.sleep(0.05)
