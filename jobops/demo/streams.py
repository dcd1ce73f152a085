"""What the demo's shops send: each kind of job as a function, and who sends how many of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from django.utils import timezone

from jobops import Batch
from jobops.demo import jobs
from jobops.demo.cast import ACME, BLUEFIN, CINDER, DELTA, ORCHID, Shop
from jobops.demo.files import BOMB, BROKEN_PHOTO, CATALOGS, PHOTOS
from jobops.demo.models import Order
from jobops.demo.seed import ORDER_DAYS
from jobops.engine.errors import EnqueueRefused

BATCH_SIZE = 60
WIDTHS = (160, 320, 640)

Send = Callable[[random.Random, Shop], object]


@dataclass(frozen=True, slots=True)
class Stream:
    """Jobs that a shop sends by and by: so many a minute on average, at random moments. ``pays``: they need the payment
    provider."""

    shop: Shop
    per_minute: float
    send: Send
    pays: bool = False


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


def nightly_import(rng: random.Random, shop: Shop) -> object:
    """All catalogs of a shop and a photo, waited for as one, and the month's statement when all have succeeded. The
    photo's upload was cut off, so it waits for a person."""
    month = (timezone.localdate() - timedelta(days=31)).replace(day=1)
    then = jobs.monthly_statement.using(tenant=shop.slug).call(shop=shop.slug, month=month)
    with Batch(tenant=shop.slug, name=f"Nightly import {timezone.localdate()}", then=then) as nightly:
        nightly.add_many(jobs.import_archive, ({"shop": shop.slug, "archive": archive} for archive in CATALOGS))
        nightly.add(jobs.make_thumbnail, shop=shop.slug, photo=BROKEN_PHOTO, width=320)
    return None


def webhook(endpoint: str) -> Send:
    """Webhooks to one customer."""

    def send(rng: random.Random, shop: Shop) -> object:
        order = rng.randrange(1, shop.orders + 1)
        using = jobs.deliver_webhook.using(tenant=shop.slug)
        return using.enqueue(shop=shop.slug, endpoint=endpoint, event="order.paid", order=order)

    return send


def payment(rng: random.Random, shop: Shop) -> object:
    """Money for an order."""
    order = rng.randrange(1, shop.orders + 1)
    using = jobs.capture_payment.using(tenant=shop.slug)
    return using.enqueue(shop=shop.slug, order=order, card_token=f"tok_{rng.randrange(10**9):09}")


def invoice(rng: random.Random, shop: Shop) -> object:
    """An invoice that the tax office takes."""
    numbers = Order.objects.filter(shop=shop.slug).exclude(vat_id="").values_list("number", flat=True)
    return jobs.report_invoice.using(tenant=shop.slug).enqueue(shop=shop.slug, order=rng.choice(numbers[:50] or [1]))


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
    Stream(ACME, 6, payment, pays=True),
    Stream(BLUEFIN, 20, thumbnail_on_screen),
    Stream(BLUEFIN, 15, mail),
    Stream(BLUEFIN, 20, webhook("ledger")),
    Stream(BLUEFIN, 20, webhook("crm")),
    Stream(BLUEFIN, 3, export),
    Stream(BLUEFIN, 4, payment, pays=True),
    Stream(BLUEFIN, 3, invoice),
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
    (DELTA, invoice),
    (CINDER, webhook("old-shop")),
    (ACME, payment),
    (BLUEFIN, payment),
    (CINDER, payment),
    (ORCHID, catalog),
    (ACME, statement),
    (ORCHID, nightly_import),
)
"""Sent once at the start, so that each thing that can happen has happened within the first minute."""
