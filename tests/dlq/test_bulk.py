"""A bulk action's membership is fixed when it is drafted; it is confirmed once, stopped for good, undone once."""

from __future__ import annotations

import pytest
from django.http import Http404

from dlq.access import can_run, get_bulk, letters_visible_to, tenants_where
from dlq.bulk import TICKED, bulk_cancel, bulk_confirm, bulk_draft, bulk_undo
from dlq.bulk_run import run_batch
from dlq.errors import InvalidAction, WrongBulkState
from dlq.filters import LetterFilter
from dlq.models import BulkAction, DeadLetter, State
from jobops.audit.models import AuditEntry
from jobops.audit.recording import request
from tenants.models import Membership, Tenant
from tenants.roles import Action, Role
from tests.dlq.letters import letter, letters, states
from tests.tenants.people import again, new_tenant, person

pytestmark = pytest.mark.django_db


def draft(kind: str = "discard", **more: object) -> BulkAction:
    everything = LetterFilter().apply(DeadLetter.objects.all())
    return bulk_draft(**({"kind": kind, "letters": everything, "by": "command:ada", "chosen": ""} | more))  # type: ignore[arg-type]


@pytest.fixture
def acme() -> Tenant:
    return new_tenant("acme")


def test_what_dies_after_the_draft_is_left_alone(acme: Tenant) -> None:
    """DL-04, DL-14: the page showed 10, 5 more die, it is confirmed: 10 change, 5 stay."""
    shown = letters(acme, 10)
    bulk = draft()
    assert (bulk.state, bulk.matched, bulk.done) == ("draft", 10, 0)
    later = letters(acme, 5)
    assert states(shown) == ["open"] * 10, "nothing has happened yet"
    bulk_confirm(bulk_id=bulk.pk, by="command:ada", reason="not needed")
    assert run_batch(bulk.pk) == 10
    assert states(shown) == ["discarded"] * 10
    assert states(later) == ["open"] * 5
    bulk.refresh_from_db()
    assert (bulk.state, bulk.matched, bulk.done, bulk.skipped) == ("finished", 10, 10, 0)


def test_a_second_press_is_refused(acme: Tenant) -> None:
    """DL-06"""
    letters(acme, 2)
    bulk = draft("replay")
    bulk_confirm(bulk_id=bulk.pk, by="command:ada")
    with pytest.raises(WrongBulkState, match="it is running already"):
        bulk_confirm(bulk_id=bulk.pk, by="command:bob")
    run_batch(bulk.pk)
    with pytest.raises(WrongBulkState, match="it is finished"):
        bulk_confirm(bulk_id=bulk.pk, by="command:bob")
    assert run_batch(bulk.pk) == 0


def test_a_discard_needs_a_reason(acme: Tenant) -> None:
    letter(acme)
    bulk = draft()
    for reason in ("", "  ", "x" * 501):
        with pytest.raises(InvalidAction) as refusal:
            bulk_confirm(bulk_id=bulk.pk, by="command:ada", reason=reason)
        assert refusal.value.field == "reason"
    bulk.refresh_from_db()
    assert bulk.state == "draft"
    assert bulk_confirm(bulk_id=draft(reason="known").pk, by="command:ada").reason == "known"


def test_nothing_chosen_is_no_bulk_action(acme: Tenant) -> None:
    for none in (DeadLetter.objects.none(), DeadLetter.objects.filter(owner="nobody")):
        with pytest.raises(InvalidAction, match="letters: none was chosen"):
            draft(letters=none)
    with pytest.raises(InvalidAction, match="'purge' must be one of"):
        draft("purge")
    assert not BulkAction.objects.exists()


def test_a_draft_thrown_away_can_no_longer_be_confirmed(acme: Tenant) -> None:
    one = letter(acme)
    bulk = draft(reason="r")
    bulk_cancel(bulk_id=bulk.pk, by="command:ada")
    for act in (bulk_confirm, bulk_cancel):
        with pytest.raises(WrongBulkState, match="it was cancelled"):
            act(bulk_id=bulk.pk, by="command:ada")
    assert run_batch(bulk.pk) == 0
    assert states([one]) == ["open"]


def test_one_that_runs_is_stopped_where_it_is(acme: Tenant) -> None:
    some = letters(acme, 5)
    bulk = bulk_confirm(bulk_id=draft(reason="r").pk, by="command:ada")
    assert run_batch(bulk.pk, size=2) == 2
    stopped = bulk_cancel(bulk_id=bulk.pk, by="command:ada")
    assert run_batch(bulk.pk) == 0
    assert states(some) == ["discarded"] * 2 + ["open"] * 3
    assert (stopped.state, stopped.done, stopped.skipped, stopped.matched) == ("cancelled", 2, 0, 5)


