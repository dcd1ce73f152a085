"""MA-05 and trap 7: whoever evaluates, however often and however many, each episode is told once."""

from __future__ import annotations

import contextlib
import threading
from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import Error as DatabaseError
from django.db import connection
from django.db.models import F, Q
from django.utils import timezone
from pytest_django import Settings

from jobops.alerts import episodes, evaluating, telling
from jobops.alerts.acting import alert_acknowledge
from jobops.alerts.channel_services import channel_delete
from jobops.alerts.claiming import claimed
from jobops.alerts.errors import WrongAlertState
from jobops.alerts.judging import Look, gathered, judged
from jobops.alerts.models import Alert, Channel, Delivery
from jobops.alerts.rules import Limits
from jobops.alerts.signals.base import Reading
from jobops.engine.client import Engine
from tenants.models import Team
from tenants.teams import team_delete
from tests.alerts.rounds import alert, at, channel, evaluate, signal, told
from tests.runtime.together import at_once, twice_at_once

pytestmark = pytest.mark.django_db(transaction=True)
VALUES = {f"t{number:02}": 500.0 for number in range(40)}


def test_two_who_evaluate_at_once_open_tell_of_and_end_each_episode_once() -> None:
    channel(name="pager", kind="pagerduty", secret="x" * 32)
    channel(name="mail")
    at_once(lambda: evaluate(0, VALUES), 4)
    assert Alert.objects.count() == len(VALUES)
    assert set(Alert.objects.values_list("notices", flat=True)) == {1}
    twice_at_once(lambda: evaluate(9 * 60, VALUES))
    evaluate(9 * 60 + 1, {})
    twice_at_once(lambda: evaluate(10 * 60, {}))
    assert Alert.objects.filter(state="resolved").count() == len(VALUES)
    for each in Alert.objects.all():
        assert told_of(each) == ["fired", "reminder", "resolved"]


def test_who_was_told_by_somebody_else_after_we_read_hears_that_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one reads, and has it told, between our reading and our writing."""
    evaluate(0, 500)
    evaluate(1, 0)
    assert told() == [], "there was no channel"
    channel()
    read = episodes.Round.read

    def read_before_it_is_told(self: episodes.Round) -> None:
        read(self)
        monkeypatch.setattr(episodes.Round, "read", read)
        evaluate(2, 500)
        Alert.objects.update(calm_since=at(1))

    monkeypatch.setattr(episodes.Round, "read", read_before_it_is_told)
    evaluate(3, 0)
    assert alert().state == "resolved"
    assert told() == ["fired", "resolved"]


def test_acknowledging_while_it_ends_is_told_before_the_end_or_refused() -> None:
    channel()
    for number in range(12):
        start = number * 100
        evaluate(start, 500)
        evaluate(start + 1, 0)
        episode = Alert.objects.get(resolved_at__isnull=True)
        refused: list[str] = []

        def acknowledge(pk: int = episode.pk, refused: list[str] = refused) -> None:
            try:
                alert_acknowledge(alert_id=pk, by="mia")
            except WrongAlertState as error:
                refused.append(str(error))

        work = [acknowledge, lambda start=start: evaluate(start + 3, 0)]
        at_once(lambda work=work: work.pop()(), 2)
        episode.refresh_from_db()
        assert episode.state == "resolved"
        assert episode.resolved_at is not None
        rows = Delivery.objects.filter(alert=episode).order_by("pk")
        events = list(rows.values_list("event", flat=True))
        assert events == (["fired", "resolved"] if refused else ["fired", "acknowledged", "resolved"])


def test_a_channel_that_goes_while_a_round_tells_costs_that_round_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    going, staying = channel(name="going"), channel(name="staying")
    begin = telling.Telling.begin

    def as_it_goes(now: datetime) -> telling.Telling:
        found = begin(now)
        if connection.vendor == "postgresql":
            work = threading.Thread(target=lambda: (channel_delete(channel_id=going.pk, by="mia"), connection.close()))
            work.start()
            work.join()
        else:  # SQLite's deletion waits for the round to end
            Channel.objects.filter(pk=going.pk).delete()
        return found

    with monkeypatch.context() as patch:
        patch.setattr(telling.Telling, "begin", as_it_goes)
        with contextlib.suppress(DatabaseError):
            evaluate(0, 500)
    Channel.objects.filter(pk=going.pk).delete()
    evaluate(1, 500)
    assert (told(staying.name), told(going.name), alert().notices) == (["fired"], [], 1)


def test_a_team_that_goes_with_open_episodes_leaves_them_to_the_default_team(settings: Settings) -> None:
    settings.JOBOPS_DEFAULT_OWNER = "operations"
    own, default = channel("payments"), channel("operations")
    evaluate(0, {"a": 500, "b": 500})
    acknowledged = Alert.objects.get(key="depth:b")
    person = User.objects.create(username="mia")
    alert_acknowledge(alert_id=acknowledged.pk, by=person, minutes=10_000)
    person.delete()
    assert told(own.name) == ["fired", "acknowledged"]
    team_delete(team=Team.objects.get(name="payments"), by="olga")
    assert not Delivery.objects.exists()
    evaluate(8 * 60 + 1, {"a": 500, "b": 500})
    evaluate(9 * 60, {})
    evaluate(9 * 60 + 6, {})
    assert told() == told(default.name) == ["reminder", "resolved"]
    assert set(Alert.objects.values_list("state", flat=True)) == {"resolved"}
    acknowledged.refresh_from_db()
    assert acknowledged.acknowledged_by == "mia"


def told_of(episode: Alert) -> list[str]:
    rows = Delivery.objects.filter(alert=episode, channel__name="pager").order_by("pk")
    return list(rows.values_list("event", flat=True))


def test_both_see_that_it_is_not_open_and_one_opens_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one reads before the first has written: the constraint decides, not the reading."""
    channel()
    both_have_read = threading.Barrier(2)
    read = episodes.Round.read

    def slowly(self: episodes.Round) -> None:
        read(self)
        both_have_read.wait(timeout=1)

    if connection.vendor == "postgresql":  # SQLite's second transaction begins after the first one
        monkeypatch.setattr(episodes.Round, "read", slowly)
    twice_at_once(lambda: evaluate(0, 500))
    assert (alert().notices, told()) == (1, ["fired"])


