"""A purge by real processes, while people undo discards of the very letters that go."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from dlq.errors import LetterError
from dlq.models import DeadLetter, DeadLetterGroup, State
from dlq.services import letter_undo
from jobops.engine.client import Engine
from tenants.models import Tenant
from tests.dlq.causes.ways import wrong
from tests.dlq.letters import letters
from tests.runtime.processes import running

pytestmark = pytest.mark.django_db(transaction=True)

LETTERS, MOST_UNDONE = 3_000, 1_500


@pytest.mark.slow
def test_each_letter_is_purged_or_opened_again_and_none_is_both(both: Engine, tmp_path: Path) -> None:
    acme = Tenant.objects.get(slug="acme")
    old = timezone.now() - timedelta(days=10)
    ids = [each.pk for each in letters(acme, LETTERS, state=State.DISCARDED, drained_at=old)]
    random.Random(5).shuffle(ids)
    command = ("dlq", "purge", "--older-than", "7d", "--yes")
    opened, gone = set(), set()
    with running(tmp_path / "one", *command) as one, running(tmp_path / "two", *command) as two:
        for letter_id in ids:
            if len(opened) == MOST_UNDONE or (one.poll() is not None and two.poll() is not None):
                break
            try:
                letter_undo(letter_id=letter_id, by="tests")
            except DeadLetter.DoesNotExist:
                gone.add(letter_id)
            except LetterError as error:
                pytest.fail(f"letter {letter_id} is neither there nor gone: {error}")
            else:
                opened.add(letter_id)
        assert (one.wait(60), two.wait(60)) == (0, 0), (tmp_path / "one").read_text() + (tmp_path / "two").read_text()
    assert opened
    assert gone, "they were at it at the same time"
    assert set(DeadLetter.objects.values_list("pk", flat=True)) == opened
    assert set(DeadLetter.objects.values_list("state", flat=True)) == {"open"}
    group = DeadLetterGroup.objects.get()
    assert (group.open, group.discarded, group.purged) == (len(opened), 0, LETTERS - len(opened))
    assert wrong() == []
