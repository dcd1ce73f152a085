"""What is read of causes and their deadlines."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dlq.clock.forecast import span_of
from dlq.models import DeadLetterGroup, GroupSpan, GroupTenant
from jobops.alerts.evaluating import evaluate
from jobops.alerts.models import Alert, AlertRule
from jobops.engine.client import Engine
from tests.alerts.readings import cause, over, read, seen
from tests.alerts.rounds import channel, told
from tests.dlq.letters import letters
from tests.runtime import factory

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def test_a_new_cause_is_told_to_its_owner_once_with_its_page_and_its_deadline(engine: Engine) -> None:
    channel("payments")
    group = cause(3184, tenants=7, severity="high")
    for _ in range(3):
        evaluate(engine, only={"new_cause"})
    alert = Alert.objects.get()
    assert alert.title == "A new cause: payment provider answered 503"
    assert alert.detail.startswith("3,184 dead letters to drain; 3,184 deaths of 7 tenants in all;")
    assert (alert.owner, alert.severity, alert.path) == ("payments", "high", f"/dlq/groups/{group.pk}/")
    assert (alert.due_at, alert.scope["group"]) == (group.due_at, group.pk)
    assert told() == ["fired"]


def test_each_cause_is_an_episode_and_those_of_one_owner_are_one_message(engine: Engine) -> None:
    channel("payments")
    for _ in range(3):
        cause(1000)
    evaluate(engine, only={"new_cause"})
    assert (Alert.objects.count(), told()) == (3, ["fired"])


def test_a_cause_is_over_when_it_is_drained_and_news_again_when_it_comes_back(engine: Engine) -> None:
    channel("payments")
    group, now = cause(5), timezone.now()
    evaluate(engine, now, only={"new_cause"})
    drained = {"open": 0, "resolved": 5, "due_at": None, "state": "drained"}
    DeadLetterGroup.objects.update(**drained)
    evaluate(engine, now + timedelta(minutes=1), only={"new_cause"})
    evaluate(engine, now + timedelta(minutes=3), only={"new_cause"})
    assert told() == ["fired", "resolved"]
    later = now + timedelta(days=3)
    DeadLetterGroup.objects.update(open=1, due_at=later + DAY, state="active", reopened_at=later, first_seen_at=now)
    evaluate(engine, later, only={"new_cause"})
    assert Alert.objects.latest("pk").title == f"Back again: {group.title}"
    assert told() == ["fired", "resolved", "fired"]


def test_a_cause_that_comes_back_after_a_clock_was_set_back_is_news(engine: Engine) -> None:
    channel("payments")
    cause(5)
    now = timezone.now()
    evaluate(engine, now, only={"new_cause"})
    DeadLetterGroup.objects.update(open=0, resolved=5, due_at=None, state="drained")
    for minute in (61, 63):
        evaluate(engine, now + timedelta(minutes=minute), only={"new_cause"})
    later = now + timedelta(minutes=10)
    back = {"reopened_at": later, "last_seen_at": later}
    DeadLetterGroup.objects.update(open=1, due_at=later + DAY, state="active", **back)
    evaluate(engine, later, only={"new_cause"})
    assert told() == ["fired", "resolved", "fired"]


def test_what_is_taken_back_of_a_drained_cause_is_no_news(engine: Engine) -> None:
    channel("payments")
    cause(5)
    now = timezone.now()
    evaluate(engine, now, only={"new_cause"})
    DeadLetterGroup.objects.update(open=0, discarded=5, due_at=None, state="drained")
    evaluate(engine, now + timedelta(minutes=1), only={"new_cause"})
    evaluate(engine, now + timedelta(minutes=3), only={"new_cause"})
    DeadLetterGroup.objects.update(open=1, discarded=4, due_at=now + DAY, state="active")
    evaluate(engine, now + timedelta(minutes=4), only={"new_cause"})
    assert told() == ["fired", "resolved"]
    DeadLetterGroup.objects.update(open=2, last_seen_at=now + timedelta(minutes=5))
    evaluate(engine, now + timedelta(minutes=6), only={"new_cause"})
    assert told() == ["fired", "resolved", "fired"], "one more died of it"


def test_nobody_is_told_of_causes_of_long_ago_but_an_episode_goes_on(engine: Engine) -> None:
    group, now = cause(5, first_seen_at=timezone.now() - 2 * DAY), timezone.now()
    evaluate(engine, now, only={"new_cause"})
    assert not Alert.objects.exists()
    DeadLetterGroup.objects.filter(pk=group.pk).update(first_seen_at=now)
    evaluate(engine, now, only={"new_cause"})
    for hour in (23, 25, 50):
        evaluate(engine, now + timedelta(hours=hour), only={"new_cause"})
    assert Alert.objects.get().resolved_at is None


@pytest.mark.parametrize("state", ["acknowledged", "snoozed"])
def test_a_cause_that_somebody_deals_with_is_not_news(engine: Engine, state: str) -> None:
    channel("payments")
    cause(5, state=state, state_by="mia")
    evaluate(engine, only={"new_cause"})
    assert (Alert.objects.get().state, Alert.objects.get().acknowledged_by, told()) == ("acknowledged", "mia", [])


def test_how_many_are_late_is_told_and_how_late_is_what_counts(engine: Engine) -> None:
    acme = factory.tenant()
    late = cause(3, tenant=acme, due_in_s=-120)
    cause(2, tenant=acme, due_in_s=120)
    found = read(engine, "sla_breach")
    assert list(found) == [f"group={late.pk}"]
    reading = found[f"group={late.pk}"].reading
    assert reading.title == "3 dead letters are past their deadline: payment provider answered 503"
    assert 120 <= reading.value < 180
    assert reading.severity == "high"  # of a cause of normal severity
    assert over(engine, "sla_breach") == [f"group={late.pk}"]
    AlertRule.objects.create(signal="sla_breach", team="payments", threshold=600)
    assert over(engine, "sla_breach") == []


def test_one_late_letter_is_one(engine: Engine) -> None:
    group = cause(1, tenant=factory.tenant(), due_in_s=-5)
    assert read(engine, "sla_breach")[f"group={group.pk}"].reading.title.startswith(
        "1 dead letter is past its deadline:"
    )


def test_letters_of_many_causes_are_not_counted_through(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobops.alerts.signals.deadlines.MOST_COUNTED", 4)
    acme = factory.tenant()
    first, second = cause(3, tenant=acme, due_in_s=-120), cause(3, tenant=acme, due_in_s=-60)
    titles = {subject: each.reading.title for subject, each in read(engine, "sla_breach").items()}
    assert titles[f"group={first.pk}"].startswith("3 dead letters are past")
    assert titles[f"group={second.pk}"].startswith("Dead letters are past")


def test_three_quarters_of_the_time_used_are_a_warning_and_a_breach_is_none(engine: Engine) -> None:
    acme = factory.tenant()
    soon = cause(2, tenant=acme, due_in_s=3600 * 0.2)
    cause(2, tenant=acme, due_in_s=3600 * 0.3)
    cause(2, tenant=acme, due_in_s=-1)
    assert over(engine, "sla_warning") == [f"group={soon.pk}"]
    reading = read(engine, "sla_warning")[f"group={soon.pk}"].reading
    assert reading.title == "The first of 2 dead letters is due soon: payment provider answered 503"
    assert reading.value == pytest.approx(80, abs=1)


def test_a_paused_clock_warns_of_nothing(engine: Engine) -> None:
    until = timezone.now() + timedelta(seconds=700)
    cause(2, tenant=factory.tenant(), due_in_s=720, clock_paused_until=until)
    found = seen(engine, "sla_warning", "sla_forecast")
    assert (found.over, found.unread) == ([], {})


def test_a_deadline_that_will_be_missed_at_this_rate_is_told_before(engine: Engine) -> None:
    now = timezone.now()
    group = cause(1000, due_in_s=40 * 60, first_seen_at=now - DAY)
    assert over(engine, "sla_forecast") == [f"group={group.pk}"]
    assert "nothing was drained in the last hour" in read(engine, "sla_forecast")[f"group={group.pk}"].reading.detail
    GroupSpan.objects.create(group=group, at=span_of(now), drained=5000)
    assert over(engine, "sla_forecast") == []


def test_a_young_cause_of_which_nothing_is_drained_yet_is_no_forecast_before_half_of_its_time(engine: Engine) -> None:
    now = timezone.now()
    began = {"first_seen_at": now - timedelta(minutes=2)}
    group = cause(1000, due_in_s=58 * 60, **began)
    back = cause(1000, due_in_s=58 * 60, first_seen_at=now - DAY, reopened_at=now - timedelta(minutes=2))
    letters(factory.tenant(), 1, group=back, dead_at=began["first_seen_at"], due_at=back.due_at, sla_s=3600)
    assert over(engine, "sla_forecast", now) == []
    assert over(engine, "sla_forecast", now + timedelta(minutes=27)) == []
    half = now + timedelta(minutes=29)
    assert over(engine, "sla_forecast", half) == sorted([f"group={group.pk}", f"group={back.pk}"])
    detail = read(engine, "sla_forecast", half)[f"group={group.pk}"].reading.detail
    assert detail.endswith("nothing was drained yet"), "it is no hour old"
    GroupSpan.objects.create(group=group, at=span_of(now), drained=1)
    assert over(engine, "sla_forecast", now) == [f"group={group.pk}"], "a rate tells at once"
    begun = span_of(now)
    group.spans.update(drained=5000)
    assert over(engine, "sla_forecast", begun + timedelta(minutes=12)) == [], "one that is over is no rate"
    assert over(engine, "sla_forecast", half) == sorted([f"group={group.pk}", f"group={back.pk}"])
    detail = read(engine, "sla_forecast", begun + timedelta(minutes=35))[f"group={group.pk}"].reading.detail
    assert detail.endswith("nothing was drained for 30 min")


def test_what_is_due_far_away_is_no_forecast_to_tell_of(engine: Engine) -> None:
    cause(1000, due_in_s=5 * 3600)
    assert over(engine, "sla_forecast") == []


def test_many_letters_of_a_team_and_of_tenants_that_a_rule_names(engine: Engine) -> None:
    acme, beta = factory.tenant("acme"), factory.tenant("beta")
    one, two = cause(600), cause(500)
    cause(999, owner="exports")
    for group, tenant, count in ((one, acme, 30), (two, acme, 20), (one, beta, 5)):
        GroupTenant.objects.create(group=group, tenant=tenant, open=count)
    assert over(engine, "dead_letters") == ["team=payments"]
    assert read(engine, "dead_letters")["team=payments"].reading.title == "payments has 1,100 dead letters to drain"
    AlertRule.objects.create(signal="dead_letters", tenant="a*", threshold=49)
    assert over(engine, "dead_letters") == ["team=payments", "tenant=acme"]
    assert "tenant=beta" not in read(engine, "dead_letters")


def test_ten_million_letters_are_an_alert_and_drained_ones_count(engine: Engine) -> None:
    cause(1, resolved=9_999_998)
    assert over(engine, "letters_kept") == []
    DeadLetterGroup.objects.update(discarded=2)
    assert over(engine, "letters_kept") == ["all"]


def test_the_number_of_queries_does_not_grow_with_the_causes(
    engine: Engine, django_assert_max_num_queries: Any, django_assert_num_queries: Any
) -> None:
    acme = factory.tenant()
    names = {"new_cause", "dead_letters", "letters_kept", "sla_breach", "sla_warning", "sla_forecast"}
    for number in range(3):
        cause(1, tenant=acme, due_in_s=600 * (number - 1))
    with django_assert_max_num_queries(12) as few:
        seen(engine, *names)
    for number in range(40):
        cause(1, tenant=acme, due_in_s=600 * (number - 20))
    with django_assert_num_queries(len(few)):
        seen(engine, *names)
