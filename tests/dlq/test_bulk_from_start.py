"""A bulk replay resumes its jobs at their checkpoints, or begins them anew: as whoever confirmed it chose."""

from __future__ import annotations

import pytest

from dlq.bulk import bulk_confirm, bulk_draft
from dlq.bulk_preview import preview
from dlq.bulk_run import run_batch
from dlq.errors import InvalidAction
from dlq.models import BulkAction, DeadLetter
from jobops.audit.models import AuditEntry
from jobops.engine.client import Engine
from tenants.models import Tenant
from tests.dlq.letters import letter
from tests.runtime import factory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def acme(both: Engine) -> Tenant:
    return Tenant.objects.get(slug="acme")


def draft(kind: str = "replay") -> BulkAction:
    return bulk_draft(kind=kind, letters=DeadLetter.objects.all(), by="command:ada", chosen="")


def checkpoints(engine: Engine) -> list[bytes]:
    """What the jobs that wait begin with."""
    found = []
    while (job := factory.claim(engine)) is not None:
        found.append(job.checkpoint)
    return sorted(found)


def told(action: str) -> list[object]:
    return [row.after.get("from") for row in AuditEntry.objects.filter(action=action).order_by("pk")]


@pytest.mark.parametrize("from_start", [False, True])
def test_each_batch_begins_its_jobs_as_was_chosen(both: Engine, acme: Tenant, from_start: bool) -> None:
    """Whichever process works it off: the choice stands in the row."""
    for place in (1, 2):
        letter(acme, checkpoint=str(place))
    letter(acme)
    bulk = bulk_confirm(bulk_id=draft().pk, by="command:ada", from_start=from_start)
    while run_batch(bulk.pk, size=1):
        pass
    assert checkpoints(both) == ([b"", b"", b""] if from_start else [b"", b"1", b"2"])
    begins = "start" if from_start else "checkpoint"
    assert told("letter.replay") == [begins, begins, None]
    assert [*told("bulk.confirm"), *told("bulk.finish")] == (["start"] * 2 if from_start else [None] * 2)


def test_only_a_replay_can_begin_anew(acme: Tenant) -> None:
    letter(acme, checkpoint="1")
    bulk = draft("discard")
    with pytest.raises(InvalidAction, match="only a replay can begin anew") as refused:
        bulk_confirm(bulk_id=bulk.pk, by="command:ada", reason="old", from_start=True)
    assert refused.value.field == "from_start"
    bulk.refresh_from_db()
    assert (bulk.state, bulk.from_start) == ("draft", False)


def test_the_preview_counts_those_that_can_resume_and_will_be_replayed(acme: Tenant) -> None:
    letter(acme)
    for _ in range(3):
        letter(acme, checkpoint="1")
    letter(acme, checkpoint="1", state="resolved")
    letter(acme, checkpoint="1", job_type="tests.gone")
    found = preview(draft())
    assert (found.chosen, found.will_do, found.resumable) == (6, 4, 3)
    assert preview(draft("discard")).resumable == 0
