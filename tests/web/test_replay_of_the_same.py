"""A replay of what another replay left, and the share that succeeded of all."""

from __future__ import annotations

import pytest
from django.test import Client

from dlq.models import BulkAction
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.bulks import AT_ONCE, confirm
from tests.web.test_replay_page import end, press, seen, started
from tests.web.world import World


@pytest.fixture
def on_call(world: World, acme: Tenant) -> Client:
    return world.client(Role.ON_CALL)


def test_another_replay_of_a_few_shows_itself_and_not_the_one_before(
    world: World, acme: Tenant, on_call: Client
) -> None:
    first = started(on_call, world, acme, 2, **AT_ONCE)
    end(first, "died")
    press(on_call, first, "again", which="died")
    again = BulkAction.objects.latest("pk")
    answer = confirm(on_call, again, **AT_ONCE | {"next": f"/dlq/replays/{first.pk}/"})
    assert answer["Location"] == f"/dlq/replays/{again.pk}/"


def test_what_succeeded_is_a_share_of_all_and_says_so(world: World, acme: Tenant, on_call: Client) -> None:
    bulk = started(on_call, world, acme, 60, **AT_ONCE)
    end(bulk, "succeeded", 6)
    assert "10% of all 60" in seen(on_call, bulk)
