"""What an exception says about an HTTP answer, whichever library raised it.

Read by shape and never by import: requests, httpx and aiohttp hang a response on the exception, urllib's
HTTPError is the response, and others carry a bare number.
"""

from __future__ import annotations

from jobops.contracts.retry_after import LONGEST_FROM_SERVER_S, from_header


def status_of(error: BaseException) -> int | None:
    """The HTTP status an exception carries, or None."""
    if isinstance(error, SystemExit):  # its .code is the exit status of a process
        return None
    for holder in (error, _read(error, "response")):
        for name in ("status_code", "status", "code"):
            value = _read(holder, name)
            if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599:
                return int(value)
    return None


def retry_after_of(error: BaseException) -> float | None:
    """Seconds the server asked to wait, at most a day; None when it asked for nothing, or for nothing readable."""
    for holder in (_read(error, "response"), error):
        text = _header(_read(holder, "headers"), "Retry-After")
        said = None if text is None else from_header(text)
        if said is not None:
            return min(said, LONGEST_FROM_SERVER_S)
    return None


def _header(headers: object, name: str) -> str | None:
    # The libraries' mappings ignore case; a plain dict does not.
    for spelling in (name, name.lower()):
        try:
            value = headers.get(spelling)  # type: ignore[attr-defined]
        except Exception:  # noqa: BLE001 - whatever it is, it has no such header
            return None
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, bytes):
            return value.decode("latin-1")
        if isinstance(value, str):
            return value
    return None


def _read(holder: object, name: str) -> object:
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 - a property may raise: httpx's .request does when there is none
        return None
