"""What a slug and a lane may be called is written down once, and all who ask answer alike."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobops import env
from jobops.contracts.calls import TENANT
from jobops.contracts.promises import LANE
from jobops.engine.errors import InvalidJob
from jobops.engine.validation import LANE_PATTERN, SLUG_PATTERN, check_lanes, check_slug
from tenants.errors import InvalidTenant
from tenants.fields import clean_slug

ROOT = Path(__file__).parents[2]
NAMES = ["a", "a-b", "a_b", "9", "9a", "A", "ä", "٣", "", "a\n", " a", "-", "_", "a" * 31, "a" * 32, "a" * 50, "a" * 51]


def takes(check: Callable[[], Any], refusal: type[Exception] | tuple[type[BaseException], ...]) -> bool:
    try:
        check()
    except refusal:
        return False
    return True


@pytest.mark.parametrize("name", NAMES)
def test_a_slug_is_one_everywhere_or_nowhere(name: str) -> None:
    answers = {
        takes(lambda: check_slug("tenant", name), InvalidJob),
        takes(lambda: clean_slug(name), InvalidTenant),
        TENANT.fullmatch(name) is not None,
    }
    assert answers == {re.fullmatch(SLUG_PATTERN, name) is not None}


@pytest.mark.parametrize("name", NAMES)
def test_a_lane_is_one_everywhere_or_nowhere(name: str) -> None:
    answers = {
        takes(lambda: check_lanes({name: 1.0}), InvalidJob),
        LANE.fullmatch(name) is not None,
        env._LANE.fullmatch(name) is not None,
    }
    assert answers == {re.fullmatch(LANE_PATTERN, name) is not None}


def test_the_patterns_are_written_in_one_place() -> None:
    sources = [path for folder in ("jobops", "tenants", "dlq") for path in (ROOT / folder).rglob("*.py")]
    for pattern in (SLUG_PATTERN, LANE_PATTERN):
        holders = [str(path.relative_to(ROOT)) for path in sources if pattern in path.read_text()]
        # A migration keeps what it was made with.
        assert [path for path in holders if "/migrations/" not in path] == ["jobops/engine/validation.py"]
