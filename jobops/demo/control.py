"""How the customers' servers of the demo are, and mending or breaking them: what stands for "the cause is gone"."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from jobops.demo.places import Places
from jobops.demo.receiver import CONTROL_HEADER, ENDPOINTS

TIMEOUT_S = 2.0


class ServerAway(Exception):
    """The demo's HTTP server does not answer."""


@dataclass(frozen=True, slots=True)
class Server:
    """One customer's server. ``mode``: usual, mended or broken; ``answers``: status → how many it gave so far."""

    name: str
    mode: str
    answers: dict[str, int]


def servers() -> list[Server]:
    """All of them, in the order in which the demo tells of them. Raises ``ServerAway``."""
    told: Any = json.loads(_ask("control"))
    return [Server(name, told[name]["mode"], told[name]["answers"]) for name in ENDPOINTS if name in told]


def set_mode(name: str, mode: str) -> str:
    """Change a server; answers how it was before. Raises ``ServerAway``, and ``KeyError`` for one that is not there."""
    before = {server.name: server.mode for server in servers()}[name]
    _ask(f"control/{name}/{mode}", post=True)
    return before


def alerts_taken() -> list[dict[str, Any]]:
    """The alerts that the demo's receiver has taken, the newest first. Raises ``ServerAway``."""
    taken: list[dict[str, Any]] = json.loads(_ask("alerts"))
    return taken


def _ask(path: str, *, post: bool = False) -> bytes:
    try:
        url = f"{Places(settings.HOME_DIR).services().receiver_url}/{path}"
        request = urllib.request.Request(url, data=b"" if post else None, headers={CONTROL_HEADER: "1"})  # noqa: S310
        # Loopback only: a proxy of the environment has no business here.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=TIMEOUT_S) as answer:
            body: bytes = answer.read()
            return body
    except (LookupError, OSError) as error:  # URLError and time-outs are OSErrors
        raise ServerAway("The demo’s servers do not answer: start the demo with make demo.") from error
