"""The scheduler process: rq-scheduler's registration, sorted set and loop, with our own lock, steps and duties."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import rq_scheduler
from rq.job import Job
from rq.serializers import JSONSerializer

from jobops.engine.client import Engine
from jobops.scheduling.aside import Aside
from jobops.scheduling.clockwork import Clockwork
from jobops.scheduling.duties import Agenda, Context, Duty
from jobops.scheduling.stopping import Stopper

log = logging.getLogger("jobops.scheduler")

LOCK = "scheduler"
LOCK_TTL_S = 5.0
"""A leader that died or hangs is followed by another one after so long."""
ROUND_S = 1.0
"""The longest time between two looks at the lock."""
FORCED_EXIT_S = 2.0
"""A duty that hangs (a database that does not answer) holds up the exit at most so long."""


class JsonJob(Job):
    """RQ's job with JSON for arguments: what is read from Redis is never unpickled."""

    def __init__(self, id: str | None = None, connection: Any = None, serializer: Any = None) -> None:  # noqa: A002
        super().__init__(id, connection, serializer or JSONSerializer)


class Scheduler(rq_scheduler.Scheduler):
    """Any number may run; the holder of the lock leads and does the duties, all of them promote and rescue.

    Leadership saves work, it is not what correctness rests on: every duty is right when two processes do it.
    """

    def __init__(
        self,
        engine: Engine,
        duties: Sequence[Duty],
        *,
        lock_ttl_s: float = LOCK_TTL_S,
        lease_s: float = 30.0,
        housekeeping: Callable[[], object] = lambda: None,
        asides: Sequence[Aside] = (),
    ) -> None:
        """``lease_s``: the usual lease. ``housekeeping`` is called before each round of duties
        (fresh database connections). ``asides``: what runs beside all that, each in a thread of its own."""
        super().__init__(connection=engine.redis, interval=ROUND_S, job_class=JsonJob, name=uuid4().hex)
        self.engine = engine
        self.log = log
        self.agenda = Agenda(duties)
        self.lock_ttl_s = lock_ttl_s
        self.housekeeping = housekeeping
        self.asides = tuple(asides)
        self.stop = threading.Event()
        self.clockwork = Clockwork(engine, self.stop, lease_s=lease_s)
        self._away = False

    @property
    def leads(self) -> bool:
        """Whether this process held the lock when it last looked."""
        return bool(self._lock_acquired)

    def acquire_lock(self) -> bool:
        """Take the lock or keep it. False while another process holds it: a leader that slept finds out here."""
        led = self.leads
        self._lock_acquired = self.engine.scripts.lock(LOCK, self.name, int(self.lock_ttl_s * 1000))
        if led != self.leads:
            log.info("scheduler %s %s", self.name, "leads" if self.leads else "stands down: another one leads")
        return self.leads

    def remove_lock(self) -> None:
        """Give the lock back, if it is still ours."""
        if self._lock_acquired:
            self._lock_acquired = False
            self.engine.scripts.unlock(LOCK, self.name)

    def enqueue_jobs(self) -> int:
        """Move what is due in one atomic step per batch; answers how many. Raises as ``Clockwork.drain``."""
        return self.clockwork.drain()

    def heartbeat(self) -> None:
        """Stay registered; register anew if the entry expired meanwhile (Redis was away, or we were stopped)."""
        if not self.connection.exists(self.key):
            self.register_birth()
        super().heartbeat()

    def run(self, burst: bool = False) -> None:
        """Work until SIGTERM or SIGINT. With ``burst``, do everything once; raises ExceptionGroup if duties failed."""
        if burst:
            self.run_once()
            return
        self._install_signal_handlers()
        log.info("scheduler %s started", self.name)
        try:
            while not self.stop.is_set():
                self.clockwork.keep_running()
                for aside in self.asides:
                    aside.keep_running(self.stop)
                self.stop.wait(self._round())
        finally:
            self._leave()

    def run_once(self) -> dict[str, int]:
        """Promotion, rescue, each duty and each aside until nothing is left, whoever leads; answers what each did.

        Raises ExceptionGroup when some failed, after the others have run.
        """
        self.housekeeping()
        done: dict[str, int] = {}
        failures: list[Exception] = []
        try:
            done["promotion and rescue"] = self.enqueue_jobs()
        except ExceptionGroup as group:
            failures.extend(group.exceptions)
        for name, result in self.agenda.run_all(self._context()).items():
            if isinstance(result, Exception):
                failures.append(result)
            else:
                done[name] = result
        for aside in self.asides:
            try:
                done[aside.name] = aside.drain()
            except Exception as error:  # noqa: BLE001  (told below, with the others)
                failures.append(error)
        if failures:
            raise ExceptionGroup("duties failed", failures)
        return done

    def _round(self) -> float:
        """One look at the lock and the duties that are due; answers how many seconds to wait."""
        if not self._leads_now(first=True):
            return ROUND_S
        self.agenda.run_due(self._context(), between=self._leads_now)
        return self.agenda.wait_s(ROUND_S)

    def _leads_now(self, first: bool = False) -> bool:
        """Whether to go on with duties; whatever Redis does, the answer is no and the next round asks again."""
        if self.stop.is_set():
            return False
        try:
            if first:
                self.heartbeat()
                self.housekeeping()
            self.acquire_lock()
        except Exception as error:  # noqa: BLE001  (the loop goes on)
            if not self._away:
                log.error("the scheduler stands back for a moment: %s: %s", type(error).__name__, error)
            self._lock_acquired, self._away = False, True
        else:
            self._away = False
        return self.leads

    def _context(self) -> Context:
        return Context(engine=self.engine, stopping=self.stop.is_set)

    def _install_signal_handlers(self) -> None:
        Stopper(self.stop, FORCED_EXIT_S).install()

    def _leave(self) -> None:
        try:
            self.remove_lock()
            self.register_death()
        except Exception as error:  # noqa: BLE001  (what is not signed off expires)
            log.warning("could not sign off: %s: %s", type(error).__name__, error)
        log.info("scheduler %s stopped", self.name)
