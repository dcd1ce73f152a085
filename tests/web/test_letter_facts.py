"""The words and links around a dead letter: what they are called, and to whom."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone

from jobops.web.formats import NBSP
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.bulks import replayable
from tests.web.test_letter_page import attempt, body
from tests.web.world import World


@pytest.fixture
def acme(world: World) -> Tenant:
    return world.tenant("acme", may_replay=True)


def test_of_a_replayed_job_it_says_how_long_the_newest_replay_took(world: World, acme: Tenant) -> None:
    history = [attempt(n, "error") for n in (1, 2, 3)]
    letter = world.letter(
        acme, replays=1, history=[*history, *(attempt(n, "error", replay=1) for n in (10, 11, 12))],
        last_died_at=timezone.now(),
    )  # fmt: skip
    staff, member = world.client(Role.ON_CALL), world.client(Role.TENANT_VIEWER, acme)
    text = body(staff, letter)
    assert ">6 attempts, 3 of them in 1 replay</h2>" in text
    assert f">the replay took 2{NBSP}min</span>" in text
    own = body(member, letter)
    assert ">6 attempts, 3 of them in 1 new try</h2>" in own
    assert f">the new try took 2{NBSP}min</span>" in own
    letter.history += [attempt(n, "error", replay=2) for n in (15, 16)]
    letter.save()
    assert f">the newest replay took 1{NBSP}min</span>" in body(staff, letter)
    letter.history = history
    letter.save()
    assert f">over 2{NBSP}min</span>" in body(staff, letter)


def test_a_job_that_failed_and_one_that_people_gave_up_are_called_differently(world: World, acme: Tenant) -> None:
    """A tenant's people read "gave up" of people only."""
    letter, member = world.letter(acme), world.client(Role.TENANT_ADMIN, acme)
    text = body(member, letter)
    assert re.search(r"failed <time[^>]+>5.min ago", text)
    assert "Failed for good; our team was told" in text
    assert not re.search(r"gave up|given up", text, re.IGNORECASE)
    assert member.post(f"/dlq/{letter.pk}/discard/", {"reason": "Fixed by hand"}).status_code == 302
    text = body(member, letter)
    assert text.count("gave up") == 1
    assert re.search(r"given up <time", text)


def test_nobody_is_drawn_into_replaying_poison(world: World, acme: Tenant) -> None:
    client = world.client(Role.ON_CALL)
    for reason, primary in (("exhausted", True), ("poison", False)):
        text = body(client, replayable(world, acme, reason=reason))
        form = text[text.index("/replay/") :]
        button = re.search(r'<button class="([^"]+)"\s+type="submit">', form[: form.index("</form>")])
        assert button, "it can be pressed"
        assert ("btn-primary" in button[1]) is primary
        assert "btn-dtext" not in button[1]


def test_the_facts_link_the_newest_replay_unless_nothing_is_left_of_it(world: World, acme: Tenant) -> None:
    client = world.client(Role.ON_CALL)
    for state, linked in (("died", True), ("cancelled", True), ("lost", False)):
        letter = world.letter(acme, replays=1, replay_job_id=f"j-{state}", state="open")
        letter.runs.create(number=1, job_id=f"j-{state}", by="olga", state=state, ended_at=timezone.now())
        text = body(client, letter)
        assert "Newest replay</dt>" in text
        assert (f'href="/jobs/j-{state}/"' in text) is linked
        assert f">j-{state}<" in text


def test_when_it_was_drained_is_said_in_one_line(world: World, acme: Tenant) -> None:
    letter = world.letter(acme, state="discarded", discard_reason="x", drained_at=timezone.now())
    text = body(world.client(Role.ON_CALL), letter)
    assert re.search(rf'<div class="due-n">Discarded <time[^>]+>0{NBSP}s ago</time>', text)
