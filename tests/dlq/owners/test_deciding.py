"""Whose a new letter is: a rule, its contract, the default, or a person's word on its group. I7 whatever the text."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from dlq.causes.counting import attach, count_new
from dlq.models import DeadLetter, RuleSet
from dlq.owners.assigning import group_assign, group_take
from dlq.owners.deciding import decide
from dlq.owners.facts import Facts
from dlq.owners.rules import Rules, rules_in_force
from tenants.models import Tenant
from tests.dlq.letters import unsaved
from tests.dlq.owners.conftest import die, group_of

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def rules(text: str) -> RuleSet:
    """Stored past the check, as a restored or older database may have it."""
    return RuleSet.objects.create(text=text, by="test")


def of(letter: DeadLetter) -> tuple[str, str, timedelta, str]:
    stored = DeadLetter.objects.get(pk=letter.pk)
    return stored.owner, stored.owned_by, stored.due_at - stored.dead_at, stored.severity


def test_without_rules_it_is_whose_contract_it_is_and_else_the_default_teams(acme: Tenant) -> None:
    assert of(die(acme)[0]) == ("payments", "its contract", 4 * HOUR, "normal")
    assert of(die(acme, job_type="unknown.job")[0]) == ("operations", "the default team", 24 * HOUR, "normal")


def test_the_last_rule_that_fits_decides(acme: Tenant) -> None:
    rules("* -> operations sla=9h\njob=billing.* -> imports sla=2h severity=critical\ntenant=other -> mail\n")
    assert of(die(acme)[0]) == ("imports", "rule: job=billing.*", 2 * HOUR, "critical")
    assert of(die(acme, job_type="mail.send")[0]) == ("operations", "rule: *", 9 * HOUR, "normal")


def test_a_rule_without_a_drain_sla_leaves_the_contracts(acme: Tenant) -> None:
    rules("job=* -> imports")
    assert of(die(acme)[0])[2] == 4 * HOUR
    assert die(acme)[0].sla_s == 4 * 3600


@pytest.mark.parametrize(
    ("condition", "fields", "fits"),
    [
        ("tenant=ac*", {}, True),
        ("tenant=acm", {}, False),
        ("queue=*.bulk", {}, True),
        ("queue=*.interactive", {}, False),
        ("reason=timeout,poison", {"reason": "poison"}, True),
        ("reason=timeout", {}, False),
        ("error=TimeoutError", {"error_class": "requests.TimeoutError"}, True),
        ("error=requests.*", {"error_class": "requests.TimeoutError"}, True),
        ("error=Timeout", {"error_class": "requests.TimeoutError"}, False),
        ("job=billing.send error=Key*", {"error_class": "KeyError"}, True),
        ("job=billing.send error=Key*", {"error_class": "ValueError"}, False),
    ],
)
def test_all_conditions_of_a_rule_must_hold(acme: Tenant, condition: str, fields: dict[str, str], fits: bool) -> None:
    rules(f"{condition} -> imports")
    assert (of(die(acme, **fields)[0])[0] == "imports") is fits


def test_new_rules_are_in_force_for_the_next_death(acme: Tenant) -> None:
    rules("* -> imports")
    assert of(die(acme)[0])[0] == "imports"
    rules("* -> mail")
    assert of(die(acme)[0])[0] == "mail"
    RuleSet.objects.all().delete()
    assert of(die(acme)[0])[0] == "payments"


@pytest.mark.parametrize("text", ["", "nonsense", "job=* ->", "* -> \0", "-> -> ->", "* -> a sla=x\n", "#" * 200_000])
def test_whatever_the_text_holds_nothing_is_without_an_owner_and_a_time(acme: Tenant, text: str) -> None:
    """I7."""
    rules(text.replace("\0", ""))
    letter = die(acme)[0]
    assert of(letter) == ("payments", "its contract", 4 * HOUR, "normal")


def test_random_texts_never_leave_a_letter_without_an_owner(acme: Tenant) -> None:
    chance = random.Random(7)
    words = [
        "job=*",
        "job=billing.*",
        "->",
        "payments",
        "*",
        "sla=1h",
        "sla=",
        "#",
        "severity=high",
        "=",
        "\t",
        "é",
        "|",
    ]
    for _ in range(60):
        lines = [" ".join(chance.choices(words, k=chance.randint(0, 5))) for _ in range(4)]
        rules("\n".join(lines))
        letter = die(acme)[0]
        assert letter.owner.strip()
        assert letter.due_at > letter.dead_at


def test_what_dies_in_a_group_that_a_person_has_is_theirs(teams: None, acme: Tenant, ada: User) -> None:
    rules("* -> imports sla=2h")
    first = die(acme)[0]
    group_assign(group_id=group_of(first).pk, by=ada, owner="mail", assignee=ada)
    later = die(acme)[0]
    assert of(later) == ("mail", "by hand: ada", 2 * HOUR, "normal")
    assert later.assignee_id == ada.pk
    assert of(die(acme, job_type="mail.send")[0])[0] == "imports"


def test_a_new_group_is_whose_its_first_letter_is(acme: Tenant) -> None:
    rules("tenant=acme -> imports severity=high")
    group = group_of(die(acme)[0])
    assert (group.owner, group.owned_by, group.severity) == ("imports", "rule: tenant=acme", "high")


def test_a_group_keeps_its_owner_when_letters_of_other_tenants_die(acme: Tenant) -> None:
    rules("tenant=acme -> imports")
    letter = die(acme)[0]
    die(None)
    assert group_of(letter).owner == "imports"


def test_deciding_takes_as_many_queries_for_five_hundred_as_for_one(acme: Tenant, teams: None, bob: User) -> None:
    rules("\n".join(f"job=app{number}.* -> imports" for number in range(100)))
    group_take(group_id=group_of(die(acme)[0]).pk, by=bob)
    one, many = die(acme), die(acme, 500)
    with CaptureQueriesContext(
        connection,
    ) as few:
        decide(one)
    with CaptureQueriesContext(connection) as lots:
        decide(many)
    assert len(few) == len(lots) <= 5


def test_new_causes_of_a_batch_are_given_to_their_owners_without_a_statement_for_each(acme: Tenant) -> None:
    counts = []
    for names in ("ab", "cdefghijklmnopq"):
        letters = [unsaved(acme, job_type="billing.send", error_class=f"{name}Error") for name in names]
        with CaptureQueriesContext(connection) as queries, transaction.atomic():
            attach(letters)
            decide(letters)
            DeadLetter.objects.bulk_create(letters)
            count_new(letters)
        counts.append(len(queries))
        assert {group_of(each).owner for each in letters} == {"payments"}
    assert len({each.group_id for each in letters}) == len(letters)
    assert counts[0] == counts[1]


def test_the_rules_find_the_last_of_a_thousand_at_once() -> None:
    from dlq.owners.parsing import parse_rules

    text = "\n".join(f"job=app{number}.* tenant=t{number % 7}* -> team{number}" for number in range(1000))
    found = Rules(parse_rules(text).rules)
    assert found.match(Facts("app700.x", "t0", "", "timeout", "E")).owner == "team700"
    assert found.match(Facts("app700.x", "t1", "", "timeout", "E")).owner == settings.JOBOPS_DEFAULT_OWNER


def test_the_rules_in_force_are_read_once_for_each_version(acme: Tenant) -> None:
    rules("* -> imports")
    assert rules_in_force() is rules_in_force()
    with CaptureQueriesContext(connection) as queries:
        rules_in_force()
    assert len(queries) == 1
