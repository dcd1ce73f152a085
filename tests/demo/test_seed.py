"""The demo's accounts exist in the demo and nowhere else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings as project
from django.contrib.auth.models import User
from django.test import override_settings

from jobops.demo import seed as seeding
from jobops.demo.cast import ACCOUNTS, SHOPS
from jobops.demo.models import Order
from jobops.demo.places import Places
from jobops.demo.seed import NotTheDemo, seed
from tenants.models import Membership, Tenant

ROOT = Path(__file__).parents[2]


@pytest.fixture
def demo(places: Places, monkeypatch: pytest.MonkeyPatch) -> Places:
    """The tests' database passes for the demo's own, and the shops have a fiftieth of their orders."""
    monkeypatch.setattr(seeding, "_refuse_elsewhere", lambda _: None)
    monkeypatch.setattr(seeding, "SHOPS", tuple(replace(shop, orders=shop.orders // 50) for shop in SHOPS))
    return places


@pytest.mark.django_db
def test_no_migration_makes_an_account_or_a_tenant() -> None:
    assert project.JOBOPS_DEMO
    assert not User.objects.exists()
    assert not Tenant.objects.exists()


def test_nothing_else_in_the_project_names_the_accounts_or_makes_any() -> None:
    sources = [p for top in ("jobops", "tenants", "dlq") for p in (ROOT / top).rglob("*.py")]
    makers = [p for p in sources if "set_password" in p.read_text() or "create_user" in p.read_text()]
    assert makers == [ROOT / "jobops/demo/seed.py"]
    assert not [p for top in ("jobops", "tenants", "dlq", "tests") for p in (ROOT / top).rglob("fixtures/*.json")]


@pytest.mark.django_db
def test_seeding_is_refused_outside_the_demo(places: Places) -> None:
    with override_settings(JOBOPS_DEMO=False), pytest.raises(NotTheDemo, match="JOBOPS_DEMO is not set"):
        seed(places)
    assert not User.objects.exists()


@pytest.mark.django_db
def test_seeding_is_refused_on_a_database_that_is_not_the_demos_own(places: Places) -> None:
    with pytest.raises(NotTheDemo, match="not the demo's own"):
        seed(places)
    assert not User.objects.exists()


@pytest.mark.django_db
def test_seeding_makes_shops_of_very_different_size_and_accounts_that_can_sign_in(demo: Places) -> None:
    passwords = seed(demo)
    assert len(set(passwords.values())) == len(ACCOUNTS)
    for account in ACCOUNTS:
        user = User.objects.get(username=account.username)
        assert user.check_password(passwords[account.username])
        assert user.is_superuser == (account.role == "superuser")
        assert user.groups.filter(name=account.role).exists() == (not account.shop and account.role != "superuser")
    assert {(m.user.username, m.role) for m in Membership.objects.all()} == {
        ("acme-admin", "admin"),
        ("acme-viewer", "viewer"),
    }
    assert Tenant.objects.count() == len(SHOPS) == 5
    sizes = [Order.objects.filter(shop=shop.slug).count() for shop in SHOPS]
    assert sizes == [shop.orders // 50 for shop in SHOPS]
    assert max(sizes) > 100 * min(sizes)
    assert {o.currency for o in Order.objects.filter(shop="delta-freight")} == {"EUR", "CHF"}


@pytest.mark.django_db
def test_seeding_again_keeps_passwords_and_what_people_changed(demo: Places) -> None:
    first = seed(demo)
    Tenant.objects.filter(slug="acme-retail").update(weight=9)
    Tenant.objects.filter(slug="cinder-labs").delete()
    User.objects.get(username="oncall").delete()
    assert seed(demo) == first
    assert Tenant.objects.get(slug="acme-retail").weight == 9
    assert Tenant.objects.filter(slug="cinder-labs").exists()
    assert User.objects.get(username="oncall").check_password(first["oncall"])
    assert Order.objects.count() == sum(shop.orders // 50 for shop in SHOPS)


@pytest.mark.django_db
def test_passwords_are_made_anew_for_each_folder_and_readable_by_the_owner_alone(demo: Places, tmp_path: Path) -> None:
    passwords = seed(demo)
    assert demo.accounts.stat().st_mode & 0o777 == 0o600
    assert json.loads(demo.accounts.read_text()) == passwords
    other = seeding._passwords(tmp_path / "elsewhere" / "accounts.json")
    assert not set(other.values()) & set(passwords.values())
