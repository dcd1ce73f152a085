"""What people do on a dead letter's page, without JavaScript: a form is posted, and they stand where they were."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from redis.exceptions import ConnectionError as RedisConnectionError

from dlq.models import DeadLetter, State
from dlq.outcomes import take_outcomes
from dlq.services import letter_discard, letter_replay
from jobops.audit.models import AuditEntry
from jobops.engine.records import Outcome
from jobops.runtime import cancelling
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.world import World

REASON = {"reason": "Fixed by hand", "note": "I called them"}
pytestmark = pytest.mark.usefixtures("send")


def post(client: Client, letter: DeadLetter, what: str, data: dict[str, str] | None = None, **more: Any) -> str:
    """The page that the person stands on afterwards."""
    answer = client.post(f"/dlq/{letter.pk}/{what}/", data or {}, follow=True, **more)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def state(letter: DeadLetter) -> str:
    letter.refresh_from_db()
    return letter.state


def test_a_replay_is_sent_watched_and_resolves(
    world: World, acme: Tenant, django_capture_on_commit_callbacks: Any
) -> None:
    letter = world.letter(acme)
    client = world.client(Role.ON_CALL)
    with django_capture_on_commit_callbacks(execute=True):
        text = post(client, letter, "replay")
    assert f"No. {letter.pk} was sent back to run." in text
    assert "<h1>send is being replayed</h1>" in text
    assert f'hx-get="/live/dlq/{letter.pk}/"' in text
    assert state(letter) == State.REPLAYING
    assert f'href="/jobs/{letter.replay_job_id}/"' in text
    job = world.claim()
    assert job.id == letter.replay_job_id
    page = client.get(f"/jobs/{job.id}/").content.decode()
    assert f'<a href="/dlq/{letter.pk}/">No. {letter.pk}</a>,' in page
    assert "replay 1" in page
    world.settle(job, Outcome.succeeded())
    take_outcomes(world.engine)
    fragment = client.get(f"/live/dlq/{letter.pk}/").content.decode()
    assert "<h1>send was replayed and succeeded</h1>" in fragment
    assert "data-rest" in fragment, "nothing more is to come, and the page stops asking"
    assert "Replay 1 succeeded: resolved" in fragment
    assert AuditEntry.objects.filter(action="letter.replay", target_id=str(letter.pk)).count() == 1


def test_a_replay_that_its_contract_ended_is_no_success(
    world: World, acme: Tenant, django_capture_on_commit_callbacks: Any
) -> None:
    history = [{"n": number, "outcome": "failed", "error": "no answer"} for number in (1, 2, 3)]
    letter, client = world.letter(acme, history=history), world.client(Role.ON_CALL)
    with django_capture_on_commit_callbacks(execute=True):
        post(client, letter, "replay")
    world.settle(world.claim(), Outcome.discarded("Gone", "order 31 is gone"))
    take_outcomes(world.engine)
    text = client.get(f"/dlq/{letter.pk}/").content.decode()
    assert "<h1>send was ended by its contract when it was replayed: nothing was left to do</h1>" in text
    assert "succeeded" not in text
    assert ">4 attempts, 1 of them in 1 replay</h2>" in text
    assert 'id="a-1-1"' in text
    DeadLetter.objects.update(history=[])
    assert "is not kept any longer" in client.get(f"/dlq/{letter.pk}/").content.decode(), "what it counts must be all"
    own = world.client(Role.TENANT_VIEWER, acme).get(f"/dlq/{letter.pk}/").content.decode()
    assert "<h1>Send is over: nothing was left to do</h1>" in own
    assert "worked" not in own.lower()


def test_a_discard_needs_a_reason_and_is_taken_back_in_one_press(world: World, acme: Tenant) -> None:
    letter = world.letter(acme)
    client = world.client(Role.ON_CALL)
    for form in ({}, {"reason": "Something else"}, {"reason": "", "note": "  "}):
        assert "Nothing was changed. Choose a reason" in post(client, letter, "discard", form)
        assert state(letter) == State.OPEN
    text = post(client, letter, "discard", REASON)
    assert f"No. {letter.pk} was discarded." in text
    assert f'action="/dlq/{letter.pk}/undo/"' in text
    assert "Fixed by hand: I called them" in text
    assert "send was discarded" in text
    assert "possible until" in text
    assert state(letter) == State.DISCARDED
    due = letter.due_at
    text = post(client, letter, "undo")
    assert "is open again, its deadline as before." in text
    assert (state(letter), letter.due_at) == (State.OPEN, due)
    assert "took the discard back" in text


def test_two_tabs_make_one_run_and_the_second_is_told(world: World, acme: Tenant) -> None:
    """I8, DL-18: what counts is the letter as it is now, whatever the page of a while ago shows."""
    letter = world.letter(acme)
    first, second = world.client(Role.ON_CALL), world.client(Role.OPERATOR)
    post(first, letter, "replay")
    text = post(second, letter, "replay")
    assert f"Nothing was changed. No. {letter.pk}: already being replayed" in text
    assert letter.runs.count() == 1
    DeadLetter.objects.filter(pk=letter.pk).update(state=State.OPEN)  # it died again meanwhile
    assert "was sent back to run" in post(second, letter, "replay")


def test_who_discards_while_a_replay_runs_is_refused(world: World, acme: Tenant) -> None:
    """DL-17: how the run ends decides."""
    letter = world.letter(acme)
    letter_replay(letter_id=letter.pk, by="scheduler")
    text = post(world.client(Role.ON_CALL), letter, "discard", REASON)
    assert "Nothing was changed." in text
    assert "being replayed" in text
    assert state(letter) == State.REPLAYING


def test_a_replay_that_has_not_started_is_cancelled_and_the_letter_opens_again(
    world: World, acme: Tenant, django_capture_on_commit_callbacks: Any
) -> None:
    letter = world.letter(acme)
    client = world.client(Role.ON_CALL)
    with django_capture_on_commit_callbacks(execute=True):
        post(client, letter, "replay")
    assert "was cancelled, which opens it again." in post(client, letter, "cancel")
    take_outcomes(world.engine)
    text = client.get(f"/dlq/{letter.pk}/").content.decode()
    assert state(letter) == State.OPEN
    assert "Replay 1 was cancelled before it ran." in text
    assert "Open again" in text
    assert "cancelled the replay" in text
    assert "Nothing was changed." in post(client, letter, "cancel")
    assert AuditEntry.objects.filter(action="letter.cancel").count() == 1


def test_while_redis_is_away_a_cancel_says_so_and_no_password(
    world: World, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SE-07."""

    def away(*_: object, **__: object) -> None:
        raise RedisConnectionError("redis://:s3cret@host")

    letter = world.letter(acme, state="replaying", replay_job_id="x-1-r1", replays=1)
    monkeypatch.setattr(cancelling, "cancel", away)
    text = post(world.client(Role.ON_CALL), letter, "cancel")
    assert "Nothing was changed: Redis cannot be reached." in text
    assert "s3cret" not in text


