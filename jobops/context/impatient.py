"""A transaction that does not wait long for what another one has locked: the caller comes again later instead."""

from __future__ import annotations

import sqlite3
import sys
from types import TracebackType

from django.db import DEFAULT_DB_ALIAS, OperationalError, transaction

LOCK_NOT_AVAILABLE = "55P03"
"""PostgreSQL's code for a lock that was not given within ``lock_timeout``."""


class ImpatientTransaction:
    """``transaction.atomic()`` that waits at most ``wait_s`` seconds for the locks of others, until ``be_patient``.

    Entering, and each statement, then raises an OperationalError that ``is_locked`` knows. PostgreSQL waits for a row
    or a key that an open transaction has written; SQLite for its only writer, at the beginning.
    """

    def __init__(self, wait_s: float) -> None:
        self._atomic = transaction.atomic(using=DEFAULT_DB_ALIAS)
        self._wait_ms = max(1, round(wait_s * 1000))
        self._usual: str | None = None

    def __enter__(self) -> ImpatientTransaction:
        if _is_sqlite():
            self._be_impatient()
        try:
            self._atomic.__enter__()
        except BaseException:
            self.be_patient()
            raise
        if not _is_sqlite():
            try:
                self._be_impatient()
            except BaseException:
                self._atomic.__exit__(*sys.exc_info())
                raise
        return self

    def be_patient(self) -> None:
        """From now on locks are waited for as long as usual."""
        usual, self._usual = self._usual, None
        if usual is not None:
            _set(usual)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not _is_sqlite():
            self._usual = None  # what was set in this transaction ends with it
        try:
            self._atomic.__exit__(kind, error, trace)
        finally:
            self.be_patient()

    def _be_impatient(self) -> None:
        self._usual = _set(f"{self._wait_ms}ms")


def is_locked(error: OperationalError) -> bool:
    """Whether it says that somebody else holds a lock."""
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        return cause.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
    return bool(getattr(cause, "sqlstate", "") == LOCK_NOT_AVAILABLE)


def _is_sqlite() -> bool:
    return bool(transaction.get_connection(DEFAULT_DB_ALIAS).vendor == "sqlite")


def _set(wait: str) -> str:
    """How long locks are waited for; answers what it was before."""
    with transaction.get_connection(DEFAULT_DB_ALIAS).cursor() as cursor:
        if _is_sqlite():
            cursor.execute("PRAGMA busy_timeout")
            before = f"{cursor.fetchone()[0]}ms"
            cursor.execute(f"PRAGMA busy_timeout = {int(wait.removesuffix('ms'))}")
        else:
            cursor.execute("SELECT current_setting('lock_timeout')")
            before = cursor.fetchone()[0]
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [wait])
    return str(before)
