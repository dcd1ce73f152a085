"""The list of causes, ``/dlq/``."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlq.models import DeadLetterGroup
from dlq.searchable import rewrite
from tenants.models import Team, TeamMember, Tenant
from tenants.roles import Role
from tests.web.causes import cause, letter_of
from tests.web.world import World


def causes(client: Client, query: str = "") -> str:
    answer = client.get(f"/dlq/{query}")
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def listed(text: str) -> list[int]:
    return [int(pk) for pk in re.findall(r'<tr id="g-(\d+)"', text)]


def views(text: str) -> dict[str, str]:
    """The views and their counts."""
    menu = text[text.index('<ul class="views">') :].partition("</ul>")[0]
    menu = re.sub(r"<svg.*?</svg>", "", menu, flags=re.DOTALL)
    found = re.findall(r'<a href="\?[^"]*"[^>]*>\s*([^<]+?)\s*<span class="cnt">([^<]+)</span>', menu)
    return {html.unescape(name): count for name, count in found}


def title(text: str) -> str:
    found = re.search("<h1>(.*?)</h1>", text)
    assert found
    return html.unescape(found[1])


def test_a_letters_number_leads_to_it_whatever_state_it_is_in(world: World, acme: Tenant) -> None:
    letter, client = letter_of(world, cause(), acme, state="discarded"), world.client(Role.ON_CALL)
    for asked in (f"{letter.pk}", f"No. {letter.pk}", f" {letter.pk} "):
        assert f'<a href="/dlq/{letter.pk}/">No. {letter.pk}</a>' in causes(client, f"?{urlencode({'q': asked})}")
    for none in ("0", "-1", "9" * 30, "²", f"{letter.pk}x", f"{letter.pk + 1}"):
        assert f'href="/dlq/{letter.pk}/"' not in causes(client, f"?{urlencode({'q': none})}"), none


def test_what_is_due_first_stands_first_with_its_numbers(world: World) -> None:
    acme, rival = world.tenant("acme"), world.tenant("rival")
    now = timezone.now()
    later, late = cause("Later"), cause("Export ran out of memory", error_class="WorkerLost", owner="exports")
    letter_of(world, later, acme)
    for tenant in (acme, rival, rival):
        letter_of(world, late, tenant, due_at=now - timedelta(minutes=33), reason="poison")
    letter_of(world, late, acme, state="replaying", due_at=now)
    letter_of(world, late, acme, state="resolved", reason="poison")
    text = causes(world.client(Role.ON_CALL))
    assert listed(text) == [late.pk, later.pk]
    assert title(text) == "5 dead letters, 2 causes"
    assert "4 are past their deadline, all in <code>shop.<wbr>jobs.<wbr>send</code>." in text
    row = text[text.index(f'<tr id="g-{late.pk}"') :].partition("</tr>")[0]
    for shown in (
        "Export ran out of memory", "WorkerLost", ">4<", "of 5, 1 replaying", "2 tenants", "exports", "nobody yet",
        "33\N{NO-BREAK SPACE}min late", "Breached. 4 overdue", "Active", ">poison<",
    ):  # fmt: skip
        assert shown in row, shown
    assert f'href="/dlq/groups/{late.pk}/"' in row
    assert row.count("<rect") == 1, "all died within ten minutes"


def test_each_view_is_one_click_and_counts_letters(world: World) -> None:
    acme = world.tenant("acme")
    client = world.client(Role.ON_CALL)
    me = User.objects.get(username__startswith="on call")
    TeamMember.objects.create(team=Team.objects.create(name="payments"), user=me)
    mine = cause("Mine", assignee=me)
    teams, others = cause("Teams", owner="payments"), cause("Others")
    for group, count in ((mine, 1), (teams, 2), (others, 4)):
        for number in range(count):
            due = timezone.now() + timedelta(hours=-1 if group is others and number else 1)
            letter_of(world, group, acme, due_at=due)
    text = causes(client)
    assert views(text) == {"All open": "7", "Mine": "1", "My team’s": "2", "Unassigned": "6", "Overdue": "3"}
    for query, found in (
        ("?assignee=me", [mine]), ("?owner=mine", [teams]), ("?assignee=none", [others, teams]),
        ("?overdue=1", [others]), (f"?assignee={me.username.replace(' ', '%20')}", [mine]),
        ("?owner=payments,nobody", [teams]), ("?assignee=somebody-else", []),
    ):  # fmt: skip
        text = causes(client, query)
        assert listed(text) == [each.pk for each in found], query
        assert views(text)["All open"] == "7"
    assert title(causes(client, "?assignee=me")) == "1 dead letter, 1 cause assigned to you"


def test_filters_and_a_search_narrow(world: World) -> None:
    acme, rival = world.tenant("acme"), world.tenant("rival")
    wanted = cause("Card refused", job_type="shop.jobs.pay", error_class="shop.errors.CardRefused", severity="high")
    other = cause("Timeout")
    letter = letter_of(world, wanted, acme, error="order 58112 was refused")
    for _ in range(2):
        letter_of(world, other, rival)
    rewrite([letter])
    client = world.client(Role.STAFF_VIEWER)
    for query in ("tenant=acme", "job=shop.jobs.pay", "error=CardRefused", "severity=high", "q=card", "q=58112"):
        assert listed(causes(client, f"?{query}")) == [wanted.pk], query
    both = causes(client, "?tenant=rival")
    assert title(both) == "2 dead letters of rival, 1 cause"
    assert "Nothing matches these filters." in causes(client, "?q=nothing")
    assert "Search for a letter or a digit." in causes(client, "?q=%22")
    odd = causes(client, "?sort=password&sevrity=high&severity=none")
    assert listed(odd) == [wanted.pk, other.pk]
    for said in ("“sevrity” was passed over", "“severity” was passed over", "“sort” was passed over"):
        assert said in odd


def test_states_of_causes_can_be_asked_for(world: World) -> None:
    acme = world.tenant("acme")
    known, done = cause("Known", state="acknowledged"), cause("Done", state="drained")
    asleep = cause("Asleep", state="snoozed", snoozed_to_tenants=2)
    for group in (known, asleep):
        letter_of(world, group, acme)
    client = world.client(Role.ON_CALL)
    assert listed(causes(client, "?status=acknowledged")) == [known.pk]
    assert listed(causes(client, "?status=drained")) == [done.pk]
    assert set(listed(causes(client, "?by=cause&status=all"))) == {known.pk, done.pk, asleep.pk}
    assert "until another tenant" in causes(client, "?status=snoozed")


@pytest.mark.parametrize("query", [
    "?status=resolved", "?status=open", "?status=all", "?sort=newest", "?reason=poison", "?older_than=1h", "?group=1",
    "?batch=x", "?by=one",
])  # fmt: skip
def test_what_only_letters_have_leads_to_the_letters(world: World, query: str) -> None:
    text = causes(world.client(Role.ON_CALL), query)
    assert '<a href="?" aria-current="true">By cause</a>' not in text
    assert 'aria-current="true">One by one</a>' in text


@pytest.mark.parametrize("tenant", ["", "&tenant=acme"])
@pytest.mark.parametrize("sort", ["due", "-open", "-tenants", "-last", "owner"])
def test_pages_follow_one_another_without_a_gap_and_back(world: World, sort: str, tenant: str) -> None:
    acme = world.tenant("acme")
    now = timezone.now()
    for index in range(70):
        group = cause(f"Cause {index}", owner=f"team-{index % 7}")
        letter_of(world, group, acme, due_at=now + timedelta(minutes=index // 3))
    client = world.client(Role.STAFF_VIEWER)
    first = causes(client, f"?sort={sort}{tenant}")
    link = re.search(r'rel="next" href="([^"]+)"', first)
    assert link
    second = causes(client, html.unescape(link[1]))
    assert (len(listed(first)), len(listed(second))) == (50, 20)
    assert len({*listed(first), *listed(second)}) == 70
    back = re.search(r'rel="prev" href="([^"]+)"', second)
    assert back
    assert listed(causes(client, html.unescape(back[1]))) == listed(first)


@pytest.mark.parametrize("cursor", ["x", "~", "x~1", "2026-01-01~1", "%00~1", f"1~{'9' * 30}", "0001-01-01T00:00Z~1"])
@pytest.mark.parametrize("sort", ["due", "-open", "owner"])
def test_odd_cursors_are_answered(world: World, sort: str, cursor: str) -> None:
    group = cause()
    letter_of(world, group, world.tenant("acme"))
    text = causes(world.client(Role.STAFF_VIEWER), f"?sort={sort}&after={cursor}")
    assert listed(text) in ([group.pk], [])


@pytest.mark.parametrize("query", ["", "?tenant=acme", "?owner=mine&q=cause", "?sort=-open&overdue=1"])
@pytest.mark.parametrize("role", [Role.ON_CALL, Role.TENANT_ADMIN])
def test_queries_do_not_grow_with_the_rows(world: World, role: Role, query: str) -> None:
    """UP-04."""
    acme = world.tenant("acme")
    client = world.client(role, acme)
    counts = []
    for start, end in ((0, 10), (10, 60)):
        for index in range(start, end):
            letter_of(world, cause(f"Cause {index}"), acme, due_at=timezone.now() - timedelta(minutes=index))
        causes(client, query)
        with CaptureQueriesContext(connection) as queries:
            causes(client, query)
        counts.append(len(queries))
    assert counts[0] == counts[1] < 30, counts


def test_an_empty_list_says_when_it_was_last_not_so(world: World) -> None:
    client = world.client(Role.ON_CALL)
    assert "Nothing is dead." in causes(client)
    assert "A job that gives up is kept here" in causes(client)
    now = timezone.now()
    for late in (-1, 1):
        due = now + timedelta(hours=late)
        world.letter(world.tenant(f"t{late + 1}"), state="resolved", drained_at=now, drain_s=38 * 60, due_at=due)
    text = causes(client)
    assert "This week 2 were drained, in 38\N{NO-BREAK SPACE}min at the median, and" in text
    assert "1 was late" in text
    assert "Open the drain report" in text


def test_letters_without_a_cause_yet_are_not_passed_over(world: World) -> None:
    acme = world.tenant("acme")
    world.letter(acme)
    text = causes(world.client(Role.ON_CALL))
    assert title(text) == "1 dead letter"
    assert "1 dead letter has no cause yet and is not in this list." in text
    assert 'href="?by=one"' in text


def test_polls_bring_the_list_and_the_number_of_the_navigation(world: World) -> None:
    group = cause()
    letter_of(world, group, world.tenant("acme"))
    client = world.client(Role.ON_CALL)
    text = client.get("/live/dlq/").content.decode()
    assert listed(text) == [group.pk]
    assert 'data-undrained="1"' in text
    DeadLetterGroup.objects.update(open=0, replaying=2)
    assert 'data-undrained="2"' in client.get("/live/dlq/?assignee=none").content.decode()
