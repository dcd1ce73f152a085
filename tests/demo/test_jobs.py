"""The demo's jobs do real work, called as the plain functions they are."""

from __future__ import annotations

import csv
import subprocess
import sys
import textwrap
import urllib.error
from datetime import date
from decimal import Decimal

import pytest
from PIL import Image

from jobops import Discard, Poison, RetryLater
from jobops.checks import check_contracts
from jobops.contracts import registry
from jobops.demo import files, jobs
from jobops.demo.models import Order, Statement
from jobops.demo.places import Places
from jobops.demo.receiver import Desk

pytestmark = pytest.mark.django_db

SHOP = "acme-retail"
SAID = {400: "missing: vat_id", 410: "unsubscribed", 429: "too many requests"}


def order(number: int, **changes: object) -> Order:
    fields: dict[str, object] = {
        "shop": SHOP,
        "number": number,
        "placed_on": date(2026, 3, 1),
        "customer": "Ada Weber",
        "email": "ada@mail.example",
        "country": "DE",
        "vat_id": "EU1",
        "currency": "EUR",
        "items": 2,
        "total": Decimal("10.00"),
    }
    return Order.objects.create(**{**fields, **changes})


def test_a_thumbnail_is_a_smaller_picture_kept_and_stored(places: Places, desk: Desk) -> None:
    made = jobs.make_thumbnail(shop=SHOP, photo=files.PHOTOS[0], width=320)
    path = places.results("thumbnails", SHOP) / "photo-01-320.jpg"
    with Image.open(path) as image:
        assert image.size == (320, 240) == (made["width"], made["height"])
    assert desk.stats()["store"]["bytes"] == made["bytes"] == path.stat().st_size


def test_a_second_thumbnail_replaces_the_first(places: Places, desk: Desk) -> None:
    for _ in range(2):
        jobs.make_thumbnail(shop=SHOP, photo=files.PHOTOS[1], width=160)
    assert [path.name for path in places.results("thumbnails", SHOP).iterdir()] == ["photo-02-160.jpg"]


def test_a_photo_that_was_cut_off_is_poison(places: Places) -> None:
    with pytest.raises(OSError, match="truncated") as caught:
        jobs.make_thumbnail(shop=SHOP, photo=files.BROKEN_PHOTO, width=320)
    assert registry.get("media.make_thumbnail").policy.classify(caught.value).action == "poison"


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", ".hidden", ""])
def test_a_name_with_a_path_in_it_is_poison(places: Places, name: str) -> None:
    with pytest.raises(Poison, match="plain name"):
        jobs.make_thumbnail(shop=SHOP, photo=name, width=320)


def test_an_export_has_the_rows_of_that_shop_since_that_day(places: Places, desk: Desk) -> None:
    order(1, placed_on=date(2026, 1, 31))
    order(2, customer='Weber, "Ada"')
    order(3)
    order(3, shop="bluefin-travel")
    assert jobs.export_orders(shop=SHOP, export=7, since=date(2026, 2, 1))["rows"] == 2
    text = (places.results("exports", SHOP) / "orders-7.csv").read_text()
    rows = list(csv.DictReader(text.splitlines()))
    assert [(row["number"], row["customer"]) for row in rows] == [("2", 'Weber, "Ada"'), ("3", "Ada Weber")]
    assert desk.stats()["store"]["files in exports"] == 1


def test_only_the_newest_exports_are_kept(places: Places, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "EXPORTS_KEPT", 2)
    for number in range(4):
        jobs.export_orders(shop=SHOP, export=number, since=date(2026, 1, 1))
    assert len(list(places.results("exports", SHOP).iterdir())) == 2


def test_a_webhook_is_told_and_a_deleted_order_is_not(desk: Desk) -> None:
    order(1)
    assert jobs.deliver_webhook(shop=SHOP, endpoint="warehouse", event="order.paid", order=1) == 200
    with pytest.raises(Discard, match="order 2 of acme-retail is gone"):
        jobs.deliver_webhook(shop=SHOP, endpoint="warehouse", event="order.paid", order=2)
    assert desk.stats()["hooks"] == {"warehouse": {"200": 1}}


