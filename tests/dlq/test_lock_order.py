"""Who takes several rows takes them in the order in which everybody does: letters, runs, groups, each by id; so that
no two wait for each other. (SQLite has one writer.)"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest
from django.contrib.admin import site
from django.contrib.auth.models import User
from django.db import DatabaseError, models, transaction
from django.test import RequestFactory
from django.utils import timezone

from dlq.bulk_batch import carefully
from dlq.endings import Ending
from dlq.errors import InvalidAction
from dlq.foreign import sending
from dlq.inserting import insert
from dlq.locking import lock_letters
from dlq.models import DeadLetter, DeadLetterGroup, ReplayRun
from dlq.owners.group_hands import group_assign
from dlq.owners.letter_hands import letter_assign
from dlq.replay_push import UNSENT, note_sent
from dlq.services import discard_batch
from jobops.engine.client import Engine
from tenants.models import Tenant
from tenants.roles import Role
from tests.dlq.letters import letter, states, unsaved
from tests.dlq.replays import replaying
from tests.dlq.test_watch_locks import blocked, in_thread
from tests.tenants.people import person
from tests.tools import wait_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres_only]


def is_free(row: models.Model) -> bool:
    """Whether nobody has this row locked."""
    try:
        with transaction.atomic():
            type(row)._default_manager.select_for_update(nowait=True).get(pk=row.pk)
    except DatabaseError:
        return False
    return True


def while_it_waits(row: models.Model, work: Callable[[], object], look: Callable[[], object]) -> None:
    """Have the row, do the work beside, and ``look`` once that waits for the row."""
    with transaction.atomic():
        type(row)._default_manager.select_for_update(no_key=True).get(pk=row.pk)
        thread = in_thread(work)
        wait_for(blocked, what="it to wait")
        look()
    thread.join(timeout=30)
    assert not thread.is_alive()


@pytest.fixture
def acme(both: Engine) -> Tenant:
    return Tenant.objects.get(slug="acme")


@pytest.fixture
def runs(both: Engine) -> list[ReplayRun]:
    """Two that are on their way to Redis: by id, behind each other in every other order."""
    for _ in range(2):
        replaying(both)
    first, second = ReplayRun.objects.order_by("pk")
    # Written last, looked at last, and the last by its job: only by its id is it the first.
    ReplayRun.objects.filter(pk=second.pk).update(note=UNSENT, job_id="a")
    ReplayRun.objects.filter(pk=first.pk).update(note=UNSENT, job_id="b", check_at=timezone.now() + timedelta(hours=1))
    return list(ReplayRun.objects.order_by("pk"))


def test_who_notes_that_jobs_arrived_takes_their_runs_by_id(runs: list[ReplayRun]) -> None:
    first, second = runs
    sees: list[bool] = []
    while_it_waits(first, lambda: note_sent(["a", "b"]), lambda: sees.append(is_free(second)))
    assert sees == [True]
    assert list(ReplayRun.objects.values_list("note", flat=True)) == ["", ""]


def test_who_notes_what_a_source_refused_has_no_group_while_it_waits_for_a_run(runs: list[ReplayRun]) -> None:
    taken, refused = runs
    end = Ending(refused.job_id, ReplayRun.State.REFUSED, timezone.now(), error="no", by_watch=True)
    group, sees = DeadLetterGroup.objects.get(), list[bool]()
    while_it_waits(taken, lambda: sending._note([taken], [end]), lambda: sees.append(is_free(group)))
    assert sees == [True]
    assert list(ReplayRun.objects.order_by("pk").values_list("state", flat=True)) == ["running", "refused"]


def test_a_batch_that_is_done_letter_by_letter_takes_all_its_groups_first(acme: Tenant) -> None:
    later, sooner = (letter(acme, error=error) for error in ("torn", "wet"))
    # The first letter is of the second group.
    groups = list(DeadLetterGroup.objects.order_by("pk"))
    for made, group in ((later, groups[1]), (sooner, groups[0])):
        DeadLetter.objects.filter(pk=made.pk).update(group=group)
    sees: list[bool] = []

    def batch(letters: Sequence[DeadLetter]) -> dict[int, str]:
        if len(letters) > 1:
            raise ValueError("one of them is odd")
        done = discard_batch(letters, "test", "not needed")
        thread = in_thread(lambda: sees.append(is_free(groups[0])))
        thread.join(timeout=30)
        return done

    with transaction.atomic():
        carefully(batch, lock_letters([later.pk, sooner.pk]))
    assert sees == [False, False]
    assert states([later, sooner]) == ["discarded"] * 2


def test_an_intake_that_waits_for_a_tenant_has_no_group(acme: Tenant) -> None:
    """Which its deletion would wait for, as it has the tenant."""
    letter(acme)
    group, sees = DeadLetterGroup.objects.get(), list[bool]()
    with transaction.atomic():
        Tenant.objects.select_for_update().get(pk=acme.pk)
        thread = in_thread(lambda: insert([unsaved(None, tenant_slug="acme")]))
        wait_for(blocked, what="it to wait")
        sees.append(is_free(group))
    thread.join(timeout=30)
    assert sees == [True]
    assert list(DeadLetter.objects.values_list("tenant", flat=True)) == [acme.pk] * 2


def test_an_intake_of_nothing(both: Engine) -> None:
    assert insert([]) == set()


def test_what_people_have_is_let_go_of_by_id_when_their_accounts_are_deleted(acme: Tenant) -> None:
    ada, bob, root = (person(Role.OPERATOR, name=name) for name in ("ada", "bob", "root"))
    made = [letter(acme) for _ in range(3)]
    group = DeadLetterGroup.objects.get()
    group_assign(group_id=group.pk, by="test", assignee=bob)
    # The second person has the first letter, and the one that is due first is the last by its id.
    for each, whose in zip(made, (bob, ada, ada), strict=True):
        letter_assign(letter_id=each.pk, by="test", assignee=whose)
    DeadLetter.objects.filter(pk=made[2].pk).update(due_at=made[0].dead_at)
    request = RequestFactory().post("/")
    request.user = root
    people = User.objects.filter(pk__in=[ada.pk, bob.pk])
    sees: list[bool] = []
    while_it_waits(
        made[0],
        lambda: site._registry[User].delete_queryset(request, people),
        lambda: sees.extend(map(is_free, [made[1], made[2], group])),
    )
    assert sees == [True, True, True]
    assert set(DeadLetter.objects.values_list("assignee", flat=True)) == {None}
    assert set(User.objects.values_list("username", flat=True)) == {"root"}


def test_who_is_deleted_at_that_very_moment_is_handed_nothing(acme: Tenant) -> None:
    bob, made, told = person(Role.OPERATOR, name="bob"), letter(acme), list[str]()
    gone = User.objects.get(pk=bob.pk)

    def assign() -> None:
        for act in (
            lambda: letter_assign(letter_id=made.pk, by="test", assignee=gone),
            lambda: group_assign(group_id=DeadLetterGroup.objects.get().pk, by="test", assignee=gone),
        ):
            try:
                act()
            except InvalidAction as error:
                told.append(error.problem)

    with transaction.atomic():
        bob.delete()
        thread = in_thread(assign)
        wait_for(blocked, what="it to wait")
    thread.join(timeout=30)
    assert told == ["there is no account 'bob' any more"] * 2
    assert DeadLetter.objects.get().assignee is None
