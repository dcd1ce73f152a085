"""What a letter's page and a bulk preview say of others that die of the same: what was counted, never more."""

from __future__ import annotations

import html
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dlq.models import DeadLetter, DeadLetterGroup
from jobops.web.formats import NBSP
from jobops.web.selectors import lately
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.bulks import draft, replayable
from tests.web.causes import cause, letter_of
from tests.web.world import World

NONE = "No other died with the same message in the last 5 minutes."


@pytest.fixture
def acme(world: World) -> Tenant:
    return world.tenant("acme", may_replay=True)


@pytest.fixture
def on_call(world: World, acme: Tenant) -> Client:
    return world.client(Role.ON_CALL)


def page(client: Client, letter: DeadLetter) -> str:
    answer = client.get(f"/dlq/{letter.pk}/")
    assert answer.status_code == 200
    return html.unescape(answer.content.decode()).replace(NBSP, " ")


def ago(**kwargs: Any) -> Any:
    return timezone.now() - timedelta(**kwargs)


def died_again(letter: DeadLetter, **since: Any) -> None:
    """Its replay has just died, as ``dlq.endings`` writes it."""
    at = ago(**since)
    letter.runs.create(number=letter.replays + 1, job_id=f"r-{letter.pk}", by="olga", state="died", ended_at=at)
    DeadLetter.objects.filter(pk=letter.pk).update(replays=letter.replays + 1, last_died_at=at)


def succeeded(letter: DeadLetter, **since: Any) -> None:
    at = ago(**since)
    letter.runs.create(number=1, job_id=f"r-{letter.pk}", by="olga", state="succeeded", ended_at=at)
    DeadLetter.objects.filter(pk=letter.pk).update(state="resolved", drained_at=at, replays=1)


def test_it_counts_those_that_died_with_the_same_message_and_claims_nothing_of_the_cause(
    world: World, acme: Tenant, on_call: Client
) -> None:
    letter = world.letter(acme, dead_at=ago(hours=1))
    for seconds in (12, 30, 290):
        world.letter(acme, dead_at=ago(seconds=seconds))
    world.letter(acme, dead_at=ago(minutes=6))
    world.letter(acme, error_class="KeyError", dead_at=ago(seconds=1))
    world.letter(acme, job_type="shop.jobs.other", dead_at=ago(seconds=1))
    world.letter(acme, error="the provider knows no such card", dead_at=ago(seconds=1))
    world.letter(world.tenant("rival"), dead_at=ago(seconds=60))
    text = page(on_call, letter)
    assert "4 more died with the same message in the last 5 minutes, the latest 12 s ago." in text
    assert "say-warn" in text
    assert "mended" not in text
    own = page(world.client(Role.TENANT_VIEWER, acme), letter)
    assert "3 more of your jobs failed with the same message in the last 5 minutes, the latest 12 s ago." in own
    assert "still there" not in own


def test_numbers_in_a_message_do_not_tell_deaths_apart_but_whom_it_is_about_does(
    world: World, acme: Tenant, on_call: Client
) -> None:
    def dead(error: str, **fields: Any) -> DeadLetter:
        return world.letter(acme, error=error, dead_at=ago(seconds=9), **fields)

    down = dead("order 17: HTTP 503 after 30.5 s")
    dead("order 1812: HTTP 503 after 2.0 s")
    assert "1 more died with the same message" in page(on_call, down)
    refused = dead("ada7@nowhere.example was refused: 550 no such mailbox", reason="poison")
    dead("ada8@nowhere.example was refused: 550 no such mailbox", reason="poison")
    assert NONE in page(on_call, refused)


