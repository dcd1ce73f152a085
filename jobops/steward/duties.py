"""The list of what the leading scheduler does, and how often."""

from __future__ import annotations

from jobops.scheduling.duties import Duty
from jobops.steward import (
    alerts,
    batches,
    bulk,
    causes,
    effects,
    intake,
    outcomes,
    owners,
    policies,
    registrations,
    relay,
    replay_watch,
    retention,
    statistics,
    waits,
)
from jobops.steward.limits import Limits
from jobops.steward.policies import PolicyAudit
from jobops.steward.reconcile import Reconciler


def duties() -> list[Duty]:
    """Fresh duties for one scheduler process (some keep a cursor)."""
    return [
        Duty("policies", policies.run, every_s=1.0),
        Duty("limits and pauses", Limits().run, every_s=2.0, eager=False),
        Duty("outbox relay", relay.Relay().run, every_s=0.5),
        Duty("dead intake", intake.run, every_s=0.5),
        Duty("replay outcomes", outcomes.run, every_s=0.5),
        Duty("replay watch", replay_watch.run, every_s=1.0),
        Duty("reconcile", Reconciler().run, every_s=1.0, eager=False),
        Duty("policy audit", PolicyAudit().run, every_s=1.0, eager=False),
        Duty("worker registrations", registrations.run, every_s=30.0),
        Duty("outbox clean-up", relay.forget, every_s=300.0),
        Duty("once clean-up", effects.forget, every_s=300.0),
        Duty("bulk actions", bulk.BulkActions().run, every_s=0.5),
        Duty("owners and clocks", owners.run, every_s=0.5),
        Duty("causes", causes.run, every_s=2.0),
        Duty("causes clean-up", causes.forget, every_s=300.0),
        Duty("waits beside replays", waits.run, every_s=5.0, eager=False),
        Duty("batches", batches.BatchCounting().run, every_s=0.5, eager=False),
        Duty("batch watch", batches.BatchWatch().run, every_s=5.0, eager=False),
        Duty("batch clean-up", batches.forget, every_s=300.0),
        Duty("bulk drafts clean-up", bulk.forget_drafts, every_s=300.0),
        # Not in a hurry: on SQLite each batch keeps all other writers waiting.
        Duty("retention", retention.run, every_s=5.0, eager=False),
        Duty("statistics", statistics.run, every_s=5.0, eager=False),
        Duty("alerts", alerts.run, every_s=5.0, eager=False),
        Duty("alerts clean-up", alerts.forget, every_s=300.0),
    ]
