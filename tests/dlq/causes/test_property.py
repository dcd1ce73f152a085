"""Whatever happens in whatever order, the counts are what the letters say, and the deaths what has happened."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from dlq.models import DeadLetter, DeadLetterGroup, GroupSpan, GroupTenant, State
from jobops.engine.client import Engine
from tenants.models import Tenant
from tests.dlq.causes.ways import Run, discard, end, purge, replay, take_in, undo, wrong

pytestmark = pytest.mark.django_db(transaction=True)

CAUSES = ["torn", "wet", "burnt"]
ENDS = [Run.SUCCEEDED, Run.DIED, Run.DIED, Run.CANCELLED, Run.LOST, Run.DISCARDED]
STEPS = 60


class World:
    """Letters that things happen to, and how often each cause has killed something."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.tenants: list[Tenant | None] = [Tenant.objects.create(slug=f"t{n}") for n in range(3)]
        self.tenants.append(None)
        self.deaths: Counter[str] = Counter()
        self.of_tenants = 0

    def step(self) -> str:
        """One thing, of those that can happen now."""
        ways: list[tuple[Callable[[DeadLetter], None], str]] = [
            (self.replay, State.OPEN), (discard, State.OPEN), (self.end, State.REPLAYING), (self.end, State.REPLAYING),
            (undo, State.DISCARDED), (purge, State.RESOLVED), (purge, State.DISCARDED),
        ]  # fmt: skip
        way, state = self.dice.choice(ways)
        letters = list(DeadLetter.objects.filter(state=state).order_by("pk"))
        if not letters or self.dice.random() < 0.3:
            cause = self.dice.choice(CAUSES)
            tenant = self.dice.choice(self.tenants)
            self.died(cause, tenant is not None)
            take_in(tenant, cause)
            return f"death of {cause}"
        letter = self.dice.choice(letters)
        way(letter)
        return f"{getattr(way, '__name__', way)} of {letter.pk}"

    def died(self, cause: str, has_tenant: bool) -> None:
        self.deaths[cause] += 1
        self.of_tenants += has_tenant

    def replay(self, letter: DeadLetter) -> None:
        if letter.tenant_id is not None:
            replay(letter)

    def end(self, letter: DeadLetter) -> None:
        state, cause = self.dice.choice(ENDS), self.dice.choice(CAUSES)
        end(letter, state, cause)
        if state == Run.DIED:
            self.died(cause, True)
        if state == Run.LOST and self.dice.random() < 0.5:
            # It was not, after all.
            late = self.dice.choice([Run.SUCCEEDED, Run.DIED])
            end(letter, late, cause, attempt=2)
            if late == Run.DIED:
                self.died(cause, True)


@pytest.mark.parametrize("seed", range(8))
def test_the_counts_are_true_after_every_step(both: Engine, seed: int) -> None:
    world = World(seed)
    told = []
    for _ in range(STEPS):
        told.append(world.step())
        assert wrong() == [], told
    kept = dict(DeadLetterGroup.objects.values_list("title", "deaths"))
    assert kept == {f"ValueError: {cause}": count for cause, count in world.deaths.items()}, told
    assert sum(GroupTenant.objects.values_list("deaths", flat=True)) == world.of_tenants, told
    assert sum(GroupSpan.objects.values_list("deaths", flat=True)) == sum(kept.values()), told
