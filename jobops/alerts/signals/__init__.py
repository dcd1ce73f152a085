"""The signals: what is watched, with what threshold, and who is told unless a rule says otherwise."""

from __future__ import annotations

from jobops.alerts.signals import causes, deadlines, flow, machines, queues, redis_setup, run_times, storage
from jobops.alerts.signals.base import YES_OR_NO, Reading, Signal

SIGNALS: dict[str, Signal] = {
    signal.name: signal
    for module in (causes, deadlines, queues, run_times, machines, flow, redis_setup, storage)
    for signal in module.SIGNALS
}
"""Every signal by its name, in the order in which people read of them."""

__all__ = ["SIGNALS", "YES_OR_NO", "Reading", "Signal"]
