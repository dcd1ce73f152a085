"""The customers' side of the demo's webhooks, and the shop's file store: a small HTTP server on loopback.

It behaves as such servers do. `POST /hooks/<endpoint>` answers by the endpoint's nature (see ENDPOINTS): a rate
limit that answers 429 with Retry-After, an outage every minute that answers 503, a strict schema that answers 400,
an unsubscribed customer that answers 410. Whoever is down (see MODES) answers 503 at once.
`PUT /files/<path>` takes a file in, at the speed of a network store. `GET /stats` tells what was answered, as JSON.

`GET /control` tells how each endpoint is, and `POST /control/<endpoint>/<mode>` changes it: see MODES. It needs the
header of CONTROL_HEADER, which no page of another site can send. `POST /alerts` takes signed alerts (see
``jobops.demo.sink``), and `GET /alerts` tells the newest.
"""

from __future__ import annotations

import argparse
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from jobops.demo.sink import Sink

MAX_BODY_BYTES = 4 * 1024 * 1024
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How one customer's server behaves. ``latency_s``: of each answer. ``per_second``: more is answered 429 with
    ``retry_after_s``. ``down_s`` of every ``period_s`` seconds it answers 503. ``required``: fields without which an
    event is answered 400. ``gone``: it answers 410 to all."""

    latency_s: float = 0.02
    per_second: float = 0.0
    retry_after_s: int = 2
    down_s: float = 0.0
    period_s: float = 60.0
    required: tuple[str, ...] = ()
    gone: bool = False


ENDPOINTS: Mapping[str, Endpoint] = {
    "warehouse": Endpoint(latency_s=0.03),
    "crm": Endpoint(latency_s=0.06, per_second=2.0),
    "ledger": Endpoint(latency_s=0.04, down_s=6.0),
    "tax-office": Endpoint(latency_s=0.05, required=("order", "total", "vat_id")),
    "old-shop": Endpoint(gone=True),
    "payments": Endpoint(latency_s=0.03),
}
STORE_LATENCY_S = 0.2
DOWN_LATENCY_S = 0.005
MODES = ("usual", "mended", "broken")
"""By its nature; well, whatever its nature is; or down."""
CONTROL_HEADER = "X-Jobops-Demo"


@dataclass(slots=True)
class Bucket:
    """A token bucket of one second's worth (at least one token)."""

    rate: float
    now: Clock
    tokens: float = field(init=False)
    at: float = field(init=False)

    def __post_init__(self) -> None:
        self.tokens, self.at = max(self.rate, 1.0), self.now()

    def take(self) -> bool:
        """Take one token if there is one."""
        now = self.now()
        self.tokens = min(max(self.rate, 1.0), self.tokens + (now - self.at) * self.rate)
        self.at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class Desk:
    """Decides each answer. Safe to call from many threads."""

    def __init__(self, endpoints: Mapping[str, Endpoint] = ENDPOINTS, *, now: Clock = time.monotonic) -> None:
        self._endpoints = endpoints
        self._now = now
        self._born = now()
        self._lock = threading.Lock()
        self._buckets = {name: Bucket(e.per_second, now) for name, e in endpoints.items() if e.per_second}
        self._answers: Counter[tuple[str, int]] = Counter()
        self._files: Counter[str] = Counter()
        self._modes = dict.fromkeys(endpoints, "usual")

    def set_mode(self, name: str, mode: str) -> bool:
        """Mend or break an endpoint; answers whether there is such an endpoint and such a mode."""
        if name not in self._endpoints or mode not in MODES:
            return False
        with self._lock:
            self._modes[name] = mode
        return True

    def control(self) -> dict[str, dict[str, Any]]:
        """How each endpoint is, and what it has answered so far, by status."""
        hooks = self.stats()["hooks"]
        with self._lock:
            return {name: {"mode": mode, "answers": hooks.get(name, {})} for name, mode in self._modes.items()}

    def hook(self, name: str, body: bytes) -> tuple[int, dict[str, str], str]:
        """Answer a webhook: status, extra headers, text."""
        endpoint = self._endpoints.get(name)
        with self._lock:
            answer = self._judge(name, endpoint, body)
            self._answers[name, answer[0]] += 1
        return answer

    def latency(self, name: str) -> float:
        """How long, in seconds, this endpoint takes to answer."""
        endpoint = self._endpoints.get(name)
        if endpoint is None:
            return 0.0
        # Who is down is told to be by the proxy before it, at once.
        return DOWN_LATENCY_S if self._modes[name] == "broken" else endpoint.latency_s

    def stored(self, folder: str, size: int) -> None:
        """Count a file that was put into the store."""
        with self._lock:
            self._files["files"] += 1
            self._files["bytes"] += size
            self._files[f"files in {folder}"] += 1

    def stats(self) -> dict[str, Any]:
        """Answers given by endpoint and status, and files stored."""
        with self._lock:
            hooks: dict[str, dict[str, int]] = {}
            for (name, status), count in self._answers.items():
                hooks.setdefault(name, {})[str(status)] = count
            return {"hooks": hooks, "store": dict(self._files)}

    def _judge(self, name: str, endpoint: Endpoint | None, body: bytes) -> tuple[int, dict[str, str], str]:
        if endpoint is None:
            return 404, {}, f"no endpoint is called {name!r}"
        mode = self._modes[name]
        if mode == "broken":
            return 503, {}, "we are down for maintenance, and do not know for how long"
        if mode == "mended":
            return 200, {}, "thank you"
        if endpoint.gone:
            return 410, {}, "this customer has unsubscribed"
        if endpoint.down_s and (self._now() - self._born) % endpoint.period_s >= endpoint.period_s - endpoint.down_s:
            return 503, {}, "we are restarting, back in a moment"
        if name in self._buckets and not self._buckets[name].take():
            return 429, {"Retry-After": str(endpoint.retry_after_s)}, "too many requests"
        return _check(endpoint, body)


