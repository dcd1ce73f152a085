"""Letters and their jobs: deaths that nobody recorded, replays that nobody waits for, letters that nobody owns."""

from __future__ import annotations

import pytest
from django.db import connection
from django.utils import timezone

from dlq.intake import take_in
from dlq.models import DeadLetter, ReplayRun, SearchText, State
from dlq.services import letter_discard, letter_replay
from jobops.audit.models import AuditEntry
from jobops.context.models import OutboxEntry
from jobops.doctor.site import Site
from jobops.engine import keys as rq
from jobops.engine.records import Outcome
from tests.doctor.plant import left, look, mended, recount, running_job
from tests.runtime.factory import claim, run_all, settle

POISON = Outcome.failed("poison", "ValueError", "no")


def die(site: Site) -> str:
    """A job that died and is not taken in yet."""
    job = running_job(site.engine)
    assert settle(site.engine, job, POISON) == "dead"
    return job.id


def letter(site: Site) -> DeadLetter:
    """An open letter."""
    job_id = die(site)
    take_in(site.engine)
    return DeadLetter.objects.get(job_id=job_id)


def replaying(site: Site) -> ReplayRun:
    """A letter whose replay waits in its queue."""
    return letter_replay(letter_id=letter(site).pk, by="tests")


def test_deaths_in_the_intake_and_letters_of_every_state_are_no_fault(site: Site) -> None:
    letter_discard(letter_id=letter(site).pk, by="tests", reason="test")
    letter(site)
    letter_replay(letter_id=letter(site).pk, by="tests")
    run_all(site.engine, POISON)
    assert look(site) == []


def test_a_death_that_left_the_intake_unrecorded_goes_back_there(site: Site) -> None:
    job_id = die(site)
    site.engine.redis.delete(site.engine.keys.dead())
    mended(site, ("death_without_record", job_id))
    take_in(site.engine)
    assert DeadLetter.objects.get().job_id == job_id
    assert look(site) == []


def test_a_letter_that_a_restored_database_does_not_have_comes_back(site: Site) -> None:
    """Trap 11."""
    lost = letter(site)
    DeadLetter.objects.all().delete()
    recount()
    mended(site, ("death_without_record", lost.job_id))
    take_in(site.engine)
    assert DeadLetter.objects.get().job_id == lost.job_id


def test_the_death_of_a_replay_is_recorded_by_its_letter(site: Site) -> None:
    run = replaying(site)
    assert run_all(site.engine, POISON) == [run.job_id]
    assert look(site) == []
    take_in(site.engine)
    assert look(site) == []


def test_a_letter_whose_replay_was_lost_opens_again_with_its_old_clock(site: Site) -> None:
    """Trap 10."""
    run = replaying(site)
    before = DeadLetter.objects.get()
    site.engine.redis.delete(rq.rq_job(run.job_id), "rq:queue:acme.interactive")
    site.engine.scripts.reconcile("acme.interactive")
    mended(site, ("letter_replaying_without_job", str(before.pk)))
    after = DeadLetter.objects.get()
    assert (after.state, after.due_at, after.dead_at) == (State.OPEN, before.due_at, before.dead_at)


def test_a_letter_whose_replay_succeeded_untold_is_resolved(site: Site) -> None:
    run = replaying(site)
    run_all(site.engine)
    site.engine.redis.delete(site.engine.keys.outcomes())
    mended(site, ("letter_replaying_without_job", str(run.letter_id)))
    assert DeadLetter.objects.get().state == State.RESOLVED


@pytest.mark.parametrize(
    ("outcome", "state"), [(Outcome.succeeded(), "succeeded"), (Outcome.discarded("Gone", "410"), "discarded")]
)
def test_a_replay_that_a_restored_database_does_not_know_drains_its_letter(
    site: Site, outcome: Outcome, state: str
) -> None:
    """Trap 11: it succeeded and was noted; then the database was restored to a time before it."""
    run = replaying(site)
    run_all(site.engine, outcome)
    ReplayRun.objects.all().delete()
    DeadLetter.objects.update(state=State.OPEN, replays=0, replay_job_id="")
    recount()
    assert look(site) == [], "its outcome waits to be taken in"
    site.engine.redis.delete(site.engine.keys.outcomes())
    mended(site, ("replay_without_record", str(run.letter_id)))
    after = DeadLetter.objects.get()
    assert (after.state, after.replays, after.drained_by) == (State.RESOLVED, 1, "replay")
    noted = ReplayRun.objects.get()
    assert (noted.job_id, noted.state, noted.number, noted.attempt) == (run.job_id, state, 1, 1)


