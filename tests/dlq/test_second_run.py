"""The sentence beside the replay button."""

from __future__ import annotations

import pytest

from dlq.models import DeadLetter, Redirect
from dlq.second_run import second_run
from jobops.contracts.decorator import job
from jobops.contracts.registry import temporary_registry

LOST = [{"n": 2, "outcome": "error"}, {"n": 3, "outcome": "worker_lost"}, {"n": 4, "outcome": "error"}]

pytestmark = pytest.mark.django_db


def test_it_says_what_the_contract_promises_and_else_what_is_known() -> None:
    with temporary_registry():

        @job(name="safe", idempotent="upserts by invoice id.", owner="o", drain_sla="1h", timeout="1s")
        def safe() -> None: ...

        @job(name="unsaid", owner="o", drain_sla="1h", timeout="1s")
        def unsaid() -> None: ...

        told = second_run(DeadLetter(job_type="safe", history=LOST))
        assert (told.tone, told.text) == ("ok", "Safe to repeat because upserts by invoice id.")
        told = second_run(DeadLetter(job_type="unsaid", history=LOST))
        assert (told.tone, told.text) == ("danger", "May have taken effect: worker lost in attempt 3.")
        assert second_run(DeadLetter(job_type="unsaid", history=[])).tone == "warn"

        @job(name="guarded", guard=lambda: "key", owner="o", drain_sla="1h", timeout="1s")
        def guarded() -> None: ...

        told = second_run(DeadLetter(job_type="guarded", history=[], error_class="ValueError"))
        assert (told.tone, told.text[:36]) == ("ok", "Safe to repeat because its guard kee")
        told = second_run(DeadLetter(job_type="guarded", history=LOST))
        assert told.text == (
            "May have taken effect: worker lost in attempt 3. A replay does it again unless that is on record."
        )
        told = second_run(DeadLetter(job_type="guarded", history=[], error_class="jobops.OutcomeUnknown"))
        assert told.tone == "danger"
        assert "nobody knows how an earlier run ended" in told.text
        told = second_run(DeadLetter(job_type="gone", history=[{"n": 1, "outcome": "timeout", "replay": 2}]))
        assert told.text == "May have taken effect: timed out in attempt 1 of replay 2."
        assert "not registered" in second_run(DeadLetter(job_type="gone", history=[])).text
        told = second_run(DeadLetter(job_type="unsaid", reason="worker_lost", attempts=5, history=[]))
        assert told.text == "May have taken effect: worker lost in attempt 5."


def test_what_nobody_knows_is_not_safe_whatever_the_contract_says() -> None:
    """The contract speaks of the job; the effect of a ``once`` in it is what is in doubt."""
    with temporary_registry():

        @job(name="safe", idempotent="upserts by invoice id.", owner="o", drain_sla="1h", timeout="1s")
        def safe() -> None: ...

        told = second_run(DeadLetter(job_type="safe", history=[], error_class="jobops.OutcomeUnknown"))
        assert told.tone == "danger"
        assert told.text == "May have taken effect: nobody knows how an earlier run ended. A replay does it again."


def test_where_a_redirect_leads_the_contract_of_the_new_type_counts() -> None:
    with temporary_registry():

        @job(name="safe", idempotent="upserts by invoice id.", owner="o", drain_sla="1h", timeout="1s")
        def safe() -> None: ...

        @job(name="guarded", guard=lambda: "k", owner="o", drain_sla="1h", timeout="1s")
        def guarded() -> None: ...

        row = Redirect.objects.create(from_type="gone", to_type="safe", by="x")
        assert (
            second_run(DeadLetter(job_type="gone", history=[])).text == "Safe to repeat because upserts by invoice id."
        )
        Redirect.objects.filter(pk=row.pk).update(to_type="guarded")
        told = second_run(DeadLetter(job_type="gone", history=[]))
        assert (told.tone, told.text) == (
            "danger",
            "May have taken effect: guarded has no record of what ran under the old name.",
        )
