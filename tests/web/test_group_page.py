"""The page of a cause, ``/dlq/groups/<id>/``."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlq.models import DeadLetter, DeadLetterGroup, GroupNote
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.bulks import TYPE
from tests.web.causes import cause, letter_of
from tests.web.test_letters import ids
from tests.web.world import World

TRACE = """Traceback (most recent call last):
  File "/srv/app/shop/pay.py", line 88, in capture
    raise ProviderError("503")
shop.errors.ProviderError: 503
"""


def shown(client: Client, group: DeadLetterGroup, query: str = "") -> str:
    answer = client.get(f"/dlq/groups/{group.pk}/{query}")
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.fixture
def group(world: World, acme: Tenant) -> DeadLetterGroup:
    group = cause("Provider answered 503", job_type=TYPE)
    for number in range(12):
        letter_of(world, group, acme, traceback=TRACE, error=f"answered 503 for {number}")
    return group


def test_it_shows_the_cause_a_sample_and_what_is_due_first(world: World, group: DeadLetterGroup) -> None:
    text = shown(world.client(Role.ON_CALL), group)
    assert "<h1>Provider answered 503</h1>" in text
    for told in ("Replay all 12", "Discard all 12", "line 88, in <b>capture</b>", "answered 503 for 11", "number",
                 "All 12 one by one", "of 12", "Pause clock", "Hand over", "Take it", "Acknowledge", "Snooze",
                 "Seen for the first time"):  # fmt: skip
        assert told in text, told
    due_first = DeadLetter.objects.order_by("due_at", "pk").values_list("pk", flat=True)[:10]
    assert ids(text) == list(due_first)
    assert f'href="?by=one&amp;group={group.pk}"' not in text, "letters are asked for by their cause alone"
    assert f'<a href="/dlq/?group={group.pk}">All 12 one by one</a>' in text


def test_its_sample_says_when_it_died_again_and_a_paused_clock_until_when(
    world: World, acme: Tenant, group: DeadLetterGroup
) -> None:
    client = world.client(Role.ON_CALL)
    now = timezone.now()
    again = {"dead_at": now - timedelta(minutes=21), "last_died_at": now - timedelta(minutes=1), "replays": 1}
    DeadLetter.objects.filter(pk=group.sample_id).update(**again)
    text = re.sub(r"<[^>]+>", "", shown(client, group)).replace("\N{NO-BREAK SPACE}", " ")
    assert "died 21 min ago, again 1 min ago" in text
    client.post(f"/dlq/groups/{group.pk}/clock/pause/", {"for": "1h", "reason": "waits"})
    text = " ".join(re.sub(r"<[^>]+>", " ", shown(client, group)).split())
    assert "Clock paused Until" in text
    assert "Clock paused Clock paused" not in text
    client.post(f"/dlq/groups/{group.pk}/acknowledge/")
    text = shown(client, group)
    assert "Make it active again" in text
    assert "Take it up again" not in text


def test_it_says_that_the_cause_is_not_mended(world: World, acme: Tenant, group: DeadLetterGroup) -> None:
    client = world.client(Role.ON_CALL)
    assert "The cause is not mended." not in shown(client, group)
    letter_of(world, group, acme, dead_at=timezone.now())
    assert re.search(
        "<b>The cause is not mended.</b> 1 died of it in the last 5\N{NO-BREAK SPACE}minutes", shown(client, group)
    )


def test_one_tenants_share_of_it_is_to_be_had(world: World, group: DeadLetterGroup) -> None:
    rival = world.tenant("rival")
    letter = letter_of(world, group, rival)
    text = shown(world.client(Role.ON_CALL), group, "?tenant=rival")
    assert ids(text) == [letter.pk]
    assert "Replay it" in text
    assert f'name="query" value="tenant=rival&amp;group={group.pk}"' in text
    assert "of rival only." in text


def test_what_is_drained_or_purged_is_still_told_of(world: World, acme: Tenant) -> None:
    gone = cause("Gone", state="drained", purged=4, sample_id=999)
    done = cause("Done")
    letter = letter_of(world, done, acme, state="resolved", drained_at=timezone.now())
    DeadLetterGroup.objects.filter(pk=done.pk).update(state="drained", due_at=None)
    client = world.client(Role.ON_CALL)
    text = shown(client, gone)
    assert "Nothing of it is to be drained." in text
    assert "Nothing is due" in text
    assert "Replay" not in text
    assert f"/dlq/{letter.pk}/" in shown(client, done), "the sample is the letter that there is"


def test_notes_and_links_are_shown(world: World, group: DeadLetterGroup) -> None:
    GroupNote.objects.create(group=group, by="olga", text="First line\nsecond line")
    DeadLetterGroup.objects.filter(pk=group.pk).update(ticket_url="https://tracker.example/PAY-1")
    text = shown(world.client(Role.STAFF_VIEWER), group)
    assert "First line<br>second line" in text
    assert '<a href="https://tracker.example/PAY-1" rel="noopener noreferrer nofollow">' in text
    assert 'name="text"' not in text, "who may only look writes nothing"
    assert 'action="/dlq/groups' not in text


def test_that_it_came_back_is_said(world: World, group: DeadLetterGroup) -> None:
    DeadLetterGroup.objects.filter(pk=group.pk).update(
        reopened_at=timezone.now(), reopened_from="drained", reopenings=3
    )
    text = shown(world.client(Role.ON_CALL), group)
    assert "It was drained, and came back at" in text
    assert "3 times in all." in text
    assert ">came back<" in text


def test_what_changed_its_state_is_named_if_it_was_a_person(world: World, group: DeadLetterGroup) -> None:
    client, at = world.client(Role.ON_CALL), timezone.now()
    for by, told in (("scheduler", False), ("olga", True)):
        DeadLetterGroup.objects.filter(pk=group.pk).update(state_by=by, state_at=at)
        assert (f"Active, by {by}" in shown(client, group)) is told


def test_what_died_again_says_so_without_its_error(world: World, acme: Tenant, group: DeadLetterGroup) -> None:
    due = timezone.now() - timedelta(days=1)
    letter_of(
        world,
        group,
        acme,
        due_at=due,
        replays=1,
        note="Replay 1 died again in attempt 3: shop.errors.ProviderError: 503.",
    )
    letter_of(world, group, acme, due_at=due, replays=1, note="Replay 1 was cancelled before it ran.")
    text = shown(world.client(Role.ON_CALL), group)
    table = text[text.index('id="le"') :]
    assert '<span class="note-l">died again</span>' in table[: table.index("</table>")]
    assert '<span class="note-l">Replay 1 was cancelled before it ran.</span>' in table[: table.index("</table>")]
    assert "died again in attempt" not in table[: table.index("</table>")]


def test_a_paused_clock_says_until_when_and_why(world: World, group: DeadLetterGroup) -> None:
    until = timezone.now() + timedelta(days=2)
    what = {"clock_paused_at": timezone.now(), "clock_paused_until": until, "clock_pause_reason": "provider form sent"}
    DeadLetterGroup.objects.filter(pk=group.pk).update(**what, clock_paused_by="olga")
    DeadLetter.objects.filter(group=group).update(**what)
    text = shown(world.client(Role.ON_CALL), group)
    for told in ("Clock paused", "provider form sent", "paused by olga", "Resume clock"):
        assert told in text


def test_queries_do_not_grow_with_the_letters(world: World, acme: Tenant, group: DeadLetterGroup) -> None:
    """UP-04."""
    client = world.client(Role.ON_CALL)
    counts = []
    for turn in range(2):
        shown(client, group)
        with CaptureQueriesContext(connection) as queries:
            shown(client, group)
        counts.append(len(queries))
        for number in range(30):
            letter_of(world, group, world.tenant(f"more-{turn}-{number}"))
    assert counts[0] == counts[1] < 45, counts


@pytest.mark.parametrize("url", ["/dlq/groups/0/", f"/dlq/groups/{2**63}/", f"/dlq/groups/{'9' * 30}/"])
def test_what_is_not_there_is_not_found(world: World, url: str) -> None:
    assert world.client(Role.ON_CALL).get(url).status_code == 404


def test_its_fragment_is_the_same_without_the_frame(world: World, group: DeadLetterGroup) -> None:
    text = world.client(Role.ON_CALL).get(f"/live/dlq/groups/{group.pk}/").content.decode()
    assert "<h1>Provider answered 503</h1>" in text
    assert "<header" not in text


def test_a_letter_leads_to_its_cause(world: World, acme: Tenant, group: DeadLetterGroup) -> None:
    first, second = DeadLetter.objects.order_by("pk")[:2]
    client = world.client(Role.ON_CALL)
    text = client.get(f"/dlq/{first.pk}/").content.decode()
    assert f'oldest of <a href="/dlq/groups/{group.pk}/">12 open of this cause</a>' in text
    assert f'<a href="/dlq/groups/{group.pk}/">Provider answered 503</a>' in text
    assert "one of <a" in client.get(f"/dlq/{second.pk}/").content.decode()
    DeadLetter.objects.filter(pk=first.pk).update(group=None)
    assert "with this cause" not in client.get(f"/dlq/{first.pk}/").content.decode()


def test_the_form_says_what_becomes_of_a_letters_own_pause(world: World, acme: Tenant) -> None:
    group = cause()
    letter = letter_of(world, group, acme)
    client, says = world.client(Role.ON_CALL), "A shorter one becomes part of this pause"
    assert says in client.get(f"/dlq/groups/{group.pk}/").content.decode()
    assert says not in client.get(f"/dlq/{letter.pk}/").content.decode()
