"""The demo's servers, files and shops, for one test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobops.demo import files, receiver
from jobops.demo.crew import signing_key
from jobops.demo.places import Places
from jobops.demo.sink import Sink
from tests.demo.servers import serving


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
    with serving(places, desk, Sink(signing_key(places))):
        yield desk
