"""The demo's servers, files and shops, for one test."""

from __future__ import annotations

import asyncio
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobops.demo import files, mailbox, receiver
from jobops.demo.places import Places, Services


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The photos and archives, made once."""
    folder = tmp_path_factory.mktemp("sources")
    files.make_sources(folder)
    return folder


@pytest.fixture
def places(tmp_path: Path, settings: Any, sources: Path) -> Places:
    """A demo's folder with its source files."""
    settings.HOME_DIR = tmp_path
    places = Places(tmp_path)
    shutil.copytree(sources, places.sources)
    return places


@pytest.fixture
def desk(places: Places) -> Iterator[receiver.Desk]:
    """The local servers, running: the HTTP server's desk is what tests ask."""
    desk = receiver.Desk()
    listener = socket.create_server(("127.0.0.1", 0))
    mail = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    places.write_services(Services(url, "127.0.0.1", mail.getsockname()[1]))
    with receiver.make_server(listener, desk) as server:
        threads = [
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}),
            threading.Thread(target=asyncio.run, args=(_mail(mail, places, stop := threading.Event()),)),
        ]
        for thread in threads:
            thread.start()
        yield desk
        stop.set()
        server.shutdown()
        for thread in threads:
            thread.join()


async def _mail(listener: socket.socket, places: Places, stop: threading.Event) -> None:
    server = await mailbox.start(listener, mailbox.Mailbox(places.mail))
    while not stop.is_set():
        await asyncio.sleep(0.02)
    server.close()
