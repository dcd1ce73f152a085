"""The local mail server takes messages over SMTP, and refuses as real ones do."""

from __future__ import annotations

import asyncio
import smtplib
import socket
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest

from jobops.demo.mailbox import Mailbox, start


def message(to: str) -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "orders@acme.example", to, "Your order 1"
    mail.set_content("thank you")
    return mail


def talk(mailbox: Mailbox, conversation: Callable[[smtplib.SMTP], None]) -> None:
    """Serve a mailbox while ``conversation`` runs in a thread."""

    async def main() -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        server = await start(listener, mailbox)
        try:
            await asyncio.to_thread(speak, listener.getsockname()[1])
        finally:
            server.close()

    def speak(port: int) -> None:
        with smtplib.SMTP("127.0.0.1", port, timeout=5) as client:
            conversation(client)

    asyncio.run(main())


def test_a_message_becomes_a_file(tmp_path: Path) -> None:
    talk(Mailbox(tmp_path), lambda client: client.send_message(message("ada@mail.example")) and None)
    assert "Subject: Your order 1" in (tmp_path / "00000001.eml").read_text()


def test_only_the_newest_messages_are_kept_also_after_a_restart(tmp_path: Path) -> None:
    def three(client: smtplib.SMTP) -> None:
        for _ in range(3):
            client.send_message(message("ada@mail.example"))

    talk(Mailbox(tmp_path, keep=2), three)
    talk(Mailbox(tmp_path, keep=2), three)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00000005.eml", "00000006.eml"]


def test_an_address_that_does_not_exist_is_refused_for_good(tmp_path: Path) -> None:
    def refused(client: smtplib.SMTP) -> None:
        with pytest.raises(smtplib.SMTPRecipientsRefused) as caught:
            client.send_message(message("ada@nowhere.example"))
        assert caught.value.recipients["ada@nowhere.example"][0] == 550

    talk(Mailbox(tmp_path), refused)
    assert not list(tmp_path.iterdir())


def test_a_greylisting_server_takes_the_second_try(tmp_path: Path) -> None:
    now = 0.0

    def twice(client: smtplib.SMTP) -> None:
        nonlocal now
        with pytest.raises(smtplib.SMTPRecipientsRefused) as caught:
            client.send_message(message("ada@slow-post.example"))
        assert caught.value.recipients["ada@slow-post.example"][0] == 451
        now = 3.0
        client.send_message(message("ada@slow-post.example"))

    talk(Mailbox(tmp_path, greylist_s=2, now=lambda: now), twice)
    assert len(list(tmp_path.iterdir())) == 1


def test_what_goes_to_a_team_is_kept_apart_and_pushed_out_by_its_own_kind_only(tmp_path: Path) -> None:
    def both(client: smtplib.SMTP) -> None:
        client.send_message(message("payments@teams.example"))
        for _ in range(3):
            client.send_message(message("ada@mail.example"))

    talk(Mailbox(tmp_path, keep=2), both)
    assert sorted(file.name for file in tmp_path.glob("*.eml")) == ["00000002.eml", "00000003.eml"]
    assert [file.name for file in tmp_path.glob("teams/*.eml")] == ["00000001.eml"]