def _check(endpoint: Endpoint, body: bytes) -> tuple[int, dict[str, str], str]:
    try:
        event = json.loads(body)
    except ValueError:
        return 400, {}, "the body is not JSON"
    missing = [name for name in endpoint.required if not isinstance(event, dict) or not event.get(name)]
    if missing:
        return 400, {}, f"missing: {', '.join(missing)}"
    return 200, {}, "thank you"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 10
    desk: Desk
    sink: Sink

    def do_POST(self) -> None:
        body = self._body()
        prefix, _, name = self.path.lstrip("/").partition("/")
        if body is None:
            return
        if prefix == "control":
            self._control(*name.partition("/")[::2])
            return
        if prefix == "alerts":
            status, text = self.sink.take(dict(self.headers), body)
            self._answer(status, {}, text)
            return
        if prefix != "hooks":
            self._answer(404, {}, "POST /hooks/<endpoint>")
            return
        time.sleep(self.desk.latency(name))
        self._answer(*self.desk.hook(name, body))

    def do_PUT(self) -> None:
        body = self._body()
        prefix, _, path = self.path.lstrip("/").partition("/")
        if body is None:
            return
        if prefix != "files" or not path:
            self._answer(404, {}, "PUT /files/<path>")
            return
        time.sleep(STORE_LATENCY_S)
        self.desk.stored(path.partition("/")[0], len(body))
        self._answer(201, {}, "stored")

    def do_GET(self) -> None:
        tellers: dict[str, Callable[[], Any]] = {
            "/stats": self.desk.stats,
            "/control": self.desk.control,
            "/alerts": self.sink.messages,
        }
        told = tellers.get(self.path)
        if told is None:
            self._answer(404, {}, f"GET {' or '.join(tellers)}")
            return
        self._answer(200, {"Content-Type": "application/json"}, json.dumps(told()))

    def _control(self, name: str, mode: str) -> None:
        # Any page that a browser on this machine shows may post here, but for a header of its own.
        if not self.headers.get(CONTROL_HEADER):
            self._answer(403, {}, f"the header {CONTROL_HEADER} is missing")
        elif self.desk.set_mode(name, mode):
            self._answer(200, {}, f"{name} is {mode}")
        else:
            self._answer(404, {}, f"POST /control/<endpoint>/<{' or '.join(MODES)}>")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing: the answers are counted, and /stats tells them."""

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or int(length) > MAX_BODY_BYTES:
            self.close_connection = True
            self._answer(413 if length.isdigit() else 411, {}, f"Content-Length: at most {MAX_BODY_BYTES} bytes")
            return None
        return self.rfile.read(int(length))

    def _answer(self, status: int, headers: dict[str, str], text: str) -> None:
        payload = text.encode()
        self.send_response(status, HTTPStatus(status).phrase)
        for name, value in {"Content-Type": "text/plain; charset=utf-8", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)


def make_server(listener: socket.socket, desk: Desk | None = None, sink: Sink | None = None) -> ThreadingHTTPServer:
    """A server on a socket that already listens."""
    handler = type("Handler", (_Handler,), {"desk": desk or Desk(), "sink": sink or Sink()})
    server = ThreadingHTTPServer(listener.getsockname()[:2], handler, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    server.daemon_threads = True
    return server


def main() -> None:
    """Serve on an inherited, listening socket until killed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--fd", type=int, required=True, help="file descriptor of a listening TCP socket")
    parser.add_argument("--key-file", type=Path, required=True, help="holds what alerts are signed with")
    args = parser.parse_args()
    sink = Sink(args.key_file.read_text().strip())
    with make_server(socket.socket(fileno=args.fd), sink=sink) as server:
        server.serve_forever(poll_interval=0.5)


if __name__ == "__main__":
    main()
