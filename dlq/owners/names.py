"""Who can own a dead letter: the teams, and the names that contracts give."""

from __future__ import annotations

from django.conf import settings

from dlq.ownership import contract_owner
from jobops.contracts import registry
from tenants.models import Team


def contract_owners() -> set[str]:
    """The names that the contracts of this process give."""
    return {owner for job_type in registry.all_types() if (owner := contract_owner(job_type.name))}


def known_owners() -> set[str]:
    """All names that can be given letters: a team's, a contract's, and the default."""
    return {*Team.objects.values_list("name", flat=True), *contract_owners(), settings.JOBOPS_DEFAULT_OWNER}
