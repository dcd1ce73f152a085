"""The demo's job types: real work on real files, rows and sockets, with full contracts.

Some of them fail for good by design. `billing.monthly_statement` has a bug that certain rows bring out,
`catalog.import_archive` reads an archive into memory whole, which for one archive is more than its worker may have, and
so may be an export of everything; and the tax office takes no order without a VAT id.
"""

from __future__ import annotations

import csv
import io
import json
import smtplib
import urllib.error
import urllib.request
import zipfile
from collections import defaultdict
from datetime import date, timedelta
from decimal import Decimal
from email.message import EmailMessage
from pathlib import PurePosixPath
from typing import Any

from django.conf import settings
from django.db import OperationalError
from django.db.models import Count, Sum
from PIL import Image, UnidentifiedImageError

from jobops import Backoff, Discard, Poison, RetryLater, job
from jobops.demo.memory import memory_limit
from jobops.demo.models import Order, Statement
from jobops.demo.places import Places
from jobops.demo.results import fresh_file, keep_newest

SOCKET_TIMEOUT_S = 5.0
EXPORTS_KEPT = 25
"""Newest exports kept for each shop."""
EXPORT_MEMORY_BYTES = 64 * 1024 * 1024
EXPORT_ROW_BYTES = 400
IMPORT_MEMORY_BYTES = 160 * 1024 * 1024
_EUROS = {"EUR": Decimal(1), "USD": Decimal("0.92"), "GBP": Decimal("1.17"), "SEK": Decimal("0.088")}


@job(
    name="media.make_thumbnail",
    owner="media",
    drain_sla="8h",
    idempotent="the same photo and width give the same file, which appears whole or not at all",
    lane="bulk",
    max_attempts=4,
    backoff=Backoff.exponential(base="2s", cap="1m"),
    timeout="20s",
    poison_on=[UnidentifiedImageError, "image file is truncated"],
)
def make_thumbnail(shop: str, photo: str, width: int) -> dict[str, int]:
    """Scale a photo down, keep the result as a file, and put it into the store."""
    with Image.open(_places().sources / _plain(photo)) as image:
        image.draft("RGB", (width, width))
        image.thumbnail((width, width))
        data = io.BytesIO()
        image.save(data, "JPEG", quality=80, optimize=True)
        name = f"{PurePosixPath(photo).stem}-{width}.jpg"
        with fresh_file(_places().results("thumbnails", shop) / name) as file:
            file.write(data.getvalue())
        _request("PUT", f"files/thumbnails/{shop}/{name}", data.getvalue(), "image/jpeg")
        return {"width": image.width, "height": image.height, "bytes": len(data.getvalue())}


@job(
    name="exports.export_orders",
    owner="data-exports",
    drain_sla="4h",
    idempotent="an export's number names its file, which appears whole or not at all",
    lane="bulk",
    max_attempts=4,
    backoff=Backoff.exponential(base="2s", cap="2m"),
    timeout="30s",
    retry_on=[OSError, OperationalError],
    poison_on=[MemoryError],
)
def export_orders(shop: str, export: int, since: date, limit: int = 2_000) -> dict[str, int]:
    """Write a shop's orders since a day to a CSV file, and put it into the store. Only the newest files are kept."""
    _reserve(limit)
    columns = ("number", "placed_on", "customer", "email", "country", "currency", "items", "total")
    orders = Order.objects.filter(shop=shop, placed_on__gte=since).order_by("placed_on", "number")
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    rows = 0
    for row in orders.values_list(*columns)[:limit].iterator(chunk_size=500):
        writer.writerow(row)
        rows += 1
    data = text.getvalue().encode()
    folder = _places().results("exports", shop)
    with fresh_file(folder / f"orders-{export}.csv") as file:
        file.write(data)
    keep_newest(folder, EXPORTS_KEPT)
    _request("PUT", f"files/exports/{shop}/orders-{export}.csv", data, "text/csv")
    return {"rows": rows, "bytes": len(data)}


