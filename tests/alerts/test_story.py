"""From deaths to alerts: jobs that died for real, taken in, grouped, owned, and told of."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from dlq.causes import states
from dlq.intake import take_in
from dlq.models import DeadLetterGroup
from jobops.alerts import acting
from jobops.alerts.evaluating import evaluate
from jobops.alerts.models import Alert, Delivery
from jobops.contracts.decorator import job
from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from tests.alerts.rounds import channel, told
from tests.dlq.deaths import multiply, record_of_a_death

pytestmark = pytest.mark.django_db(transaction=True)


def die(engine: Engine, job_type: str, error: str, count: int) -> None:
    text = f"Traceback (most recent call last):\n{error}"
    outcome = Outcome.failed("error", "ProviderError", error, text)
    multiply(engine, count, record_of_a_death(engine, job_type=job_type, outcome=outcome))


def test_each_cause_is_named_once_to_the_right_team_until_it_is_dealt_with(both: Engine) -> None:
    for team, names in (("payments", ("capture", "refund")), ("exports", ("report",))):
        channel(team)
        for name in names:
            job(name=f"story.{name}", owner=team, drain_sla="4h", idempotent="does nothing")(lambda value=None: None)
    die(both, "story.capture", "the payment provider answered 503", 40)
    die(both, "story.refund", "the ledger is closed", 20)
    die(both, "story.report", "out of memory", 10)
    while take_in(both, 100):
        pass
    now = timezone.now()
    for step in range(4):
        evaluate(both, now + timedelta(seconds=5 * step), only={"new_cause"})
    assert (told("payments by mail"), told("exports by mail")) == (["fired"], ["fired"])
    assert sorted(Alert.objects.values_list("owner", flat=True)) == ["exports", "payments", "payments"]
    message = Delivery.objects.get(channel__name="exports by mail").message
    assert "out of memory" in message["title"]
    assert message["detail"].startswith("10 dead letters to drain; 10 deaths of 1 tenant in all;")
    assert message["due_at"]
    group = DeadLetterGroup.objects.get(owner="exports")
    assert message["url"].endswith(f"/dlq/groups/{group.pk}/")
    acting.alert_acknowledge(alert_id=Alert.objects.get(owner="exports").pk, by="mia")
    capture = DeadLetterGroup.objects.get(job_type="story.capture")
    states.group_acknowledge(group_id=capture.pk, by="ben")
    evaluate(both, now + timedelta(seconds=30), only={"new_cause"})
    assert Alert.objects.get(scope__group=capture.pk).acknowledged_by == "ben"
    assert Alert.objects.get(scope__job_type="story.refund").state == "firing"