@pytest.mark.parametrize(
    ("endpoint", "status", "action"),
    [("tax-office", 400, "poison"), ("old-shop", 410, "discard"), ("crm", 429, "retry")],
)
def test_a_webhooks_refusal_is_sorted_by_its_contract(desk: Desk, endpoint: str, status: int, action: str) -> None:
    order(1, vat_id="")
    for _ in range(2 if endpoint == "crm" else 0):  # which takes two a second
        jobs.deliver_webhook(shop=SHOP, endpoint=endpoint, event="order.paid", order=1)
    with pytest.raises(urllib.error.HTTPError) as caught:
        jobs.deliver_webhook(shop=SHOP, endpoint=endpoint, event="order.paid", order=1)
    with caught.value as error:
        assert error.code == status
        assert SAID[status] in str(error)
        verdict = registry.get("webhooks.deliver").policy.classify(error)
    assert verdict.action == action
    assert verdict.wait_s == (2 if status == 429 else None)


def test_a_mail_arrives(places: Places, desk: Desk) -> None:
    order(5)
    assert jobs.send_order_mail(shop=SHOP, order=5, note="Ring twice.") == "mail.example"
    text = (places.mail / "00000001.eml").read_text()
    assert "Message-ID: <order-5@acme-retail.example>" in text
    assert "Ring twice." in text


def test_a_mail_is_poison_where_nobody_lives_and_later_where_it_is_put_off(desk: Desk) -> None:
    order(6, email="ada@nowhere.example")
    order(7, email="ada@slow-post.example")
    with pytest.raises(Poison, match="550"):
        jobs.send_order_mail(shop=SHOP, order=6)
    with pytest.raises(RetryLater, match="451"):
        jobs.send_order_mail(shop=SHOP, order=7)


def test_a_statement_adds_up_in_euros_and_a_second_run_replaces_it() -> None:
    order(1)
    order(2, currency="USD", total=Decimal("100.00"))
    order(3, placed_on=date(2026, 4, 1))
    for _ in range(2):
        assert jobs.monthly_statement(shop=SHOP, month=date(2026, 3, 17)) == {"total_eur": "102.00"}
    statement = Statement.objects.get()
    assert (statement.month, statement.orders, statement.total_eur) == (date(2026, 3, 1), 2, Decimal("102.00"))


def test_a_statement_stumbles_over_a_currency_nobody_thought_of() -> None:
    order(1, currency="CHF")
    with pytest.raises(KeyError, match="CHF"):
        jobs.monthly_statement(shop=SHOP, month=date(2026, 3, 1))


def test_a_catalog_that_fits_is_read(places: Places) -> None:
    assert jobs.import_archive(shop=SHOP, archive=files.CATALOGS[0])["products"] == 2_000


def test_a_catalog_that_does_not_fit_takes_its_process_with_it(places: Places) -> None:
    code = f"""
        import os, sys
        os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
        import django
        from django.conf import settings
        settings.HOME_DIR = __import__("pathlib").Path({str(places.root)!r})
        django.setup()
        from jobops.demo import files, jobs
        print("started", flush=True)
        jobs.import_archive(shop="acme-retail", archive=files.BOMB)
        print("survived", flush=True)
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.returncode) == ("started\n", -9), ended.stderr


def test_every_job_keeps_its_promises() -> None:
    mine = {
        job_type.name: job_type for job_type in registry.all_types() if job_type.func.__module__ == "jobops.demo.jobs"
    }
    with registry.temporary_registry():  # what the modules of other tests declare keeps no promises
        for job_type in mine.values():
            registry.register(job_type)
        assert check_contracts() == []
    assert len(mine) == 8
    assert all(job_type.owner and job_type.drain_sla and job_type.idempotent for job_type in mine.values())


def test_without_the_local_servers_a_job_says_how_to_start_them(places: Places) -> None:
    order(1)
    with pytest.raises(LookupError, match="make demo"):
        jobs.deliver_webhook(shop=SHOP, endpoint="warehouse", event="order.paid", order=1)
