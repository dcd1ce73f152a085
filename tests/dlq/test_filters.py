"""Which letters a filter means, in pages, links, bulk actions and commands alike."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dlq.access import letters_visible_to
from dlq.filters import STATUSES, LetterFilter
from dlq.models import UNDRAINED, DeadLetter, State
from tenants.roles import Role
from tests.dlq.letters import letter
from tests.tenants.people import new_tenant, person

pytestmark = pytest.mark.django_db


def found(wanted: LetterFilter) -> set[str]:
    """The ids of the jobs that died, whichever way they are read."""
    everything = DeadLetter.objects.all()
    whole = set(wanted.apply(everything).values_list("job_id", flat=True))
    parts = [set(part.order_by(*wanted.order).values_list("job_id", flat=True)) for part in wanted.parts(everything)]
    assert set().union(*parts) == whole
    assert sum(map(len, parts)) == len(whole)
    return whole


def test_every_filter_finds_what_it_says_in_both_orders() -> None:
    now = timezone.now()
    a, b = new_tenant("a"), new_tenant("b")
    letter(a, job_id="a-old", dead_at=now - timedelta(days=3), due_at=now - timedelta(days=2), owner="billing")
    letter(a, job_id="a-poison", reason="poison", error_class="requests.exceptions.Timeout")
    letter(a, job_id="a-replaying", state=State.REPLAYING, due_at=now - timedelta(hours=1))
    letter(b, job_id="b-other", job_type="tests.other", error_class="Timeout", error="no answer from pay.example")
    letter(b, job_id="b-resolved", state=State.RESOLVED, due_at=now - timedelta(hours=1))
    letter(None, job_id="gone-discarded", state=State.DISCARDED)
    expected: list[tuple[dict[str, Any], set[str]]] = [
        ({}, {"a-old", "a-poison", "a-replaying", "b-other"}),
        ({"status": "all"}, {"a-old", "a-poison", "a-replaying", "b-other", "b-resolved", "gone-discarded"}),
        ({"status": "replaying"}, {"a-replaying"}),
        ({"tenant": "a"}, {"a-old", "a-poison", "a-replaying"}),
        ({"tenant": "gone", "status": "all"}, {"gone-discarded"}),
        ({"tenant": "nobody"}, set()),
        ({"job": "tests.other"}, {"b-other"}),
        ({"owner": "billing"}, {"a-old"}),
        ({"reason": "poison"}, {"a-poison"}),
        ({"error": "Timeout"}, {"a-poison", "b-other"}),
        ({"error": "requests.exceptions.Timeout"}, {"a-poison"}),
        ({"error": "imeout"}, set()),
        ({"error": "timeout"}, set()),
        ({"older_than": timedelta(days=1)}, {"a-old"}),
        ({"overdue": True}, {"a-old", "a-replaying"}),
        ({"overdue": True, "status": "all"}, {"a-old", "a-replaying"}),
        ({"overdue": True, "status": "resolved"}, set()),
        ({"q": "PAY.example answer"}, {"b-other"}),
        ({"q": "pay.example nothing"}, set()),
        ({"tenant": "a", "owner": "ops", "reason": "poison", "error": "Timeout"}, {"a-poison"}),
        ({"tenant": "b", "owner": "ops", "reason": "poison"}, set()),
        ({"job": "tests.echo", "owner": "billing", "overdue": True, "older_than": timedelta(hours=1)}, {"a-old"}),
    ]
    for asked, ids in expected:
        for sort in ("due", "newest"):
            assert found(LetterFilter(sort=sort, **asked)) == ids, asked


def test_letters_of_a_former_tenant_are_not_those_of_the_next_one_of_its_name() -> None:
    orphan = letter(None, job_id="former", tenant_slug="acme")
    assert found(LetterFilter(tenant="acme")) == {orphan.job_id}
    letter(new_tenant("acme"), job_id="present")
    assert found(LetterFilter(tenant="acme")) == {"present"}


def test_a_filter_never_reaches_beyond_what_it_is_given() -> None:
    """SE-05: whatever is asked for, also a foreign tenant, only letters that the person sees are found."""
    mine, foreign = new_tenant("mine"), new_tenant("foreign")
    own = letter(mine, error_class="E", error="own words")
    letter(foreign, error_class="E", error="foreign words")
    seen = letters_visible_to(person(Role.TENANT_ADMIN, mine))
    asked: list[dict[str, Any]] = [{}, {"error": "E"}, {"q": "words"}, {"owner": "ops"}, {"older_than": timedelta(0)}]
    for each in asked:
        for sort in ("due", "newest"):
            wanted = LetterFilter(status="all", sort=sort, **each)
            assert list(wanted.apply(seen)) == [own]
            assert [row for part in wanted.parts(seen) for row in part] == [own]
    for each in ({"tenant": "foreign"}, {"q": "foreign"}, {"tenant": "nobody"}):
        assert not LetterFilter(**each).apply(seen).exists()


def test_the_number_of_queries_does_not_grow_with_what_is_asked(django_assert_num_queries: Any) -> None:
    tenant = new_tenant("a")
    for _ in range(3):
        letter(tenant)
    everything = LetterFilter(job="j", owner="o", reason="poison", error="e", older_than=timedelta(1), overdue=True)
    # Which error classes there are, for each state; and of all that does not lead, whether few letters fulfil it.
    with django_assert_num_queries(1 + len(UNDRAINED) + 4):
        list(everything.apply(DeadLetter.objects.all()))
    with django_assert_num_queries(1):
        LetterFilter().apply(DeadLetter.objects.all()).count()
    with django_assert_num_queries(2):
        list(LetterFilter(tenant="a").apply(DeadLetter.objects.all()))


def test_an_error_is_found_the_same_way_among_very_many_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant = new_tenant("a")
    for name in ("shop.Late", "Late", "TooLate", "late", "x_late"):
        letter(tenant, job_id=name.replace(".", "-"), error_class=name)
    few = found(LetterFilter(error="Late"))
    monkeypatch.setattr("dlq.filters.MOST_CLASSES", 2)
    assert found(LetterFilter(error="Late")) == few == {"shop-Late", "Late"}


def test_every_state_has_its_own_part() -> None:
    for status, members in STATUSES.items():
        assert len(LetterFilter(status=status).parts(DeadLetter.objects.all())) == len(members)
    assert LetterFilter(status="resolved", overdue=True).parts(DeadLetter.objects.all()) == []
