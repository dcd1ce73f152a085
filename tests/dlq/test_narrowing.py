"""Several conditions at once: the same letters, however the database finds them, and in a number of queries that is
told beforehand."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlq import narrowing
from dlq.capped import AtLeast, count_up_to
from dlq.filters import LetterFilter
from dlq.models import DeadLetter
from tenants.models import Team, TeamMember, Tenant
from tests.dlq.letters import letter, letters
from tests.tenants.people import new_tenant, person

pytestmark = pytest.mark.django_db
NOW = timezone.now()
CHOICES: dict[str, list[Any]] = {
    "status": ["undrained", "open", "resolved", "all"],
    "tenant": ["", "acme", "globex"],
    "job": ["", "a.pay", "a.send"],
    "owner": ["", "billing", "billing,exports", "mine"],
    "assignee": ["", "me", "none"],
    "severity": ["", "high", "normal"],
    "reason": ["", "poison"],
    "error": ["", "Late"],
    "older_than": [None, timedelta(hours=3)],
    "overdue": [False, True],
    "sort": ["due", "newest"],
}


@pytest.fixture
def me() -> int:
    """In the team billing, with letters of every kind around."""
    user, dice = person(), random.Random(5)
    TeamMember.objects.create(team=Team.objects.create(name="billing"), user=user)
    tenants = [new_tenant("acme"), new_tenant("globex")]
    for _ in range(120):
        _make(dice, tenants, user.pk)
    return user.pk


def _make(dice: random.Random, tenants: list[Tenant], me: int) -> None:
    letter(
        dice.choice(tenants), job_type=dice.choice(["a.pay", "a.send"]), owner=dice.choice(["billing", "exports"]),
        assignee_id=dice.choice([None, me]), severity=dice.choice(["high", "normal"]),
        reason=dice.choice(["poison", "exhausted"]), error_class=dice.choice(["x.Late", "Late", "x.NotLate"]),
        state=dice.choice(["open", "replaying", "resolved"]), dead_at=NOW - timedelta(hours=dice.randrange(6)),
        due_at=NOW + timedelta(hours=dice.choice([-2, 2])),
    )  # fmt: skip


def plainly(asked: LetterFilter) -> set[int]:
    """The letters that are meant, judged one by one."""
    return {each.pk for each in DeadLetter.objects.select_related("tenant") if _fits(each, asked)}


def _fits(one: DeadLetter, asked: LetterFilter) -> bool:
    owners = {"mine": ["billing"], "": [one.owner]}.get(asked.owner, asked.owner.split(","))
    whose = {"me": asked.me, "none": None, "": one.assignee_id}[asked.assignee]
    assert one.tenant is not None
    return (
        one.state in asked.states
        and asked.tenant in ("", one.tenant.slug)
        and asked.job in ("", one.job_type)
        and one.owner in owners
        and one.assignee_id == whose
        and asked.severity in ("", one.severity)
        and asked.reason in ("", one.reason)
        and asked.error in ("", one.error_class, one.error_class.rpartition(".")[2])
        and (asked.older_than is None or one.dead_at <= timezone.now() - asked.older_than)
        and (not asked.overdue or one.due_at <= timezone.now())
    )


@pytest.mark.parametrize("few", [0, 20, narrowing.FEW])
def test_it_finds_what_is_meant_whatever_is_many(few: int, me: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrowing, "FEW", few)
    dice, found_any = random.Random(few), 0
    for _ in range(150):
        asked = LetterFilter(**{name: dice.choice(values) for name, values in CHOICES.items()}, me=me)
        expected, everything = plainly(asked), DeadLetter.objects.all()
        assert {each.pk for each in asked.apply(everything)} == expected, asked
        assert {each.pk for part in asked.parts(everything) for each in part} == expected, asked
        found_any += bool(expected)
    assert found_any > 20


def test_what_one_index_holds_is_counted_and_all_else_is_not() -> None:
    counted: list[dict[str, Any]] = [
        {}, {"tenant": "a"}, {"tenant": "a", "group": "3"}, {"job": "a"}, {"owner": "a"}, {"severity": "high"},
        {"assignee": "me"}, {"overdue": True, "reason": "poison"}, {"older_than": timedelta(1)},
        {"older_than": timedelta(1), "tenant": "a"}, {"status": "resolved", "sort": "newest", "error": "Late"},
    ]  # fmt: skip
    others: list[dict[str, Any]] = [
        {"tenant": "a", "job": "b"}, {"assignee": "none"}, {"batch": "b"}, {"older_than": timedelta(1), "job": "a"},
        {"older_than": timedelta(1), "overdue": True}, {"drained": "7d", "status": "all"},
    ]  # fmt: skip
    assert [each for each in counted if not LetterFilter(**each).is_counted] == []
    assert [each for each in others if LetterFilter(**each).is_counted] == []


def test_the_number_of_queries_is_that_of_few_letters() -> None:
    tenant = new_tenant("acme")
    asked = LetterFilter(tenant="acme", owner="ops", reason="exhausted", older_than=timedelta(0))
    counts = []
    for more in (20, 2_000):
        letters(tenant, more)
        with CaptureQueriesContext(connection) as queries:
            found = [list(part[:51]) for part in asked.parts(DeadLetter.objects.all())]
        assert sum(map(len, found)) >= 20
        counts.append(len(queries))
    assert counts[0] == counts[1] < 10


def test_counting_stops_and_shows_it() -> None:
    letters(new_tenant("acme"), 7)
    everything = DeadLetter.objects.all()
    exact, capped = count_up_to(everything, 7), count_up_to(everything, 6)
    assert (type(exact), exact, f"{exact:,}") == (int, 7, "7")
    assert (type(capped), capped, f"{capped:,}") == (AtLeast, 6, "6+")
    assert f"{AtLeast(10_000):,}" == "10,000+"
