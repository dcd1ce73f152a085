"""Letting it go wrong: as many deaths as asked for, of three causes, in all shops. They come from real jobs that fail.

* The payment provider goes down: each payment fails in three attempts with 503. Mending it on ``/demo/`` helps.
* The tax office takes no invoice without a VAT id: poison, which no replay helps.
* Exports of everything need more memory than they may have.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any

from django.utils import timezone

from jobops.audit.recording import Change, record
from jobops.context.models import OnceRecord
from jobops.contracts.job_type import JobType
from jobops.demo import control, jobs
from jobops.demo.cast import SHOPS, Shop
from jobops.demo.jobs import payment_key
from jobops.demo.models import Order
from jobops.engine.errors import EnqueueRefused
from tenants.models import Tenant
from tenants.services import Actor

DEATHS = 3_000
FEWEST, MOST = 30, 5_000
CAPTURE = jobs.capture_payment.job_type.name
EVERYTHING = 1_000_000
"""Rows of an export of everything: more than fit into its memory."""

SHARES = {"acme-retail": 25, "bluefin-travel": 31, "orchid-media": 30, "delta-freight": 12, "cinder-labs": 2}
"""Of the deaths, in percent, by shop."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One of the three. ``percent``: of the deaths; ``calls``: the arguments of endlessly many jobs of one shop."""

    job: Any
    percent: int
    calls: Callable[[str, random.Random], Iterator[Mapping[str, Any]]]

    @property
    def job_type(self) -> JobType:
        """What dies."""
        found: JobType = self.job.job_type
        return found


@dataclass(slots=True)
class Sent:
    """How many jobs were sent, by job type; and how many were refused in all shops."""

    by_type: dict[str, int] = field(default_factory=dict)
    refused: int = 0

    @property
    def total(self) -> int:
        """All that were sent."""
        return sum(self.by_type.values())


def let_it_go_wrong(*, deaths: int, by: Actor) -> Sent:
    """Break the payment provider and send the jobs that will die: fewer, where a shop has no more orders to pay.

    Raises ``ValueError`` for a number that is not offered, ``control.ServerAway``, and what the engine raises.
    """
    if not FEWEST <= deaths <= MOST:
        raise ValueError(f"{deaths:,} deaths: use a number from {FEWEST} to {MOST:,}")
    control.set_mode("payments", "broken")
    known = set(Tenant.objects.filter(slug__in=SHARES).values_list("slug", flat=True))
    shops = [shop for shop in SHOPS if shop.slug in known]
    sent = Sent()
    # Before they die, so that whoever looks for what died since then finds all of them.
    record(by, Change("demo.incident", "demo", str(deaths)))
    for cause, count in zip(CAUSES, split(deaths, [cause.percent for cause in CAUSES]), strict=True):
        _send(cause, count, shops, sent)
    return sent


def split(whole: int, parts: Sequence[int]) -> list[int]:
    """``whole`` in these proportions, as whole numbers that add up to it; what is left over goes to the first."""
    shares = [whole * part // sum(parts) for part in parts]
    shares[0] += whole - sum(shares)
    return shares


def _send(cause: Cause, count: int, shops: Sequence[Shop], sent: Sent) -> None:
    """What one shop's full queue refuses is sent for the next one; what all refuse is not sent."""
    rng, left = random.Random(), 0
    # Who may have most waiting comes last, and takes what the others could not.
    ordered = sorted(shops, key=lambda shop: shop.depth_limit or MOST * 10)
    shares = split(count, [SHARES[shop.slug] for shop in ordered]) if ordered else []
    for shop, share in zip(ordered, shares, strict=True):
        wanted = share + left
        calls = list(islice(cause.calls(shop.slug, rng), wanted))
        answers = cause.job.using(tenant=shop.slug, lane="interactive").enqueue_many(calls) if calls else []
        taken = sum(not isinstance(answer, EnqueueRefused) for answer in answers)
        left = wanted - taken
        sent.by_type[cause.job_type.name] = sent.by_type.get(cause.job_type.name, 0) + taken
    sent.refused += left if ordered else count


def _payments(shop: str, rng: random.Random) -> Iterator[Mapping[str, Any]]:
    # An order that is paid already succeeds at once: its guard remembers it.
    paid = set(OnceRecord.objects.filter(tenant=shop, job_type=CAPTURE).values_list("key", flat=True))
    orders = Order.objects.filter(shop=shop).values_list("number", flat=True)
    numbers = [number for number in orders if payment_key(shop, number, "") not in paid]
    rng.shuffle(numbers)
    for number in numbers:
        yield {"shop": shop, "order": number, "card_token": f"tok_{rng.randrange(10**9):09}"}


def _invoices(shop: str, rng: random.Random) -> Iterator[Mapping[str, Any]]:
    numbers = list(Order.objects.filter(shop=shop, vat_id="").values_list("number", flat=True))
    rng.shuffle(numbers)
    for number in cycle(numbers):
        yield {"shop": shop, "order": number}


def _exports(shop: str, rng: random.Random) -> Iterator[Mapping[str, Any]]:
    while True:
        yield {"shop": shop, "export": rng.randrange(10**9), "since": timezone.localdate(), "limit": EVERYTHING}


CAUSES = (
    Cause(jobs.capture_payment, 60, _payments),
    Cause(jobs.report_invoice, 25, _invoices),
    Cause(jobs.export_orders, 15, _exports),
)