def test_replays_that_die_again_are_counted_whatever_state_their_letters_are_in(
    world: World, acme: Tenant, on_call: Client
) -> None:
    letters = [world.letter(acme, dead_at=ago(hours=2)) for _ in range(6)]
    assert NONE in page(on_call, letters[0])
    for letter in letters:
        died_again(letter, seconds=20)
    assert "5 more died with the same message in the last 5 minutes, the latest 20 s ago." in page(on_call, letters[0])
    for letter, state in zip(letters[1:], ("replaying", "resolved", "discarded", "open", "open"), strict=True):
        DeadLetter.objects.filter(pk=letter.pk).update(state=state)
    assert "5 more died with the same message" in page(on_call, letters[0])
    first = [world.letter(acme, dead_at=ago(seconds=9), state=state) for state in ("replaying", "discarded")]
    died_again(first[0], seconds=3)
    assert "7 more died with the same message in the last 5 minutes, the latest 3 s ago." in page(on_call, letters[0])


def test_replays_that_succeeded_since_the_newest_death_are_told_beside_it(
    world: World, acme: Tenant, on_call: Client
) -> None:
    letter = world.letter(acme, dead_at=ago(hours=1))
    worked = [world.letter(acme, dead_at=ago(hours=2)) for _ in range(3)]
    succeeded(worked[0], hours=1, minutes=1)
    text = page(on_call, letter)
    assert NONE in text
    assert "succeeded" not in text
    succeeded(worked[1], minutes=40)
    assert f"{NONE} Since this one died, 1 replay succeeded." in page(on_call, letter)
    world.letter(acme, dead_at=ago(seconds=30))
    text = page(on_call, letter)
    assert "1 more died with the same message in the last 5 minutes, the latest 30 s ago.\n" in text.replace("</", "\n")
    assert "say-warn" in text
    succeeded(worked[2], seconds=5)
    text = page(on_call, letter)
    assert "the latest 30 s ago. Since then, 1 replay succeeded." in text
    assert "say-calm" in text
    own = page(world.client(Role.TENANT_VIEWER, acme), letter)
    assert "the latest 30 s ago. Since then, 1 worked when tried again." in own


def test_what_succeeded_before_the_letters_own_newest_death_says_nothing(
    world: World, acme: Tenant, on_call: Client
) -> None:
    letter, other = world.letter(acme, dead_at=ago(hours=1)), world.letter(acme, dead_at=ago(hours=1))
    succeeded(other, seconds=30)
    assert "1 replay succeeded" in page(on_call, letter)
    died_again(letter, seconds=10)
    assert "succeeded" not in page(on_call, letter)


def test_of_other_tenants_a_tenants_people_learn_nothing(world: World, acme: Tenant) -> None:
    """SE-05."""
    rival = world.tenant("rival")
    letter = world.letter(acme, dead_at=ago(hours=1))
    died_again(world.letter(rival, dead_at=ago(seconds=4)), seconds=2)
    succeeded(world.letter(rival, dead_at=ago(hours=1)), seconds=1)
    text = page(world.client(Role.TENANT_ADMIN, acme), letter)
    assert "No other job of yours failed with the same message in the last 5 minutes.<" in text


def test_in_a_storm_it_looks_at_so_many_and_says_at_least(
    world: World, acme: Tenant, on_call: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lately, "MOST", 3)
    letter = world.letter(acme, dead_at=ago(hours=1))
    for _ in range(5):
        world.letter(acme, dead_at=ago(seconds=9))
    assert "At least 3 more died with the same message" in page(on_call, letter)


def test_what_else_dies_pushes_no_death_of_a_cause_out(world: World, acme: Tenant, on_call: Client) -> None:
    ours, others = cause(), cause("Payments answered 500", job_type="shop.jobs.capture")
    one = letter_of(world, ours, acme, dead_at=ago(hours=1))
    copies(one, 600, dead_at=ago(seconds=60))
    copies(letter_of(world, others, acme, dead_at=ago(hours=1)), 600, dead_at=ago(seconds=5))
    told = "in the last 5 minutes, the latest 1 min ago."
    assert f"<b>The cause is not mended.</b> 600 died of it {told}" in of_cause(on_call, ours)
    assert f"600 more died of the same cause {told}" in page(on_call, one)
    own = world.client(Role.TENANT_VIEWER, acme)
    assert f"<b>It goes on.</b> 600 of your jobs failed like this {told}" in of_cause(own, ours)


