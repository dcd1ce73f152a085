"""The demo's local servers in threads of a test."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from jobops.demo import mailbox, receiver
from jobops.demo.places import Places, Services
from jobops.demo.sink import Sink


@contextmanager
def serving(places: Places, desk: receiver.Desk, sink: Sink | None = None) -> Iterator[Services]:
    """The customers' servers and the mail server, where the demo's jobs and its page look for them."""
    listener = socket.create_server(("127.0.0.1", 0))
    mail = socket.create_server(("127.0.0.1", 0))
    services = Services(f"http://127.0.0.1:{listener.getsockname()[1]}", "127.0.0.1", mail.getsockname()[1])
    places.write_services(services)
    with receiver.make_server(listener, desk, sink) as server:
        threads = [
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}),
            threading.Thread(target=asyncio.run, args=(_mail(mail, places, stop := threading.Event()),)),
        ]
        for thread in threads:
            thread.start()
        try:
            yield services
        finally:
            stop.set()
            server.shutdown()
            for thread in threads:
                thread.join()
            places.forget_services()


async def _mail(listener: socket.socket, places: Places, stop: threading.Event) -> None:
    server = await mailbox.start(listener, mailbox.Mailbox(places.mail))
    while not stop.is_set():
        await asyncio.sleep(0.02)
    server.close()
