"""Bulk actions with real processes and real stores: killed midway, worked on by several at once, failing again."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from dlq.bulk import bulk_cancel, bulk_confirm, bulk_draft
from dlq.bulk_run import run_batch
from dlq.errors import WrongBulkState, WrongState
from dlq.models import BulkAction, DeadLetter, ReplayRun
from dlq.replay_control import replay_set_speed
from dlq.replay_plan import AT_ONCE
from dlq.services import letter_replay
from jobops.context.models import OutboxEntry
from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from jobops.scheduling.duties import Context
from jobops.steward import intake
from jobops.steward.bulk import BulkActions
from tenants.models import Tenant
from tests.dlq.letters import letters
from tests.runtime import example_jobs
from tests.runtime.factory import run_all, waiting
from tests.runtime.processes import run, running
from tests.tools import wait_for

pytestmark = pytest.mark.django_db(transaction=True)

JOBS = {"JOBOPS_JOB_MODULES": example_jobs.__name__}


@pytest.fixture
def acme(both: Engine) -> Tenant:
    return Tenant.objects.get(slug="acme")


def confirmed(kind: str = "replay") -> BulkAction:
    bulk = bulk_draft(kind=kind, letters=DeadLetter.objects.all(), by="command:ada", chosen="", reason="r")
    return bulk_confirm(bulk_id=bulk.pk, by="command:ada", plan=AT_ONCE if kind == "replay" else None)


def jobs_on_their_way(engine: Engine) -> list[str]:
    queued = [job_id for lane in ("interactive", "bulk") for job_id in waiting(engine, f"acme.{lane}")]
    return queued + list(OutboxEntry.objects.values_list("pk", flat=True))


def at_once(*acts: Callable[[], object]) -> None:
    def safely(act: Callable[[], object]) -> None:
        try:
            act()
        finally:
            connection.close()

    threads = [threading.Thread(target=safely, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


@pytest.mark.slow
def test_a_command_killed_midway_is_finished_by_the_scheduler(both: Engine, acme: Tenant, tmp_path: Path) -> None:
    """DL-07: kill -9 at 400 or more of 1,000: a thousand effects in the end, none twice, none left behind."""
    child = {"job_type": "tests.child", "payload": json.dumps({"args": [], "kwargs": {"slug": "x"}})}
    letters(acme, 1000, **child)
    command = ("dlq", "replay", "--all", "--no-canary", "--rate", "400/s", "--wait")
    with running(tmp_path / "log", *command, **JOBS) as process:
        wait_for(lambda: BulkAction.objects.filter(done__gte=400).exists(), seconds=60, what="400 of them")
        process.kill()
        process.wait()
    bulk = BulkAction.objects.get()
    assert (bulk.state, bulk.done < 1000) == ("running", True), (tmp_path / "log").read_text()
    assert ReplayRun.objects.count() == bulk.done, "each is counted in the transaction that replays it"
    replay_set_speed(bulk_id=bulk.pk, by="tests", rate=None, in_flight=None)
    # What was committed and not pushed yet: the watch looks for it after some seconds.
    ReplayRun.objects.update(check_at=timezone.now())
    assert run("scheduler", "--once", **JOBS).returncode == 0
    bulk.refresh_from_db()
    assert (bulk.state, bulk.done, bulk.skipped) == ("finished", 1000, 0)
    assert not ReplayRun.objects.exclude(note="").exists()
    assert set(DeadLetter.objects.values_list("state", "replays")) == {("replaying", 1)}
    made = set(ReplayRun.objects.values_list("job_id", flat=True))
    assert len(made) == 1000
    assert set(jobs_on_their_way(both)) == made
    assert len(jobs_on_their_way(both)) == 1000, "each once"


def test_several_processes_at_one_bulk_action_do_each_letter_once(both: Engine, acme: Tenant) -> None:
    """I8, trap 7"""
    letters(acme, 90)
    bulk = confirmed()

    def work() -> None:
        for _ in range(200):
            if not run_batch(bulk.pk, size=7):
                bulk_now = BulkAction.objects.get(pk=bulk.pk)
                if bulk_now.state == "finished":
                    return

    at_once(work, work, work)
    bulk.refresh_from_db()
    assert (bulk.state, bulk.done, bulk.skipped) == ("finished", 90, 0)
    assert ReplayRun.objects.count() == 90
    assert len(set(jobs_on_their_way(both))) == 90


def test_a_bulk_action_and_a_single_replay_make_one_run(both: Engine, acme: Tenant) -> None:
    """I8, DL-05"""
    some = letters(acme, 20)
    bulk, refused = confirmed(), []

    def single() -> None:
        for one in some:
            try:
                letter_replay(letter_id=one.pk, by="command:bob")
            except WrongState as error:
                refused.append(error.why)

    at_once(lambda: [run_batch(bulk.pk, size=3) for _ in range(40)], single)
    bulk.refresh_from_db()
    assert bulk.state == "finished"
    assert bulk.done + (20 - len(refused)) == 20
    assert bulk.skipped_for.get("already being replayed", 0) == 20 - bulk.done
    assert set(refused) <= {"already being replayed"}
    assert set(DeadLetter.objects.values_list("replays", flat=True)) == {1}
    assert len(set(jobs_on_their_way(both))) == ReplayRun.objects.count() == 20


def test_two_people_confirm_at_once_and_one_is_refused(both: Engine, acme: Tenant) -> None:
    letters(acme, 3)
    bulk = bulk_draft(kind="replay", letters=DeadLetter.objects.all(), by="command:ada", chosen="")
    refused: list[str] = []

    def confirm(name: str) -> None:
        try:
            bulk_confirm(bulk_id=bulk.pk, by=name)
        except WrongBulkState as error:
            refused.append(error.why)

    at_once(*(lambda name=name: confirm(name) for name in ("command:ada", "command:bob", "command:cyd")))
    assert refused == ["it is running already"] * 2


def test_a_stop_waits_for_the_batch_at_work_and_nothing_changes_after_it(both: Engine, acme: Tenant) -> None:
    letters(acme, 60)
    bulk, seen, begun, over = confirmed("discard"), [], threading.Event(), threading.Event()

    def stop() -> None:
        begun.wait(10)
        stopped = bulk_cancel(bulk_id=bulk.pk, by="command:ada")
        seen.append((stopped.done, DeadLetter.objects.filter(state="discarded").count()))
        over.set()

    def work() -> None:
        while run_batch(bulk.pk, size=2):
            begun.set()
            over.wait(0.02)  # SQLite lets nobody in where one writer follows its own heels

    at_once(work, stop)
    ((told, done),) = seen
    assert told == done == DeadLetter.objects.filter(state="discarded").count()


def test_what_fails_again_is_replayed_once_and_comes_back(both: Engine, acme: Tenant) -> None:
    """DL-01: 51 letters whose job fails at once; replay all: 51 runs, the end, 51 letters with one replay each."""
    letters(acme, 51)
    before = dict(DeadLetter.objects.values_list("pk", "due_at"))
    bulk, duty, context = confirmed(), BulkActions(), Context(both)
    ran = []
    for _ in range(5):
        duty.run(context)
        ran += run_all(both, Outcome.failed("poison", "ValueError", "no"))
        intake.run(context)
    assert len(ran) == 51
    bulk.refresh_from_db()
    assert (bulk.state, bulk.done) == ("finished", 51)
    assert set(DeadLetter.objects.values_list("state", "replays")) == {("open", 1)}
    assert dict(DeadLetter.objects.values_list("pk", "due_at")) == before, "the clock never starts anew"
