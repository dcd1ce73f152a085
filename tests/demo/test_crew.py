"""The demo's teams, rules and channels: made once, and left as people have changed them."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from dlq.models import RuleSet
from dlq.owners.checking import check_rules
from jobops.alerts.models import AlertRule, Channel
from jobops.demo.cast import CREWS, RULES, SHOPS
from jobops.demo.crew import CHAT, assemble, signing_key
from jobops.demo.incident import CAUSES
from jobops.demo.places import Places, Services
from tenants.models import Team, Tenant
from tenants.roles import Role
from tests.tenants.people import person

pytestmark = pytest.mark.django_db
SERVICES = Services("http://127.0.0.1:8001", "127.0.0.1", 8002)


@pytest.fixture
def accounts(db: None) -> None:
    for shop in SHOPS:
        Tenant.objects.get_or_create(slug=shop.slug, defaults={"name": shop.name})
    for username, role in (("oncall", Role.ON_CALL), ("operator", Role.OPERATOR)):
        User.objects.filter(pk=person(role).pk).update(username=username)


def test_every_owner_of_a_contract_is_a_team_and_every_rule_fits_something() -> None:
    for shop in SHOPS:
        Tenant.objects.create(slug=shop.slug)
    somebody = User.objects.create(username="somebody")
    for crew in CREWS:
        Team.objects.create(name=crew.name).members.create(user=somebody)
    checked = check_rules(RULES)
    assert (list(checked.faults), len(checked.rules)) == ([], 4)
    assert {cause.job_type.owner for cause in CAUSES} <= {crew.name for crew in CREWS}


def test_teams_have_members_and_say_where_they_are_told(accounts: None, places: Places) -> None:
    assemble(places, SERVICES)
    payments = Team.objects.get(name="payments")
    assert [member.user.username for member in payments.members.all()] == ["oncall"]
    assert (payments.escalates_to.name, payments.escalate_after_min) == ("operations", 10)  # type: ignore[union-attr]
    assert payments.channels.get().target == "payments@teams.example"
    assert RuleSet.objects.get().text == RULES
    quiet = AlertRule.objects.filter(enabled=False).values_list("signal", "tenant", "lane")
    assert sorted(quiet) == [("backlog_age", "acme-retail", "bulk"), ("worker_use", "", "")]
    chat = Channel.objects.get(name=CHAT)
    assert (chat.kind, chat.team, chat.target) == ("webhook", None, "http://127.0.0.1:8001/alerts")
    assert chat.secret == signing_key(places)


def test_a_second_start_changes_the_receivers_address_and_nothing_else(accounts: None, places: Places) -> None:
    assemble(places, SERVICES)
    Team.objects.filter(name="payments").update(about="changed")
    Team.objects.get(name="payments").members.all().delete()
    RuleSet.objects.create(text="* -> operations\n", by="olga")
    AlertRule.objects.filter(signal="worker_use").delete()
    Channel.objects.filter(name="payments mail").update(target="somebody@else.example")
    key = signing_key(places)
    assemble(places, Services("http://127.0.0.1:9001", "127.0.0.1", 9002))
    assert Team.objects.get(name="payments").about == "changed"
    assert not Team.objects.get(name="payments").members.exists()
    assert (RuleSet.objects.count(), AlertRule.objects.count()) == (2, 1)
    assert Channel.objects.get(name="payments mail").target == "somebody@else.example"
    chat = Channel.objects.get(name=CHAT)
    assert (chat.target, chat.secret) == ("http://127.0.0.1:9001/alerts", key)


def test_the_signing_key_is_of_this_folder_alone_and_its_owners(places: Places, tmp_path: Path) -> None:
    assert places.alert_key.parent == tmp_path
    key = signing_key(places)
    assert places.alert_key.stat().st_mode & 0o777 == 0o600
    assert signing_key(Places(tmp_path / "another")) != key == signing_key(places)
