"""A replay that runs: where it stands, pause, resume, speed, what came since, what became of each; and who may what."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlq.bulk_run import run_batch
from dlq.models import BulkAction, DeadLetter, DeadLetterGroup, ReplayPlan, ReplayRun
from jobops.audit.models import AuditEntry
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.bulks import AT_ONCE, confirm, draft, replayable
from tests.web.world import World


@pytest.fixture
def on_call(world: World, acme: Tenant) -> Client:
    return world.client(Role.ON_CALL)


def page(client: Client, bulk: BulkAction, path: str = "/dlq/replays/{}/") -> str:
    answer = client.get(path.format(bulk.pk))
    assert answer.status_code == 200
    return html.unescape(answer.content.decode()).replace("\u00a0", " ")


def seen(client: Client, bulk: BulkAction) -> str:
    """What stands on its page, without tags."""
    text = page(client, bulk)
    return " ".join(re.sub("<[^>]+>", " ", text[text.index("<main") :]).split())


def press(client: Client, bulk: BulkAction, what: str, **form: str) -> Any:
    return client.post(f"/dlq/bulk/{bulk.pk}/{what}/", form)


def started(client: Client, world: World, tenant: Tenant, count: int = 60, **form: str) -> BulkAction:
    bulk = draft(client, "replay", [replayable(world, tenant).pk for _ in range(count)])
    confirm(client, bulk, **form)
    run_batch(bulk.pk)
    bulk.refresh_from_db()
    return bulk


def end(bulk: BulkAction, state: str, count: int | None = None) -> None:
    """The jobs that it sent end so, as the outcomes' duty would write it."""
    now = timezone.now()
    ids = list(bulk.runs.filter(state="running").order_by("pk").values_list("pk", flat=True)[:count])
    ReplayRun.objects.filter(pk__in=ids).update(state=state, ended_at=now)
    letters = DeadLetter.objects.filter(runs__in=ids)
    letters.update(state="resolved" if state == "succeeded" else "open", last_died_at=now)


def test_the_canary_runs_first_and_the_rest_by_itself_when_it_passed(
    world: World, acme: Tenant, on_call: Client
) -> None:
    bulk = started(on_call, world, acme, rate="", options="1", in_order="1")
    text = seen(on_call, bulk)
    assert f"Replay {bulk.pk} runs its canary: 0 of 5 done" in text
    assert "Canary running 0 of 5 succeeded so far; 5 to go." in text
    assert "Breaker to come" in text
    assert run_batch(bulk.pk) == 0
    end(bulk, "succeeded")
    run_batch(bulk.pk)
    text = seen(on_call, bulk)
    assert f"Replay {bulk.pk} is running: 5 of 60 done" in text
    assert "Canary passed 5 of 5 succeeded" in text
    assert "The other 55 began by themselves, as fast as they go" in text
    assert AuditEntry.objects.get(action="bulk.canary").after["rest"] == 55
    assert "Breaker not tripped" in text


def test_a_canary_that_fails_stops_it_says_so_and_a_new_one_can_be_run(
    world: World, acme: Tenant, on_call: Client
) -> None:
    bulk = started(on_call, world, acme, rate="", options="1", in_order="1")
    end(bulk, "died", 2)
    end(bulk, "succeeded")
    run_batch(bulk.pk)
    text = page(on_call, bulk)
    assert f"<h1>Replay {bulk.pk} was stopped by its canary: 5 of 60 done</h1>" in text
    assert 'class="banner banner-d msg"' in text
    told = seen(on_call, bulk)
    assert "The canary stopped it: 2 of 5 did not succeed. 55 wait and nothing happens to them." in told
    assert "Mend the cause first, then run a new canary; or cancel the rest." in told
    assert "2 died again" in told
    assert "It stopped by itself" in told
    assert f'action="/dlq/bulk/{bulk.pk}/resume/"' in text
    press(on_call, bulk, "resume")
    assert run_batch(bulk.pk) == 5
    told = seen(on_call, bulk)
    assert f"Replay {bulk.pk} runs its canary: 0 of 5 done" in told
    assert "2 ConnectionError" in told
    assert "let it go on, with a new canary" in told
    assert [entry.action for entry in AuditEntry.objects.filter(target_kind="bulk").order_by("pk")] == [
        "bulk.confirm", "bulk.pause", "bulk.resume",
    ]  # fmt: skip


