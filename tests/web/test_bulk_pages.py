"""Bulk actions on the web: choosing, the preview, confirming, progress, undo; by ticks and by filter."""

from __future__ import annotations

import html
import re
import uuid

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dlq.bulk_run import run_batch
from dlq.models import BulkAction, DeadLetter, ReplayRun
from jobops.web.views import bulk as bulk_views
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.bulks import AT_ONCE, choose, confirm, draft, replayable, said
from tests.web.world import World


@pytest.fixture
def acme(world: World) -> Tenant:
    return world.tenant("acme", may_replay=True)


@pytest.fixture
def on_call(world: World, acme: Tenant) -> Client:
    return world.client(Role.ON_CALL)


def text_of(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def state_of(letter: DeadLetter) -> str:
    return DeadLetter.objects.get(pk=letter.pk).state


def test_ticked_letters_are_previewed_and_nothing_happens_yet(world: World, acme: Tenant, on_call: Client) -> None:
    letters = [replayable(world, acme) for _ in range(3)]
    resolved = replayable(world, acme, state="resolved")
    misfit = replayable(world, acme, payload='{"args": [], "kwargs": {"colour": "red"}}')
    bulk = draft(on_call, "replay", [each.pk for each in (*letters, resolved, misfit)])
    text = text_of(on_call, f"/dlq/replays/{bulk.pk}/")
    assert "<h1>Replay 3 of 5 dead letters</h1>" in text
    assert "Nothing has run yet. These 5 are fixed as of" in text
    assert re.search(r">1</td>\s*<td>.*?already resolved<", text)
    assert re.search(r">1</td>\s*<td>.*?its arguments do not fit", text)
    assert re.search(r"</svg>Replay 3</button>", text)
    assert {state_of(each) for each in letters} == {"open"}


def test_all_that_match_are_those_that_matched_then(world: World, acme: Tenant, on_call: Client) -> None:
    """DL-04: five that die after the choice stay open."""
    for _ in range(10):
        replayable(world, acme)
    replayable(world, acme, owner="somebody-else")
    bulk = draft(on_call, "replay", query="owner=billing")
    late = [replayable(world, acme) for _ in range(5)]
    assert confirm(on_call, bulk, **AT_ONCE)["Location"] == "/dlq/?owner=billing"
    assert DeadLetter.objects.filter(state="replaying").count() == 10
    assert {state_of(each) for each in late} == {"open"}
    assert "10 dead letters were sent back to run." in said(on_call)


def test_the_answer_counts_what_was_done_and_says_why_not(world: World, acme: Tenant, on_call: Client) -> None:
    """DL-13: five ticked, two discarded in another tab meanwhile."""
    letters = [replayable(world, acme) for _ in range(5)]
    bulk = draft(on_call, "replay", [each.pk for each in letters])
    DeadLetter.objects.filter(pk__in=[each.pk for each in letters[:2]]).update(state="discarded")
    confirm(on_call, bulk)
    assert "3 dead letters were sent back to run, 2 skipped: already discarded." in said(on_call)


def test_a_second_press_is_refused_and_runs_nothing_twice(world: World, acme: Tenant, on_call: Client) -> None:
    """DL-05, DL-06."""
    letter = replayable(world, acme)
    bulk = draft(on_call, "replay", [letter.pk])
    confirm(on_call, bulk)
    confirm(on_call, bulk)
    assert "Nothing was changed: it is finished." in said(on_call)
    assert ReplayRun.objects.count() == 1
    again = draft(on_call, "replay", [letter.pk])
    text = text_of(on_call, f"/dlq/replays/{again.pk}/")
    assert "This dead letter cannot be replayed" in text
    assert "already being replayed" in text
    assert 'type="submit">' not in text[text.index('class="sticky-acts"') :]


def test_a_discard_needs_a_reason_and_is_undone_from_its_message(world: World, acme: Tenant, on_call: Client) -> None:
    letters = [replayable(world, acme) for _ in range(2)]
    bulk = draft(on_call, "discard", [each.pk for each in letters])
    text = text_of(on_call, f"/dlq/discards/{bulk.pk}/?next=/dlq/?owner=billing")
    assert "<h1>Discard 2 dead letters</h1>" in text
    for form in ({}, {"reason": "Something else"}, {"note": "  "}):
        answer = confirm(on_call, bulk, **form)
        assert answer["Location"].startswith(f"/dlq/discards/{bulk.pk}/?next=")
        assert "Nothing was changed: choose a reason; with “Something else” a note is needed too." in said(on_call)
    confirm(on_call, bulk, reason="Fixed by hand", note="by the shop")
    assert {(each.state, each.discard_reason) for each in DeadLetter.objects.all()} == {
        ("discarded", "Fixed by hand: by the shop")
    }
    message = said(on_call)
    assert "2 dead letters were discarded." in message
    assert f'action="/dlq/bulk/{bulk.pk}/undo/"' in message
    answer = on_call.post(f"/dlq/bulk/{bulk.pk}/undo/", headers={"Referer": "http://testserver/dlq/?owner=billing"})
    assert answer["Location"] == "/dlq/?owner=billing"
    assert {state_of(each) for each in letters} == {"open"}
    assert "It was undone" in text_of(on_call, f"/dlq/discards/{bulk.pk}/")


def test_many_run_in_the_background_and_their_page_survives_a_reload(
    world: World, acme: Tenant, on_call: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DL-06: at a fifth it says a fifth, however often it is asked, and cannot be started a second time."""
    monkeypatch.setattr(bulk_views, "AT_ONCE", 5)
    for _ in range(50):
        replayable(world, acme)
    bulk = draft(on_call, "replay", query="")
    url = f"/dlq/replays/{bulk.pk}/"
    assert confirm(on_call, bulk, **AT_ONCE)["Location"] == url
    run_batch(bulk.pk, size=10)
    for run in ReplayRun.objects.filter(bulk=bulk)[:4]:
        ReplayRun.objects.filter(pk=run.pk).update(state="succeeded")
    for text in (text_of(on_call, url), text_of(on_call, url)):
        assert f"<h1>Replay {bulk.pk} is running: 4 of 50 done</h1>" in text
        assert 'aria-label="4 succeeded, 6 running, 40 waiting"' in text
    assert f'hx-get="/live/dlq/bulk/{bulk.pk}/"' in text
    assert f"Replay {bulk.pk} is running:</b> 10 of 50 dealt with" in text_of(on_call, "/dlq/")
    confirm(on_call, bulk)
    assert "Nothing was changed: it is running already." in said(on_call)
    on_call.post(f"/dlq/bulk/{bulk.pk}/cancel/")
    assert run_batch(bulk.pk) == 0
    assert f"Replay {bulk.pk} was cancelled: 10 of 50 were sent back to run" in text_of(on_call, url)


def test_what_died_again_is_listed_and_the_page_rests_at_the_end(world: World, acme: Tenant, on_call: Client) -> None:
    letters = [replayable(world, acme, error=f"no. {n} failed") for n in range(3)]
    bulk = draft(on_call, "replay", [each.pk for each in letters])
    confirm(on_call, bulk)
    ReplayRun.objects.filter(letter__in=letters[:2]).update(state="succeeded")
    ReplayRun.objects.filter(letter=letters[2]).update(state="died", ended_at=bulk.created_at)
    DeadLetter.objects.filter(pk=letters[2].pk).update(state="open")
    text = text_of(on_call, f"/dlq/replays/{bulk.pk}/")
    assert f"<h1>Replay {bulk.pk} is over: 2 succeeded, 1 is open again</h1>" in text
    assert "no. 2 failed" in text
    assert f'href="/dlq/{letters[2].pk}/"' in text
    assert "data-live " not in text
    assert "data-rest" in on_call.get(f"/live/dlq/bulk/{bulk.pk}/").content.decode()


def test_nothing_ticked_or_not_understood_makes_no_draft(world: World, acme: Tenant, on_call: Client) -> None:
    replayable(world, acme)
    for ids, query in (([], None), (["x"], None), ([10**30], None), (None, "owner=%00"), (None, "reason=nope")):
        assert choose(on_call, "replay", ids, query)["Location"] == "/dlq/?owner=billing"  # type: ignore[arg-type]
        assert "Nothing was changed:" in said(on_call)
    assert choose(on_call, "burn", [1]).status_code == 404
    assert not BulkAction.objects.exists()


@pytest.mark.parametrize(
    "elsewhere", ["//evil.example", "https://evil.example", r"/\evil.example", "javascript:alert(1)"]
)
def test_an_action_leads_back_to_this_site_only(world: World, acme: Tenant, on_call: Client, elsewhere: str) -> None:
    """SE-08."""
    bulk = draft(on_call, "replay", [replayable(world, acme).pk])
    assert confirm(on_call, bulk, next=elsewhere)["Location"] == "/dlq/"
    assert elsewhere not in text_of(on_call, f"/dlq/replays/{bulk.pk}/?next={elsewhere}")


def test_queries_of_the_pages_do_not_grow_with_the_members(world: World, on_call: Client) -> None:
    """UP-04."""
    counts = []
    for count in (10, 100):
        letters = [replayable(world, world.tenant(uuid.uuid4().hex[:20])) for _ in range(count)]
        bulk = draft(on_call, "replay", [each.pk for each in letters])
        with CaptureQueriesContext(connection) as preview:
            text_of(on_call, f"/dlq/replays/{bulk.pk}/")
        confirm(on_call, bulk)
        run_batch(bulk.pk)
        ReplayRun.objects.filter(bulk=bulk).update(state="died")
        with CaptureQueriesContext(connection) as run:
            text_of(on_call, f"/dlq/replays/{bulk.pk}/")
        counts.append((len(preview), len(run)))
    assert counts[0] == counts[1]
    assert max(counts[0]) < 26
