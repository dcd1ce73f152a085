"""The preview of a bulk action: the numbers that come true when it is confirmed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dlq import bulk_preview
from dlq.bulk import bulk_confirm, bulk_draft
from dlq.bulk_preview import preview
from dlq.bulk_run import run_batch
from dlq.models import BulkAction, DeadLetter, State
from dlq.replay_plan import AT_ONCE
from jobops.management.dlq_bulk import perform
from tests.dlq.letters import letter, letters
from tests.runtime import factory  # registers tests.echo
from tests.tenants.people import new_tenant

pytestmark = pytest.mark.django_db
assert factory.echo


def draft(kind: str = "replay", **more: Any) -> BulkAction:
    return bulk_draft(kind=kind, letters=DeadLetter.objects.all(), by="command:ada", chosen="", reason="r", **more)


def test_what_it_says_is_what_then_happens() -> None:
    now = timezone.now()
    acme, busy, closed = new_tenant("acme"), new_tenant("busy"), new_tenant("closed", intake_closed=True)
    letters(acme, 4)
    oldest = letter(acme, dead_at=now - timedelta(days=3))
    letter(acme, state=State.RESOLVED)
    letters(busy, 2, state=State.REPLAYING)
    letter(busy, job_type="tests.gone")
    letter(busy, payload="", payload_raw=b"\x80pickled")
    letter(closed)
    letter(None)
    bulk = draft(plan=AT_ONCE)
    seen = preview(bulk)
    assert (seen.chosen, seen.will_do, seen.unchecked) == (12, 5, 0)
    assert sum(seen.skipped.values()) == 7
    assert seen.skipped["already being replayed"] == 2
    assert seen.oldest == oldest.dead_at
    shares = {share.name: (share.chosen, share.skipped, share.will_do) for share in seen.tenants.top}
    assert shares == {"acme": (6, 1, 5), "busy": (4, 4, 0), "closed": (1, 1, 0), "gone": (1, 1, 0)}
    assert {share.name: share.chosen for share in seen.jobs.top} == {"tests.echo": 11, "tests.gone": 1}
    assert len(seen.sample) == bulk_preview.SAMPLE
    run_batch(bulk_confirm(bulk_id=bulk.pk, by="command:ada").pk)
    bulk.refresh_from_db()
    assert (bulk.done, bulk.skipped_for) == (seen.will_do, seen.skipped)


def test_arguments_that_no_longer_fit_are_told_before() -> None:
    acme = new_tenant("acme")
    with_child = {"job_type": "tests.child"}
    from tests.runtime import example_jobs

    assert example_jobs.child
    letter(acme, payload=json.dumps({"args": [], "kwargs": {"slug": "x"}}), **with_child)
    letter(acme, payload=json.dumps({"args": [], "kwargs": {"name": "x"}}), **with_child)
    seen = preview(draft())
    assert seen.will_do == 1
    assert "do not fit" in next(iter(seen.skipped))


def test_of_two_with_one_key_only_the_first_will_run_if_they_need_not_go_in_turn() -> None:
    letters(new_tenant("acme"), 2, key="invoice:42")
    assert preview(draft()).will_do == 2
    bulk = draft(plan=replace(AT_ONCE, in_order=False))
    seen = preview(bulk)
    assert (seen.will_do, sum(seen.skipped.values())) == (1, 1)
    run_batch(bulk_confirm(bulk_id=bulk.pk, by="command:ada").pk)
    bulk.refresh_from_db()
    assert (bulk.done, bulk.skipped_for) == (1, seen.skipped)


def test_many_are_counted_exactly_and_their_arguments_looked_at_as_it_goes(
    monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    monkeypatch.setattr(bulk_preview, "MOST_CHECKED", 5)
    for number in range(12):
        letters(new_tenant(f"tenant-{number:02}"), 1 + number)
    bulk = draft()
    with django_assert_num_queries(4):
        seen = preview(bulk)
    assert (seen.chosen, seen.will_do, seen.unchecked) == (78, 78, 73)
    assert [share.name for share in seen.tenants.top[:2]] == ["tenant-11", "tenant-10"]
    assert (len(seen.tenants.top), seen.tenants.others, seen.tenants.rest.chosen) == (9, 3, 1 + 2 + 3)


def test_a_discard_takes_what_is_open_whatever_it_holds() -> None:
    acme, other = new_tenant("acme"), new_tenant("other")
    letter(acme, job_type="tests.gone"), letter(acme, state=State.DISCARDED), letter(other)
    seen = preview(draft("discard", only_tenants=[acme.pk]))
    assert (seen.chosen, seen.will_do, seen.unchecked) == (3, 1, 0)
    assert seen.skipped == {"already discarded": 1, "you may not discard the dead letters of their tenant": 1}


def test_those_whose_work_may_be_done_already_are_counted() -> None:
    """tests.echo says why a second run of it is safe: what is cut off of it is no cause for care; tests.gone is not."""
    acme = new_tenant("acme")
    letter(acme, error_class="jobops.OutcomeUnknown")
    letter(acme, error_class="jobops.OutcomeUnknown", job_type="tests.gone")  # skipped: nobody knows its type
    letter(acme, reason="worker_lost")
    letters(acme, 2)
    assert preview(draft()).uncertain == 1
    assert preview(draft("discard")).uncertain == 0
    text = perform("replay", DeadLetter.objects.all(), chosen="all", dry_run=True).as_text()
    assert "1 may have taken effect already" in text
