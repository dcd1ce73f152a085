"""What people do about alerts, silences and thresholds."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import Http404
from django.utils import timezone

from jobops.alerts import acting, reading
from jobops.alerts.errors import InvalidAlertAction, NoSuchAlert, WrongAlertState
from jobops.alerts.models import Alert, AlertRule, Silence
from jobops.alerts.signals import SIGNALS
from jobops.audit.models import AuditEntry
from tenants.models import Team, Tenant
from tests.alerts.readings import cause
from tests.alerts.rounds import alert, channel, evaluate, told

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("known")]


@pytest.fixture
def known() -> None:
    """What rules and silences of these tests name."""
    for slug in ("acme", "beta", "quiet"):
        Tenant.objects.create(slug=slug, name=slug)
    Team.objects.create(name="payments")


def audited() -> AuditEntry:
    return AuditEntry.objects.get()


def test_acknowledging_is_audited_and_told_to_who_heard_of_it() -> None:
    channel()
    evaluate(0, 500)
    acting.alert_acknowledge(alert_id=alert().pk, by=User.objects.create(username="mia"), minutes=30)
    assert (alert().state, alert().acknowledged_by) == ("acknowledged", "mia")
    left = alert().acknowledged_until - timezone.now()  # type: ignore[operator]
    assert timedelta(minutes=29) < left <= timedelta(minutes=30)
    assert (audited().action, audited().target_id, audited().actor) == ("alert.acknowledge", str(alert().pk), "mia")
    assert (audited().before["state"], audited().after["state"]) == ("firing", "acknowledged")
    assert told() == ["fired", "acknowledged"]


def test_another_person_takes_an_acknowledged_one_over() -> None:
    evaluate(0, 500)
    for name in ("mia", "ben"):
        acting.alert_acknowledge(alert_id=alert().pk, by=name)
    assert alert().acknowledged_by == "ben"
    assert AuditEntry.objects.count() == 2


def test_what_is_over_or_was_never_there_cannot_be_acknowledged() -> None:
    evaluate(0, 500)
    evaluate(1, 0)
    evaluate(3, 0)
    with pytest.raises(WrongAlertState, match="over by itself"):
        acting.alert_acknowledge(alert_id=alert().pk, by="mia")
    with pytest.raises(NoSuchAlert, match="no alert 4711"):
        acting.alert_acknowledge(alert_id=4711, by="mia")
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("minutes", [0, -1, 10_081, True, 1.5, "60", None])
def test_an_acknowledgement_lasts_a_minute_to_a_week(minutes: Any) -> None:
    evaluate(0, 500)
    with pytest.raises(InvalidAlertAction, match="minutes: must be a whole number from 1"):
        acting.alert_acknowledge(alert_id=alert().pk, by="mia", minutes=minutes)
    assert alert().state == "firing"


def soon(**time: float) -> datetime:
    return timezone.now() + timedelta(**(time or {"hours": 2}))


def test_a_silence_is_made_and_ended_each_with_its_row_in_the_audit() -> None:
    made = acting.silence_create(
        by="mia", reason=" known\nsince noon ", ends_at=soon(), signal="sla_*", team="payments"
    )
    assert (made.reason, made.signal, made.by) == ("known since noon", "sla_*", "mia")
    assert audited().action == "silence.create"
    assert audited().after["team"] == "payments"
    acting.silence_end(silence_id=made.pk, by="ben")
    assert Silence.objects.get().ends_at <= timezone.now()
    assert AuditEntry.objects.filter(action="silence.end", actor="ben").exists()
    with pytest.raises(WrongAlertState):
        acting.silence_end(silence_id=made.pk, by="ben")
    with pytest.raises(NoSuchAlert):
        acting.silence_end(silence_id=made.pk + 1, by="ben")


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("reason", {"reason": "  "}),
        ("reason", {"reason": "x" * 501}),
        ("ends_at", {"ends_at": timezone.now() - timedelta(seconds=1)}),
        ("ends_at", {"ends_at": timezone.now() + timedelta(days=91)}),
        ("ends_at", {"ends_at": datetime(2030, 1, 1)}),  # noqa: DTZ001
        ("signal", {"tenant": ""}),
        ("signal", {"signal": "sla_breech"}),
        ("tenant", {"tenant": "x" * 101}),
        ("group", {"group": "5"}),
        ("group", {"group": -5}),
        ("host", {"host": "a"}),
        ("tenant", {"tenant": "acmee"}),
        ("tenant", {"tenant": "a\0b"}),
        ("lane", {"lane": "bulkk"}),
        ("job_type", {"tenant": "", "job_type": "tests.nosuch"}),
        ("team", {"team": "payment"}),
        ("group", {"tenant": "", "group": 4711}),
        ("job_type", {"job_type": "tests.*"}),  # with the tenant of the others: no alert is of both
        ("tenant", {"signal": "no_scheduler"}),
        ("lane", {"tenant": "", "signal": "sla_*", "lane": "bulk"}),
    ],
)
def test_a_silence_that_makes_no_sense_is_refused_and_says_what_is_wrong(field: str, change: dict[str, Any]) -> None:
    with pytest.raises(InvalidAlertAction) as refused:
        acting.silence_create(**({"by": "mia", "reason": "known", "ends_at": soon(), "tenant": "acme"} | change))
    assert refused.value.field == field
    assert not Silence.objects.exists()
    assert not AuditEntry.objects.exists()


def test_a_rule_is_one_for_a_scope_and_what_is_not_given_stays() -> None:
    acting.rule_set(by="mia", signal="depth", tenant="acme", threshold=50, severity="high")
    acting.rule_set(by="ben", signal="depth", tenant="acme", for_s=10)
    acting.rule_set(by="ben", signal="depth", tenant="beta", enabled=False)
    rule = AlertRule.objects.get(tenant="acme")
    assert (rule.threshold, rule.for_s, rule.severity, rule.by) == (50, 10, "high", "ben")
    second = AuditEntry.objects.filter(action="alert_rule.set").order_by("pk")[1]
    assert (second.before, second.after) == ({}, {"for_s": 10})
    acting.rule_set(by="ben", signal="depth", tenant="acme", threshold=None, severity="")
    rule.refresh_from_db()
    assert (rule.threshold, rule.severity) == (None, "")
    acting.rule_delete(rule_id=rule.pk, by="ben")
    assert AuditEntry.objects.filter(action="alert_rule.delete").get().before["tenant"] == "acme"
    with pytest.raises(NoSuchAlert):
        acting.rule_delete(rule_id=rule.pk, by="ben")


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("signal", {"signal": "dept"}),
        ("threshold", {"threshold": -1}),
        ("threshold", {"threshold": float("nan")}),
        ("threshold", {"threshold": "5"}),
        ("threshold", {"signal": "no_scheduler", "threshold": 5}),
        ("for_s", {"for_s": -1}),
        ("for_s", {"for_s": 86_401}),
        ("severity", {"severity": "urgent"}),
        ("owner", {"owner": "<b>"}),
        ("owner", {"owner": "paymentz"}),
        ("group", {"group": "5"}),
        ("signal", {"signal": ""}),
        ("threshold", {}),
        ("threshold", {"severity": "", "enabled": True, "tenant": "acme"}),
        ("tenant", {"threshold": 5, "tenant": "acmee"}),
        ("lane", {"threshold": 5, "lane": "bulkk"}),
        ("team", {"threshold": 5, "team": "payments"}),
        ("team", {"threshold": 5, "signal": "new_cause", "team": "payment"}),
        ("job_type", {"threshold": 5, "signal": "run_time", "job_type": "tests.nosuch"}),
        ("tenant", {"threshold": 5, "signal": "new_cause", "tenant": "acme"}),
        ("team", {"threshold": 5, "signal": "dead_letters", "tenant": "acme", "team": "payments"}),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused_and_says_what_is_wrong(field: str, change: dict[str, Any]) -> None:
    with pytest.raises(InvalidAlertAction) as refused:
        acting.rule_set(**({"by": "mia", "signal": "depth"} | change))
    assert refused.value.field == field
    assert not AlertRule.objects.exists()


def test_what_is_still_to_come_is_named_by_a_pattern_and_a_name_in_use_is_a_name() -> None:
    group = cause(1, owner="no-team-yet", job_type="gone.job")
    acting.rule_set(by="mia", signal="depth", tenant="new-*", threshold=5)
    acting.rule_set(by="mia", signal="new_cause", team="no-team-*", job_type="gone.job", threshold=5)
    end: dict[str, Any] = {"by": "mia", "reason": "known", "ends_at": soon()}
    acting.silence_create(**end, group=group.pk, job_type="gone.job")
    acting.silence_create(**end, signal="depth", team="payments", tenant="acme", lane="bulk")
    acting.silence_create(**end, tenant="new-[ab]", signal="nothing_yet_*")
    assert (AlertRule.objects.count(), Silence.objects.count()) == (2, 3)


def test_what_is_wrong_with_a_name_says_what_would_be_right() -> None:
    changes: tuple[tuple[str, dict[str, Any]], ...] = (
        ("did you mean acme", {"tenant": "acmee"}),
        (r"use a pattern, such as zzz\*", {"tenant": "zzz"}),
        ("of a tenant or a lane, not of a team", {"team": "payments"}),
        ("no team is called 'paymens'; did you mean payments", {"owner": "paymens"}),
        ("say what is to be different", {"threshold": None}),
    )
    for words, change in changes:
        with pytest.raises(InvalidAlertAction, match=words):
            acting.rule_set(**({"by": "mia", "signal": "depth", "threshold": 5} | change))


def test_a_rule_that_says_nothing_is_one_where_a_wider_one_would_hold() -> None:
    acting.rule_set(by="mia", signal="depth", threshold=5)
    own = acting.rule_set(by="mia", signal="depth", tenant="acme", threshold=None)
    acting.rule_delete(rule_id=AlertRule.objects.exclude(pk=own.pk).get().pk, by="mia")
    with pytest.raises(InvalidAlertAction, match="take it back instead"):
        acting.rule_set(by="mia", signal="depth", tenant="acme", enabled=True)


@pytest.mark.parametrize("name", sorted(SIGNALS))
def test_a_signal_has_the_parts_that_it_says(name: str) -> None:
    known = {"tenant", "lane", "job_type", "team", "group"}
    assert all(scope and scope <= known for scope in SIGNALS[name].parts)


def test_a_misspelt_signal_is_told_what_it_may_be() -> None:
    with pytest.raises(InvalidAlertAction, match="did you mean depth"):
        acting.rule_set(by="mia", signal="dept", threshold=5)


def test_open_alerts_are_listed_with_what_holds_of_them_in_a_constant_number_of_queries(
    django_assert_num_queries: Any,
) -> None:
    evaluate(0, {f"t{number}": 500 for number in range(20)})
    Alert.objects.filter(key="depth:t5").update(severity="critical")
    acting.alert_acknowledge(alert_id=Alert.objects.get(key="depth:t6").pk, by="mia")
    Alert.objects.filter(key="depth:t7").update(scope={"tenant": "quiet"})
    acting.silence_create(by="mia", reason="known", ends_at=soon(), tenant="quiet")
    with django_assert_num_queries(2):
        rows = reading.with_silences(list(reading.open_alerts()))
    assert (rows[0].alert.key, rows[-1].alert.key) == ("depth:t5", "depth:t6")
    assert [row.word for row in rows if row.alert.key == "depth:t7"] == ["silenced"]
    with django_assert_num_queries(2):
        assert reading.counts() == reading.Counts(firing=18, acknowledged=1, silenced=1)


def test_alerts_are_for_staff(django_user_model: type[User]) -> None:
    evaluate(0, 500)
    boss, stranger = User.objects.create_superuser("boss"), User.objects.create(username="stranger")
    assert reading.get_alert(boss, alert().pk).pk == alert().pk
    for user, number in ((stranger, alert().pk), (boss, alert().pk + 1), (boss, 0), (boss, 2**70)):
        with pytest.raises(Http404, match="No such alert"):
            reading.get_alert(user, number)
