"""Where a webhook may go: a public host on HTTPS, and nothing on the inside of this network.

A name is resolved here and the connection goes to the very address that was looked at: between a look and a connection
a name server may change its mind.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

LONGEST_URL = 1000
RESOLVE_S = 5.0
"""How long a name server may take."""

DOTS = "••••"
_DEFAULT_PORTS = {"https": 443, "http": 80}
_GLOBAL_6 = ipaddress.ip_network("2000::/3")
# Of protocols and tunnels: in some the address of another host is written, which no look at them can judge.
_TUNNELS = tuple(map(ipaddress.ip_network, ("2001::/32", "2002::/16", "192.88.99.0/24", "192.0.0.0/24")))
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class Refused(Exception):
    """This URL is not one that anything is sent to; the text says why, without what is secret in it."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """Where to connect, ``address``, and whom to expect there, ``host``. ``path``: with the query."""

    scheme: str
    host: str
    port: int
    address: str
    path: str

    @property
    def authority(self) -> str:
        """The value of the ``Host`` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def check_url(url: str) -> Resolved:
    """Look at a URL and where its name leads now. Raises ``Refused``.

    All addresses of the name must be public ones: with a mixed answer, which of them is reached would be chance.
    """
    scheme, host, port, path = _parts(url)
    is_sink = f"{scheme}://{host}:{port}" in _sinks()
    if scheme != "https" and not is_sink:
        raise Refused("use https://: over http anybody on the way could read it")
    addresses = _resolve(host, port)
    for address in addresses:
        if not is_sink and (why := why_refused(address)):
            raise Refused(f"{host} leads to {address}, which is {why}: use a host on the public internet")
    return Resolved(scheme, host, port, str(addresses[0]), path)


def why_refused(address: Address) -> str:
    """Why nothing is sent to this address; the empty string if it may be."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return why_refused(address.ipv4_mapped)
        if address in _NAT64:
            return why_refused(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
    kinds = (
        (address.is_loopback, "a loopback address"),
        (address.is_link_local, "a link-local address"),
        (address.is_multicast, "a multicast address"),
        (address.is_unspecified, "no address of a host"),
        (any(address in network for network in _TUNNELS), "an address of a tunnel"),
        (address.is_reserved, "a reserved address"),
        (not address.is_global, "a private address"),
        (address.version == 6 and address not in _GLOBAL_6, "a reserved address"),
    )
    return next((why for holds, why in kinds if holds), "")


def shown_url(url: str) -> str:
    """The URL as it may be shown anywhere: scheme and host. Path and query may hold a token, as Slack's do."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return DOTS
    if not host or parts.scheme not in _DEFAULT_PORTS:
        return DOTS
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}/{DOTS}"


def _parts(url: str) -> tuple[str, str, int, str]:
    if len(url) > LONGEST_URL:
        raise Refused(f"it has {len(url)} characters: at most {LONGEST_URL}")
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise Refused("it has a character that no URL has: write those that are not ASCII percent-encoded")
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        raise Refused("it cannot be read: use a URL such as https://hooks.example.com/services/…") from None
    if parts.scheme not in _DEFAULT_PORTS or not host:
        raise Refused("it is no URL of a web server: use one such as https://hooks.example.com/services/…")
    if parts.username is not None or parts.password is not None:
        raise Refused("it has a user name or a password before the host: use a token in the path")
    if port == 0:
        raise Refused("its port is 0: use one from 1 to 65535, or none")
    path = parts.path or "/"
    return parts.scheme, host, port or _DEFAULT_PORTS[parts.scheme], f"{path}?{parts.query}" if parts.query else path


def _sinks() -> frozenset[str]:
    """Origins of the tests' own, port and all, where none of this is asked."""
    found = set()
    for origin in settings.JOBOPS_ALERT_ALLOW_PRIVATE_SINK:
        parts = urlsplit(origin)
        found.add(f"{parts.scheme}://{parts.hostname}:{parts.port or _DEFAULT_PORTS[parts.scheme]}")
    return frozenset(found)


def _resolve(host: str, port: int) -> list[Address]:
    """Every address of the name, in the resolver's order. The system's resolver takes no time limit of its own."""
    answers: list[list[Address] | OSError | UnicodeError | ValueError] = []

    def ask() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
            answers.append([ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found])
        except (OSError, UnicodeError, ValueError) as error:
            answers.append(error)

    asking = threading.Thread(target=ask, name="resolve", daemon=True)
    asking.start()
    asking.join(RESOLVE_S)
    if not answers:
        raise Refused(f"the name {host} was not resolved within {RESOLVE_S:.0f} s")
    answer = answers[0]
    if not isinstance(answer, list) or not answer:
        raise Refused(f"the name {host} cannot be resolved: check it")
    return answer
