"""Who hears what, and when."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobops.alerts import acting
from jobops.alerts.models import Alert, Channel, Delivery, Silence
from tenants.models import Team
from tests.alerts.rounds import alert, at, channel, evaluate, signal, told

pytestmark = pytest.mark.django_db


def acknowledge(minute: float, minutes: int = 60) -> None:
    """At that minute; the service itself knows no other time than now."""
    acting.alert_acknowledge(alert_id=alert().pk, by="mia", minutes=minutes)
    Alert.objects.update(acknowledged_at=at(minute), acknowledged_until=at(minute + minutes))


def silence(minute: float, until: float, **matcher: object) -> Silence:
    return Silence.objects.create(by="mia", reason="known", starts_at=at(minute), ends_at=at(until), **matcher)


def test_the_owners_channels_and_everybodys_are_told_and_no_other_teams() -> None:
    for team in ("payments", "exports", ""):
        channel(team)
    channel(name="off", enabled=False)
    evaluate(0, 500)
    told_to = set(Delivery.objects.values_list("channel__name", "event"))
    assert told_to == {("payments by mail", "fired"), ("everybody by mail", "fired")}
    row = Delivery.objects.get(channel__name="payments by mail")
    assert row.key == f"{alert().pk}:{row.channel_id}:fired:1"
    assert row.message["title"] == "acme has 500 jobs"


def test_a_team_without_a_channel_and_an_owner_that_is_no_team_are_told_through_the_default_team() -> None:
    channel("operations")
    Team.objects.create(name="payments")
    evaluate(0, {"acme": 500})
    evaluate(1, {"acme": 500, "beta": 500}, owner="nobody we know")
    assert told("operations by mail") == ["fired", "fired"]


def test_an_episode_without_any_channel_is_told_as_soon_as_there_is_one() -> None:
    evaluate(0, 500)
    assert (alert().notices, alert().told_at) == (0, None)
    channel()
    evaluate(1, 500)
    evaluate(2, 500)
    assert (alert().notices, alert().told_at, told()) == (1, at(1), ["fired"])


def test_a_channel_hears_of_its_least_severity_and_above() -> None:
    channel(name="pager", least_severity="high")
    evaluate(0, {"low": 500}, severity="normal")
    evaluate(1, {"high": 500}, severity="high")
    assert told("pager") == ["fired"]
    assert Delivery.objects.get().alert.key == "depth:high"


def test_many_of_one_signal_and_owner_are_one_message_and_the_most_severe_leads_it() -> None:
    channel()
    channel("exports")
    evaluate(0, {f"t{number}": 500 for number in range(30)})
    assert Alert.objects.filter(notices=1).count() == 30
    message = Delivery.objects.get().message
    assert (message["also_count"], len(message["also"])) == (29, 20)
    assert {"alert", "title", "path"} <= message["also"][0].keys()
    evaluate(1, {"other": 500}, owner="exports")
    evaluate(10, {"other": 500}, owner="exports")
    assert (told("payments by mail"), told("exports by mail")) == (["fired", "resolved"], ["fired"])


def test_pagerduty_opens_and_closes_each_incident_by_itself() -> None:
    channel(kind="pagerduty", secret="x" * 32)
    evaluate(0, {"a": 500, "b": 500})
    evaluate(1, {"a": 500, "b": 0})
    evaluate(3, {"a": 500, "b": 0})
    rows = Delivery.objects.order_by("pk").values_list("alert__key", "event")
    assert list(rows) == [("depth:a", "fired"), ("depth:b", "fired"), ("depth:b", "resolved")]


def test_it_is_reminded_of_until_somebody_has_it() -> None:
    channel()
    for hour in range(26):
        evaluate(hour * 60, 500)
    assert told() == ["fired", "reminder", "reminder", "reminder"]  # normal: every eight hours
    acknowledge(26 * 60, minutes=7 * 24 * 60)
    for hour in range(27, 60):
        evaluate(hour * 60, 500)
    assert told() == ["fired", "reminder", "reminder", "reminder", "acknowledged"]


def test_the_more_severe_it_is_the_more_often_it_is_reminded_of() -> None:
    channel()
    for hour in range(5):
        evaluate(hour * 60, 500, severity="critical")
    assert told() == ["fired", *["reminder"] * 4]


def test_an_acknowledgement_that_runs_out_fires_again_and_escalates_anew() -> None:
    channel("payments")
    channel("bosses")
    Team.objects.filter(name="payments").update(escalates_to=Team.objects.get(name="bosses"), escalate_after_min=30)
    evaluate(0, 500)
    evaluate(29, 500)
    assert told("bosses by mail") == []
    acknowledge(29)
    evaluate(88, 500)
    assert (alert().state, told("bosses by mail")) == ("acknowledged", [])
    evaluate(89, 500)
    assert (alert().state, alert().notices, alert().told_at) == ("firing", 2, at(89))
    evaluate(118, 500)
    assert told("bosses by mail") == []
    evaluate(119, 500)
    evaluate(150, 500)
    assert told("bosses by mail") == ["escalated"]
    assert told("payments by mail") == ["fired", "acknowledged", "fired"]


def test_what_nobody_acknowledges_escalates_once_to_whom_the_team_names() -> None:
    channel("payments")
    channel("bosses")
    Team.objects.filter(name="payments").update(escalates_to=Team.objects.get(name="bosses"), escalate_after_min=10)
    for minute in range(60):
        evaluate(minute, 500)
    assert told("bosses by mail") == ["escalated"]
    assert alert().escalated_at == at(10)


def test_it_escalates_also_where_the_team_itself_has_no_channel() -> None:
    channel("bosses")
    boss = Team.objects.get(name="bosses")
    Team.objects.create(name="payments", escalates_to=boss, escalate_after_min=10)
    evaluate(0, 500)
    evaluate(10, 500)
    assert told() == ["escalated"]


def test_nobody_is_told_of_a_silenced_one_until_the_silence_ends() -> None:
    channel()
    silence(0, 30, tenant="ac*")
    evaluate(1, 500)
    evaluate(29, 500)
    assert (alert().state, told()) == ("firing", [])
    evaluate(30, 500)
    assert told() == ["fired"]


def test_what_began_and_ended_while_it_was_silenced_is_never_told() -> None:
    channel()
    silence(0, 30, signal="depth")
    for minute, value in ((1, 500), (2, 0), (4, 0), (40, 0)):
        evaluate(minute, value)
    assert (alert().state, told()) == ("resolved", [])


def test_who_heard_of_it_before_it_was_silenced_hears_its_end_and_no_reminder() -> None:
    channel()
    evaluate(0, 500)
    silence(1, 60 * 48, team="payments")
    for hour in range(1, 30):
        evaluate(hour * 60, 500)
    assert told() == ["fired"]
    evaluate(1801, 0)
    evaluate(1803, 0)
    assert told() == ["fired", "resolved"]


@pytest.mark.parametrize("matcher", [{"tenant": "beta"}, {"lane": "bulk"}, {"job_type": "*"}, {"group": 5}])
def test_a_silence_of_something_else_silences_nothing(matcher: dict[str, object]) -> None:
    channel()
    silence(0, 30, **matcher)
    evaluate(1, 500)
    assert told() == ["fired"]


def test_who_deals_with_what_it_is_about_has_the_alert() -> None:
    """A cause that somebody acknowledged or snoozed is not news; one that is active again is."""
    channel()
    evaluate(0, 500)
    evaluate(1, 500, known_by="mia")
    assert (alert().state, alert().acknowledged_by, alert().acknowledged_until) == ("acknowledged", "mia", None)
    evaluate(1000, 500, known_by="mia")
    evaluate(1001, None)  # not read: that says nothing
    assert told() == ["fired", "acknowledged"]
    evaluate(1002, 500)
    assert (alert().state, told()) == ("firing", ["fired", "acknowledged", "fired"])


def test_what_somebody_deals_with_from_the_beginning_is_told_to_nobody() -> None:
    channel()
    evaluate(0, 500, known_by="mia")
    evaluate(60, 500, known_by="mia")
    assert (alert().state, told()) == ("acknowledged", [])


def test_a_warning_that_becomes_a_breach_is_not_called_over() -> None:
    channel(name="mail")
    channel(name="pager", kind="pagerduty", secret="x" * 32)
    warning, breach = signal(name="sla_warning"), signal(name="sla_breach")
    evaluate(0, 500, warning)
    evaluate(1, 500, breach)
    evaluate(1, 0, warning)
    evaluate(3, 0, warning)
    assert Alert.objects.get(signal="sla_warning").state == "resolved"
    assert told("mail") == ["fired", "fired"]
    assert told("pager") == ["fired", "fired", "resolved"]


def test_a_resolved_one_is_not_acknowledged_any_more() -> None:
    channel()
    evaluate(0, 500)
    acknowledge(0, minutes=600)
    evaluate(1, 0)
    evaluate(3, 0)
    assert (alert().state, told()) == ("resolved", ["fired", "acknowledged", "resolved"])
    evaluate(700, 0)
    assert alert().state == "resolved"
    assert alert().acknowledged_until == at(0) + timedelta(minutes=600)


def test_channels_of_all_kinds_are_known() -> None:
    for kind in Channel.Kind:
        channel(name=str(kind), kind=kind, secret="x" * 32)
    evaluate(0, 500)
    assert Delivery.objects.count() == len(Channel.Kind)


def test_a_team_that_it_is_handed_to_hears_of_it_and_both_hear_its_end() -> None:
    channel("payments")
    channel("exports")
    evaluate(0, 500)
    evaluate(1, 500, owner="exports")
    evaluate(2, 500, owner="exports")
    assert (told("payments by mail"), told("exports by mail")) == (["fired"], ["fired"])
    assert (alert().notices, alert().told_at) == (2, at(1))
    evaluate(3, 0, owner="exports")
    evaluate(5, 0, owner="exports")
    assert (told("payments by mail"), told("exports by mail")) == (["fired", "resolved"], ["fired", "resolved"])


def test_an_incident_is_closed_although_it_is_less_severe_by_now() -> None:
    channel(name="pager", kind="pagerduty", secret="x" * 32, least_severity="high")
    channel(name="mail")
    evaluate(0, {"a": 500, "b": 500}, severity="critical")
    evaluate(1, {"a": 500, "b": 500}, severity="low")
    evaluate(2, {})
    evaluate(7, {})
    rows = Delivery.objects.filter(channel__name="pager").order_by("pk").values_list("alert__key", "event")
    assert list(rows) == [(f"depth:{name}", event) for event in ("fired", "resolved") for name in ("a", "b")]
