"""Fills the demo's own database: shops, orders, accounts. Nothing else in the project makes an account.

Running it again adds what is missing and leaves the rest as people have changed it.
"""

from __future__ import annotations

import json
import os
import random
import secrets
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import connection, transaction
from django.utils import timezone

from jobops.demo.cast import ACCOUNTS, SHOPS, Account, Shop
from jobops.demo.files import make_sources
from jobops.demo.models import Order
from jobops.demo.places import Places
from tenants.models import Membership, Tenant
from tenants.services import tenant_create

ORDER_DAYS = 400
"""Orders lie within so many days before the day they were made."""
_COUNTRIES = ("DE", "FR", "NL", "SE", "GB", "CH", "US")
_FIRST = ("Ada", "Grace", "Edsger", "Barbara", "Alan", "Radia", "Donald", "Frances", "Niklaus", "Katherine")
_LAST = ("Okafor", "Lindqvist", "Moreau", "Tanaka", "Weber", "Silva", "Novak", "Haddad", "Kowalski", "Byrne")
_MAIL = ("mail.example", "post.example", "slow-post.example", "nowhere.example")
_MAIL_WEIGHTS = (60, 23, 15, 2)


class NotTheDemo(RuntimeError):
    """The demo's accounts must not be made here."""


def seed(places: Places) -> Mapping[str, str]:
    """Make the demo's files, tenants, orders and accounts; answers the accounts' passwords by user name.

    Raises `NotTheDemo` on any database but the demo's own.
    """
    _refuse_elsewhere(places)
    make_sources(places.sources)
    for shop in SHOPS:
        if not Tenant.objects.filter(slug=shop.slug).exists():
            tenant_create(
                slug=shop.slug,
                by="demo",
                name=shop.name,
                weight=shop.weight,
                cap=shop.cap,
                depth_limit=shop.depth_limit,
                may_pause=True,
                may_replay=True,
            )
        if not Order.objects.filter(shop=shop.slug).exists():
            with transaction.atomic():
                Order.objects.bulk_create(_orders(shop, timezone.localdate()), batch_size=500)
    passwords = _passwords(places.accounts)
    for account in ACCOUNTS:
        _make_account(account, passwords[account.username])
    return passwords


def _refuse_elsewhere(places: Places) -> None:
    if not getattr(settings, "JOBOPS_DEMO", False):
        raise NotTheDemo("JOBOPS_DEMO is not set: the demo's accounts exist in the demo only")
    # The one that is connected to, whatever the settings say.
    file = Path(str(connection.settings_dict["NAME"])).resolve()
    if connection.vendor != "sqlite" or not file.is_relative_to(places.root.resolve()):
        raise NotTheDemo(f"the database is not the demo's own, in {places.root}: the demo's accounts exist in it only")


def _orders(shop: Shop, today: date) -> Iterator[Order]:
    rng = random.Random(shop.slug)
    for number in range(1, shop.orders + 1):
        first, last = rng.choice(_FIRST), rng.choice(_LAST)
        domain = rng.choices(_MAIL, _MAIL_WEIGHTS)[0]
        yield Order(
            shop=shop.slug,
            number=number,
            placed_on=today - timedelta(days=ORDER_DAYS - ORDER_DAYS * number // shop.orders),
            customer=f"{first} {last}",
            email=f"{first}.{last}{number}@{domain}".lower(),
            country=rng.choice(_COUNTRIES),
            vat_id="" if rng.random() < 0.15 else f"EU{rng.randrange(10**8, 10**9)}",
            currency=rng.choice(shop.currencies),
            items=rng.randrange(1, 12),
            total=Decimal(rng.randrange(500, 90_000)) / 100,
        )


def _passwords(file: Path) -> dict[str, str]:
    """The passwords of this folder's demo: made once, kept readable by the owner alone."""
    try:
        known: dict[str, str] = json.loads(file.read_text())
    except FileNotFoundError:
        known = {}
    missing = [account.username for account in ACCOUNTS if account.username not in known]
    if missing:
        known |= {username: secrets.token_urlsafe(9) for username in missing}
        file.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:
            json.dump(known, opened)
    return known


def _make_account(account: Account, password: str) -> None:
    root = account.role == "superuser"
    user, _ = User.objects.get_or_create(username=account.username, defaults={"is_superuser": root, "is_staff": root})
    if not user.check_password(password):
        user.set_password(password)
        user.save(update_fields=["password"])
    if account.shop:
        tenant = Tenant.objects.filter(slug=account.shop).first()  # somebody may have deleted it
        if tenant is not None:
            Membership.objects.get_or_create(user=user, tenant=tenant, defaults={"role": account.role})
    elif not root:
        user.groups.add(Group.objects.get(name=account.role))
