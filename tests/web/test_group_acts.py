"""What people do with causes: every act is a POST that works without JavaScript, and leaves a row in the audit."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dlq.models import BulkAction, DeadLetter, DeadLetterGroup, GroupNote
from jobops.audit.models import AuditEntry
from tenants.models import Team, Tenant
from tenants.roles import Role
from tests.web.bulks import TYPE
from tests.web.causes import cause, letter_of
from tests.web.test_escaping import EVIL, assert_harmless
from tests.web.world import World


@pytest.fixture
def group(world: World, acme: Tenant) -> DeadLetterGroup:
    group = cause(job_type=TYPE)
    for _ in range(3):
        letter_of(world, group, acme, job_type=TYPE)
    return group


@pytest.fixture
def client(world: World) -> Client:
    return world.client(Role.ON_CALL)


def post(client: Client, group: DeadLetterGroup, act: str, **form: Any) -> str:
    """What the page says afterwards."""
    answer = client.post(f"/dlq/groups/{group.pk}/{act}/", form)
    if answer.status_code != 422:
        assert (answer.status_code, answer["Location"]) == (302, f"/dlq/groups/{group.pk}/")
        answer = client.get(answer["Location"])
    text = answer.content.decode()
    group.refresh_from_db()
    return text[text.index("<main") : text.index('id="live"')]


def audited() -> list[str]:
    rows = AuditEntry.objects.filter(target_kind__in=("group", "letter"))
    return list(rows.order_by("pk").values_list("action", flat=True))


def test_a_cause_is_acknowledged_and_taken_up_again(client: Client, group: DeadLetterGroup) -> None:
    assert "The cause is acknowledged." in post(client, group, "acknowledge", note="checking with the provider")
    assert group.state == "acknowledged"
    assert GroupNote.objects.get().text == "checking with the provider"
    assert "has acknowledged it already" in post(client, group, "acknowledge")
    text = client.get(f"/dlq/groups/{group.pk}/").content.decode()
    assert "<q>checking with the provider</q>" in text
    assert "The cause is active again." in post(client, group, "activate")
    assert audited() == ["group.acknowledge", "group.activate"]


@pytest.mark.parametrize(
    ("form", "until"),
    [
        ({"snooze": "1h"}, timedelta(hours=1)),
        ({"snooze": "grows", "grows_by": "50"}, 53),
        ({"snooze": "tenant"}, 2),
    ],
)
def test_it_is_snoozed_in_three_ways(client: Client, group: DeadLetterGroup, form: Any, until: Any) -> None:
    assert "The cause is snoozed." in post(client, group, "snooze", **form)
    assert group.state == "snoozed"
    if isinstance(until, timedelta):
        assert group.snoozed_until is not None
        assert abs(group.snoozed_until - timezone.now() - until) < timedelta(minutes=1)
    else:
        assert until in (group.snoozed_to_deaths, group.snoozed_to_tenants)
    assert "until" in client.get("/dlq/?status=snoozed").content.decode()


@pytest.mark.parametrize(
    ("act", "form", "why"),
    [
        ("snooze", {}, "Choose until when"),
        ("snooze", {"snooze": "grows", "grows_by": "many"}, "By how many deaths it may grow: must be a whole number"),
        ("snooze", {"snooze": "grows", "grows_by": "0"}, "By how many deaths it may grow: must be a whole number"),
        ("note", {"text": "  "}, "Write what those who meet it next should know"),
        ("link", {"ticket_url": "javascript:alert(1)"}, "Ticket: must be a web address"),
        ("link", {"runbook_url": "https://u:p@x.example/"}, "Runbook: must not hold a login"),
        ("assign", {}, "Say to which team it goes"),
        ("assign", {"owner": "no-such-team"}, "No team is called"),
        ("assign", {"assignee": "nobody-here"}, "Nobody has this login"),
        ("assign", {"assignee": "a\0b"}, "Nobody has this login"),
        ("give-back", {}, "Nobody took it"),
        ("clock/pause", {"for": "1h"}, "Say why"),
        ("clock/pause", {"reason": "x"}, "Choose until when"),
        ("clock/pause", {"reason": "x", "at": "yesterday"}, "The time must be a date and a time"),
        ("clock/pause", {"reason": "x", "at": "2020-01-01T00:00"}, "Until: must be a time that is still to come"),
        ("clock/resume", {}, "It is not paused"),
        ("activate", {}, "It is active already"),
    ],
)
def test_what_is_wrong_is_said_and_changes_nothing(
    client: Client, group: DeadLetterGroup, act: str, form: dict[str, str], why: str
) -> None:
    before = list(DeadLetterGroup.objects.values())
    text = post(client, group, act, **form)
    assert f"Nothing was changed. {why}" in text
    assert list(DeadLetterGroup.objects.values()) == before
    assert audited() == []


@pytest.mark.parametrize(
    ("act", "form", "kept"),
    [
        ("link", {"ticket_url": "ticket 7", "runbook_url": "https://x.example/"},
         ('<details class="bd" id="set-links" open>', 'value="ticket 7"', 'value="https://x.example/"')),
        ("snooze", {"snooze": "grows", "grows_by": "0"},
         ('id="snooze" open>', '<option value="grows" selected>', 'value="0"')),
        ("assign", {"owner": "billing", "assignee": "gone"},
         ('id="hand-over" open>', "<option selected>billing</option>")),
        ("clock/pause", {"for": "3d", "at": "2020-01-01T00:00", "reason": "<b>"},
         ('id="pause-clock" open>', '<option value="3d" selected>', 'value="2020-01-01T00:00"', 'value="&lt;b&gt;"')),
        ("note", {"text": "n" * 5001}, ("n" * 5001,)),
    ],
)  # fmt: skip
def test_what_was_typed_stands_there_still(
    client: Client, group: DeadLetterGroup, act: str, form: dict[str, str], kept: tuple[str, ...]
) -> None:
    Team.objects.get_or_create(name="billing")
    answer = client.post(f"/dlq/groups/{group.pk}/{act}/", form)
    assert answer.status_code == 422
    text = answer.content.decode()
    assert [part for part in kept if part not in text] == []
    elsewhere = client.post(f"/dlq/groups/{group.pk}/{act}/", form | {"next": "/alerts/"})
    assert (elsewhere.status_code, elsewhere["Location"]) == (302, "/alerts/")
    if act in ("assign", "clock/pause"):
        letter = DeadLetter.objects.first()
        assert letter is not None
        text = client.post(f"/dlq/{letter.pk}/{act}/", form).content.decode()
        assert [part for part in kept if part not in text] == []


def test_a_time_that_is_typed_says_its_zone(client: Client, group: DeadLetterGroup) -> None:
    assert 'name="at"><span class="hint">In UTC.</span>' in client.get(f"/dlq/groups/{group.pk}/").content.decode()


def test_a_cause_is_taken_handed_over_and_given_back_with_its_letters(client: Client, group: DeadLetterGroup) -> None:
    me = User.objects.get(username__startswith="on call")
    Team.objects.create(name="payments")
    assert "It is yours, with 3 dead letters." in post(client, group, "take")
    assert group.assignee == me
    assert set(DeadLetter.objects.values_list("assignee", flat=True)) == {me.pk}
    assert "It was handed over" in post(client, group, "assign", owner="payments", assignee="-")
    assert (group.owner, group.assignee) == ("payments", None)
    assert set(DeadLetter.objects.values_list("owner", "assignee")) == {("payments", None)}
    assert "It was handed over" in post(client, group, "assign", assignee=me.username)
    assert "It is where the rules put it" in post(client, group, "give-back")
    assert not group.by_hand
    assert audited() == ["group.take", "group.assign", "group.assign", "group.give_back"]


def test_its_clock_is_paused_and_goes_on(client: Client, group: DeadLetterGroup) -> None:
    due = group.due_at
    until = timezone.localtime() + timedelta(days=2)
    assert "The clock is paused." in post(client, group, "clock/pause", at=f"{until:%Y-%m-%dT%H:%M}", reason="waits")
    assert due is not None
    assert group.due_at is not None
    assert group.due_at - due > timedelta(days=1)
    assert "The clock goes on." in post(client, group, "clock/resume")
    assert audited() == ["group.clock_pause", "group.clock_resume"]


def test_notes_and_links_are_kept(client: Client, group: DeadLetterGroup) -> None:
    post(client, group, "note", text="back at four")
    post(client, group, "link", ticket_url="https://tracker.example/1", runbook_url="")
    text = client.get(f"/dlq/groups/{group.pk}/").content.decode()
    assert "back at four" in text
    assert 'href="https://tracker.example/1"' in text
    assert audited() == ["group.note", "group.link"]


@pytest.mark.parametrize("evil", EVIL)
def test_whatever_is_written_stays_text(client: Client, world: World, acme: Tenant, evil: str) -> None:
    """SE-01, SE-03: titles come from errors, notes and names from people, links from an older database."""
    group = cause(evil, error_class=evil, culprit=evil, owner=evil[:50], ticket_url=evil, owned_by=evil)
    letter = letter_of(world, group, acme, error=evil)
    GroupNote.objects.create(group=group, by=evil, text=evil)
    row = {"target_kind": "group", "target_id": str(group.pk), "action": "group.acknowledge"}
    AuditEntry.objects.create(actor=evil, actor_kind="person", reason=evil, **row)
    for url in ("/dlq/", f"/dlq/groups/{group.pk}/", f"/dlq/{letter.pk}/", f"/live/dlq/groups/{group.pk}/"):
        assert_harmless(client.get(url).content.decode(), evil)


def tick(client: Client, do: str, *groups: DeadLetterGroup, **form: Any) -> Any:
    return client.post("/dlq/groups/act/", {"do": do, "ids": [group.pk for group in groups], **form})


def said(client: Client) -> str:
    text = client.get("/dlq/").content.decode()
    return text[text.index("<main") : text.index('id="live"')]


def test_several_are_acknowledged_snoozed_and_assigned_at_once(
    client: Client, world: World, acme: Tenant, group: DeadLetterGroup
) -> None:
    other = cause("Other", state="acknowledged", state_by="olga")
    letter_of(world, other, acme)
    tick(client, "acknowledge", group, other)
    text = said(client)
    assert "1 cause is acknowledged." in text
    assert "1 cause stayed as before. Olga has acknowledged it already." in text
    tick(client, "snooze", group, other, snooze="4h")
    assert set(DeadLetterGroup.objects.values_list("state", flat=True)) == {"snoozed"}
    tick(client, "take", group, other)
    assert "2 causes are yours." in said(client)
    tick(client, "assign", group, other, assignee="-")
    assert set(DeadLetterGroup.objects.values_list("assignee", flat=True)) == {None}


def test_ticked_causes_are_replayed_with_all_their_letters_as_a_draft_first(
    client: Client, world: World, acme: Tenant, group: DeadLetterGroup
) -> None:
    rival = world.tenant("rival")
    for _ in range(4):
        letter_of(world, group, rival, job_type=TYPE)
    other = cause("Other")
    letter_of(world, other, acme)
    for do, kind in (("replay", "replays"), ("discard", "discards")):
        answer = tick(client, do, group)
        bulk = BulkAction.objects.order_by("-pk")[0]
        assert answer["Location"].startswith(f"/dlq/{kind}/{bulk.pk}/")
        assert (bulk.matched, bulk.chosen, bulk.state) == (7, f"group={group.pk}", "draft")
    tick(client, "replay", group, other, query="tenant=acme&assignee=none")
    bulk = BulkAction.objects.order_by("-pk")[0]
    assert bulk.matched == 4, "of the tenant that the list was narrowed to"
    assert DeadLetter.objects.exclude(state="open").count() == 0


@pytest.mark.parametrize("do", ["replay", "acknowledge", "assign"])
def test_nothing_ticked_is_nothing_done(client: Client, group: DeadLetterGroup, do: str) -> None:
    assert tick(client, do).status_code == 302
    assert "nothing is ticked" in said(client).lower()
    client.post("/dlq/groups/act/", {"do": do, "ids": ["x", "0", "9" * 30], "query": ""})
    assert "not there any more" in said(client)
    assert audited() == []
    assert not BulkAction.objects.exists()


def test_a_filter_that_is_not_understood_is_not_widened(client: Client, group: DeadLetterGroup) -> None:
    tick(client, "replay", group, query="tenat=acme")
    assert "the filter “tenat” is not understood" in said(client)
    assert not BulkAction.objects.exists()


def test_an_unknown_act_is_not_found(client: Client, group: DeadLetterGroup) -> None:
    assert tick(client, "explode", group).status_code == 404


def test_one_letter_is_taken_handed_over_given_back_and_paused(client: Client, group: DeadLetterGroup) -> None:
    letter = DeadLetter.objects.order_by("pk")[0]

    def act(what: str, **form: str) -> str:
        answer = client.post(f"/dlq/{letter.pk}/{what}/", form)
        if answer.status_code == 422:
            return str(answer.content.decode())
        assert (answer.status_code, answer["Location"]) == (302, f"/dlq/{letter.pk}/")
        letter.refresh_from_db()
        return client.get(f"/dlq/{letter.pk}/").content.decode()

    assert f"No. {letter.pk} is yours." in act("take")
    assert letter.assignee is not None
    assert "was handed over." in act("assign", assignee="-")
    assert "Say to which team it goes" in act("assign")
    assert "is where the rules put it." in act("give-back")
    text = act("clock/pause", **{"for": "3d", "reason": "they send a form"})
    assert "Clock paused" in text
    assert "they send a form" in text
    assert isinstance(letter.clock_paused_until, datetime)
    assert "its clock runs." in act("clock/resume")
    text = client.get(f"/dlq/{letter.pk}/").content.decode()
    for told in ("took it", "handed it over", "gave it back to the rules", "paused its clock", "let its clock go on"):
        assert told in text
    DeadLetter.objects.filter(pk=letter.pk).update(state="resolved")
    assert "it is drained" in act("take")
    assert "group" not in {action.partition(".")[0] for action in audited()}
