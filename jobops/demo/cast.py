"""Who plays in the demo: five shops of very different size, and the people who look after them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shop:
    """A tenant. ``orders``: how many rows of its own it has."""

    slug: str
    name: str
    orders: int
    weight: float
    cap: int | None
    depth_limit: int | None
    currencies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Account:
    """A person. ``role``: a staff group's name, "admin" or "viewer" of ``shop``, or "superuser"."""

    username: str
    role: str
    may: str
    shop: str = ""


ACME = Shop("acme-retail", "Acme Retail", 12_000, 4, 2, 5_000, ("EUR", "USD"))
BLUEFIN = Shop("bluefin-travel", "Bluefin Travel", 6_000, 2, 2, 2_000, ("EUR", "GBP"))
ORCHID = Shop("orchid-media", "Orchid Media", 2_500, 2, 1, None, ("EUR", "USD", "SEK"))
DELTA = Shop("delta-freight", "Delta Freight", 900, 1, 1, 500, ("EUR", "CHF"))
CINDER = Shop("cinder-labs", "Cinder Labs", 60, 1, 1, 100, ("EUR",))
SHOPS = (ACME, BLUEFIN, ORCHID, DELTA, CINDER)

ACCOUNTS = (
    Account("oncall", "on call", "triage for every tenant"),
    Account("operator", "operator", "pause and limit anything: /limits/, manage.py tenants set"),
    Account("acme-admin", "admin", "see, pause and replay acme-retail, nothing else", ACME.slug),
    Account("acme-viewer", "viewer", "see acme-retail, nothing else", ACME.slug),
    Account("superuser", "superuser", "do everything"),
)
