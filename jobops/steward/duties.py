"""The list of what the leading scheduler does, and how often."""

from __future__ import annotations

from jobops.scheduling.duties import Duty
from jobops.steward import intake, policies, registrations, relay
from jobops.steward.policies import PolicyAudit
from jobops.steward.reconcile import Reconciler


def duties() -> list[Duty]:
    """Fresh duties for one scheduler process (some keep a cursor)."""
    return [
        Duty("policies", policies.run, every_s=1.0),
        Duty("outbox relay", relay.Relay().run, every_s=0.5),
        Duty("dead intake", intake.run, every_s=0.5),
        Duty("reconcile", Reconciler().run, every_s=1.0, eager=False),
        Duty("policy audit", PolicyAudit().run, every_s=1.0, eager=False),
        Duty("worker registrations", registrations.run, every_s=30.0),
        Duty("outbox clean-up", relay.forget, every_s=300.0),
    ]