def test_a_person_pauses_it_lets_it_go_on_and_cancels_the_rest(world: World, acme: Tenant, on_call: Client) -> None:
    bulk = started(on_call, world, acme)
    assert f'action="/dlq/bulk/{bulk.pk}/pause/"' in page(on_call, bulk)
    press(on_call, bulk, "pause", why="<b>lunch</b>")
    text = on_call.get(f"/dlq/replays/{bulk.pk}/").content.decode()
    assert "<b>lunch" not in text
    assert f"<h1>Replay {bulk.pk} is paused: 0 of 60 done</h1>" in text
    assert f"Paused {bulk.pk}" not in text
    assert re.search(r"paused it at \d\d:\d\d:\d\d: “<b>lunch</b>”", html.unescape(text))
    assert "5 jobs that were sent go on to their end." in html.unescape(text)
    assert run_batch(bulk.pk) == 0
    press(on_call, bulk, "pause")
    assert "Nothing was changed: it is paused." in page(on_call, bulk)
    press(on_call, bulk, "resume")
    assert " runs its canary: " in page(on_call, bulk)
    press(on_call, bulk, "cancel")
    text = page(on_call, bulk)
    assert f"Replay {bulk.pk} was cancelled: 5 of 60 were sent back to run" in text
    assert "pause/" not in text


def test_its_speed_is_changed_while_it_runs(world: World, acme: Tenant, on_call: Client) -> None:
    bulk = started(on_call, world, acme)
    press(on_call, bulk, "speed", rate="50/s", in_flight="24")
    plan = ReplayPlan.objects.get(pk=bulk.pk)
    assert (plan.rate, plan.in_flight) == (50, 24)
    text = seen(on_call, bulk)
    assert "Speed 50 per second In flight 24 at most Lane bulk" in text
    assert "changed its speed: 50 per second, at most 24 at once" in text
    press(on_call, bulk, "speed", rate="<script>", in_flight="")
    answer = on_call.get(f"/dlq/replays/{bulk.pk}/").content.decode()
    assert "Nothing was changed: Speed:" in answer
    assert "<script>" not in answer[answer.index("<main") :]
    press(on_call, bulk, "cancel")
    press(on_call, bulk, "speed", rate="1", in_flight="")
    assert "Nothing was changed: it was cancelled." in page(on_call, bulk)


def test_what_died_since_is_counted_left_alone_and_can_be_previewed(
    world: World, acme: Tenant, on_call: Client
) -> None:
    group = DeadLetterGroup.objects.create(fingerprint="a" * 64, title="503")
    for _ in range(3):
        replayable(world, acme, group=group)
    bulk = draft(on_call, "replay", query=f"group={group.pk}")
    confirm(on_call, bulk)
    late = [replayable(world, acme, group=group) for _ in range(2)]
    replayable(world, acme)
    text = seen(on_call, bulk)
    assert "2 new since. 2 more died after" in text
    assert "Preview a replay of the 2" in text
    where = press(on_call, bulk, "again", which="new")["Location"]
    again = BulkAction.objects.latest("pk")
    assert where == f"/dlq/replays/{again.pk}/?next=%2Fdlq%2Freplays%2F{bulk.pk}%2F"
    assert again.state == "draft"
    assert set(again.members.values_list("letter_id", flat=True)) == {letter.pk for letter in late}
    assert {letter.state for letter in DeadLetter.objects.filter(pk__in=[each.pk for each in late])} == {"open"}
    assert press(on_call, bulk, "again", which="all").status_code == 404


def test_of_what_is_new_a_tenants_people_read_their_own_only(world: World, acme: Tenant) -> None:
    """SE-05."""
    admin, other = world.client(Role.TENANT_ADMIN, acme), world.tenant("rival")
    replayable(world, acme)
    bulk = draft(admin, "replay", query="")
    confirm(admin, bulk)
    for _ in range(3):
        replayable(world, other)
    assert "new since" not in seen(admin, bulk)
    mine = replayable(world, acme)
    assert "1 new since." in seen(admin, bulk)
    press(admin, bulk, "again", which="new")
    assert list(BulkAction.objects.latest("pk").members.values_list("letter_id", flat=True)) == [mine.pk]