@job(
    name="webhooks.deliver",
    owner="integrations",
    drain_sla="2h",
    idempotent="carries the event's id, by which receivers know a second delivery",
    lane="interactive",
    max_attempts=6,
    backoff=Backoff.exponential(base="2s", cap="30s"),
    timeout="10s",
    retry_on=[429, 502, 503, 504],
    poison_on=[400, 404],
    discard_on=[410],
)
def deliver_webhook(shop: str, endpoint: str, event: str, order: int) -> int:
    """Tell a customer's server about an order; answers the HTTP status. A deleted order is not told."""
    found = Order.objects.filter(shop=shop, number=order).first()
    if found is None:
        raise Discard(f"order {order} of {shop} is gone")
    body = {
        "event": event,
        "order": found.number,
        "placed_on": found.placed_on.isoformat(),
        "total": str(found.total),
        "currency": found.currency,
        "vat_id": found.vat_id,
    }
    return _request("POST", f"hooks/{_plain(endpoint)}", json.dumps(body).encode(), "application/json")


def payment_key(shop: str, order: int, card_token: str) -> str:
    """An order is paid once, whichever card pays it."""
    return f"{shop}:{order}"


@job(
    name="billing.capture_payment",
    owner="payments",
    drain_sla="4h",
    idempotent="captures by order number, and the provider ignores a second capture",
    guard=payment_key,
    lane="interactive",
    max_attempts=3,
    backoff=Backoff.delays(["2s", "4s"], jitter="full"),
    timeout="10s",
    retry_on=[429, 502, 503, 504],
    poison_on=[400, 404],
    redact=["card_token"],
)
def capture_payment(shop: str, order: int, card_token: str) -> int:
    """Take the money for an order from the payment provider; answers the HTTP status."""
    found = Order.objects.filter(shop=shop, number=order).first()
    if found is None:
        raise Discard(f"order {order} of {shop} is gone")
    body = {"order": found.number, "total": str(found.total), "currency": found.currency, "card": card_token}
    return _request("POST", "hooks/payments", json.dumps(body).encode(), "application/json")


@job(
    name="billing.report_invoice",
    owner="integrations",
    drain_sla="8h",
    idempotent="reports by order number, and the tax office knows a second report by it",
    lane="interactive",
    max_attempts=4,
    backoff=Backoff.exponential(base="2s", cap="30s"),
    timeout="10s",
    retry_on=[429, 502, 503, 504],
    poison_on=[400],
)
def report_invoice(shop: str, order: int) -> int:
    """Report an order's invoice to the tax office, which takes none without a VAT id; answers the HTTP status."""
    found = Order.objects.filter(shop=shop, number=order).first()
    if found is None:
        raise Discard(f"order {order} of {shop} is gone")
    body = {"order": found.number, "total": str(found.total), "currency": found.currency, "vat_id": found.vat_id}
    return _request("POST", "hooks/tax-office", json.dumps(body).encode(), "application/json")


@job(
    name="mail.send_order_mail",
    owner="messaging",
    drain_sla="1h",
    idempotent="its Message-ID is made from the order, so mail programs show a second copy once",
    lane="interactive",
    max_attempts=5,
    backoff=Backoff.delays(["3s", "5s", "30s", "2m"], jitter="full"),
    timeout="10s",
    resource="mail-provider",
    concurrency=1,
    rate="3/s",
    redact=["note"],
)
def send_order_mail(shop: str, order: int, note: str = "") -> str:
    """Send the confirmation of an order by SMTP; answers the recipient's domain."""
    found = Order.objects.filter(shop=shop, number=order).first()
    if found is None:
        raise Discard(f"order {order} of {shop} is gone")
    message = EmailMessage()
    message["From"] = f"orders@{shop}.example"
    message["To"] = found.email
    message["Subject"] = f"Your order {found.number}"
    message["Message-ID"] = f"<order-{found.number}@{shop}.example>"
    message.set_content(
        f"Dear {found.customer},\n\nthank you: {found.items} items, {found.total} {found.currency}.\n{note}\n"
    )
    services = _places().services()
    try:
        with smtplib.SMTP(services.mail_host, services.mail_port, timeout=SOCKET_TIMEOUT_S) as server:
            server.send_message(message)
    except smtplib.SMTPRecipientsRefused as error:
        code, text = next(iter(error.recipients.values()))
        said = f"{found.email} was refused: {code} {text.decode('utf-8', 'replace')}"
        raise (Poison(said) if code >= 500 else RetryLater(said)) from error
    return found.email.rpartition("@")[2]


