"""One POST: to the address that was checked, without redirects or proxies, with an end."""

from __future__ import annotations

import socket
import ssl
import time
from typing import Any

import pytest
from pytest_django import Settings

from jobops.alerts.channels import posting
from jobops.alerts.channels.posting import post, retry_after_of
from tests.alerts.channels.sink import CERTIFICATE, Sink, drips_body, drips_head, sink


def test_it_posts_the_body_and_answers_what_was_said(receiver: Sink) -> None:
    receiver.status, receiver.body = 202, b"thanks\n"
    answer = post(f"{receiver.url}/a?b=c", b'{"x": 1}', {"X-One": "1"})
    assert (answer.ok, answer.status, answer.text) == (True, 202, "thanks")
    got = receiver.got[0]
    assert (got.path, got.body, got.headers["X-One"]) == ("/a?b=c", b'{"x": 1}', "1")
    assert got.headers["Content-Type"] == "application/json"


def test_no_redirect_is_followed(receiver: Sink, settings: Settings) -> None:
    with sink() as inner:
        receiver.status, receiver.headers = 302, {"Location": f"{inner.url}/internal"}
        answer = post(receiver.url, b"{}", {})
        assert inner.got == []
    assert (answer.ok, answer.status) == (False, 302)
    assert "redirects elsewhere" in answer.text


def test_a_proxy_of_the_environment_is_not_used(receiver: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    with sink() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        assert post(receiver.url, b"{}", {}).ok
        assert proxy.got == []


def test_it_connects_to_the_address_that_was_checked_and_asks_no_name_twice(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    """Rebinding: the first answer is public, every later one is this machine."""
    real, asked, connected = socket.getaddrinfo, [], []
    with sink() as inside:
        port = int(inside.url.rpartition(":")[2])

        def getaddrinfo(host: str, *args: Any, **kwargs: Any) -> Any:
            if host != "hooks.example.com":
                return real(host, *args, **kwargs)
            asked.append(host)
            return real("93.184.215.14" if len(asked) == 1 else "127.0.0.1", *args, **kwargs)

        def create_connection(address: tuple[str, int], *args: Any, **kwargs: Any) -> Any:
            connected.append(address)
            raise OSError("this machine reaches nobody")

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        monkeypatch.setattr(socket, "create_connection", create_connection)
        assert not post(f"https://hooks.example.com:{port}/x", b"{}", {}).ok
        assert inside.got == []
    assert asked == ["hooks.example.com"]
    assert connected == [("93.184.215.14", port)]


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sink's certificate counts as a good one."""
    real = ssl.create_default_context
    monkeypatch.setattr(ssl, "create_default_context", lambda: real(cafile=str(CERTIFICATE)))


def named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *a, **k: real("127.0.0.1" if host == name else host, *a, **k)
    )


@pytest.mark.parametrize(("name", "ok"), [("sink.test", True), ("other.test", False)])
def test_the_certificate_must_be_the_hosts(
    name: str, ok: bool, trusted: None, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    with sink(tls=True) as there:
        origin = there.url.replace("127.0.0.1", name)
        settings.JOBOPS_ALERT_ALLOW_PRIVATE_SINK = [origin]
        named(monkeypatch, name)
        answer = post(f"{origin}/s3cr3t-token", b"{}", {})
        assert (answer.ok, len(there.got)) == (ok, int(ok)), answer
        assert ok or "CERTIFICATE_VERIFY_FAILED" in answer.text


def test_a_certificate_that_nobody_signed_is_refused(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    with sink(tls=True) as there:
        origin = there.url.replace("127.0.0.1", "sink.test")
        settings.JOBOPS_ALERT_ALLOW_PRIVATE_SINK = [origin]
        named(monkeypatch, "sink.test")
        assert not post(origin, b"{}", {}).ok
        assert there.got == []


@pytest.mark.parametrize("way", ["silent", "head", "body"])
def test_whoever_takes_too_long_is_cut_off(receiver: Sink, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then starts no new patience. Whose head says that it was taken has taken it, whatever follows."""
    monkeypatch.setattr(posting, "TIMEOUT_S", 0.5)
    if way == "silent":
        receiver.waits.clear()
    else:
        receiver.answers = {"head": drips_head, "body": drips_body}[way]
    begun = time.monotonic()
    answer = post(receiver.url, b"{}", {})
    assert time.monotonic() - begun < 5
    assert answer.ok is (way == "body")
    assert way == "body" or "answer within" in answer.text


def test_of_a_huge_answer_only_the_beginning_is_read(receiver: Sink) -> None:
    receiver.body = b"y" * 50_000_000
    begun = time.monotonic()
    answer = post(receiver.url, b"{}", {})
    assert answer.ok
    assert len(answer.text) <= 300
    assert time.monotonic() - begun < 5


def test_an_answer_that_repeats_the_token_is_masked_and_made_visible(receiver: Sink) -> None:
    receiver.status = 404
    receiver.body = b"no hook T0123456/s3cr3t-t0ken <script>\x00\xff and key-of-mine"
    answer = post(f"{receiver.url}/T0123456/s3cr3t-t0ken", b"{}", {}, secrets=["key-of-mine"])
    assert "s3cr3t-t0ken" not in answer.text
    assert "key-of-mine" not in answer.text
    assert "\x00" not in answer.text


def test_an_error_on_the_way_tells_no_token() -> None:
    answer = post("https://127.0.0.1/services/s3cr3t-t0ken", b"{}", {})
    assert not answer.ok
    assert "not sent: 127.0.0.1 leads to 127.0.0.1, which is a loopback address" in answer.text
    assert "s3cr3t" not in answer.text


def test_garbage_instead_of_http_is_an_answer_too(receiver: Sink) -> None:
    receiver.answers = lambda handler: handler.wfile.write(b"\xff\xfe garbage\r\n\r\n")
    assert not post(receiver.url, b"{}", {}).ok


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("30", 30.0),
        ("0", 0.0),
        ("999999999", 3600.0),
        ("0000000090", 90.0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
    ],
)
def test_retry_after_in_seconds(value: str, seconds: float | None) -> None:
    assert retry_after_of(value) == seconds


@pytest.mark.parametrize(
    "value", ["Mon, 1 Jan 99999999999 00:00:00 GMT", "Thu, 01 Jan 2026 00:00:00 -99999999999999999999"]
)
def test_a_retry_after_that_nobody_can_read_takes_nothing_back(receiver: Sink, value: str) -> None:
    """Taken for a fault of ours, a message that has arrived would be sent again and again."""
    receiver.headers = {"Retry-After": value}
    assert post(receiver.url, b"{}", {}).ok


def test_retry_after_as_a_date() -> None:
    assert retry_after_of("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert retry_after_of("Wed, 21 Oct 2115 07:28:00 GMT") == 3600.0