def test_a_discard_is_undone_once_and_only_what_it_did(acme: Tenant) -> None:
    first, second, third = letters(acme, 3)
    other = letter(acme, state=State.DISCARDED)
    bulk = bulk_confirm(bulk_id=draft(reason="r").pk, by="command:ada")
    with pytest.raises(WrongBulkState, match="it is running already; stop it"):
        bulk_undo(bulk_id=bulk.pk, by="command:ada")
    run_batch(bulk.pk)
    # Somebody opened the third one and discarded it once more, for a reason of their own.
    anew = bulk_draft(kind="undo", letters=DeadLetter.objects.filter(pk=third.pk), by="command:bob", chosen=TICKED)
    run_batch(bulk_confirm(bulk_id=anew.pk, by="command:bob").pk)
    again = draft(letters=DeadLetter.objects.filter(pk=third.pk), reason="a duplicate")
    run_batch(bulk_confirm(bulk_id=again.pk, by="command:bob").pk)
    undo = bulk_undo(bulk_id=bulk.pk, by="command:ada")
    assert (undo.kind, undo.state, undo.undoes, undo.matched) == ("undo", "running", bulk, 3)
    run_batch(undo.pk)
    undo.refresh_from_db()
    assert (undo.done, undo.skipped_for) == (2, {"it was discarded anew since": 1})
    assert states([first, second, third, other]) == ["open", "open", "discarded", "discarded"]
    marks = DeadLetter.objects.filter(pk__in=[first.pk, third.pk]).order_by("pk")
    assert list(marks.values_list("discarded_in", flat=True)) == [None, again.pk]
    with pytest.raises(WrongBulkState, match="command:ada has undone it already"):
        bulk_undo(bulk_id=bulk.pk, by="command:bob")
    with pytest.raises(InvalidAction, match="only a discard"):
        bulk_undo(bulk_id=undo.pk, by="command:ada")


def test_letters_of_tenants_where_one_may_not_are_members_that_are_skipped(acme: Tenant) -> None:
    """SE-05: what was ticked and is not allowed is told; what is foreign is not there."""
    may = new_tenant("may", may_replay=True)
    admin = person(Role.TENANT_ADMIN, may)
    Membership.objects.create(user=admin, tenant=acme, role=Membership.Role.ADMIN)
    admin = again(admin)
    foreign = letter(new_tenant("foreign"))
    own, not_allowed = letter(may), letter(acme)
    allowed = tenants_where(admin, Action.DISCARD)
    assert allowed == [may.pk]
    ticked = letters_visible_to(admin).filter(pk__in=[own.pk, not_allowed.pk, foreign.pk, 10**9])
    bulk = draft(letters=ticked, by=admin, reason="r", only_tenants=allowed)
    assert (bulk.matched, bulk.skipped) == (2, 1)
    assert can_run(admin, bulk)
    run_batch(bulk_confirm(bulk_id=bulk.pk, by=admin).pk)
    bulk.refresh_from_db()
    assert (bulk.state, bulk.done, bulk.skipped) == ("finished", 1, 1)
    assert bulk.skipped_for == {"you may not discard the dead letters of their tenant": 1}
    assert states([own, not_allowed, foreign]) == ["discarded", "open", "open"]
    told = AuditEntry.objects.exclude(target_kind="tenant").values_list("tenant_slug", flat=True)
    assert "foreign" not in set(told)


def test_a_bulk_action_exists_for_staff_and_for_its_own_maker(acme: Tenant) -> None:
    """SE-05: a foreign one looks like none at all, and so does one's own after a tenant was taken away."""
    admin, colleague = person(Role.TENANT_ADMIN, acme), person(Role.TENANT_ADMIN, acme)
    letter(acme), letter(other := new_tenant("other"))
    own = draft(letters=letters_visible_to(admin), by=admin, reason="r")
    mixed = draft(by=admin, reason="r")
    staff = person(Role.STAFF_VIEWER)
    assert get_bulk(admin, own.pk) == get_bulk(staff, own.pk) == own
    assert get_bulk(staff, mixed.pk) == mixed
    for user, bulk_id in ((colleague, own.pk), (admin, mixed.pk), (person(), own.pk), (staff, 10**6), (staff, 2**70)):
        with pytest.raises(Http404, match="No such bulk action"):
            get_bulk(user, bulk_id)
    refusal = can_run(staff, own)
    assert not refusal
    assert "may not discard" in refusal.reason
    Tenant.objects.filter(pk=acme.pk).update(may_replay=False)
    assert not can_run(person(Role.TENANT_ADMIN, other), own)
    assert can_run(person(Role.ON_CALL), own)


def test_the_audit_tells_of_the_whole_and_of_each_letter(acme: Tenant) -> None:
    one, two = letters(acme, 2)
    ada = person(Role.ON_CALL, name="ada")
    with request("req-7"):
        bulk = draft(by=ada)
        bulk_confirm(bulk_id=bulk.pk, by=ada, reason="the customer left")
    run_batch(bulk.pk)  # by another process, later
    rows = AuditEntry.objects.filter(request_id="req-7").exclude(target_kind="group").order_by("pk")
    assert [(row.action, row.target_kind, row.target_id) for row in rows] == [
        ("bulk.confirm", "bulk", str(bulk.pk)),
        ("letter.discard", "letter", str(one.pk)),
        ("letter.discard", "letter", str(two.pk)),
        ("bulk.finish", "bulk", str(bulk.pk)),
    ]
    assert {(row.actor, row.actor_kind, row.user_id, row.tenant_slug) for row in rows} == {
        ("ada", "person", ada.pk, "acme")
    }
    assert rows[3].after | {"done": 2, "skipped": 0, "chosen": "all to be drained"} == rows[3].after
    assert rows[3].reason == "the customer left"
