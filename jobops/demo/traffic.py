"""The demo's customers at work: small jobs from everybody, and one shop that floods its own queue.

Rates and backlogs are bounded. Whoever has many jobs waiting sends no more until some have run, so a demo that is
left alone for a week is as busy as on its first minute.
"""

from __future__ import annotations

import logging
import random
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from types import FrameType

import redis
from django.utils import timezone

from jobops.demo import jobs
from jobops.demo.cast import ACME, BLUEFIN, CINDER, DELTA, ORCHID, SHOPS, Shop
from jobops.demo.files import BOMB, BROKEN_PHOTO, CATALOGS, PHOTOS
from jobops.demo.models import Order
from jobops.demo.seed import ORDER_DAYS
from jobops.engine.errors import EngineError, EnqueueRefused
from jobops.engine.queues import read_queues
from jobops.runtime import get_engine

log = logging.getLogger(__name__)

FLOOD_QUEUE = (ACME.slug, "bulk")
FLOOD_SIZE = 4_000
"""Jobs waiting in the flooded queue after each burst."""
FLOOD_AGAIN_AT = 2_500
"""The next burst comes when fewer are left."""
FLOOD_CHUNK = 150
"""Jobs of a burst sent in one round, so that the others' are sent in between."""
BATCH_SIZE = 60
STOP_SENDING_AT = 300
"""A shop with more jobs waiting than this (the flood apart) sends no more."""
WIDTHS = (160, 320, 640)
LOOK_EVERY_S = 2.0
TICK_S = 0.1

Send = Callable[[random.Random, Shop], object]


@dataclass(frozen=True, slots=True)
class Stream:
    """Jobs that a shop sends by and by: so many a minute on average, at random moments."""

    shop: Shop
    per_minute: float
    send: Send


def thumbnail_on_screen(rng: random.Random, shop: Shop) -> object:
    """Somebody waits for this thumbnail: interactive lane."""
    using = jobs.make_thumbnail.using(tenant=shop.slug, lane="interactive")
    return using.enqueue(shop=shop.slug, photo=rng.choice(PHOTOS), width=rng.choice(WIDTHS))


def broken_thumbnail(rng: random.Random, shop: Shop) -> object:
    """A photo whose upload was cut off."""
    return jobs.make_thumbnail.using(tenant=shop.slug).enqueue(shop=shop.slug, photo=BROKEN_PHOTO, width=320)


