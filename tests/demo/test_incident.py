"""Letting it go wrong: three causes in all shops, from real jobs that fail."""

from __future__ import annotations

import json
import urllib.error
from collections import Counter
from datetime import date

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from dlq.causes.fingerprint import print_of
from dlq.models import DeadLetter, Reason
from jobops.audit.models import AuditEntry
from jobops.context.models import OnceRecord
from jobops.contracts import enqueuer as plug
from jobops.demo import incident, jobs
from jobops.demo.cast import SHOPS
from jobops.demo.incident import CAUSES, MOST, SHARES, let_it_go_wrong, split
from jobops.demo.models import Order
from jobops.demo.places import Places
from jobops.demo.receiver import Desk
from jobops.engine.errors import DepthExceeded
from jobops.engine.records import NewJob
from tenants.models import Tenant
from tests.demo.test_jobs import order
from tests.demo.test_traffic import Queues

pytestmark = pytest.mark.django_db
ORDERS = 40


@pytest.fixture
def queues(monkeypatch: pytest.MonkeyPatch) -> Queues:
    queues = Queues()
    monkeypatch.setattr(plug, "_enqueuer", queues)
    return queues


@pytest.fixture
def shops(db: None, desk: Desk) -> None:
    """The five shops; every second order lacks a VAT id."""
    for shop in SHOPS:
        Tenant.objects.create(slug=shop.slug)
        for number in range(1, ORDERS + 1):
            order(number, shop=shop.slug, vat_id="" if number % 2 else "EU1")


def orders_of(shop: str, found: Queues) -> list[int]:
    """The orders whose payments were sent for this shop."""
    payments = [job for job in found.jobs if (job.tenant, job.job_type) == (shop, incident.CAPTURE)]
    return [json.loads(job.data)[-1]["order"] for job in payments]


def test_what_is_sent_dies_of_three_causes_in_every_shop(queues: Queues, shops: None, desk: Desk) -> None:
    sent = let_it_go_wrong(deaths=100, by="test")
    assert sent.by_type == {
        "billing.capture_payment": 60, "billing.report_invoice": 25, "exports.export_orders": 15,
    }  # fmt: skip
    assert (sent.total, sent.refused, len(queues.jobs)) == (100, 0, 100)
    assert {job.tenant for job in queues.jobs} == {shop.slug for shop in SHOPS}
    assert {job.lane for job in queues.jobs} == {"interactive"}, "so that none waits behind the flood"
    assert desk.control()["payments"]["mode"] == "broken"
    entry = AuditEntry.objects.get(action="demo.incident")
    assert (entry.target_id, entry.actor) == ("100", "test")


def test_each_of_the_three_dies_and_for_a_reason_of_its_own(shops: None, places: Places, desk: Desk) -> None:
    desk.set_mode("payments", "broken")
    with pytest.raises(urllib.error.HTTPError, match="down for maintenance"):
        jobs.capture_payment.__wrapped__(shop="acme-retail", order=1, card_token="tok")
    with pytest.raises(urllib.error.HTTPError, match="missing: vat_id"):
        jobs.report_invoice(shop="acme-retail", order=1)
    assert jobs.report_invoice(shop="acme-retail", order=2) == 200
    with pytest.raises(MemoryError, match="1,000,000 rows needs 381 MiB, and may have 64 MiB"):
        jobs.export_orders(shop="acme-retail", export=1, since=date(2026, 1, 1), limit=incident.EVERYTHING)


def test_their_numbers_and_orders_make_no_causes_of_their_own() -> None:
    said = (
        "an export of 1,000,000 rows needs 381 MiB, and may have 64 MiB",
        "an export of 2,000,000 rows needs 762 MiB, and may have 64 MiB",
    )
    prints = {
        print_of(
            DeadLetter(job_type="exports.export_orders", error_class="MemoryError", error=text, reason=Reason.POISON)
        )
        for text in said
    }
    assert len({each.key for each in prints}) == 1


def test_what_a_full_shop_refuses_goes_to_the_next_one(
    queues: Queues, shops: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = Queues.enqueue

    def full(self: Queues, job: NewJob, /) -> object:
        return DepthExceeded(job.tenant, 100, 100) if job.tenant == "acme-retail" else taken(self, job)

    monkeypatch.setattr(Queues, "enqueue_many", lambda self, jobs, /: [full(self, job) for job in jobs])
    sent = let_it_go_wrong(deaths=100, by="test")
    assert (sent.total, sent.refused) == (100, 0)
    assert Counter(job.tenant for job in queues.jobs)["orchid-media"] >= SHARES["acme-retail"]
    queues.full = True
    monkeypatch.setattr(Queues, "enqueue_many", lambda self, jobs, /: [DepthExceeded(job.tenant, 1, 1) for job in jobs])
    assert let_it_go_wrong(deaths=100, by="test").refused == 100


def test_orders_that_are_paid_are_not_paid_again(queues: Queues, shops: None) -> None:
    now = timezone.now()
    for number in range(1, ORDERS):
        OnceRecord.objects.create(
            tenant="orchid-media", job_type="billing.capture_payment", key=f"orchid-media:{number}", state="done",
            job_id="x", attempt=1, token="x", began_at=now,
        )  # fmt: skip
    let_it_go_wrong(deaths=60, by="test")
    assert orders_of("orchid-media", queues) == [ORDERS]


def test_without_a_shop_or_an_order_nothing_is_sent(queues: Queues, desk: Desk) -> None:
    assert let_it_go_wrong(deaths=50, by="test").refused == 50
    Tenant.objects.create(slug="acme-retail")
    assert not Order.objects.exists()
    assert let_it_go_wrong(deaths=100, by="test").by_type["billing.capture_payment"] == 0
    assert {job.job_type for job in queues.jobs} == {"exports.export_orders"}


def test_shares_add_up() -> None:
    assert sum(SHARES.values()) == 100 == sum(cause.percent for cause in CAUSES)
    assert set(SHARES) == {shop.slug for shop in SHOPS}
    for whole in (30, 31, 299, 3_000, MOST):
        assert sum(split(whole, list(SHARES.values()))) == whole


@pytest.mark.parametrize("deaths", [29, MOST + 1])
def test_a_number_that_is_not_offered_is_refused_before_anything_is_broken(
    queues: Queues, desk: Desk, deaths: int
) -> None:
    with pytest.raises(ValueError, match="use a number from 30 to 5,000"):
        let_it_go_wrong(deaths=deaths, by="test")
    assert desk.control()["payments"]["mode"] == "usual"
    assert not AuditEntry.objects.exists()


def test_the_command_does_as_the_button(queues: Queues, shops: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("demo_incident", deaths=100, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (sum(told["sent"].values()), told["refused"]) == (100, 0)
    call_command("demo_incident", "--deaths", "30")
    assert "30 jobs of three kinds run now, and will die" in capsys.readouterr().out
    with pytest.raises(CommandError, match="whole number from 30 to 5000"):
        call_command("demo_incident", "--deaths", "29")


def test_without_a_demo_the_command_says_how_to_start_it(places: Places) -> None:
    with pytest.raises(CommandError, match="start the demo with make demo"):
        call_command("demo_incident")
