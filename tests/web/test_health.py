"""``/healthz`` and ``/readyz``."""

from __future__ import annotations

import pytest
from django.db import DatabaseError
from django.test import Client
from redis.exceptions import ConnectionError as RedisConnectionError

from jobops.engine.client import Engine
from jobops.web.views import health


def test_alive_needs_neither_session_nor_database_nor_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    """No database fixture: a query would fail this test."""
    monkeypatch.setattr(health, "get_engine", lambda: pytest.fail("asked for Redis"))
    answer = Client().get("/healthz")
    assert (answer.status_code, answer.content) == (200, b"alive\n")
    assert Client().head("/healthz").status_code == 200
    assert Client().post("/healthz").status_code == 405


def test_alive_does_not_touch_the_session_store_of_who_asks() -> None:
    client = Client()
    client.cookies["sessionid"] = "x" * 32
    assert client.get("/healthz").status_code == 200


def test_ready_when_both_answer(db: None, engine: Engine) -> None:
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.content) == (200, b"ready\n")


def test_not_ready_says_what_is_away_and_nothing_of_where_it_is(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """SE-07: a URL with its password stands in no answer."""

    class Away:
        class redis:  # noqa: N801
            @staticmethod
            def ping() -> None:
                raise RedisConnectionError("Error connecting to redis://:s3cret@host:6379")

    def broken() -> None:
        raise DatabaseError("password s3cret")

    monkeypatch.setattr(health, "get_engine", Away)
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.content) == (503, b"the Redis server cannot be reached\n")
    monkeypatch.setattr(health.connection, "cursor", broken)
    answer = Client().get("/readyz")
    assert answer.content == b"the database cannot be reached\nthe Redis server cannot be reached\n"