def test_a_cause_that_was_not_looked_at_is_never_said_to_be_still(
    world: World, acme: Tenant, on_call: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lately, "LOOKED_AT", 3)
    ours, others = cause(), cause("Payments answered 500")
    one = letter_of(world, ours, acme, dead_at=ago(seconds=60))
    two = letter_of(world, ours, acme, dead_at=ago(seconds=50))
    last_seen(ours, two.dead_at)
    copies(letter_of(world, others, acme, dead_at=ago(hours=1)), 3, dead_at=ago(seconds=5))
    own = world.client(Role.TENANT_VIEWER, acme)
    assert "At least 1 died of it in the last 5 minutes, the latest 50 s ago." in of_cause(on_call, ours)
    assert "At least 1 of your jobs failed like this in the last 5 minutes" in of_cause(own, ours)
    assert "At least 1 more died of the same cause in the last 5 minutes, the latest 50 s ago." in page(on_call, one)
    unknown = "Whether others died of the same cause in the last 5 minutes is not known: too many did."
    assert unknown in page(on_call, two)
    last_seen(ours, ago(minutes=6))
    assert "Nothing died of it in the last 5 minutes." in of_cause(on_call, ours)


def test_replays_that_succeeded_are_counted_to_the_end_or_said_to_be_at_least(
    world: World, acme: Tenant, on_call: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = cause()
    one = letter_of(world, ours, acme, dead_at=ago(hours=1))
    for _ in range(4):
        succeeded(letter_of(world, ours, acme, dead_at=ago(hours=2)), minutes=2)
    assert "Since this one died, 4 replays succeeded." in page(on_call, one)
    monkeypatch.setattr(lately, "LOOKED_AT", 3)
    assert "Since this one died, at least 3 replays succeeded." in page(on_call, one)
    own = world.client(Role.TENANT_VIEWER, acme)
    assert "Since this one failed, at least 3 worked when tried again." in page(own, one)


def copies(of: DeadLetter, count: int, **fields: Any) -> None:
    """More letters like this one, of its cause."""
    values = {each.attname: getattr(of, each.attname) for each in DeadLetter._meta.concrete_fields} | fields
    del values["id"]
    made = [DeadLetter(**(values | {"job_id": f"{of.job_id}-{number}"})) for number in range(count)]
    DeadLetter.objects.bulk_create(made)


def last_seen(group: DeadLetterGroup, at: Any) -> None:
    DeadLetterGroup.objects.filter(pk=group.pk).update(last_seen_at=at)
    group.shares.update(last_seen_at=at)


def of_cause(client: Client, group: DeadLetterGroup) -> str:
    answer = client.get(f"/dlq/groups/{group.pk}/")
    assert answer.status_code == 200
    return html.unescape(answer.content.decode()).replace(NBSP, " ")


@pytest.fixture
def preview(on_call: Client, acme: Tenant, world: World) -> Any:
    chosen = replayable(world, acme, dead_at=ago(hours=1))

    def shown() -> str:
        bulk = draft(on_call, "replay", [chosen.pk])
        answer = on_call.get(f"/dlq/replays/{bulk.pk}/").content.decode()
        return html.unescape(answer).replace(NBSP, " ")

    return shown


def test_a_preview_counts_replays_that_died_again_and_those_that_succeeded_since(
    world: World, acme: Tenant, preview: Any
) -> None:
    text = preview()
    assert "died in the last 5 minutes" not in text
    for state in ("open", "replaying"):
        died_again(replayable(world, acme, dead_at=ago(hours=3), state=state), seconds=40)
    assert "2 of the same job types died in the last 5 minutes, the latest 40 s ago.</b> <br>" in preview()
    succeeded(replayable(world, acme, dead_at=ago(hours=3)), seconds=5)
    assert "the latest 40 s ago.</b> Since then, 1 replay succeeded.<br>" in preview()