@job(
    name="billing.monthly_statement",
    owner="billing",
    drain_sla="4h",
    idempotent="one row for each shop and month, replaced",
    lane="bulk",
    max_attempts=3,
    backoff=Backoff.delays(["1s", "4s"], jitter="full"),
    timeout="20s",
    retry_on=OperationalError,
)
def monthly_statement(shop: str, month: date) -> dict[str, str]:
    """Add up a shop's month in euros. It knows four currencies, and its shops sell in five."""
    until = (month.replace(day=1) + timedelta(days=32)).replace(day=1)
    rows = (
        Order.objects.filter(shop=shop, placed_on__gte=month.replace(day=1), placed_on__lt=until)
        .values("currency")
        .annotate(orders=Count("id"), total=Sum("total"))
    )
    counts: dict[str, int] = defaultdict(int)
    total = Decimal(0)
    for row in rows:
        total += row["total"] * _EUROS[row["currency"]]
        counts[row["currency"]] += row["orders"]
    total = total.quantize(Decimal("0.01"))
    Statement.objects.update_or_create(
        shop=shop, month=month.replace(day=1), defaults={"orders": sum(counts.values()), "total_eur": total}
    )
    return {"total_eur": str(total)}


@job(
    name="catalog.import_archive",
    owner="catalog",
    drain_sla="1d",
    idempotent="reads an archive and answers what is in it; writes nothing",
    lane="bulk",
    max_attempts=2,
    backoff=Backoff.fixed("2s", jitter="full"),
    timeout="30s",
)
def import_archive(shop: str, archive: str) -> dict[str, Any]:
    """Read a product catalog from a ZIP archive, all at once: more than its worker's memory for one archive."""
    with memory_limit(IMPORT_MEMORY_BYTES), zipfile.ZipFile(_places().sources / _plain(archive)) as opened:
        text = opened.read("products.csv").decode()
        stock = [int(row["stock"]) for row in csv.DictReader(io.StringIO(text))]
    return {"products": len(stock), "in_stock": sum(1 for count in stock if count)}


def _places() -> Places:
    return Places(settings.HOME_DIR)


def _reserve(rows: int) -> None:
    """Have the memory that so many rows may need, before any is read: half an export helps nobody."""
    needed = rows * EXPORT_ROW_BYTES
    if needed > EXPORT_MEMORY_BYTES:
        may = EXPORT_MEMORY_BYTES // 2**20
        raise MemoryError(f"an export of {rows:,} rows needs {needed // 2**20} MiB, and may have {may} MiB")


def _plain(name: str) -> str:
    """A name without a path in it: arguments come from outside."""
    if not name or "/" in name or name.startswith("."):
        raise Poison(f"{name!r} is not a plain name")
    return name


def _request(method: str, path: str, data: bytes, content_type: str) -> int:
    """Send a request to the demo's local server; answers the status. `HTTPError` for 4xx and 5xx."""
    url = f"{_places().services().receiver_url}/{path}"
    headers = {"Content-Type": content_type}
    request = urllib.request.Request(url, data=data, method=method, headers=headers)  # noqa: S310 (our own server)
    # Loopback only: a proxy of the environment has no business here.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=SOCKET_TIMEOUT_S) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        # What the server said is what a person at three in the morning needs.
        with error:
            body = error.read(200)
        said = f"{error.reason}: {body.decode('utf-8', 'replace')}"
        raise urllib.error.HTTPError(url, error.code, said, error.headers, io.BytesIO(body)) from None
