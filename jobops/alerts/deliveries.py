"""Deliveries: which are due, whose turn it is, and how each went. One that is sent is never sent again.

A message goes only when no earlier one of the same subject to the same channel is still waiting: an incident that was
ended before it was opened would stay open for ever, and one that began anew would be closed by the end of the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F, Q, Window
from django.db.models.functions import RowNumber

from jobops.alerts.channels.answers import Answer
from jobops.alerts.models import Delivery

BACKOFF_S = (10, 30, 60, 120, 300, 600, 1200, 1800, 3600)
"""How long after each failed try the next one comes; after the last of them no more: some two hours in all."""

OTHERS_S = 60
"""A channel that did not take one message is left alone for so long at most."""

MOST_ATTEMPTS = len(BACKOFF_S) + 1
TAKE = timedelta(seconds=60)
"""Whoever takes a message has it for so long; one who is killed meanwhile leaves it to the next."""

LINE = 50
"""Of each channel so many waiting messages are looked at."""

KEEP = timedelta(days=90)
DROPPED = "not sent: the channel is switched off"
ABANDONED = "whoever was sending it did not come back"


@dataclass(frozen=True, slots=True)
class Taken:
    """A message that is ours to send. ``attempt``: which try this is, and what makes it ours."""

    delivery: Delivery
    attempt: int


def due(now: datetime, most: int) -> list[Delivery]:
    """Messages that may go now, at most ``most``: of each channel those first that failed least often, so that one that
    nobody takes keeps no other waiting, and no channel's before another's."""
    place = Window(RowNumber(), partition_by=F("channel_id"), order_by=[F("attempts").asc(), F("pk").asc()])
    # The state is written out, so that the index of waiting messages can be used by every database. Those that must
    # wait for another one get no place: they could fill the line, and the other one never get into it.
    waiting = Delivery.objects.extra(
        where=[
            "jobops_delivery.state = 'waiting'",
            """jobops_delivery.id IN (
                SELECT MIN(each.id) FROM jobops_delivery AS each
                LEFT JOIN jobops_alert AS alert ON alert.id = each.alert_id
                WHERE each.state = 'waiting' GROUP BY each.channel_id, alert.key)""",
        ]
    ).annotate(place=place)
    rows = waiting.filter(place__lte=LINE).select_related("channel__team").order_by("place", "channel_id")
    return [row for row in rows if row.next_at <= now and (row.taken_until is None or row.taken_until <= now)][:most]


def take(delivery: Delivery, now: datetime) -> Taken | None:
    """Make it ours; None when somebody was faster. A try that is cut off counts: it may have arrived."""
    free = Q(taken_until__isnull=True) | Q(taken_until__lte=now)
    mine = Delivery.objects.filter(free, pk=delivery.pk, state=Delivery.State.WAITING, attempts=delivery.attempts)
    if delivery.attempts >= MOST_ATTEMPTS:
        mine.update(state=Delivery.State.GIVEN_UP, taken_until=None, answer=delivery.answer or ABANDONED)
        return None
    if not mine.update(taken_until=now + TAKE, attempts=F("attempts") + 1):
        return None
    return Taken(delivery, delivery.attempts + 1)


def give_back(taken: Sequence[Taken]) -> None:
    """What was taken and not tried: its turn comes again."""
    for each in taken:
        Delivery.objects.filter(pk=each.delivery.pk, state=Delivery.State.WAITING, attempts=each.attempt).update(
            taken_until=None, attempts=each.attempt - 1
        )


def settle(taken: Taken, answer: Answer, now: datetime) -> bool:
    """Write down how it went; answers whether it was given up. What was sent stays sent, whoever else tries it."""
    mine = Delivery.objects.filter(pk=taken.delivery.pk).exclude(state=Delivery.State.SENT)
    if answer.ok:
        mine.update(state=Delivery.State.SENT, sent_at=now, taken_until=None, answer=answer_words(answer))
        return False
    mine = mine.filter(attempts=taken.attempt, state=Delivery.State.WAITING)
    if taken.attempt >= MOST_ATTEMPTS:
        return bool(mine.update(state=Delivery.State.GIVEN_UP, taken_until=None, answer=answer_words(answer)))
    pause = pause_s(taken.attempt, answer)
    mine.update(next_at=now + timedelta(seconds=pause), taken_until=None, answer=answer_words(answer))
    # What else waits for this channel would most likely meet the same, and keep it busy.
    next_at = now + timedelta(seconds=max(min(pause, OTHERS_S), answer.retry_after or 0.0))
    Delivery.objects.filter(
        channel_id=taken.delivery.channel_id,
        state=Delivery.State.WAITING,
        next_at__lt=next_at,
        taken_until__isnull=True,
    ).update(next_at=next_at)
    return False


def pause_s(attempt: int, answer: Answer) -> float:
    """Seconds until the next try: longer each time, and no shorter than the other side asks for."""
    return max(float(BACKOFF_S[min(attempt, len(BACKOFF_S)) - 1]), answer.retry_after or 0.0)


def answer_words(answer: Answer) -> str:
    """What is kept of an answer: ``HTTP 200: ok``."""
    parts = [f"HTTP {answer.status}" if answer.status else "", answer.text]
    return ": ".join(part for part in parts if part)[:500] or ("taken" if answer.ok else "refused without a word")


def drop(delivery: Delivery) -> None:
    """Give up a message whose channel is switched off."""
    Delivery.objects.filter(pk=delivery.pk, state=Delivery.State.WAITING).update(
        state=Delivery.State.GIVEN_UP, taken_until=None, answer=DROPPED
    )


def forget(now: datetime, most: int = 1000) -> int:
    """Delete messages that were sent or given up long ago; answers how many. Their alerts stay."""
    old = Delivery.objects.filter(created_at__lt=now - KEEP).exclude(state=Delivery.State.WAITING)
    ids = list(old.order_by("pk").values_list("pk", flat=True)[:most])
    return Delivery.objects.filter(pk__in=ids).delete()[0] if ids else 0
