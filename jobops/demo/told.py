"""What the teams were told, as it arrived at the other side: in the demo's mailbox and at its own receiver."""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from jobops.alerts.messages import headline, lines
from jobops.demo.control import alerts_taken
from jobops.demo.places import Places

SHOWN = 12
TOGETHER = timedelta(minutes=1)
"""How far apart the same message comes by mail and by chat."""
_SUBJECT = "[jobops] "
_ALERT = re.compile(r"^Alert: (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Message:
    """``ways``: each of mail and chat by which it came, with the address or the team; ``text``: what follows the
    headline, without links; ``path``: the page of its alert, empty if it names none."""

    at: datetime
    ways: tuple[tuple[str, str], ...]
    headline: str
    text: str
    path: str


def told_lately(places: Places, count: int = SHOWN) -> list[Message]:
    """The newest messages, the newest first; what came by both ways is one. Raises ``control.ServerAway``."""
    found: list[Message] = []
    messages = [*_mails(places, 2 * count), *map(_of_chat, alerts_taken())]
    for message in sorted(messages, key=lambda message: message.at, reverse=True):
        place = next((place for place, kept in enumerate(found) if _is_same(kept, message)), None)
        if place is None:
            found.append(message)
        else:
            found[place] = replace(found[place], ways=(*found[place].ways, *message.ways))
    return found[:count]


def _is_same(kept: Message, message: Message) -> bool:
    """Whether one came by mail and the other by chat; a reminder has the words of the one before it."""
    is_other_way = not {way for way, _ in kept.ways} & {way for way, _ in message.ways}
    words = (kept.headline, kept.path) == (message.headline, message.path)
    return is_other_way and words and kept.at - message.at < TOGETHER


def _mails(places: Places, count: int) -> Iterator[Message]:
    for file in sorted(places.team_mail.glob("*.eml"), reverse=True)[:count]:
        try:
            yield _of_mail(file)
        except FileNotFoundError:  # the mailbox keeps the newest only
            continue


def _of_mail(file: Path) -> Message:
    mail = email.message_from_bytes(file.read_bytes(), _class=EmailMessage, policy=email.policy.default)
    text = str(mail.get_content()).replace("\r\n", "\n")
    told = text.partition("\nOpen: ")[0].strip().partition("\n")[2].strip()
    return Message(
        at=datetime.fromtimestamp(file.stat().st_mtime, UTC),
        ways=(("mail", str(mail["To"])),),
        headline=str(mail["Subject"]).strip().removeprefix(_SUBJECT),
        text=" ".join(told.split()),
        path=_path_of(found[1] if (found := _ALERT.search(text)) else ""),
    )


def _of_chat(message: dict[str, Any]) -> Message:
    return Message(
        at=datetime.fromtimestamp(message["taken_at"], UTC),
        ways=(("chat", str(message["owner"])),),
        headline=headline(message),
        text=" ".join(lines(message)),
        path=_path_of(str(message["alert_url"])),
    )


def _path_of(url: str) -> str:
    """The page of an alert of ours that an address leads to, wherever the server was when it was written."""
    found = re.search(r"/alerts/\d+/$", url)
    return found[0] if found else ""
