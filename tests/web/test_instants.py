"""Instants in a page's address that no database takes: they are passed over, or mean what they say."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import urlencode

import pytest

from jobops.audit.filters import instant_of
from tenants.roles import Role
from tests.web.world import World

EDGES = [
    "1970-01-01T00:00:00+23:59", "1970-01-01T00:00:00-23:59", "9998-12-31T23:59:59-23:59", "9998-12-31T23:59:59+23:59",
    "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "2026-03-12T03:00:00+23:59", "2026-03-12T03:00:00-23:59",
]  # fmt: skip


def test_a_page_is_there_whatever_instant_its_address_names(world: World) -> None:
    """HX-07"""
    world.letter(world.tenant("acme"))
    client = world.client(Role.SUPERUSER)
    for edge in EDGES:
        for name in ("after", "before"):
            assert client.get(f"/dlq/?{urlencode({name: f'{edge}~1'})}").status_code == 200, edge
        for name in ("since", "until"):
            assert client.get(f"/audit/?{urlencode({name: edge})}").status_code == 200, edge


def test_an_instant_with_an_offset_of_many_hours_is_the_instant_it_says() -> None:
    assert instant_of("2026-03-12T03:00:00+23:59") == datetime(2026, 3, 11, 3, 1, tzinfo=UTC)
    assert instant_of("2026-03-12T03:00:00-23:59") == datetime(2026, 3, 13, 2, 59, tzinfo=UTC)
    for none in ("1970-01-01T00:00:00+23:59", "9998-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59"):
        assert instant_of(none) is None


@pytest.mark.parametrize("offset", ["+23:59", "-23:59"])
def test_a_page_begins_after_the_instant_whatever_its_offset(world: World, offset: str) -> None:
    letter = world.letter(world.tenant("acme"))
    client = world.client(Role.SUPERUSER)
    for at, is_there in (("2020-01-02T00:00:00", True), ("2400-01-02T00:00:00", False)):
        page = client.get(f"/dlq/?{urlencode({'by': 'one', 'after': f'{at}{offset}~1'})}").content.decode()
        assert (f"/dlq/{letter.pk}/" in page) is is_there
