"""Sending what is due: apart from everything else that the scheduler does, and each channel apart from the others."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.utils import timezone

from jobops.alerts import channels, deliveries
from jobops.alerts.channels.answers import Answer
from jobops.alerts.deliveries import Taken
from jobops.alerts.models import Channel, Delivery

log = logging.getLogger("jobops.alerts")

BATCH = 40
PER_CHANNEL = 5
"""Messages of one channel in one round; after the first that fails the others wait."""

PATIENCE_S = 20.0
"""How long a round waits for its channels: a little longer than one message may take."""

FORGET_EVERY_S = 300.0
TOO_SLOW = f"no end within {PATIENCE_S:.0f} s"


@dataclass(slots=True)
class Line:
    """One channel's messages of a round, sent one after the other in a thread that touches no database."""

    channel: Channel
    taken: list[Taken]
    answers: list[Answer] = field(default_factory=list)
    ended: bool = False

    def start(self) -> threading.Thread:
        """Begin sending."""
        thread = threading.Thread(target=self._send, name=f"channel {self.channel.pk}", daemon=True)
        thread.start()
        return thread

    def _send(self) -> None:
        begun = time.monotonic()
        for each in self.taken:
            answer = channels.send(self.channel, {**each.delivery.message, "id": each.delivery.key})
            self.answers.append(answer)
            if not answer.ok or time.monotonic() - begun > PATIENCE_S / 4:
                break
        self.ended = True


def send_due(limit: int = BATCH) -> int:
    """Send what is due, at most ``limit`` messages; answers how many were tried.

    Several processes may do this at once: each message is taken by one of them. Raises ``django.db.Error``.
    """
    now = timezone.now()
    lines: dict[int, Line] = {}
    for delivery in deliveries.due(now, limit):
        if not delivery.channel.enabled:
            deliveries.drop(delivery)
            continue
        line = lines.setdefault(delivery.channel_id, Line(delivery.channel, []))
        if len(line.taken) < PER_CHANNEL and (taken := deliveries.take(delivery, now)):
            line.taken.append(taken)
    busy = [line for line in lines.values() if line.taken]
    _send_all(busy)
    return sum(_settle(line) for line in busy)


class Sender:
    """What the thread of the alerts does again and again. Remembers when it last cleared away what is old."""

    def __init__(self) -> None:
        self._forget_at = 0.0

    def run(self) -> int:
        """One round; answers how much it did."""
        done = send_due()
        if time.monotonic() >= self._forget_at:
            self._forget_at = time.monotonic() + FORGET_EVERY_S
            deliveries.forget(timezone.now())
        return done


def send_now(channel: Channel, delivery: Delivery) -> Answer:
    """Send a message that its maker has taken, and write down how it went; for tests of a channel, which a person
    waits for and which are not tried again."""
    answer = channels.send(channel, {**delivery.message, "id": delivery.key})
    delivery.state = Delivery.State.SENT if answer.ok else Delivery.State.GIVEN_UP
    delivery.sent_at = timezone.now() if answer.ok else None
    delivery.answer, delivery.taken_until, delivery.attempts = deliveries.answer_words(answer), None, 1
    # The channel may have been deleted meanwhile, and with it the row.
    Delivery.objects.filter(pk=delivery.pk).update(
        state=delivery.state,
        sent_at=delivery.sent_at,
        answer=delivery.answer,
        taken_until=delivery.taken_until,
        attempts=delivery.attempts,
    )
    return answer


def _send_all(lines: Sequence[Line]) -> None:
    ends = time.monotonic() + PATIENCE_S
    threads = [line.start() for line in lines]
    for thread in threads:
        # One that hangs beyond all its own limits is left behind: the others' messages must go.
        thread.join(max(0.0, ends - time.monotonic()))


def _settle(line: Line) -> int:
    """Write down how each message of a channel went; answers how many were tried."""
    hangs, answers = not line.ended, list(line.answers)
    if hangs and len(answers) < len(line.taken):
        answers.append(Answer(False, text=TOO_SLOW))
    tried, rest = line.taken[: len(answers)], line.taken[len(answers) :]
    deliveries.give_back(rest)
    for taken, answer in zip(tried, answers, strict=True):
        if deliveries.settle(taken, answer, timezone.now()):
            log.error("channel %s: gave up a message after %d tries: %s", line.channel.name, taken.attempt, answer.text)
        elif not answer.ok and taken.attempt == 1:
            log.warning("channel %s: a message was not taken: %s", line.channel.name, answer.text)
    return len(tried)