def test_one_that_dies_before_it_commits_has_opened_and_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    channel()

    class Killed(BaseException):
        pass

    def die(*args: object, **kwargs: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("jobops.alerts.telling.notify_together", die)
        with pytest.raises(Killed):
            evaluate(0, 500)
    assert (Alert.objects.count(), Delivery.objects.count()) == (0, 0)
    evaluate(1, 500)
    assert told() == ["fired"]


def test_what_was_purged_is_not_told_again_and_what_is_open_is_never_purged() -> None:
    channel()
    evaluate(0, {"old": 500, "open": 500})
    evaluate(1, {"old": 0, "open": 500})
    evaluate(3, {"old": 0, "open": 500})
    Alert.objects.filter(resolved_at__isnull=False).update(resolved_at=timezone.now() - timedelta(days=91))
    Alert.objects.filter(resolved_at__isnull=True).update(since=timezone.now() - timedelta(days=400))
    assert evaluating.forget() == 1
    assert evaluating.forget() == 0
    assert alert().key == "depth:open"
    evaluate(5, {"old": 0, "open": 500})
    evaluate(6, {"old": 0, "open": 500})
    assert told().count("fired") <= 1


def test_a_late_round_of_one_that_slept_opens_nothing(monkeypatch: pytest.MonkeyPatch, engine: Engine) -> None:
    """It read that something is wrong, slept, and meanwhile it was mended and resolved."""
    stale = Look(gathered(judged(signal(), [Reading("acme", 500, "deep")], Limits())), frozenset({"depth"}))
    monkeypatch.setattr(evaluating, "look", lambda *args, **kwargs: stale)
    monkeypatch.setattr(evaluating, "STALE_S", -1.0)
    assert evaluating.evaluate(engine, at(0)) == 0
    assert not Alert.objects.exists()
    monkeypatch.setattr(evaluating, "STALE_S", 60.0)
    assert evaluating.evaluate(engine, at(0)) == 1


def test_of_many_only_those_are_ours_that_nobody_else_has_changed_meanwhile() -> None:
    evaluate(0, {"a": 500, "b": 500, "c": 500})
    alerts = list(Alert.objects.order_by("key"))
    Alert.objects.filter(key="depth:b").update(told_at=at(0), notices=1)
    mine = claimed(alerts, Q(told_at__isnull=True), told_at=at(1), notices=F("notices") + 1)
    assert [each.key for each in mine] == ["depth:a", "depth:c"]
    assert list(Alert.objects.order_by("key").values_list("notices", "told_at")) == [(1, at(1)), (1, at(0)), (1, at(1))]
    assert claimed(alerts, Q(told_at__isnull=True), told_at=at(2)) == []


def test_of_many_that_begin_only_those_are_ours_that_nobody_else_has_opened_meanwhile() -> None:
    evaluate(0, {"b": 500})
    readings = [Reading(subject, 500, "deep") for subject in ("a", "b", "c")]
    opened = episodes._open(judged(signal(), readings, Limits()), at(1))
    assert [each.key for each in opened] == ["depth:a", "depth:c"]
    assert all(each.pk for each in opened)
    assert Alert.objects.filter(key="depth:b").count() == 1
