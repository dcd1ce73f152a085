"""Deliveries are sent once, in order, again after a failure, and each channel apart from the others."""

from __future__ import annotations

import json
import threading
import time
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from jobops.alerts import channels, deliveries, sending
from jobops.alerts.channels import posting
from jobops.alerts.channels.answers import Answer
from jobops.alerts.deliveries import BACKOFF_S, LINE, MOST_ATTEMPTS, TAKE
from jobops.alerts.models import Delivery
from jobops.alerts.sending import send_due
from tests.alerts.channels.conftest import alert_of, channel_of, delivery_of
from tests.alerts.channels.sink import Sink, sink

pytestmark = pytest.mark.django_db
State = Delivery.State


def events(receiver: Sink) -> list[str]:
    return [got.headers["Idempotency-Key"] for got in receiver.got]


def later(seconds: float) -> None:
    """As if so much time had gone by."""
    gone = timedelta(seconds=seconds)
    for row in Delivery.objects.all():
        taken = row.taken_until - gone if row.taken_until else None
        Delivery.objects.filter(pk=row.pk).update(next_at=row.next_at - gone, taken_until=taken)


def test_what_is_due_is_sent_once_and_kept_with_its_answer(receiver: Sink) -> None:
    row = delivery_of(channel_of(f"{receiver.url}/hook"), alert_of())
    assert send_due() == 1
    row.refresh_from_db()
    assert (row.state, row.attempts, row.answer) == (State.SENT, 1, "HTTP 200: ok")
    assert row.sent_at is not None
    assert row.taken_until is None
    assert send_due() == 0
    assert events(receiver) == [row.key]


def test_nothing_is_sent_before_its_time(receiver: Sink) -> None:
    delivery_of(channel_of(receiver.url), alert_of(), next_at=timezone.now() + timedelta(minutes=1))
    assert send_due() == 0
    assert receiver.got == []


def test_a_failure_is_tried_again_later_and_later_and_given_up_in_the_end(
    receiver: Sink, caplog: pytest.LogCaptureFixture
) -> None:
    row = delivery_of(channel_of(f"{receiver.url}/s3cr3t-token"), alert_of())
    receiver.status, receiver.body = 500, b"s3cr3t-token is not well"
    for attempt in range(1, MOST_ATTEMPTS + 1):
        before = timezone.now()
        assert send_due() == 1
        row.refresh_from_db()
        assert row.attempts == attempt
        if attempt < MOST_ATTEMPTS:
            assert row.state == State.WAITING
            assert (row.next_at - before).total_seconds() == pytest.approx(BACKOFF_S[attempt - 1], abs=5)
            assert send_due() == 0
            later(BACKOFF_S[attempt - 1] + 10)
    assert row.state == State.GIVEN_UP
    assert row.answer.startswith("HTTP 500")
    assert sum("gave up a message after 10 tries" in record.message for record in caplog.records) == 1
    assert "s3cr3t" not in row.answer + caplog.text
    assert len(set(events(receiver))) == 1  # one key for every try: the receiver can tell


def test_it_waits_as_long_as_the_other_side_asks_and_no_shorter_than_it_would(receiver: Sink) -> None:
    row = delivery_of(channel_of(receiver.url), alert_of())
    receiver.status, receiver.headers = 429, {"Retry-After": "900"}
    before = timezone.now()
    send_due()
    row.refresh_from_db()
    assert (row.next_at - before).total_seconds() == pytest.approx(900, abs=5)
    assert deliveries.pause_s(5, Answer(False, retry_after=1.0)) == BACKOFF_S[4]


def test_an_end_waits_for_its_beginning(receiver: Sink) -> None:
    """An incident that is ended before it is opened would stay open for ever."""
    channel, alert = channel_of(receiver.url), alert_of()
    fired = delivery_of(channel, alert)
    receiver.status = 500
    send_due()
    resolved = delivery_of(channel, alert, "resolved")
    other = delivery_of(channel, alert_of(key="another"), "fired")
    receiver.status, receiver.got = 200, []
    assert send_due() == 1
    assert events(receiver) == [other.key]
    later(BACKOFF_S[0] + 5)
    while send_due():
        pass
    assert events(receiver) == [other.key, fired.key, resolved.key]


