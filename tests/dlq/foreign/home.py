"""Letters of a plain RQ, and their replays there."""

from __future__ import annotations

from collections.abc import Callable

from dlq.models import DeadLetter, ReplayRun
from dlq.services import letter_replay
from tests.dlq.foreign.plain_rq import CHARGE, PlainRQ

Look = Callable[[], int]
"""One look of the watch at all replays."""


def failed_letter(plain: PlainRQ, **wish: object) -> DeadLetter:
    plain.enqueue(CHARGE, "customer-4711", 5)
    plain.work()
    plain.take_over(**wish)
    return DeadLetter.objects.get()


def replay(letter: DeadLetter) -> ReplayRun:
    return letter_replay(letter_id=letter.pk, by="command:tester")
