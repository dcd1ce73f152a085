"""The banners over the lists: what runs with many letters at once, and what stands still and waits for a person."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dlq.models import BulkAction, BulkMember, ReplayPlan
from jobops.web.selectors.going_on import going_on
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.world import World

State = BulkAction.State
LISTS = ("/dlq/", "/dlq/?by=one")


@pytest.fixture
def acme(world: World) -> Tenant:
    return world.tenant("acme")


def bulk(state: str, by: str = "ada", paused_by: str = "", **fields: object) -> BulkAction:
    made = BulkAction.objects.create(kind="replay", state=state, by=by, matched=50, done=10, **fields)
    ReplayPlan.objects.create(bulk=made, paused_by=paused_by)
    return made


def seen(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    ("state", "by", "told", "tone"),
    [
        (State.RUNNING, "", "Replay {} is running:</b> 10 of 50 dealt with, started by ada.", "banner-i"),
        (State.PAUSED, "olga", "Replay {} is paused:</b> 10 of 50 dealt with, by olga.", 'banner msg"'),
        (State.PAUSED, "canary", "Replay {} was stopped by its canary:</b> 10 of 50", "banner-d"),
        (State.PAUSED, "breaker", "Replay {} was stopped by its breaker:</b> 10 of 50", "banner-d"),
    ],
)
def test_staff_are_told_of_what_runs_and_of_what_stands_still(
    world: World, path: str, state: str, by: str, told: str, tone: str
) -> None:
    made = bulk(state, paused_by=by)
    text = seen(world.client(Role.ON_CALL), path)
    assert told.format(made.pk) in text
    assert f'href="/dlq/replays/{made.pk}/"' in text
    assert tone in text


@pytest.mark.parametrize("path", LISTS)
def test_what_is_over_or_was_never_confirmed_is_no_banner(world: World, path: str) -> None:
    for state in (State.DRAFT, State.FINISHED, State.CANCELLED):
        bulk(state)
    assert "dealt with" not in seen(world.client(Role.ON_CALL), path)


@pytest.mark.parametrize("path", LISTS)
def test_a_tenants_people_are_told_of_their_own_in_plain_words(world: World, acme: Tenant, path: str) -> None:
    mia = world.person(Role.TENANT_ADMIN, acme)
    client = Client()
    client.force_login(mia)
    own = bulk(State.PAUSED, by=mia.get_username(), paused_by="canary", by_user=mia)
    foreign = bulk(State.PAUSED, paused_by="breaker")
    theirs = bulk(State.PAUSED, paused_by="breaker", by_user=mia)
    BulkMember.objects.create(bulk=theirs, letter=world.letter(world.tenant("rival")))
    text = seen(client, path)
    assert "stopped by itself:</b> 10 of 50 dealt with.\n" in text
    assert f'href="/dlq/replays/{own.pk}/"' in text
    for hidden in (foreign, theirs):
        assert f"/dlq/replays/{hidden.pk}/" not in text
    assert "canary" not in text


def test_one_that_stands_still_is_not_hidden_by_newer_ones_that_run(world: World) -> None:
    stopped = bulk(State.PAUSED, paused_by="canary")
    newer = [bulk(State.RUNNING) for _ in range(5)]
    user = world.person(Role.ON_CALL)
    with CaptureQueriesContext(connection) as queries:
        found = [each.bulk.pk for each in going_on(user)]
    assert found == [stopped.pk, *[each.pk for each in newer[:1:-1]]]
    assert len(queries) <= 3  # what the person may see, the actions, their plans