def test_an_end_waits_for_its_beginning_also_where_many_do(receiver: Sink) -> None:
    """A receiver was away for all of an outage: the ends, none of which was tried, must not fill the whole line."""
    channel = channel_of(receiver.url)
    alerts = [alert_of(key=f"k{number}") for number in range(LINE + 10)]
    for alert in alerts:
        delivery_of(channel, alert, attempts=1)
    for alert in alerts:
        delivery_of(channel, alert, "resolved")
    while send_due():
        pass
    assert Delivery.objects.filter(state=State.SENT).count() == 2 * len(alerts)


def test_the_next_episode_of_a_subject_waits_for_the_end_of_the_last(receiver: Sink) -> None:
    """Both are one incident to PagerDuty: a late end would close the one that is open."""
    channel = channel_of(receiver.url, "pagerduty")
    over = alert_of(state="resolved", resolved_at=timezone.now())
    delivery_of(channel, over, "resolved", attempts=3, next_at=timezone.now() + timedelta(seconds=120))
    delivery_of(channel, alert_of())
    assert send_due() == 0
    later(121)
    while send_due():
        pass
    assert [json.loads(got.body)["event_action"] for got in receiver.got] == ["resolve", "trigger"]


def test_a_message_that_nobody_takes_keeps_no_other_waiting(receiver: Sink) -> None:
    channel = channel_of(receiver.url)
    bad = delivery_of(channel, alert_of())

    def picky(handler: Any) -> None:
        handler.send_response(400 if handler.headers["Idempotency-Key"] == bad.key else 200)
        handler.end_headers()

    receiver.answers = picky
    send_due()
    good = [delivery_of(channel, alert_of(key=f"k{number}")) for number in range(8)]
    for _ in range(4):
        send_due()
        later(70)
    states = Delivery.objects.filter(pk__in=[row.pk for row in good]).values_list("state", flat=True)
    assert set(states) == {State.SENT}


def test_a_channel_that_is_away_is_asked_now_and_then_and_not_for_each_message(receiver: Sink) -> None:
    channel = channel_of(receiver.url)
    rows = [delivery_of(channel, alert_of(key=f"k{number}")) for number in range(30)]
    receiver.status = 503
    for _ in range(5):
        send_due()
    assert len(receiver.got) == 1
    receiver.status = 200
    later(70)
    for _ in range(10):
        send_due()
    assert Delivery.objects.filter(state=State.SENT).count() == len(rows)


def test_a_killed_sender_is_followed_and_the_receiver_can_tell(receiver: Sink) -> None:
    """MA-05: killed in mid-send, after the other side had it: the next one sends it again under the same key."""
    row = delivery_of(channel_of(receiver.url), alert_of())
    now = timezone.now()
    taken = deliveries.take(deliveries.due(now, 10)[0], now)
    assert taken is not None
    channels.send(row.channel, {**row.message, "id": row.key})  # and then it is gone
    assert send_due() == 0
    later(TAKE.total_seconds() + 1)
    assert send_due() == 1
    row.refresh_from_db()
    assert (row.state, row.attempts) == (State.SENT, 2)
    assert len(set(events(receiver))) == 1


def test_two_senders_share_what_is_due(receiver: Sink) -> None:
    """Both have read the same rows: each row is taken by one of them."""
    channel = channel_of(receiver.url)
    for number in range(6):
        delivery_of(channel, alert_of(key=f"k{number}"))
    now = timezone.now()
    both = [deliveries.due(now, 10), deliveries.due(now, 10)]
    taken = [deliveries.take(row, now) for rows in both for row in rows]
    assert sum(each is not None for each in taken) == 6


def test_what_is_sent_late_stays_sent(receiver: Sink) -> None:
    """The first sender was taken for dead, and the second one failed: neither undoes that it arrived."""
    row = delivery_of(channel_of(receiver.url), alert_of())
    now = timezone.now()
    first = deliveries.take(deliveries.due(now, 1)[0], now)
    later(TAKE.total_seconds() + 1)
    second = deliveries.take(deliveries.due(timezone.now(), 1)[0], timezone.now())
    assert first is not None
    assert second is not None
    deliveries.settle(first, Answer(True, 200, "ok"), timezone.now())
    deliveries.settle(second, Answer(False, 500, "no"), timezone.now())
    row.refresh_from_db()
    assert (row.state, row.answer) == (State.SENT, "HTTP 200: ok")