def test_a_finished_replay_of_a_letter_that_waits_for_another_or_is_gone_is_no_fault(site: Site) -> None:
    run = replaying(site)
    run_all(site.engine)
    ReplayRun.objects.all().delete()
    site.engine.redis.delete(site.engine.keys.outcomes())
    DeadLetter.objects.update(state=State.DISCARDED)
    recount()
    assert look(site) == []
    site.engine.redis.hset(rq.rq_job(run.job_id), "jo_replay_of", b"\xff:x")
    DeadLetter.objects.update(state=State.OPEN)
    recount()
    assert look(site) == []
    site.engine.redis.hset(rq.rq_job(run.job_id), "jo_replay_of", "gone:1")
    assert look(site) == []


def test_a_replay_in_the_outbox_running_or_about_to_be_told_is_no_fault(site: Site) -> None:
    run = replaying(site)
    job = claim(site.engine)
    assert job is not None
    assert look(site) == []
    settle(site.engine, job, Outcome.succeeded())
    assert look(site) == [], "its outcome waits to be taken in"
    site.engine.redis.flushall()
    OutboxEntry.objects.create(
        id=run.job_id, tenant="acme", lane="interactive", job_type="t", data=b"", max_attempts=1, timeout_ms=1,
        lease_ms=1, result_ttl_s=1, created_at=timezone.now(), next_try_at=timezone.now(),
    )  # fmt: skip
    assert ("letter_replaying_without_job", str(run.letter_id)) not in look(site)


def test_a_letter_that_is_being_replayed_by_no_run_opens_again(site: Site) -> None:
    stuck = letter(site)
    DeadLetter.objects.update(state=State.REPLAYING)
    recount()
    mended(site, ("letter_replaying_without_job", str(stuck.pk)))
    after = DeadLetter.objects.get()
    assert (after.state, after.due_at) == (State.OPEN, stuck.due_at)


@pytest.mark.parametrize("state", [State.RESOLVED, State.DISCARDED])
def test_a_run_that_no_letter_waits_for_counts_as_lost(site: Site, state: State) -> None:
    run = replaying(site)
    run_all(site.engine)
    DeadLetter.objects.update(state=state)
    recount()
    mended(site, ("run_without_replaying_letter", str(run.letter_id)))
    run.refresh_from_db()
    assert run.state == ReplayRun.State.LOST
    assert run.ended_at is not None


def test_an_open_letter_whose_job_somebody_requeued_is_told(site: Site) -> None:
    """Trap 12: `rq requeue` knows nothing of letters."""
    opened = letter(site)
    site.engine.redis.hset(rq.rq_job(opened.job_id), "status", "queued")
    site.engine.redis.persist(rq.rq_job(opened.job_id))
    site.engine.redis.rpush("rq:queue:acme.interactive", opened.job_id)
    site.engine.scripts.reconcile("acme.interactive")
    report = left(site, ("letter_and_live_job", str(opened.pk)))
    assert f"jobs cancel {opened.job_id}" in report.findings[0].text


def test_a_letter_without_an_owner_is_given_to_the_contracts(site: Site) -> None:
    """I7: the table refuses an empty owner, so this one is of a database that was written past it."""
    nobodys = letter(site)
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA ignore_check_constraints = ON")
            cursor.execute("UPDATE dlq_deadletter SET owner = ''")
            cursor.execute("PRAGMA ignore_check_constraints = OFF")
    else:
        DeadLetter.objects.update(owner="  ")
    mended(site, ("letter_without_owner", str(nobodys.pk)))
    assert DeadLetter.objects.get().owner == "tests"
    row = AuditEntry.objects.get(action="letter.mend")
    assert (row.tenant_slug, row.target_id) == ("acme", str(nobodys.pk))


def test_letters_without_a_search_text_get_one(site: Site) -> None:
    first, _second = letter(site), letter(site)
    SearchText.objects.all().delete()
    mended(site, ("search_text_missing", ""))
    assert SearchText.objects.count() == 2
    assert "tests.echo" in SearchText.objects.get(letter=first).text
