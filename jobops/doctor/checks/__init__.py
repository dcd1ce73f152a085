"""The checks, one small file each, in the order in which they are run and told."""

from jobops.doctor.checks import (
    batches,
    causes,
    epoch,
    flight,
    jobs,
    limits,
    outbox,
    owners,
    policies,
    processes,
    queues,
    redis_setup,
    replays,
    revived,
    rings,
    search,
    sources,
)
from jobops.doctor.examination import Check

# What others rest on comes first: who mends a ring needs the policy, who mends a letter the jobs.
CHECKS: tuple[Check, ...] = (
    redis_setup.check,
    epoch.check,
    processes.check,
    policies.check,
    limits.check,
    jobs.check,
    flight.check,
    rings.check,
    queues.check,
    outbox.check,
    batches.check,
    replays.check,
    sources.check,
    revived.check,
    owners.check,
    causes.check,
    search.check,
)
