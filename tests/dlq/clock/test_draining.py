"""What draining notes of a clock: the same whether Python or the database reckons, and whoever drains."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from dlq.clock.draining import drain_seconds, marks
from dlq.clock.pauses import PAUSE_FIELDS, pause, resume
from dlq.models import DeadLetter
from dlq.services import letter_discard, letter_undo
from jobops.engine.client import Engine
from tests.dlq.clock.clocks import letter
from tests.dlq.replays import dead, replaying, run_replays

pytestmark = pytest.mark.django_db(transaction=True)
NOW = timezone.now()


def ago(hours: float) -> DeadLetter:
    return letter(NOW - timedelta(hours=hours))


def paused(died: float, begun: float, ends_in: float) -> DeadLetter:
    it = ago(died)
    pause(it, at=NOW - timedelta(hours=begun), until=NOW + timedelta(hours=ends_in), reason="r")
    it.save(update_fields=PAUSE_FIELDS)
    return it


def test_the_database_and_python_reckon_alike() -> None:
    """Pauses are left out: one that is over, one that it is drained in, and one that was ended early."""
    cases = {
        ago(3).pk: 10_800,
        ago(-1).pk: 0,  # its worker's clock is ahead
        letter(NOW - timedelta(seconds=59, milliseconds=999)).pk: 59,
        letter(NOW - timedelta(days=36_500)).pk: 2**31 - 1,
        paused(5, 3, -1).pk: 3 * 3600,
        paused(5, 3, 100).pk: 2 * 3600,
    }
    early = paused(5, 3, 100)
    resume(early, at=NOW - timedelta(hours=1))
    early.save(update_fields=PAUSE_FIELDS)
    cases[early.pk] = 3 * 3600
    for it in DeadLetter.objects.all():
        assert marks(it, NOW) == {"drained_at": NOW, "drain_s": cases[it.pk]}
    DeadLetter.objects.update(drain_s=drain_seconds(NOW))
    assert dict(DeadLetter.objects.values_list("pk", "drain_s")) == cases


def test_a_discard_notes_it_and_its_undo_takes_it_off_again() -> None:
    it = ago(2)
    told = letter_discard(letter_id=it.pk, by="tests", reason="r")
    it.refresh_from_db()
    assert it.drain_s is not None
    assert it.drained_at is not None
    assert it.drain_s == (it.drained_at - it.dead_at) // timedelta(seconds=1) >= 7200
    assert (told.drained_at, told.drain_s) == (it.drained_at, it.drain_s)
    undone = letter_undo(letter_id=it.pk, by="tests")
    it.refresh_from_db()
    assert (it.drained_at, it.drain_s, undone.drain_s) == (None, None, None)


def test_a_replay_that_succeeds_notes_it_from_the_first_death_on(both: Engine) -> None:
    it = replaying(both)
    DeadLetter.objects.filter(pk=it.pk).update(dead_at=timezone.now() - timedelta(hours=1))
    run_replays(both)
    it.refresh_from_db()
    assert (it.state, it.drain_s is not None) == ("resolved", True)
    assert 3590 <= (it.drain_s or 0) <= 3720


def test_what_is_not_drained_has_no_time(both: Engine) -> None:
    assert dead(both).drain_s is None