def test_what_died_again_can_be_previewed_once_it_is_over(world: World, acme: Tenant, on_call: Client) -> None:
    bulk = started(on_call, world, acme, 6, **AT_ONCE)
    end(bulk, "died", 2)
    end(bulk, "succeeded")
    text = page(on_call, bulk)
    assert f"<h1>Replay {bulk.pk} is over: 4 succeeded, 2 are open again</h1>" in text
    assert "Preview another replay of them" in text
    press(on_call, bulk, "again", which="died")
    assert BulkAction.objects.latest("pk").matched == 2


def test_each_member_is_listed_by_what_became_of_it(world: World, acme: Tenant, on_call: Client) -> None:
    letters = [replayable(world, acme, error=f"no. {n} <i>failed</i>") for n in range(60)]
    misfit = replayable(world, acme, payload='{"args": [], "kwargs": {"colour": "red"}}')
    bulk = draft(on_call, "replay", [each.pk for each in (*letters, misfit)])
    confirm(on_call, bulk, **AT_ONCE)
    run_batch(bulk.pk)
    end(bulk, "died", 55)
    end(bulk, "succeeded")
    members = "/dlq/bulk/{}/members/"
    text = page(on_call, bulk, members)
    assert f"<h1>What died again in replay {bulk.pk}</h1>" in text
    assert text.count('class="da-job"') == 50
    after = re.search(r'rel="next" href="([^"]+)"', text)
    assert after
    assert page(on_call, bulk, members + after[1]).count('class="da-job"') == 5
    assert "its arguments do not fit" in page(on_call, bulk, members + "?of=skipped")
    assert page(on_call, bulk, members + "?of=succeeded").count('class="da-job"') == 5
    assert "None." in page(on_call, bulk, members + "?of=canary")
    assert "See all 55" in page(on_call, bulk)
    assert "<i>failed" not in on_call.get(members.format(bulk.pk)).content.decode()
    for odd in ("?of=nope", "?of=died&after=x", "?of=died&before=" + "9" * 40):
        assert "What died again" in page(on_call, bulk, members + odd)


def test_a_tenants_people_read_plain_words_and_set_no_speed(world: World, acme: Tenant) -> None:
    admin = world.client(Role.TENANT_ADMIN, acme)
    bulk = started(admin, world, acme)
    end(bulk, "died", 1)
    run_batch(bulk.pk)
    text = seen(admin, bulk)
    assert "New try stopped by itself: 1 of 60 done" in text
    assert "It stopped by itself: 1 of 5 did not work." in text
    for hidden in ("anary", "reaker", "per second", "Lane", "dead letter", "died", "Replay"):
        assert hidden not in text, hidden
    assert press(admin, bulk, "speed", rate="9", in_flight="").status_code == 403
    press(admin, bulk, "resume")
    bulk.refresh_from_db()
    assert bulk.state == "running"
    assert press(world.client(Role.TENANT_VIEWER, acme), bulk, "pause").status_code == 404
    assert press(world.client(Role.STAFF_VIEWER), bulk, "pause").status_code == 403
    assert "What failed again in this new try" in page(admin, bulk, "/dlq/bulk/{}/members/")


def test_the_page_reads_a_constant_number_of_rows_of_the_database(world: World, acme: Tenant, on_call: Client) -> None:
    """UP-04."""
    counts = []
    for count in (10, 120):
        bulk = started(on_call, world, acme, count, **AT_ONCE)
        end(bulk, "died")
        for path in ("/dlq/replays/{}/", "/dlq/bulk/{}/members/"):
            page(on_call, bulk, path)
        with CaptureQueriesContext(connection) as run:
            page(on_call, bulk)
        with CaptureQueriesContext(connection) as members:
            page(on_call, bulk, "/dlq/bulk/{}/members/")
        counts.append((len(run), len(members)))
    assert counts[0] == counts[1]
    assert counts[0][0] < 32
    assert counts[0][1] < 14
