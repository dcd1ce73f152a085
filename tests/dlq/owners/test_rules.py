"""The rules as a whole: what is checked, what saving does, what a preview counts."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dlq.models import DeadLetter, RuleSet
from dlq.owners.assigning import group_take, letter_take
from dlq.owners.checking import check_rules
from dlq.owners.parsing import parse_rules
from dlq.owners.previewing import preview
from dlq.owners.saving import InvalidRules, RulesChanged, rules_save
from dlq.owners.versions import diff, lines_changed
from jobops.audit.models import AuditEntry
from tenants.models import Tenant
from tests.dlq.owners.conftest import die, group_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("teams", "acme")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("* -> payment", "line 1: no team is called payment: did you mean payments?"),
        ("* -> zzz", "line 1: no team is called zzz; those are imports, mail, operations, payments"),
        ("reason=timout -> mail", "line 1: reason=timout never matches: the reasons are exhausted, poison"),
        ("tenant=ACME -> mail", "line 1: tenant=ACME never matches: a slug is at most 50 of a-z, 0-9 and -"),
        ("tenant=acme queue=globex.* -> mail", "line 1: queue=globex.*: no queue of such a tenant is called so"),
        ("job=a* -> mail\njob=* -> payments", "line 1: never matches: line 2 (job=*) comes later and takes all of it"),
        ("job=ab tenant=acme -> mail\n* -> payments\njob=a* -> mail", "line 1: never matches: line 2"),
        ("error=a,b -> mail\nerror=a,b,c -> mail", "line 1: never matches: line 2"),
        ("job=a -> mail\njob=a -> mail", "line 1: never matches: line 2"),
        ("error=app.TimeoutError -> mail\nerror=app.* -> mail", "line 1: never matches"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused_by_its_line(text: str, said: str) -> None:
    assert str(check_rules(text).errors[0]).startswith(said)
    with pytest.raises(InvalidRules) as refused:
        rules_save(text=text, by="test")
    assert str(refused.value).startswith(said)
    assert not RuleSet.objects.exists()


@pytest.mark.parametrize(
    "text",
    [
        "* -> payments\njob=billing.* -> mail",
        "job=billing.* -> mail\njob=billing.send -> payments",
        "job=billing.* -> mail\ntenant=acme -> payments",
        "job=billing.*,mail.* -> mail\njob=billing.* -> payments",
        "tenant=acme queue=acme.* -> mail",
    ],
)
def test_what_makes_sense_is_not_refused(text: str) -> None:
    assert check_rules(text).faults == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("job=biling.* -> mail", "job=biling.*: no registered job type is called so"),
        ("job=billing.sent -> mail", "did you mean billing.send?"),
        ("tenant=gone -> mail", "tenant=gone: no tenant is called so now"),
        ("queue=*.bulkk -> mail", "queue=*.bulkk: no lane is called so; those are"),
        ("queue=default -> mail", "queue=default: no queue of such a tenant is called so"),
    ],
)
def test_what_is_odd_is_a_warning_and_can_be_saved(text: str, said: str) -> None:
    checked = check_rules(text)
    assert not checked.errors
    assert said in str(checked.warnings[0])
    assert rules_save(text=text, by="test").is_new


def test_a_contracts_owner_that_is_no_team_is_a_warning(acme: Tenant) -> None:
    from tenants.models import Team

    Team.objects.filter(name="mail").delete()
    checked = check_rules("* -> mail")
    assert not checked.errors
    assert "mail is no team yet: it has no members, and nobody is told" in str(checked.warnings[0])


def test_saving_keeps_a_version_and_says_so_in_the_audit(ada: User) -> None:
    first = rules_save(text="job=billing.* -> mail  \r\n\r\n", by=ada, note="because")
    rules_save(text="* -> imports\njob=billing.* -> mail\n", by=ada, base=first.version)
    assert list(RuleSet.objects.order_by("pk").values_list("text", "by", "note")) == [
        ("job=billing.* -> mail\n", "ada", "because"),
        ("* -> imports\njob=billing.* -> mail\n", "ada", ""),
    ]
    entries = AuditEntry.objects.filter(action="rules.save").order_by("pk")
    assert [(entry.actor, entry.after["rules"], entry.after["lines added"], entry.reason) for entry in entries] == [
        ("ada", 1, 1, "because"),
        ("ada", 2, 1, ""),
    ]


def test_the_same_text_again_is_no_version(ada: User) -> None:
    first = rules_save(text="* -> mail", by=ada)
    again = rules_save(text="* -> mail\n\n", by=ada)
    assert (again.version, again.is_new, RuleSet.objects.count()) == (first.version, False, 1)


def test_what_somebody_saved_meanwhile_is_not_taken_back(ada: User, bob: User) -> None:
    first = rules_save(text="* -> mail", by=ada)
    rules_save(text="* -> imports", by=bob, base=first.version)
    with pytest.raises(RulesChanged, match="bob saved version"):
        rules_save(text="* -> payments", by=ada, base=first.version)
    assert RuleSet.objects.order_by("-pk")[0].text == "* -> imports\n"
    with pytest.raises(RulesChanged):
        rules_save(text="* -> payments", by=ada, base=0)


def test_a_difference_shows_what_is_new_and_what_is_gone() -> None:
    before, after = "a\nb\nc\nd\ne\nf\n", "a\nb\nc\nd\nE\nf\ng\n"
    assert [(line.mark, line.text) for line in diff(before, after)] == [
        (" ", "c"), (" ", "d"), ("-", "e"), ("+", "E"), (" ", "f"), ("+", "g"),
    ]  # fmt: skip
    assert lines_changed(before, after) == (2, 1)
    assert diff("a", "a") == []


def test_a_preview_counts_what_each_line_takes_from_whom(acme: Tenant, ada: User, bob: User) -> None:
    die(acme, 4)
    mail = die(acme, 3, job_type="mail.send")
    taken = die(acme, 2, job_type="other.job")
    letter_take(letter_id=mail[0].pk, by=ada)
    group_take(group_id=group_of(taken[0]).pk, by=bob)
    DeadLetter.objects.filter(pk=mail[1].pk).update(state="resolved")
    found = preview(parse_rules("* -> mail\njob=billing.* -> imports").rules)
    assert (found.total, found.moved, found.held) == (8, 4, 3)
    assert dict(found.lines[2].taken) == {"payments": 4}
    assert (found.lines[1].letters, dict(found.lines[1].taken), found.lines[1].held) == (1, {}, 3)


def test_a_preview_counts_what_goes_back_to_contracts(acme: Tenant, ada: User) -> None:
    die(acme, 4)
    rules_save(text="* -> mail", by=ada)
    found = preview(())
    assert {owner: dict(then) for owner, then in found.returned.items()} == {"mail": {"payments": 4}}


def test_a_preview_says_exactly_what_saving_does(acme: Tenant, ada: User) -> None:
    for number in range(12):
        die(
            acme if number % 2 else None,
            1 + number,
            error_class=f"E{number % 4}",
            reason=("timeout", "poison")[number % 2],
        )
    text = "error=E1,E2 -> mail\nreason=poison error=E1 -> imports\nqueue=x.* error=E0 -> operations"
    found = preview(parse_rules(text).rules)
    before = dict(DeadLetter.objects.values_list("pk", "owner"))
    rules_save(text=text, by=ada)
    after = dict(DeadLetter.objects.values_list("pk", "owner"))
    assert found.moved == sum(before[pk] != after[pk] for pk in before) > 0
    assert (
        sum(line.letters for line in found.lines.values())
        == DeadLetter.objects.filter(owned_by__startswith="rule: ").count()
    )


def test_a_preview_takes_two_queries_however_many_letters(acme: Tenant) -> None:
    rules = parse_rules("* -> mail").rules
    for count in (1, 50):
        die(acme, count)
        with CaptureQueriesContext(connection) as queries:
            preview(rules)
        assert len(queries) == 2
