"""Where webhooks may go."""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from typing import Any

import pytest
from pytest_django import Settings

from jobops.alerts import addresses
from jobops.alerts.addresses import Refused, check_url, shown_url, why_refused

PUBLIC = "93.184.215.14"


def leads_to(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Every name leads to these addresses; answers the names that are asked for."""
    asked: list[str] = []

    def getaddrinfo(host: str, port: int, **kwargs: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (answer, port)) for answer in answers]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1"),
        *("169.254.169.254", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "192.0.0.8", "198.18.0.1"),
        *("192.0.2.1", "198.51.100.7", "203.0.113.9", "192.88.99.1"),
        *(
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "fec0::1",
            "2001:db8::1",
            "100::1",
            "::7f00:1",
        ),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a00:1"),
        *("64:ff9b:1::1", "2002:7f00:1::1", "2001:0:7f00:1::1", "4000::1"),
    ],
)
def test_what_is_not_a_public_host_is_refused_by_its_address(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_refused(ipaddress.ip_address(address))
    leads_to(monkeypatch, address)
    with pytest.raises(Refused, match="use a host on the public internet"):
        check_url("https://hooks.example.com/x")


@pytest.mark.parametrize("address", [PUBLIC, "2606:2800:21f:cb07::1", "64:ff9b::5db8:d70e", "::ffff:93.184.215.14"])
def test_a_public_host_is_not_refused(address: str) -> None:
    assert why_refused(ipaddress.ip_address(address)) == ""


@pytest.mark.parametrize(
    "host", ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "localhost", "127.0.0.1", "[::1]", "[::ffff:7f00:1]"]
)
def test_no_spelling_of_this_machine_gets_through(host: str) -> None:
    """By the real resolver, which understands old spellings too."""
    with pytest.raises(Refused):
        check_url(f"https://{host}/hook")


def test_a_name_with_one_public_and_one_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    leads_to(monkeypatch, PUBLIC, "10.0.0.7")
    with pytest.raises(Refused, match=r"10\.0\.0\.7, which is a private address"):
        check_url("https://hooks.example.com/x")


@pytest.mark.parametrize(
    "url",
    [
        *(
            "http://hooks.example.com/x",
            "ftp://hooks.example.com/x",
            "file:///etc/passwd",
            "syslog://host/x",
            "//h/x",
            "",
        ),
        *("https://", "https:///x", "https://user:pass@hooks.example.com/", "https://user@hooks.example.com/"),
        *("https://hooks.example.com:0/", "https://hooks.example.com:99999/", "https://hooks.example.com:x/"),
        *("https://hooks.example.com/a b", "https://hooks.example.com\\@evil.example/", "https://hooks.example.com/\n"),
        *(
            "https://hooks.example.com/\x00",
            "https://höoks.example.com/",
            "https://[::1",
            f"https://h.example/{'x' * 1000}",
        ),
        *("javascript:alert(1)", "https://hooks.example.com/\r\nX-Evil: 1"),
    ],
)
def test_what_is_no_plain_https_url_is_refused_before_any_look_up(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = leads_to(monkeypatch, PUBLIC)
    with pytest.raises(Refused):
        check_url(url)
    assert asked == []


def test_it_answers_where_to_connect_and_whom_to_expect(monkeypatch: pytest.MonkeyPatch) -> None:
    leads_to(monkeypatch, PUBLIC)
    found = check_url("https://Hooks.Example.com:8443/services/T0/B0?a=1")
    assert (found.scheme, found.host, found.port, found.address) == ("https", "hooks.example.com", 8443, PUBLIC)
    assert (found.path, found.authority) == ("/services/T0/B0?a=1", "hooks.example.com:8443")
    assert check_url("https://hooks.example.com").path == "/"


def test_only_the_sink_of_the_setting_is_allowed_port_and_all(settings: Settings) -> None:
    settings.JOBOPS_ALERT_ALLOW_PRIVATE_SINK = ["http://127.0.0.1:9009"]
    assert check_url("http://127.0.0.1:9009/x").address == "127.0.0.1"
    for url in ("http://127.0.0.1:9010/x", "https://127.0.0.1:9009/x", "http://localhost:9009/x", "http://127.0.0.1/"):
        with pytest.raises(Refused):
            check_url(url)


def test_a_name_server_that_hangs_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "RESOLVE_S", 0.2)
    over = threading.Event()

    def hangs(*args: object, **kwargs: object) -> list[object]:
        over.wait(30)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hangs)
    begun = time.monotonic()
    with pytest.raises(Refused, match="not resolved within"):
        check_url("https://hooks.example.com/x")
    assert time.monotonic() - begun < 10
    over.set()
    for thread in threading.enumerate():
        if thread.name == "resolve":
            thread.join(10)


def test_a_name_that_nobody_has_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: object, **kwargs: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fails)
    with pytest.raises(Refused, match=r"the name nobody\.example cannot be resolved"):
        check_url("https://nobody.example/x")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://hooks.slack.com/services/T0/B0/s3cr3t", "https://hooks.slack.com/••••"),
        ("https://h.example:8443/?token=s3cr3t", "https://h.example:8443/••••"),
        ("https://user:s3cr3t@h.example/", "https://h.example/••••"),
        ("s3cr3t", "••••"),
        ("https://[s3cr3t", "••••"),
    ],
)
def test_what_is_shown_of_a_url_holds_no_secret(url: str, shown: str) -> None:
    assert shown_url(url) == shown
