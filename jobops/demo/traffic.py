"""The demo's customers at work: small jobs from everybody, and one shop that floods its own queue.

Rates and backlogs are bounded. Whoever has many jobs waiting sends no more until some have run, so a demo that is
left alone for a week is as busy as on its first minute.
"""

from __future__ import annotations

import logging
import random
import signal
import time
from collections.abc import Callable, Mapping
from types import FrameType

import redis

from dlq.models import UNDRAINED, DeadLetter
from jobops.demo.cast import ACME, SHOPS, Shop
from jobops.demo.streams import OPENING, STREAMS, Send, Stream, flood
from jobops.engine.errors import EngineError
from jobops.engine.queues import read_queues
from jobops.runtime import get_engine

log = logging.getLogger(__name__)

FLOOD_QUEUE = (ACME.slug, "bulk")
FLOOD_SIZE = 4_000
"""Jobs waiting in the flooded queue after each burst."""
FLOOD_AGAIN_AT = 2_500
"""The next burst comes when fewer are left."""
FLOOD_CHUNK = 150
"""Jobs of a burst sent in one round, so that the others' are sent in between."""
STOP_SENDING_AT = 300
"""A shop with more jobs waiting than this (the flood apart) sends no more."""
STOP_PAYING_AT = 60
"""While so many payments are dead letters that nobody has drained, no more are sent: the provider's outage lasts until
somebody mends it, which may be never."""
LOOK_EVERY_S = 2.0
TICK_S = 0.1


class Traffic:
    """Sends what is due. ``waiting`` answers how many jobs wait, by shop and lane; ``unpaid``: how many payments are
    dead letters that nobody has drained."""

    def __init__(
        self,
        waiting: Callable[[], Mapping[tuple[str, str], int]],
        *,
        rng: random.Random | None = None,
        now: Callable[[], float] = time.monotonic,
        unpaid: Callable[[], int] = lambda: 0,
    ) -> None:
        self._rng = rng or random.Random()
        self._now = now
        self._read_waiting = waiting
        self._read_unpaid = unpaid
        self._unpaid = 0
        self._waiting: Mapping[tuple[str, str], int] = {}
        self._looked = float("-inf")
        self._due = {stream: now() + self._pause(stream) for stream in STREAMS}
        self._burst_left = 0
        self.sent = 0
        self.refused = 0

    def opening(self) -> None:
        """Send one of each thing that can happen."""
        for shop, send in OPENING:
            self._send(shop, send)

    def tick(self) -> None:
        """One round. Raises what reading the queues raises."""
        now = self._now()
        if now - self._looked >= LOOK_EVERY_S:
            self._waiting, self._unpaid, self._looked = self._read_waiting(), self._read_unpaid(), now
            self._plan_burst()
        for stream in STREAMS:
            if self._due[stream] <= now:
                self._due[stream] = now + self._pause(stream)
                held = stream.pays and self._unpaid >= STOP_PAYING_AT
                if not held and self._backlog(stream.shop) < STOP_SENDING_AT:
                    self._send(stream.shop, stream.send)
        chunk = min(self._burst_left, FLOOD_CHUNK)
        self._burst_left -= chunk
        if chunk:
            refusals = flood(self._rng, ACME, chunk)
            self.sent += chunk - len(refusals)
            self.refused += len(refusals)

    def _plan_burst(self) -> None:
        flood = self._waiting.get(FLOOD_QUEUE, 0)
        if self._burst_left == 0 and flood < FLOOD_AGAIN_AT:
            self._burst_left = FLOOD_SIZE - flood

    def _backlog(self, shop: Shop) -> int:
        return sum(n for queue, n in self._waiting.items() if queue[0] == shop.slug and queue != FLOOD_QUEUE)

    def _pause(self, stream: Stream) -> float:
        return self._rng.expovariate(stream.per_minute / 60)

    def _send(self, shop: Shop, send: Send) -> None:
        try:
            send(self._rng, shop)
            self.sent += 1
        except EngineError as error:  # paused intake, depth limit, a tenant that somebody deleted
            self.refused += 1
            if self.refused & (self.refused - 1) == 0:  # the 1st, 2nd, 4th, 8th …
                log.warning("refused (%d so far): %s", self.refused, error)


def waiting_now() -> Mapping[tuple[str, str], int]:
    """How many jobs wait, by shop and lane."""
    queues = read_queues(get_engine(), [shop.slug for shop in SHOPS])
    return {(queue.tenant, queue.lane): queue.depth for queue in queues}


def unpaid_now() -> int:
    """How many payments are dead letters that nobody has drained."""
    letters = DeadLetter.objects.filter(job_type="billing.capture_payment", state__in=UNDRAINED)
    return letters[:STOP_PAYING_AT].count()


def send_until_stopped() -> None:
    """Send until SIGTERM or SIGINT."""
    stopping = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    traffic = Traffic(waiting_now, unpaid=unpaid_now)
    traffic.opening()
    while not stopping:
        try:
            traffic.tick()
        except redis.RedisError as error:
            log.warning("Redis is away: %s", error)
            time.sleep(1)
        time.sleep(TICK_S)
