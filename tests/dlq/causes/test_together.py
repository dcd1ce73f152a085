"""Many at once: no count is lost, nobody waits for ever, and what is there twice is counted once."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest
from django.db import transaction

from dlq.causes.counting import attach
from dlq.causes.repairing import repair
from dlq.inserting import insert
from dlq.locking import lock_letters
from dlq.models import DeadLetter, DeadLetterGroup
from dlq.services import discard_batch, undo_batch
from jobops.engine.client import Engine
from tenants.models import Tenant
from tests.dlq.causes.ways import wrong
from tests.dlq.letters import unsaved
from tests.runtime.together import at_once

pytestmark = pytest.mark.django_db(transaction=True)

CAUSES = ["torn", "wet", "burnt", "lost", "late"]


def deaths(tenants: list[Tenant], count: int, seed: int) -> list[DeadLetter]:
    dice = random.Random(seed)
    made = []
    for n in range(count):
        tenant = dice.choice(tenants)
        letter = unsaved(tenant, error=dice.choice(CAUSES), job_id=f"job-{seed}-{n}")
        letter.tenant_uid = str(tenant.pk)
        made.append(letter)
    return made


@pytest.fixture
def tenants(both: Engine) -> list[Tenant]:
    return [Tenant.objects.create(slug=f"t{n}") for n in range(4)]


def test_two_who_take_in_the_same_deaths_count_each_once(tenants: list[Tenant]) -> None:
    """Two leaders with the same batch, whose causes neither of them knows yet."""
    for turn in range(5):
        at_once(lambda turn=turn: insert(deaths(tenants, 40, turn)), 2)  # type: ignore[misc]
        assert DeadLetter.objects.count() == 40 * (turn + 1)
        assert wrong() == []
    assert sum(DeadLetterGroup.objects.values_list("deaths", flat=True)) == 200


def test_two_who_meet_the_same_new_causes_in_opposite_orders_do_not_block_each_other(tenants: list[Tenant]) -> None:
    for turn in range(5):
        sides = itertools.count()

        def work(turn: int = turn, sides: itertools.count[int] = sides) -> None:
            side = next(sides)
            batch = [unsaved(tenants[0], error=f"torn {'ab' * n} in {'turn' * turn}") for n in range(1, 41)]
            insert(batch[::-1] if side else batch)

        at_once(work, 2)
    assert set(DeadLetterGroup.objects.values_list("open", flat=True)) == {2}
    assert wrong() == []


def test_two_intakes_of_causes_that_have_no_owner_yet_do_not_block_each_other(tenants: list[Tenant]) -> None:
    """Each gives them theirs, in an order of its own."""
    for turn in range(8):
        errors = [f"torn {'ab' * n} in {'turn' * turn}" for n in range(1, 25)]
        with transaction.atomic():
            attach([unsaved(tenants[0], error=error) for error in errors])
        sides = itertools.count()

        def work(errors: list[str] = errors, sides: itertools.count[int] = sides) -> None:
            side = next(sides)
            batch = [unsaved(tenants[0], error=error) for error in errors]
            insert(batch[::-1] if side else batch)

        at_once(work, 2)
    assert not DeadLetterGroup.objects.filter(owner="").exists()
    assert wrong() == []


def test_many_writers_of_the_same_few_groups_leave_true_counts(tenants: list[Tenant]) -> None:
    """Intakes, discards, undoes and repairs, each with letters of all causes in an order of its own."""
    insert(deaths(tenants, 60, 1000))
    ids = list(DeadLetter.objects.values_list("pk", flat=True))
    numbers = itertools.count()

    def work() -> None:
        number = next(numbers)
        dice = random.Random(number)
        for turn in range(6):
            some = dice.sample(ids, 20)
            acts: list[Callable[[], object]] = [
                lambda turn=turn: insert(deaths(tenants, 15, number * 100 + turn)),  # type: ignore[misc]
                lambda some=some: act(some, discard=True),  # type: ignore[misc]
                lambda some=some: act(some, discard=False),  # type: ignore[misc]
                repair_all,
            ]
            dice.choice(acts)()

    at_once(work, 4)
    assert wrong() == []


def act(ids: list[int], *, discard: bool) -> None:
    with transaction.atomic():
        letters = lock_letters(ids)
        if discard:
            discard_batch(letters, "tests", "not needed")
        else:
            undo_batch(letters, "tests")


def repair_all() -> None:
    """Finds nothing: what others have not committed yet is theirs to count."""
    for group_id in DeadLetterGroup.objects.order_by("-pk").values_list("pk", flat=True):
        assert repair(group_id, "tests") == []
