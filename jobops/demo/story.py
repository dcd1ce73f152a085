"""The words of the demo's page: what each server does to the jobs that call it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobops.demo.control import Server
from jobops.demo.incident import Sent
from jobops.web.formats import plural
from jobops.web.words import Look

BROKEN = Look("Broken", "alert-triangle", "warn")
MENDED = Look("Mended", "circle-check", "ok")
USUAL = Look("As usual", "check", "calm")
LOOKS = {"broken": BROKEN, "mended": MENDED}

NATURES = {
    "warehouse": ("Takes every webhook.", "answers 200"),
    "crm": ("Takes two webhooks a second; more are asked to come again.", "answers 200, or 429 with Retry-After"),
    "ledger": ("Restarts every minute, for 6 seconds.", "answers 200, or 503 for a moment"),
    "tax-office": ("Takes no order without a VAT id: such webhooks are poison.", "answers 200, or 400"),
    "old-shop": ("Has unsubscribed; its webhooks are discarded by contract.", "answers 410"),
    "payments": ("Takes the money for orders.", "answers 200"),
}


@dataclass(frozen=True, slots=True)
class Line:
    """A row: the server, what it is, what it answers now, and what it has answered so far."""

    server: Server
    look: Look
    nature: str
    now: str
    so_far: str

    @property
    def is_broken(self) -> bool:
        """Whether it waits for somebody to mend it."""
        return self.server.mode == "broken"


def lines_of(servers: Sequence[Server]) -> list[Line]:
    """The rows; what is broken stands first."""
    lines = [_line(server) for server in servers]
    return sorted(lines, key=lambda line: not line.is_broken)


def _line(server: Server) -> Line:
    nature, usually = NATURES.get(server.name, ("", "answers"))
    now = {"broken": "answers 503 until it is mended", "mended": "answers 200"}.get(server.mode, usually)
    so_far = ", ".join(f"{count:,} × {status}" for status, count in sorted(server.answers.items()))
    return Line(server, LOOKS.get(server.mode, USUAL), nature, now, so_far or "nothing yet")


def happened(sent: Sent) -> str:
    """What was let go wrong, in words."""
    told = f"{plural(sent.total, 'job')} of three kinds run now, and will die: it takes a minute or two."
    refused = f" {plural(sent.refused, 'more')} found no room in the shops’ queues." if sent.refused else ""
    return f"payments is broken. {told}{refused}"


def title_of(servers: Sequence[Server], unpaid: int) -> str:
    """The page in one sentence."""
    if not servers:
        return "The demo’s servers do not answer."
    down = [server.name for server in servers if server.mode == "broken"]
    letters = plural(unpaid, "payment")
    waits = f"; {letters} {'waits as a dead letter' if unpaid == 1 else 'wait as dead letters'}" if unpaid else ""
    if down == ["payments"]:
        return f"The payment provider is down{waits}."
    if down:
        return f"{plural(len(down), 'server')} {'is' if len(down) == 1 else 'are'} down{waits}."
    return f"Every server is up{waits}."
