"""What people decide about a cause, and what wakes it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dlq.causes.states import group_acknowledge, group_activate, group_link, group_note, group_snooze
from dlq.causes.timing import wake_snoozed
from dlq.errors import InvalidAction, WrongGroupState
from dlq.models import DeadLetterGroup, GroupNote
from jobops.audit.models import AuditEntry
from jobops.engine.client import Engine
from tenants.models import Tenant
from tests.dlq.causes.ways import Run, discard, end, group_of, replay, take_in, wrong

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def acme(both: Engine) -> Tenant:
    return Tenant.objects.get_or_create(slug="acme")[0]


@pytest.fixture
def group(acme: Tenant) -> DeadLetterGroup:
    return group_of(take_in(acme, "torn"))


def now_of(group: DeadLetterGroup) -> DeadLetterGroup:
    return DeadLetterGroup.objects.get(pk=group.pk)


def audit(action: str) -> AuditEntry:
    return AuditEntry.objects.get(action=action, target_kind="group")


def test_an_acknowledged_group_stays_so_while_it_goes_on(acme: Tenant, group: DeadLetterGroup) -> None:
    group_acknowledge(group_id=group.pk, by="ada", note="the provider knows")
    take_in(acme, "torn")
    kept = now_of(group)
    assert (kept.state, kept.state_by, kept.open, kept.reopenings) == ("acknowledged", "ada", 2, 0)
    assert GroupNote.objects.get().text == "the provider knows"
    row = audit("group.acknowledge")
    assert (row.before, row.after, row.reason) == ({"state": "active"}, {"state": "acknowledged"}, "the provider knows")


def test_acknowledging_twice_is_refused(group: DeadLetterGroup) -> None:
    group_acknowledge(group_id=group.pk, by="ada")
    with pytest.raises(WrongGroupState, match="ada has acknowledged it already"):
        group_acknowledge(group_id=group.pk, by="bob")
    assert now_of(group).state_by == "ada"


def test_an_acknowledged_group_that_was_drained_wakes_with_the_next_death(acme: Tenant) -> None:
    letter = take_in(acme, "torn")
    group_acknowledge(group_id=group_of(letter).pk, by="ada")
    discard(letter)
    assert group_of(letter).state == "drained"
    take_in(acme, "torn")
    woken = group_of(letter)
    assert (woken.state, woken.reopened_from, woken.reopenings) == ("active", "drained", 1)


@pytest.mark.parametrize("act", [group_acknowledge, group_activate])
def test_of_a_drained_group_nothing_is_left_to_be_decided(acme: Tenant, act: Any) -> None:
    letter = take_in(acme, "torn")
    discard(letter)
    with pytest.raises(WrongGroupState, match="drained"):
        act(group_id=group_of(letter).pk, by="ada")
    with pytest.raises(WrongGroupState, match="drained"):
        group_snooze(group_id=group_of(letter).pk, by="ada", grows_by=1)


def test_a_snooze_until_a_time_ends_then_and_not_with_deaths(acme: Tenant, group: DeadLetterGroup) -> None:
    until = timezone.now() + timedelta(hours=2)
    group_snooze(group_id=group.pk, by="ada", until=until)
    take_in(acme, "torn")
    assert wake_snoozed() == 0
    assert (now_of(group).state, now_of(group).snoozed_until) == ("snoozed", until)
    DeadLetterGroup.objects.update(snoozed_until=timezone.now())
    assert wake_snoozed() == 1
    assert wake_snoozed() == 0
    woken = now_of(group)
    assert (woken.state, woken.snoozed_until, woken.reopenings) == ("active", None, 0)
    assert audit("group.wake").actor == "scheduler"


def test_a_snooze_until_it_grows_ends_with_that_death(acme: Tenant, group: DeadLetterGroup) -> None:
    group_snooze(group_id=group.pk, by="ada", grows_by=2)
    take_in(acme, "torn")
    assert now_of(group).state == "snoozed"
    take_in(acme, "torn")
    woken = now_of(group)
    assert (woken.state, woken.reopened_from, woken.reopenings) == ("active", "snoozed", 1)
    assert audit("group.reopen").reason == "It grew to 3 deaths."


def test_the_death_of_a_replay_is_growth_too(acme: Tenant) -> None:
    letter = take_in(acme, "torn")
    group_snooze(group_id=group_of(letter).pk, by="ada", grows_by=1)
    replay(letter)
    assert group_of(letter).state == "snoozed"
    end(letter, Run.DIED, "torn")
    assert group_of(letter).state == "active"


def test_a_snooze_until_another_tenant_ends_with_that(acme: Tenant, group: DeadLetterGroup) -> None:
    group_snooze(group_id=group.pk, by="ada", another_tenant=True)
    take_in(acme, "torn")
    take_in(None, "torn")
    assert now_of(group).state == "snoozed"
    take_in(Tenant.objects.get_or_create(slug="globex")[0], "torn")
    assert (now_of(group).state, now_of(group).tenants) == ("active", 2)
    assert audit("group.reopen").reason == "It hit one more tenant; 2 by now."


def test_a_snoozed_group_that_is_drained_has_no_snooze_left(acme: Tenant) -> None:
    letter = take_in(acme, "torn")
    group_snooze(group_id=group_of(letter).pk, by="ada", until=timezone.now() + timedelta(hours=2), grows_by=5)
    discard(letter)
    drained = group_of(letter)
    assert (drained.state, drained.snoozed_until, drained.snoozed_to_deaths) == ("drained", None, None)
    assert wrong() == []


def test_a_snooze_is_said_anew_and_told_in_the_audit(group: DeadLetterGroup) -> None:
    group_snooze(group_id=group.pk, by="ada", grows_by=10)
    group_snooze(group_id=group.pk, by="bob", another_tenant=True)
    kept = now_of(group)
    assert (kept.state_by, kept.snoozed_to_deaths, kept.snoozed_to_tenants) == ("bob", None, 2)
    first, second = AuditEntry.objects.filter(action="group.snooze").order_by("pk")
    assert (first.after, second.before) == ({"state": "snoozed", "to_deaths": 11},) * 2
    assert second.after == {"state": "snoozed", "to_tenants": 2}


def test_what_was_put_aside_is_taken_up_again(group: DeadLetterGroup) -> None:
    group_snooze(group_id=group.pk, by="ada", grows_by=10)
    group_activate(group_id=group.pk, by="bob")
    assert (now_of(group).state, now_of(group).snoozed_to_deaths) == ("active", None)
    with pytest.raises(WrongGroupState, match="active already"):
        group_activate(group_id=group.pk, by="bob")


@pytest.mark.parametrize(("asked", "field"), [
    ({}, "snooze"),
    ({"until": timedelta(seconds=-1)}, "until"),
    ({"until": timedelta(days=91)}, "until"),
    ({"grows_by": 0}, "grows_by"),
    ({"grows_by": 1_000_001}, "grows_by"),
])  # fmt: skip
def test_a_snooze_that_says_nothing_is_refused(group: DeadLetterGroup, asked: dict[str, Any], field: str) -> None:
    if isinstance(asked.get("until"), timedelta):
        asked = {"until": timezone.now() + asked["until"]}
    with pytest.raises(InvalidAction) as error:
        group_snooze(group_id=group.pk, by="ada", **asked)
    assert error.value.field == field
    assert now_of(group).state == "active"


def test_a_time_without_a_zone_is_refused(group: DeadLetterGroup) -> None:
    with pytest.raises(InvalidAction, match="zone"):
        group_snooze(group_id=group.pk, by="ada", until=timezone.now().replace(tzinfo=None) + timedelta(hours=1))


def test_notes_survive_everything(acme: Tenant) -> None:
    letter = take_in(acme, "torn")
    group_note(group_id=group_of(letter).pk, by="ada", text="look at <b>the</b> provider\x00")
    replay(letter)
    end(letter, Run.SUCCEEDED)
    group_note(group_id=group_of(letter).pk, by="bob", text="mended")
    take_in(acme, "torn")
    notes = list(group_of(letter).notes.values_list("by", "text"))
    assert notes == [("bob", "mended"), ("ada", "look at <b>the</b> provider\\x00")]


@pytest.mark.parametrize("text", ["", "  \n ", "x" * 5001])
def test_a_note_is_a_text(group: DeadLetterGroup, text: str) -> None:
    with pytest.raises(InvalidAction, match="text"):
        group_note(group_id=group.pk, by="ada", text=text)
    assert not GroupNote.objects.exists()
    assert not AuditEntry.objects.filter(action="group.note").exists()


def test_links_are_set_kept_and_taken_away(group: DeadLetterGroup) -> None:
    group_link(group_id=group.pk, by="ada", ticket_url=" https://tracker.example/PAY-1842?a=1#c ", runbook_url="")
    group_link(group_id=group.pk, by="ada", runbook_url="http://wiki.example/pay")
    kept = now_of(group)
    assert (kept.ticket_url, kept.runbook_url) == ("https://tracker.example/PAY-1842?a=1#c", "http://wiki.example/pay")
    group_link(group_id=group.pk, by="ada", ticket_url="")
    assert now_of(group).ticket_url == ""
    group_link(group_id=group.pk, by="ada", ticket_url="")
    rows = AuditEntry.objects.filter(action="group.link").order_by("pk").values_list("after", flat=True)
    assert list(rows) == [
        {"ticket_url": "https://tracker.example/PAY-1842?a=1#c"}, {"runbook_url": "http://wiki.example/pay"},
        {"ticket_url": ""},
    ]  # fmt: skip


@pytest.mark.parametrize("link", [
    "javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "//tracker.example/1", "tracker.example/1", "https://",
    "https://a b/", 'https://x/"onclick', "https://ada:secret@tracker.example/", "https://x/\u202e", "https://x:port/",
    "https://" + "x" * 500, "https://[::1", "ftp://x/",
])  # fmt: skip
def test_what_a_browser_should_not_open_is_no_link(group: DeadLetterGroup, link: str) -> None:
    for field in ("ticket_url", "runbook_url"):
        with pytest.raises(InvalidAction) as error:
            group_link(group_id=group.pk, by="ada", **{field: link})
        assert error.value.field == field
    assert (now_of(group).ticket_url, now_of(group).runbook_url) == ("", "")


@pytest.mark.parametrize("act", [
    lambda: group_acknowledge(group_id=10**9, by="ada"),
    lambda: group_snooze(group_id=10**9, by="ada", grows_by=1),
    lambda: group_activate(group_id=10**9, by="ada"),
    lambda: group_note(group_id=10**9, by="ada", text="x"),
    lambda: group_link(group_id=10**9, by="ada", ticket_url=""),
])  # fmt: skip
def test_of_no_group_nothing_is_decided(both: Engine, act: Any) -> None:
    with pytest.raises(DeadLetterGroup.DoesNotExist):
        act()
