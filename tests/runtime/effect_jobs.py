"""Job types with effects: each writes a line into a ledger, which is a file, for what it does."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from jobops import Backoff, current_job, job

PROMISES: dict[str, Any] = {
    "owner": "tests",
    "drain_sla": "1h",
    "timeout": "60s",
    "max_attempts": 3,
    "backoff": Backoff.fixed("1ms"),
    "lane": "interactive",
}


def write(ledger: str, line: object) -> None:
    with Path(ledger).open("a") as file:
        file.write(f"{line}\n")


def read(ledger: Path) -> list[str]:
    return ledger.read_text().split() if ledger.exists() else []


@job(name="effects.walk", idempotent="works item by item", **PROMISES)
def walk(ledger: str, items: int, size: int, stop_at: int, kill: bool = False) -> int:
    """Works off 1 … ``items`` in batches; its first attempt stops before item ``stop_at``. Answers where it began."""
    me = current_job()
    began = me.state["after"] if me.state else 0
    for first in range(began + 1, items + 1, size):
        last = min(first + size - 1, items)
        for item in range(first, last + 1):
            if me.attempt == 1 and item == stop_at:
                if kill:
                    os.kill(os.getpid(), signal.SIGKILL)
                raise RuntimeError("stopped")
            write(ledger, item)
        me.checkpoint({"after": last})
        me.progress(last, items)
    return began


@job(name="effects.slip", idempotent="adds nothing", **PROMISES)
def slip(ledger: str) -> None:
    """Gets to 400 of 1,000 in its first attempt, and fails at its first step in each later one."""
    me = current_job()
    write(ledger, me.state)
    if me.state is None:
        me.checkpoint(400)
        me.progress(400, 1_000)
    raise RuntimeError("the first step")


@job(name="effects.charge", guard=lambda ledger, order, **rest: f"charge:{order}", **PROMISES)
def charge(ledger: str, order: int, note: str = "") -> str:
    write(ledger, f"charged-{order}")
    return f"receipt-{order}"


@job(name="effects.pay", idempotent="charges once", lease="2s", **{**PROMISES, "max_attempts": 1})
def pay(ledger: str, order: int, wait_for: str = "") -> str:
    """Charges, once it may go on."""
    write(ledger, f"started-{current_job().id}")
    while wait_for and not Path(wait_for).exists():
        time.sleep(0.01)
    with current_job().once(f"charge:{order}", on_unknown="dead") as effect:
        if not effect.done:
            write(ledger, f"charged-{order}")
            effect.result = f"receipt-{order}"
        return str(effect.result)


@job(name="effects.hesitate", idempotent="by once, under a key of its own", lease="2s", **PROMISES)
def hesitate(ledger: str) -> str:
    """Begins its effect, and ends it in its second attempt only."""

    def effect() -> str:
        attempt = current_job().attempt
        write(ledger, f"begun-{attempt}")
        while attempt == 1:
            time.sleep(0.01)
        return "done"

    return current_job().once("effect").run(effect)


@job(name="effects.text", idempotent="changes nothing", **PROMISES)
def text(size: int) -> str:
    return "x" * size
