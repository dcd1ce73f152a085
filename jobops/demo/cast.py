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


@dataclass(frozen=True, slots=True)
class Crew:
    """A team. ``members``: accounts; ``escalates_to``: told when nobody has acknowledged an alert for ``after_min``
    minutes; ``has_mail``: it is told by e-mail, and not through the default team."""

    name: str
    about: str
    members: tuple[str, ...]
    escalates_to: str = ""
    after_min: int = 30
    has_mail: bool = False


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

OPERATIONS = "operations"
CREWS = (
    Crew(OPERATIONS, "Keeps the platform running; owns what nobody else does", ("operator",), has_mail=True),
    Crew("payments", "Takes the shops' money", ("oncall",), OPERATIONS, after_min=10, has_mail=True),
    Crew("billing", "Invoices, statements and taxes", ("oncall",), OPERATIONS, has_mail=True),
    Crew("data-exports", "Exports and reports for the shops", ("oncall", "operator"), OPERATIONS, has_mail=True),
    Crew("integrations", "Webhooks to the shops' other systems", ("operator",), OPERATIONS),
    Crew("messaging", "Mail to the shops' customers", ("operator",)),
    Crew("media", "Photos", ("operator",)),
    Crew("catalog", "Product catalogs", ("operator",)),
)
"""Whom contracts and rules name. The first ones hear of what `jobops.demo.incident` lets go wrong."""

RULES = """\
# Who drains what. The last line that fits is in force; what none fits belongs to the team of its job type's contract.
job=media.* -> media sla=1d severity=low
job=billing.capture_payment -> payments sla=2h severity=high
# What the tax office does not take is a matter of the invoice's data, and not of the line to the tax office.
job=billing.report_invoice reason=poison -> billing sla=8h
job=exports.* -> data-exports sla=4h
"""
