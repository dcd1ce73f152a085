"""A proxy before Redis that loses answers: every request is carried out, and its first answer never arrives."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import Counter
from pathlib import Path

# Without these there is no connection to cut.
SPARED = {b"HELLO", b"CLIENT", b"AUTH", b"SELECT", b"PING", b"SCRIPT"}


class CuttingProxy:
    """Listens on a unix socket at `path`, before the server's at `upstream`.

    Requests are told apart by `_name`. The first answer to each is dropped together with the connection; later ones
    pass. ``cut`` counts what was dropped.
    """

    def __init__(self, path: Path, upstream: str) -> None:
        self.path = path
        self.cut: Counter[bytes] = Counter()
        self._upstream = upstream
        self._seen: set[tuple[bytes, ...]] = set()
        self._lock = threading.Lock()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(64)
        self._open: list[socket.socket] = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"unix://{self.path}"

    def close(self) -> None:
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._upstream)
            self._open += [client, server]
            threading.Thread(target=self._carry, args=(client, server), daemon=True).start()

    def _carry(self, client: socket.socket, server: socket.socket) -> None:
        """One connection: request by request, as redis-py sends the next only after the answer."""
        with contextlib.suppress(OSError, ValueError), client, server:
            buffer = b""
            while True:
                chunk = client.recv(1 << 20)
                if not chunk:
                    return
                buffer += chunk
                requests, rest = parse(buffer)
                if rest or not requests:
                    continue
                server.sendall(buffer)
                buffer = b""
                is_cut = self._is_cut(requests)
                for _ in requests:
                    answer = read_answer(server)
                    if not is_cut:
                        client.sendall(answer)
                if is_cut:
                    return

    def _is_cut(self, requests: list[list[bytes]]) -> bool:
        with self._lock:
            new = [name for name in map(_name, requests) if name and name not in self._seen]
            self._seen.update(new)
            self.cut.update(name[0] for name in new)
            return bool(new)


def _name(request: list[bytes]) -> tuple[bytes, ...]:
    command = request[0].upper()
    if command in SPARED:
        return ()
    # Tokens and times are new with every try. What stays are, of a claim or settle, script, slot and request number;
    # of a script without arguments, the script; and of a plain command its key.
    if command != b"EVALSHA":
        return tuple(request[:2])
    return (command, request[1], *(request[4:6] if len(request) > 5 else ()))


def parse(buffer: bytes) -> tuple[list[list[bytes]], bytes]:
    """Whole requests, and what is left of a part of one."""
    requests = []
    while buffer:
        try:
            line, rest = buffer.split(b"\r\n", 1)
            parts = []
            for _ in range(int(line[1:])):
                length, rest = rest.split(b"\r\n", 1)
                size = int(length[1:])
                if len(rest) < size + 2:
                    raise ValueError
                parts.append(rest[:size])
                rest = rest[size + 2 :]
        except ValueError:
            return requests, buffer
        requests.append(parts)
        buffer = rest
    return requests, b""


def read_answer(server: socket.socket) -> bytes:
    """One whole answer of the server, byte for byte. Raises OSError at its end."""
    line = _read_line(server)
    kind, value = line[:1], line[1:-2]
    if kind in b"$=!" and value != b"-1":
        return line + _read(server, int(value) + 2)
    if kind in b"*~>%" and value != b"-1":
        return line + b"".join(read_answer(server) for _ in range(int(value) * (2 if kind == b"%" else 1)))
    return line


def _read_line(server: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\r\n"):
        line += _read(server, 1)
    return line


def _read(server: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = server.recv(size - len(data))
        if not chunk:
            raise OSError("closed")
        data += chunk
    return data
