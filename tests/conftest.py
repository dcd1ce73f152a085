"""Fixtures for all tests: a real Redis for each test process, an engine on it, a server for one test to kill."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
from django.conf import settings
from redis import Redis

from jobops.embedded import EmbeddedRedis
from tests import tools

if TYPE_CHECKING:
    from jobops.engine.client import Engine

LANES = {"interactive": 4.0, "bulk": 1.0}

# How long one example takes says nothing on a shared machine.
hypothesis.settings.register_profile("jobops", deadline=None)
hypothesis.settings.load_profile("jobops")


def pytest_configure(config: pytest.Config) -> None:
    if settings.SETTINGS_MODULE != "tests.settings":
        # Otherwise the tests would flush whatever Redis the developer's own environment names.
        raise pytest.UsageError("unset DJANGO_SETTINGS_MODULE: the tests bring their own settings and services")


@pytest.fixture(scope="session")
def redis_server() -> Iterator[EmbeddedRedis]:
    """The Redis of this test process, which `settings.JOBOPS_REDIS_URL` names. Never kill this one: see `own_redis`."""
    server = EmbeddedRedis(settings.VAR_DIR / "redis")
    assert server.url == settings.JOBOPS_REDIS_URL
    with server:
        yield server


@pytest.fixture
def redis(redis_server: EmbeddedRedis) -> Iterator[Redis]:
    """A client of this process's Redis, emptied first. Values are bytes."""
    with Redis.from_url(redis_server.url, retry=None, socket_timeout=10) as client:
        client.flushall()
        yield client


@pytest.fixture
def engine(redis: Redis) -> Engine:
    """An engine with two lanes on an empty Redis. It knows no tenant yet: `engine.scripts.set_policy(Policy(slug))`."""
    from jobops.engine.client import Engine

    engine = Engine(redis, lanes=LANES)
    engine.prepare()
    return engine


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    """A running Redis for this test alone, to be killed and restarted at will."""
    with EmbeddedRedis(tmp_path / "redis") as server:
        yield server


@pytest.fixture(autouse=True)
def job_types_end_with_their_test() -> Iterator[None]:
    """No test finds the job types of another one."""
    from tests.registry_guard import types_end_here

    with types_end_here():
        yield


@pytest.fixture(scope="session", autouse=True)
def groups_outlive_a_flush() -> Iterator[None]:
    """The staff groups, which a migration makes, come back after the flush that ends each test with real commits.

    Otherwise what a test finds would depend on which tests its process ran before.
    """
    from django.apps import apps
    from django.contrib.auth.models import Group
    from django.db.models.signals import post_migrate

    from tenants.roles import STAFF_GROUPS

    def make_groups(using: str, **sent: object) -> None:
        if "plan" in sent:  # by `migrate`: whether the migration makes them is for the tests to see
            return
        for role in STAFF_GROUPS:
            Group.objects.using(using).get_or_create(name=role.value)

    sender = apps.get_app_config("tenants")
    post_migrate.connect(make_groups, sender=sender)
    yield
    post_migrate.disconnect(make_groups, sender=sender)


@pytest.fixture(scope="session", autouse=True)
def transactional_tests_end_cheaply(groups_outlive_a_flush: None) -> Iterator[None]:
    """See `tests.emptying`."""
    from tests.emptying import tables_emptied_cheaply

    with tables_emptied_cheaply():
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs the database, so that `-m django_db` finds it all, and skip what needs a browser we lack."""
    no_browser = None if tools.chromium() else pytest.mark.skip(reason="Chromium is not installed")
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & {"db", "transactional_db"} and not item.get_closest_marker("django_db"):
            item.add_marker(pytest.mark.django_db(transaction="transactional_db" in fixtures))
        if no_browser and item.get_closest_marker("browser"):
            item.add_marker(no_browser)
    if settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        # Not skipped: they are run, on the other database.
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("postgres_only")])
        items[:] = [item for item in items if not item.get_closest_marker("postgres_only")]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """Where everything must run (JOBOPS_TEST_ALL=1), a skipped test is a failed one."""
    report: pytest.TestReport = yield  # type: ignore[misc]
    if report.skipped and not hasattr(report, "wasxfail") and tools.everything_must_run():
        report.outcome = "failed"
        report.longrepr = f"{tools.TEST_ALL}=1 allows no skip, but: {tools.reason_of(report)}"
    return report  # type: ignore[return-value]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One visible line for each thing that was left out."""
    counts: dict[str, int] = {}
    for report in terminalreporter.stats.get("skipped", ()):
        reason = tools.reason_of(report)
        counts[reason] = counts.get(reason, 0) + 1
    for reason, count in sorted(counts.items()):
        terminalreporter.write_line(f"left out: {count} {'test' if count == 1 else 'tests'}, because {reason}")
