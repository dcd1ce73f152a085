"""From which address a request came, also behind proxies."""

from __future__ import annotations

import ipaddress

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str | None:
    """The client's IP address; None if it is not known, as behind a unix socket.

    ``JOBOPS_TRUSTED_PROXIES`` proxies stand before us, and each appends the address it was reached from to
    ``X-Forwarded-For``: so many from the right stands the client. What stands further left, the client wrote itself.
    """
    hops = settings.JOBOPS_TRUSTED_PROXIES
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    if hops and len(forwarded) >= hops and (address := _address(forwarded[-hops])):
        return address
    return _address(request.META.get("REMOTE_ADDR", ""))


def _address(text: str) -> str | None:
    """The address in ``1.2.3.4``, ``1.2.3.4:567``, ``2001:db8::1`` or ``[2001:db8::1]:567``; None for anything else."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return None