@pytest.mark.parametrize("what", ["replay", "discard", "undo", "cancel"])
def test_those_who_may_not_see_the_button_with_the_reason_and_are_refused(
    world: World, acme: Tenant, what: str
) -> None:
    letter = world.letter(acme)
    closed = world.tenant("closed", may_replay=False)
    shut = world.letter(closed)
    for client, one in (
        (world.client(Role.STAFF_VIEWER), letter),
        (world.client(Role.TENANT_VIEWER, acme), letter),
        (world.client(Role.TENANT_ADMIN, closed), shut),
    ):
        before = DeadLetter.objects.get(pk=one.pk)
        assert 'aria-disabled="true"' in client.get(f"/dlq/{one.pk}/").content.decode()
        assert client.post(f"/dlq/{one.pk}/{what}/", REASON).status_code == 403
        assert client.get(f"/dlq/{one.pk}/{what}/").status_code == 405
        assert DeadLetter.objects.get(pk=one.pk).state == before.state
    assert AuditEntry.objects.filter(target_kind="letter").count() == 0


@pytest.mark.parametrize("what", ["replay", "discard", "undo", "cancel"])
def test_foreign_letters_are_missing_letters(world: World, acme: Tenant, what: str) -> None:
    """SE-05."""
    foreign = world.letter(world.tenant("rival"))
    member = world.client(Role.TENANT_ADMIN, acme)
    answers = [member.post(f"/dlq/{pk}/{what}/", REASON) for pk in (foreign.pk, 10**9, 2**80)]
    assert {answer.status_code for answer in answers} == {404}
    assert state(foreign) == State.OPEN


def test_a_tenants_admin_tries_their_own_again_where_their_tenants_settings_allow(world: World, acme: Tenant) -> None:
    letter = world.letter(acme)
    admin = world.client(Role.TENANT_ADMIN, acme)
    text = post(admin, letter, "replay")
    assert "The job is being tried again." in text
    assert "ead letter" not in text
    assert "Send is being tried again" in text


def test_names_of_staff_are_our_team_for_a_tenants_people(world: World, acme: Tenant) -> None:
    letter = world.letter(acme)
    admin = world.person(Role.TENANT_ADMIN, acme)
    letter_discard(letter_id=letter.pk, by=world.person(Role.ON_CALL), reason="their card is stolen")
    client = Client()
    client.force_login(admin)
    text = post(client, letter, "undo")
    assert "<b>Our team</b> gave up on it" in text
    assert "stolen" not in text, "what our team writes down is for our team"
    assert f"<b>{admin.username}</b> took that back" in text


def test_who_acted_goes_back_to_where_they_were_on_this_site_only(world: World, acme: Tenant) -> None:
    """SE-08."""
    client = world.client(Role.ON_CALL)
    here = "/dlq/?tenant=acme"
    for sent, back in (
        ({"next": here}, here),
        ({"next": "//evil.example/"}, None),
        ({"next": "https://evil.example/dlq/"}, None),
        ({}, None),
    ):
        letter = world.letter(acme)
        answer = client.post(f"/dlq/{letter.pk}/replay/", sent)
        assert answer["Location"] == (back or f"/dlq/{letter.pk}/")
    letter = world.letter(acme)
    referer = {"Referer": f"http://testserver{here}"}
    assert client.post(f"/dlq/{letter.pk}/replay/", headers=referer)["Location"] == here


def test_a_form_of_an_earlier_sign_in_changes_nothing(world: World, acme: Tenant) -> None:
    """HX-03: the token has changed since the page was opened."""
    letter = world.letter(acme)
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.person(Role.ON_CALL))
    client.get(f"/dlq/{letter.pk}/")
    answer = client.post(f"/dlq/{letter.pk}/replay/", {"csrfmiddlewaretoken": "x" * 64})
    assert answer.status_code == 403
    assert "That page was out of date." in answer.content.decode()
    assert state(letter) == State.OPEN


def test_after_a_month_a_discard_stands(world: World, acme: Tenant) -> None:
    letter = world.letter(acme, state="discarded", drained_at=timezone.now() - timedelta(days=31), discard_reason="x")
    text = post(world.client(Role.ON_CALL), letter, "undo")
    assert "Nothing was changed. It was discarded more than 30 days ago." in text
    assert state(letter) == State.DISCARDED