def flood(rng: random.Random, shop: Shop, count: int) -> list[EnqueueRefused]:
    """Part of a burst: thumbnails of a catalog, and exports. Answers the refusals."""
    thumbnails = [
        {"shop": shop.slug, "photo": rng.choice(PHOTOS), "width": rng.choice(WIDTHS)} for _ in range(count // 2)
    ]
    exports = [
        {"shop": shop.slug, "export": rng.randrange(10**9), "since": _since(rng)} for _ in range(count - count // 2)
    ]
    answers = jobs.make_thumbnail.using(tenant=shop.slug).enqueue_many(thumbnails)
    answers += jobs.export_orders.using(tenant=shop.slug).enqueue_many(exports)
    return [answer for answer in answers if isinstance(answer, EnqueueRefused)]


def export(rng: random.Random, shop: Shop) -> object:
    """A CSV export of the last months."""
    using = jobs.export_orders.using(tenant=shop.slug)
    return using.enqueue(shop=shop.slug, export=rng.randrange(10**9), since=_since(rng))


def batch(rng: random.Random, shop: Shop) -> object:
    """A batch of an ordinary size, such as every shop has now and then."""
    for refusal in flood(rng, shop, BATCH_SIZE):
        raise refusal
    return None


def webhook(endpoint: str) -> Send:
    """Webhooks to one customer."""

    def send(rng: random.Random, shop: Shop) -> object:
        order = rng.randrange(1, shop.orders + 1)
        using = jobs.deliver_webhook.using(tenant=shop.slug)
        return using.enqueue(shop=shop.slug, endpoint=endpoint, event="order.paid", order=order)

    return send


def mail(rng: random.Random, shop: Shop) -> object:
    """An order's confirmation."""
    order = rng.randrange(1, shop.orders + 1)
    return jobs.send_order_mail.using(tenant=shop.slug).enqueue(
        shop=shop.slug, order=order, note=rng.choice(("", "Leave it with the neighbours, please."))
    )


def bad_mail(rng: random.Random, shop: Shop) -> object:
    """The confirmation of an order whose address does not exist."""
    orders = Order.objects.filter(shop=shop.slug, email__endswith="@nowhere.example")
    number = orders.values_list("number", flat=True).first()
    return jobs.send_order_mail.using(tenant=shop.slug).enqueue(shop=shop.slug, order=number or 1)


def no_vat_webhook(rng: random.Random, shop: Shop) -> object:
    """An order that the tax office will not take."""
    number = Order.objects.filter(shop=shop.slug, vat_id="").values_list("number", flat=True).first()
    return jobs.deliver_webhook.using(tenant=shop.slug).enqueue(
        shop=shop.slug, endpoint="tax-office", event="order.paid", order=number or 1
    )


def statement(rng: random.Random, shop: Shop) -> object:
    """A month's statement; the shop that sells in Swiss francs brings out the bug."""
    month = (timezone.localdate() - timedelta(days=rng.randrange(31, ORDER_DAYS - 31))).replace(day=1)
    return jobs.monthly_statement.using(tenant=shop.slug).enqueue(shop=shop.slug, month=month)


def catalog(rng: random.Random, shop: Shop) -> object:
    """A product catalog that fits into memory."""
    using = jobs.import_archive.using(tenant=shop.slug)
    return using.enqueue(shop=shop.slug, archive=rng.choice(CATALOGS))


def too_large_catalog(rng: random.Random, shop: Shop) -> object:
    """The archive that takes its worker with it."""
    return jobs.import_archive.using(tenant=shop.slug).enqueue(shop=shop.slug, archive=BOMB)


def _since(rng: random.Random) -> date:
    return timezone.localdate() - timedelta(days=rng.randrange(30, ORDER_DAYS))


STREAMS = (
    Stream(ACME, 20, mail),
    Stream(ACME, 40, webhook("crm")),
    Stream(ACME, 15, webhook("warehouse")),
    Stream(ACME, 1, statement),
    Stream(BLUEFIN, 20, thumbnail_on_screen),
    Stream(BLUEFIN, 15, mail),
    Stream(BLUEFIN, 20, webhook("ledger")),
    Stream(BLUEFIN, 20, webhook("crm")),
    Stream(BLUEFIN, 3, export),
    Stream(BLUEFIN, 0.4, batch),
    Stream(ORCHID, 15, thumbnail_on_screen),
    Stream(ORCHID, 0.5, broken_thumbnail),
    Stream(ORCHID, 4, catalog),
    Stream(ORCHID, 0.4, too_large_catalog),
    Stream(ORCHID, 10, webhook("warehouse")),
    Stream(DELTA, 6, webhook("tax-office")),
    Stream(DELTA, 6, webhook("ledger")),
    Stream(DELTA, 0.7, statement),
    Stream(DELTA, 4, mail),
    Stream(CINDER, 4, mail),
    Stream(CINDER, 1, webhook("old-shop")),
    Stream(CINDER, 1, export),
)
OPENING = (
    (ORCHID, too_large_catalog),
    (DELTA, statement),
    (ORCHID, broken_thumbnail),
    (ACME, bad_mail),
    (DELTA, no_vat_webhook),
    (CINDER, webhook("old-shop")),
    (ORCHID, catalog),
    (ACME, statement),
)
"""Sent once at the start, so that each thing that can happen has happened within the first minute."""


class Traffic:
    """Sends what is due. ``waiting`` answers how many jobs wait, by shop and lane."""

    def __init__(
        self,
        waiting: Callable[[], Mapping[tuple[str, str], int]],
        *,
        rng: random.Random | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rng = rng or random.Random()
        self._now = now
        self._read_waiting = waiting
        self._waiting: Mapping[tuple[str, str], int] = {}
        self._looked = float("-inf")
        self._due = {stream: now() + self._pause(stream) for stream in STREAMS}
        self._burst_left = 0
        self.sent = 0
        self.refused = 0

    def opening(self) -> None:
        """Send one of each thing that can happen."""
        for shop, send in OPENING:
            self._send(shop, send)

    def tick(self) -> None:
        """One round. Raises what reading the queues raises."""
        now = self._now()
        if now - self._looked >= LOOK_EVERY_S:
            self._waiting, self._looked = self._read_waiting(), now
            self._plan_burst()
        for stream in STREAMS:
            if self._due[stream] <= now:
                self._due[stream] = now + self._pause(stream)
                if self._backlog(stream.shop) < STOP_SENDING_AT:
                    self._send(stream.shop, stream.send)
        chunk = min(self._burst_left, FLOOD_CHUNK)
        self._burst_left -= chunk
        if chunk:
            refusals = flood(self._rng, ACME, chunk)
            self.sent += chunk - len(refusals)
            self.refused += len(refusals)

    def _plan_burst(self) -> None:
        flood = self._waiting.get(FLOOD_QUEUE, 0)
        if self._burst_left == 0 and flood < FLOOD_AGAIN_AT:
            self._burst_left = FLOOD_SIZE - flood

    def _backlog(self, shop: Shop) -> int:
        return sum(n for queue, n in self._waiting.items() if queue[0] == shop.slug and queue != FLOOD_QUEUE)

    def _pause(self, stream: Stream) -> float:
        return self._rng.expovariate(stream.per_minute / 60)

    def _send(self, shop: Shop, send: Send) -> None:
        try:
            send(self._rng, shop)
            self.sent += 1
        except EngineError as error:  # paused intake, depth limit, a tenant that somebody deleted
            self.refused += 1
            if self.refused & (self.refused - 1) == 0:  # the 1st, 2nd, 4th, 8th …
                log.warning("refused (%d so far): %s", self.refused, error)


def waiting_now() -> Mapping[tuple[str, str], int]:
    """How many jobs wait, by shop and lane."""
    queues = read_queues(get_engine(), [shop.slug for shop in SHOPS])
    return {(queue.tenant, queue.lane): queue.depth for queue in queues}


def send_until_stopped() -> None:
    """Send until SIGTERM or SIGINT."""
    stopping = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    traffic = Traffic(waiting_now)
    traffic.opening()
    while not stopping:
        try:
            traffic.tick()
        except redis.RedisError as error:
            log.warning("Redis is away: %s", error)
            time.sleep(1)
        time.sleep(TICK_S)