def test_the_failure_of_one_that_was_taken_over_counts_no_more(receiver: Sink) -> None:
    row = delivery_of(channel_of(receiver.url), alert_of())
    now = timezone.now()
    first = deliveries.take(deliveries.due(now, 1)[0], now)
    later(TAKE.total_seconds() + 1)
    second = deliveries.take(deliveries.due(timezone.now(), 1)[0], timezone.now())
    assert first is not None
    assert second is not None
    deliveries.settle(first, Answer(False, 500, "no"), timezone.now())
    row.refresh_from_db()
    assert row.taken_until is not None  # the second one still has it


def test_a_message_that_kills_its_sender_is_given_up_too(receiver: Sink) -> None:
    row = delivery_of(channel_of(receiver.url), alert_of())
    for _ in range(MOST_ATTEMPTS):
        now = timezone.now()
        assert deliveries.take(deliveries.due(now, 1)[0], now) is not None
        later(TAKE.total_seconds() + 1)
    send_due()
    row.refresh_from_db()
    assert (row.state, row.answer) == (State.GIVEN_UP, deliveries.ABANDONED)
    assert receiver.got == []


def test_a_hanging_channel_keeps_no_other_channel_waiting(receiver: Sink, settings: Any) -> None:
    with sink() as other:
        settings.JOBOPS_ALERT_ALLOW_PRIVATE_SINK = [receiver.url, other.url]
        receiver.waits.clear()
        hanging = delivery_of(channel_of(receiver.url), alert_of())
        good = [delivery_of(channel_of(other.url, name="good"), alert_of(key=f"k{n}")) for n in range(1)]
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(posting, "TIMEOUT_S", 0.5)
            begun = time.monotonic()
            assert send_due() == 2
            assert time.monotonic() - begun < 5
        assert len(other.got) == len(good)
    hanging.refresh_from_db()
    assert (hanging.state, hanging.attempts) == (State.WAITING, 1)
    assert "answer within" in hanging.answer


def test_a_channel_that_hangs_beyond_all_limits_is_left_behind(receiver: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(*args: object) -> Answer:
        let_go.wait(60)
        return Answer(True)

    let_go = threading.Event()
    monkeypatch.setattr(sending, "PATIENCE_S", 0.3)
    monkeypatch.setitem(channels.SENDERS, "webhook", hangs)
    channel = channel_of(receiver.url)
    rows = [delivery_of(channel, alert_of(key=f"k{n}")) for n in range(2)]
    begun = time.monotonic()
    assert send_due() == 1
    assert time.monotonic() - begun < 5
    let_go.set()
    for row in rows:
        row.refresh_from_db()
    assert [(row.attempts, row.taken_until) for row in rows] == [(1, None), (0, None)]
    assert rows[0].answer == sending.TOO_SLOW


def test_what_waits_for_a_channel_that_is_off_is_given_up(receiver: Sink) -> None:
    row = delivery_of(channel_of(receiver.url, enabled=False), alert_of())
    assert send_due() == 0
    row.refresh_from_db()
    assert (row.state, row.answer) == (State.GIVEN_UP, deliveries.DROPPED)
    assert receiver.got == []


def test_one_channels_flood_does_not_shut_out_another(receiver: Sink) -> None:
    flood, quiet = channel_of(receiver.url), channel_of(receiver.url, name="quiet")
    for number in range(60):
        delivery_of(flood, alert_of(key=f"k{number}"))
    row = delivery_of(quiet, alert_of(key="quiet"))
    send_due(10)
    row.refresh_from_db()
    assert row.state == State.SENT


def test_reading_what_is_due_is_one_query(receiver: Sink, django_assert_num_queries: Any) -> None:
    for number in range(12):
        delivery_of(channel_of(receiver.url, name=f"c{number}"), alert_of(key=f"k{number}"))
    with django_assert_num_queries(1):
        assert len(deliveries.due(timezone.now(), 40)) == 12


def test_old_messages_are_forgotten_and_waiting_ones_never(receiver: Sink) -> None:
    channel, alert = channel_of(receiver.url), alert_of()
    old = timezone.now() - timedelta(days=91)
    rows = [delivery_of(channel, alert, state=state, created_at=old) for state in State.values]
    fresh = delivery_of(channel, alert, state=State.SENT)
    assert deliveries.forget(timezone.now()) == 2
    left = set(Delivery.objects.values_list("pk", flat=True))
    assert left == {fresh.pk, rows[State.values.index("waiting")].pk}
