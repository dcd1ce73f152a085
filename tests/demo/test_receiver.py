"""The local HTTP server answers as customers' servers do."""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from jobops.demo.receiver import ENDPOINTS, MAX_BODY_BYTES, Desk, Endpoint, make_server

ORDER = json.dumps({"order": 1, "total": "9.99", "vat_id": "EU1"}).encode()


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_healthy_endpoint_answers_200() -> None:
    assert Desk().hook("warehouse", ORDER)[0] == 200


def test_beyond_its_rate_an_endpoint_answers_429_with_retry_after_and_recovers() -> None:
    clock = Clock()
    desk = Desk({"crm": Endpoint(per_second=2, retry_after_s=3)}, now=clock)
    assert [desk.hook("crm", ORDER)[0] for _ in range(3)] == [200, 200, 429]
    assert desk.hook("crm", ORDER)[1] == {"Retry-After": "3"}
    clock.now += 0.5
    assert [desk.hook("crm", ORDER)[0] for _ in range(2)] == [200, 429]


def test_an_outage_answers_503_for_a_part_of_each_period() -> None:
    clock = Clock()
    desk = Desk({"ledger": Endpoint(down_s=10, period_s=60)}, now=clock)
    answers = []
    for _ in range(120):
        answers.append(desk.hook("ledger", ORDER)[0])
        clock.now += 1
    assert answers == [*[200] * 50, *[503] * 10] * 2


@pytest.mark.parametrize("body", [b"", b"not JSON", b"[]", b'{"order": 1, "total": "9.99", "vat_id": ""}'])
def test_a_strict_endpoint_answers_400_to_what_lacks_a_field(body: bytes) -> None:
    status, _, text = Desk().hook("tax-office", body)
    assert status == 400
    assert "missing: " in text or "not JSON" in text
    assert Desk().hook("tax-office", ORDER)[0] == 200


def test_unsubscribed_is_410_and_unknown_is_404() -> None:
    assert Desk().hook("old-shop", ORDER)[0] == 410
    assert Desk().hook("nobody", ORDER)[0] == 404


def test_the_demo_has_an_endpoint_of_each_nature() -> None:
    assert any(e.per_second for e in ENDPOINTS.values())
    assert any(e.down_s for e in ENDPOINTS.values())
    assert any(e.required for e in ENDPOINTS.values())
    assert any(e.gone for e in ENDPOINTS.values())


@pytest.fixture
def url() -> Iterator[str]:
    listener = socket.create_server(("127.0.0.1", 0))
    with make_server(listener, Desk({"crm": Endpoint(latency_s=0, per_second=1, retry_after_s=7)})) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.shutdown()
        thread.join()


def send(method: str, url: str, body: bytes | None = None) -> tuple[int, str, dict[str, str]]:
    request = urllib.request.Request(url, data=body, method=method)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status, answer.read().decode(), dict(answer.headers)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), dict(error.headers)


def test_it_speaks_http_and_tells_what_it_answered(url: str) -> None:
    assert send("POST", f"{url}/hooks/crm", ORDER)[0] == 200
    status, _, headers = send("POST", f"{url}/hooks/crm", ORDER)
    assert (status, headers["Retry-After"]) == (429, "7")
    assert send("PUT", f"{url}/files/exports/acme/1.csv", b"a,b\n")[0] == 201
    stats = json.loads(send("GET", f"{url}/stats")[1])
    assert stats == {"hooks": {"crm": {"200": 1, "429": 1}}, "store": {"files": 1, "bytes": 4, "files in exports": 1}}


def test_it_refuses_what_it_does_not_serve(url: str) -> None:
    assert send("POST", f"{url}/elsewhere", ORDER)[0] == 404
    assert send("PUT", f"{url}/elsewhere", ORDER)[0] == 404
    assert send("GET", f"{url}/")[0] == 404


def test_it_reads_no_more_than_it_must(url: str) -> None:
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(f"POST /hooks/crm HTTP/1.1\r\nContent-Length: {MAX_BODY_BYTES + 1}\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 413")


def test_who_is_down_says_so_at_once() -> None:
    desk = Desk()
    usual = desk.latency("payments")
    assert desk.set_mode("payments", "broken")
    assert desk.latency("payments") < usual / 2
    assert (desk.latency("nobody"), desk.hook("payments", ORDER)[0]) == (0.0, 503)


def test_alerts_are_taken_if_they_are_signed(url: str) -> None:
    assert send("POST", f"{url}/alerts", b"{}")[0] == 401
    assert json.loads(send("GET", f"{url}/alerts")[1]) == []
