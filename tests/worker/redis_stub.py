"""Something in the place of Redis that takes every request and answers each with one error."""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.worker.cutting_proxy import parse


class RedisStub:
    """Listens on the unix socket at ``path`` from `__enter__` to `__exit__`. ``asked``: how many requests it had."""

    def __init__(self, path: Path, error: str) -> None:
        self.asked = 0
        self._path = path
        self._answer = f"-{error}\r\n".encode()
        self._open: list[socket.socket] = []

    def __enter__(self) -> Self:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self._path))
        listener.listen(64)
        self._open = [listener]
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._path.unlink(missing_ok=True)

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                self._open.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        buffer = b""
        with contextlib.suppress(OSError):
            while chunk := client.recv(1 << 20):
                requests, buffer = parse(buffer + chunk)
                self.asked += len(requests)
                client.sendall(self._answer * len(requests))
