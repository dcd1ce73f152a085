"""The sentences of bulk actions: of one as of many, and in the words of who reads them."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dlq.bulk_progress import Progress
from dlq.models import BulkAction, DeadLetter, ReplayRun
from jobops.audit.models import AuditEntry
from jobops.web import bulk_words as words
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.bulks import confirm, draft, replayable, said
from tests.web.world import World


@pytest.fixture
def acme(world: World) -> Tenant:
    return world.tenant("acme", may_replay=True)


@pytest.fixture
def on_call(world: World, acme: Tenant) -> Client:
    return world.client(Role.ON_CALL)


def seen(client: Client, bulk: BulkAction) -> str:
    """What stands on its page, without tags."""
    text = client.get(f"/dlq/replays/{bulk.pk}/").content.decode()
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", text[text.index("<main") :])).split())


def at(**fields: Any) -> Progress:
    values = {"state": "finished", "matched": 3, "done": 3, "skipped": 0, "waiting": 0, "skipped_for": {}}
    return Progress(**(values | fields))


def test_what_was_sent_is_not_over_before_the_last_one_has_ended(world: World, acme: Tenant, on_call: Client) -> None:
    letters = [replayable(world, acme) for _ in range(2)]
    bulk = draft(on_call, "replay", [each.pk for each in letters])
    confirm(on_call, bulk)
    text = seen(on_call, bulk)
    assert f"Replay {bulk.pk} is running: 0 of 2 done" in text
    assert "All sent" in text
    assert "All were sent" in text
    assert "Ended" not in text
    assert "The last one ended" not in text
    assert "dealt with" not in text
    ended_at = timezone.now() + timedelta(minutes=4)
    ReplayRun.objects.filter(bulk=bulk).update(state="succeeded", ended_at=timezone.now())
    ReplayRun.objects.filter(letter=letters[0]).update(ended_at=ended_at)
    text = seen(on_call, bulk)
    assert f"Replay {bulk.pk} is over: 2 succeeded" in text
    assert f"Ended {timezone.localtime(ended_at):%H:%M:%S}" in text or f", {ended_at:%H:%M:%S}" in text
    assert "The last one ended" in text
    assert "100% of those that ended succeeded." in text
    assert "100.0" not in text


def test_what_ends_at_once_has_ended(world: World, acme: Tenant, on_call: Client) -> None:
    bulk = draft(on_call, "discard", [replayable(world, acme).pk])
    confirm(on_call, bulk, reason="Fixed by hand")
    text = seen(on_call, bulk)
    assert "All were dealt with" in text
    assert re.search(r"Reason Fixed by hand Ended \d", text)
    bulk.refresh_from_db()
    assert words.end_word(bulk, at(done=1)) == "Ended"
    assert words.end_word(BulkAction(kind="replay"), at(done=0, skipped=3)) == "Ended"
    assert words.end_word(BulkAction(kind="replay"), at(state="cancelled")) == "Cancelled"


@pytest.mark.parametrize("kind", ["replay", "discard"])
@pytest.mark.parametrize("role", [Role.ON_CALL, Role.TENANT_ADMIN])
def test_of_one_nothing_is_said_as_of_many(world: World, acme: Tenant, role: Role, kind: str) -> None:
    client = world.client(role, acme)
    bulk = draft(client, kind, [replayable(world, acme).pk])
    text = seen(client, bulk)
    assert "This one is fixed as of" in text
    assert "This one so that you can tell it is the right one" in text
    for many in (" them ", "them any", " are they", "1 are", "Each ", "their queues", "These", "all at once"):
        assert many not in text, many
    many = draft(client, kind, [replayable(world, acme).pk for _ in range(2)])
    assert "These 2 so that you can tell they are the right ones" in seen(client, many)


def test_one_that_was_left_and_one_that_cannot_be_done(world: World, acme: Tenant, on_call: Client) -> None:
    stopped = BulkAction(pk=7, kind="replay", by="olga", state="cancelled")
    one = at(state="cancelled", matched=2, done=1, waiting=1)
    assert words.run_title(stopped, one, staff=True) == "Replay 7 was cancelled: 1 of 2 was sent back to run"
    assert "1 was left as it is." in words.run_lede(stopped, one, staff=True)
    resolved = draft(on_call, "replay", [replayable(world, acme, state="resolved").pk])
    text = seen(on_call, resolved)
    assert "This dead letter cannot be replayed" in text
    assert "It is skipped, for the reason given." in text


@pytest.mark.parametrize(
    ("succeeded", "died", "share"), [(3, 0, "100%"), (0, 3, "0%"), (1, 2, "33.3%"), (2, 1, "66.7%")]
)
def test_a_share_says_no_more_than_it_knows(succeeded: int, died: int, share: str) -> None:
    bulk = BulkAction(pk=7, kind="replay", by="olga")
    so_far = at(succeeded=succeeded, died=died)
    assert words.run_lede(bulk, so_far, staff=True).startswith(f"{share} of those that ended succeeded.")
    assert words.parts(bulk, so_far, staff=True)[0].note == f"{share} of those that ended"


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("job=webhooks.deliver", "Job webhooks.deliver"),
        ("status=open&owner=billing&overdue=1", "State Open, Owner billing, Overdue"),
        ("q=two+words", "Search two words"),
        ("", "all that were to be drained"),
        ("sort=newest", "all that were to be drained"),
    ],
)
def test_a_filter_is_told_in_words(world: World, acme: Tenant, on_call: Client, query: str, told: str) -> None:
    assert words.chosen_words(query, staff=True) == told
    replayable(world, acme)
    bulk = BulkAction.objects.create(kind="replay", state="finished", by="olga", chosen=query, matched=1, done=1)
    assert f"Filter {told}" in seen(on_call, bulk)
    if query:
        assert query not in seen(on_call, bulk)
        bulk.state = "draft"
        bulk.save()
        bulk.members.create(letter=DeadLetter.objects.latest("pk"))
        assert f"Dead letters {told} Replay" in seen(on_call, bulk)


def test_a_tenants_people_read_a_filter_in_their_words() -> None:
    assert words.chosen_words("status=resolved&q=printer", staff=False) == "Worked later, Search printer"
    assert words.chosen_words("overdue=1", staff=False) == "Late"
    assert words.chosen_words("", staff=False) == "all that did not work"


def test_an_undo_that_is_over_does_not_go_on(world: World, acme: Tenant, on_call: Client) -> None:
    bulk = draft(on_call, "discard", [replayable(world, acme).pk])
    confirm(on_call, bulk, reason="Fixed by hand")
    on_call.post(f"/dlq/bulk/{bulk.pk}/undo/")
    told = said(on_call)
    assert "1 dead letter was opened again." in told
    assert "goes on" not in told
    confirm(on_call, draft(on_call, "replay", [replayable(world, acme).pk]))
    assert "See how it goes on" in said(on_call)
    assert AuditEntry.objects.filter(action="bulk.finish").count() == 3


@pytest.mark.parametrize("role", [Role.ON_CALL, Role.TENANT_VIEWER, None])
def test_only_of_a_job_is_it_said_that_its_page_goes(world: World, acme: Tenant, role: Role | None) -> None:
    client = world.client(role, acme)
    for url, is_job in (("/jobs/nobody/", True), ("/dlq/99999/", False), ("/nowhere/", False), ("/tenants/x/", False)):
        answer = client.get(url)
        assert answer.status_code == 404
        assert ("job’s page is gone" in answer.content.decode()) == is_job, url


@pytest.mark.parametrize(
    ("url", "leads", "own"),
    [
        ("/dlq/99999/", "/dlq/", "/dlq/"),
        ("/dlq/groups/99999/", "/dlq/", "/dlq/"),
        ("/dlq/replays/99999/", "/dlq/replays/", "/dlq/replays/"),
        ("/alerts/99999/", "/alerts/", None),
    ],
)
def test_what_is_not_there_leads_to_the_list_of_such(
    world: World, acme: Tenant, on_call: Client, url: str, leads: str, own: str | None
) -> None:
    def primary(client: Client) -> str:
        answer = client.get(url)
        assert answer.status_code == 404
        found = re.search(r'<a class="btn btn-primary" href="([^"]+)"', answer.content.decode())
        assert found is not None
        return found[1]

    assert primary(on_call) == leads
    if own is not None:
        assert primary(world.client(Role.TENANT_ADMIN, acme)) == own
