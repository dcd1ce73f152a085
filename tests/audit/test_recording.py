"""Rows of the audit: in the transaction of the change, complete, storable, and never changed."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from jobops.audit import recording
from jobops.audit.models import AppendOnly, AuditEntry
from jobops.audit.recording import Change

pytestmark = pytest.mark.django_db


def test_a_row_says_who_what_from_to_why_and_in_which_request() -> None:
    ada = User.objects.create_user("ada")
    with recording.request("r-1"):
        recording.record(ada, Change("tenant.set", "tenant", "acme", 7, "acme", {"cap": 1}, {"cap": 2}, "they asked"))
    row = AuditEntry.objects.get()
    assert (row.actor, row.actor_kind, row.user_id) == ("ada", "person", ada.pk)
    assert (row.action, row.target_kind, row.target_id) == ("tenant.set", "tenant", "acme")
    assert (row.tenant_id, row.tenant_slug) == (7, "acme")
    assert (row.before, row.after, row.reason, row.request_id) == ({"cap": 1}, {"cap": 2}, "they asked", "r-1")


@pytest.mark.parametrize(("by", "kind"), [("command:root", "command"), ("scheduler", "system")])
def test_commands_and_what_acts_by_itself_are_told_apart(by: str, kind: str) -> None:
    recording.record(by, Change("job.cancel", "job", "1"))
    assert (AuditEntry.objects.get().actor_kind, AuditEntry.objects.get().user_id) == (kind, None)


def test_a_row_goes_with_the_change_that_is_rolled_back() -> None:
    def change() -> None:
        with transaction.atomic():
            recording.record("test", Change("tenant.set", "tenant", "acme"))
            raise RuntimeError("the change failed")

    with pytest.raises(RuntimeError):
        change()
    assert not AuditEntry.objects.exists()


def test_whatever_is_in_a_row_can_be_stored() -> None:
    """PX-01: NUL and half characters are spelled out, at any depth."""
    odd = "a\0b\ud800"
    recording.record("test", Change("x.y", "job", odd, after={odd: [odd, {"k": odd}], "n": 1}, reason=odd))
    row = AuditEntry.objects.get()
    assert row.target_id == row.reason == "a\\0b\\ud800"
    assert row.after == {"a\\0b\\ud800": ["a\\0b\\ud800", {"k": "a\\0b\\ud800"}], "n": 1}


def test_rows_are_never_changed_or_deleted() -> None:
    recording.record("test", Change("x.y", "job", "1"))
    row = AuditEntry.objects.get()
    for act in (
        row.save,
        row.delete,
        lambda: AuditEntry.objects.update(actor="somebody else"),
        lambda: AuditEntry.objects.all().delete(),
        lambda: AuditEntry.objects.bulk_update([row], ["actor"]),
    ):
        with pytest.raises(AppendOnly):
            act()
    assert AuditEntry.objects.get().actor == "test"


def test_a_batch_takes_few_queries(django_assert_max_num_queries: object) -> None:
    with django_assert_max_num_queries(8):  # type: ignore[operator]
        recording.record_many("test", [Change("x.y", "job", number) for number in range(600)])
    assert AuditEntry.objects.count() == 600


def test_a_difference_holds_what_changed_and_nothing_else() -> None:
    assert recording.difference({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4}) == ({"b": 2}, {"b": 3, "c": 4})
    assert recording.difference({"a": 1}, {"a": 1}) == ({}, {})


def test_ids_nest_and_end() -> None:
    assert recording.current_request_id() == ""
    with recording.request("outer"):
        with recording.request() as inner:
            assert recording.current_request_id() == inner
            assert len(inner) == 32
        assert recording.current_request_id() == "outer"
    assert recording.current_request_id() == ""
