"""Whose address counts: the client's, behind as many proxies as the settings say, and never one it made up."""

from __future__ import annotations

from typing import Any

import pytest
from axes.helpers import get_client_ip_address
from django.test import RequestFactory


@pytest.mark.parametrize(
    ("proxies", "forwarded", "expected"),
    [
        (0, None, "10.0.0.1"),
        (0, "203.0.113.7", "10.0.0.1"),
        (1, None, "10.0.0.1"),
        (1, "203.0.113.7", "203.0.113.7"),
        (1, "1.1.1.1, 203.0.113.7", "203.0.113.7"),
        (2, "1.1.1.1, 203.0.113.7,10.0.0.2", "203.0.113.7"),
        (2, "203.0.113.7", "10.0.0.1"),
        (1, "203.0.113.7:4711", "203.0.113.7"),
        (1, "[2001:db8::1]:4711", "2001:db8::1"),
        (1, "2001:db8::1", "2001:db8::1"),
        (1, "unknown", "10.0.0.1"),
    ],
)
def test_the_clients_address(proxies: int, forwarded: str | None, expected: str, settings: Any) -> None:
    settings.JOBOPS_TRUSTED_PROXIES = proxies
    headers = {"x-forwarded-for": forwarded} if forwarded else {}
    request = RequestFactory().post("/login/", headers=headers, REMOTE_ADDR="10.0.0.1")
    assert get_client_ip_address(request) == expected


def test_behind_a_unix_socket_without_a_header_there_is_none(settings: Any) -> None:
    settings.JOBOPS_TRUSTED_PROXIES = 1
    assert get_client_ip_address(RequestFactory().get("/", REMOTE_ADDR="")) is None
