"""Many foreign letters at once, by the same canary and the same breaker as our own."""

from __future__ import annotations

import pytest
from django.utils import timezone

from dlq.bulk import bulk_confirm, bulk_draft
from dlq.bulk_preview import preview
from dlq.bulk_run import run_batch
from dlq.causes.checking import differences
from dlq.foreign.watching import Watch
from dlq.models import BulkAction, DeadLetter, ReplayRun
from tests.dlq.foreign.plain_rq import CHARGE, PlainRQ

pytestmark = pytest.mark.usefixtures("both")

COUNT = 12


@pytest.fixture
def draft(plain: PlainRQ) -> BulkAction:
    """The replay of a dozen, of which nothing runs yet."""
    job = plain.enqueue(CHARGE, "customer-4711", 5)
    plain.work()
    plain.copies(job, COUNT - 1)
    plain.take_over()
    return bulk_draft(kind="replay", letters=DeadLetter.objects.all(), by="command:tester", chosen="status=open")


def run(plain: PlainRQ, bulk: BulkAction, **env: str) -> None:
    """Confirm it, and let everything work until it is over or stopped."""
    bulk_confirm(bulk_id=bulk.pk, by="command:tester")
    for _ in range(30):
        run_batch(bulk.pk)
        plain.work(**env)
        ReplayRun.objects.update(check_at=timezone.now())
        Watch().run()
        bulk.refresh_from_db()
        running = ReplayRun.objects.filter(state="running").exists()
        if bulk.state != "running" and not running:
            return
    raise AssertionError(f"it is {bulk.state} still")


def test_after_a_good_canary_all_are_resolved(plain: PlainRQ, draft: BulkAction) -> None:
    run(plain, draft, JOBS_MENDED="1")

    assert (draft.state, draft.done, draft.skipped) == ("finished", COUNT, 0)
    assert DeadLetter.objects.filter(state="resolved", replays=1).count() == COUNT
    assert list(differences()) == []


def test_a_bad_canary_stops_it_and_the_others_stay(plain: PlainRQ, draft: BulkAction) -> None:
    run(plain, draft)

    assert draft.state == "paused"
    assert DeadLetter.objects.filter(state="open", replays=1).count() == 5
    assert DeadLetter.objects.filter(state="open", replays=0).count() == COUNT - 5
    assert plain.waiting() == []


def test_the_preview_counts_them_as_those_it_will_do(draft: BulkAction) -> None:
    seen = preview(draft)

    assert (seen.chosen, seen.will_do, dict(seen.skipped)) == (COUNT, COUNT, {})


def test_the_preview_says_that_their_source_is_away(plain: PlainRQ, draft: BulkAction) -> None:
    plain.server.kill()

    seen = preview(draft)

    assert seen.will_do == 0
    assert "does not answer" in next(iter(seen.skipped))
