"""Members of a batch of which nobody was told at their commit, or whose answer was lost: their rows tell."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import transaction

from jobops import Batch, BatchGone, BatchStatus
from jobops.batches.members import rows_of
from jobops.engine.client import Engine
from jobops.runtime import enqueuer
from tests.runtime.batch_factory import (
    Changed,
    add_and_roll_back,
    after_jobs,
    ends_well,
    look,
    rolled_back,
    row,
    then,
)
from tests.runtime.conftest import Outage
from tests.runtime.factory import echo, waiting
from tests.runtime.together import twice_at_once

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def without_its_hooks() -> Iterator[None]:
    """A transaction that is committed, and an early hook of which keeps the later ones from running by raising."""

    def fails() -> None:
        raise Changed

    with contextlib.suppress(Changed), transaction.atomic():
        transaction.on_commit(fails)
        yield


def push(batch: Batch) -> int:
    """What the relay does: its members go from the outbox to Redis."""
    return enqueuer().push([each.pk for each in rows_of(row(batch))])


@pytest.mark.parametrize("outer", [False, True], ids=["alone", "in a transaction"])
def test_members_whose_commit_hooks_are_discarded_are_members(both: Engine, outer: bool) -> None:
    """A hook that raises keeps the later ones of its transaction from running; the rows are committed all the same."""
    batch = Batch(tenant="acme", then=then())
    if outer:
        with without_its_hooks(), batch:
            batch.add_many(echo, [{"value": 1}, {"value": 2}])
            add_and_roll_back(batch)
    else:
        with batch:
            with without_its_hooks():
                batch.add(echo, 1)
                batch.add(echo, 2)
            add_and_roll_back(batch)
    assert waiting(both) == []
    assert row(batch).total == 2
    look(both)
    assert batch.status() == BatchStatus("running", total=2, left=2), "they are on their way"
    assert push(batch) == 2
    ends_well(both, batch, 2)


def test_pushed_by_the_relay_before_the_end_of_the_block_without_their_hooks(both: Engine) -> None:
    with Batch(tenant="acme", then=then()) as batch:
        with without_its_hooks():
            batch.add(echo, 1)
        add_and_roll_back(batch)
        assert push(batch) == 1
    ends_well(both, batch, 1)


def test_they_are_counted_before_any_push_of_their_transaction(both: Engine) -> None:
    """Once pushed, Redis alone knows them; and it may lose them before the end of the block."""
    with Batch(tenant="acme", then=then()) as batch:
        with transaction.atomic():
            echo.using(tenant="acme").enqueue("in front, and pushed together with the members")
            batch.add(echo, 1)
            add_and_roll_back(batch)
            batch.add(echo, 2)
        assert len(waiting(both)) == 3
        both.redis.flushall()
        both.prepare()
    assert row(batch).total == 2
    look(both)
    assert batch.status() == BatchStatus("lost", total=2, lost=2)
    assert after_jobs(both) == []


def test_threads_fill_it_together_each_in_transactions_of_its_own(both: Engine) -> None:
    def fill() -> None:
        for number in range(5):
            with transaction.atomic():
                batch.add(echo, number)
                with rolled_back():
                    batch.add(echo, number)

    with Batch(tenant="acme", then=then()) as batch:
        twice_at_once(fill)
    ends_well(both, batch, 10)


def test_with_redis_away_the_rows_tell_who_is_a_member(outage: Outage) -> None:
    outage.begin()
    with Batch(tenant="acme") as batch:
        batch.add(echo, 1)
        add_and_roll_back(batch)
        with transaction.atomic():
            batch.add(echo, 2)
    assert row(batch).total == 2
    outage.end()
    look(outage.engine)
    assert batch.status() == BatchStatus("running", total=2, left=2)


def test_one_that_was_written_although_its_enqueue_failed_holds_the_batch_up(
    both: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answer was lost: nobody has a handle on it, and it will run."""
    real = type(enqueuer()).enqueue

    def loses_its_answer(*given: object) -> None:
        real(*given)  # type: ignore[arg-type]
        raise ConnectionError

    with transaction.atomic(), Batch(tenant="acme", then=then()) as batch:
        with monkeypatch.context() as patched:
            patched.setattr(type(enqueuer()), "enqueue", loses_its_answer)
            with pytest.raises(ConnectionError):
                batch.add(echo, 1)
        batch.add(echo, 2)
    ends_well(both, batch, 2)


def test_a_batch_that_was_rolled_back_while_it_was_filled_says_so(both: Engine) -> None:
    with pytest.raises(BatchGone), transaction.atomic():  # noqa: PT012
        before = transaction.savepoint()
        with Batch(tenant="acme") as batch:
            batch.add(echo)
            transaction.savepoint_rollback(before)
    assert waiting(both) == []
