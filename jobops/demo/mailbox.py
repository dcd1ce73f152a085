"""The demo's mail server: takes every message, keeps the newest few as files, and refuses as real ones do.

A recipient at a domain of REFUSED does not exist (550). A domain of GREYLISTING puts a pair of sender and recipient
that it meets for the first time off for a few seconds (451). What goes to a team of ours (TEAMS) is kept apart, so that
the shops' many messages do not push it out.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

from aiosmtpd.smtp import SMTP, Envelope, Session

from jobops.demo.results import fresh_file

REFUSED = ("nowhere.example",)
GREYLISTING = ("slow-post.example",)
TEAMS = "teams.example"
KEEP_MESSAGES = 200
GREYLIST_SECONDS = 2.0
_PAIRS_REMEMBERED = 10_000


class _Kept:
    """A folder with the newest messages, numbered."""

    def __init__(self, folder: Path, keep: int) -> None:
        self._folder = folder
        self._keep = keep
        self._count = max((int(p.stem) for p in folder.glob("*.eml") if p.stem.isdigit()), default=0)

    def put(self, data: bytes) -> int:
        """Keep a message, whole or not at all; answers its number. The oldest goes when there are too many."""
        self._count += 1
        with fresh_file(self._folder / f"{self._count:08d}.eml") as file:
            file.write(data)
        (self._folder / f"{self._count - self._keep:08d}.eml").unlink(missing_ok=True)
        return self._count


class Mailbox:
    """The handler: where messages go."""

    def __init__(
        self,
        folder: Path,
        *,
        keep: int = KEEP_MESSAGES,
        greylist_s: float = GREYLIST_SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kept = _Kept(folder, keep)
        self._teams = _Kept(folder / "teams", keep)
        self._greylist_s = greylist_s
        self._now = now
        self._first_seen: dict[tuple[str, str], float] = {}

    async def handle_RCPT(  # noqa: N802 (aiosmtpd looks for this name)
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Take the recipient, put it off (451), or refuse it (550)."""
        domain = address.rpartition("@")[2].lower()
        if domain in REFUSED:
            return "550 5.1.1 no such mailbox here"
        pair = (envelope.mail_from or "", address.lower())
        if domain in GREYLISTING and self._now() - self._seen(pair) < self._greylist_s:
            return "451 4.7.1 greylisted, try again in a few seconds"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        """Keep the message; the oldest goes when there are too many."""
        content = envelope.content or b""
        data = content if isinstance(content, bytes) else content.encode()
        is_a_teams = any(str(address).lower().endswith(f"@{TEAMS}") for address in envelope.rcpt_tos)
        return f"250 OK queued as {(self._teams if is_a_teams else self._kept).put(data)}"

    def _seen(self, pair: tuple[str, str]) -> float:
        if len(self._first_seen) >= _PAIRS_REMEMBERED:
            self._first_seen.pop(next(iter(self._first_seen)))
        return self._first_seen.setdefault(pair, self._now())


async def start(listener: socket.socket, mailbox: Mailbox) -> asyncio.Server:
    """Serve on a socket that already listens."""
    loop = asyncio.get_running_loop()
    return await loop.create_server(
        lambda: SMTP(mailbox, hostname="mail.demo.example", loop=loop, timeout=30), sock=listener
    )


async def serve(listener: socket.socket, mailbox: Mailbox) -> None:
    """Serve until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    server = await start(listener, mailbox)
    await stop.wait()
    server.close()


def main() -> None:
    """Serve on an inherited, listening socket."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--fd", type=int, required=True, help="file descriptor of a listening TCP socket")
    parser.add_argument("--folder", type=Path, required=True, help="where the messages go")
    args = parser.parse_args()
    asyncio.run(serve(socket.socket(fileno=args.fd), Mailbox(args.folder)))


if __name__ == "__main__":
    main()
