"""The examples of docs/side-effects.md are contracts without a fault, and do what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import jobops
from jobops import current_job, job
from jobops.contracts.registry import Registry, temporary_registry
from jobops.contracts.running import RunningJob, running

PAGE = Path(__file__).parents[2] / "docs" / "side-effects.md"


def test_every_example_runs(db: None) -> None:
    done: list[Any] = []
    world: dict[str, Any] = {
        "job": job,
        "current_job": current_job,
        "running": running,
        "RunningJob": RunningJob,
        "orders": SimpleNamespace(
            get=lambda order_id: SimpleNamespace(amount=5), mark_paid=lambda *paid: done.append(("paid", *paid))
        ),
        "payments": SimpleNamespace(charge=lambda amount, **more: done.append(("charged", amount)) or "receipt"),
        "users": SimpleNamespace(address=lambda user_id: "a@example.com"),
        "mail": SimpleNamespace(send=lambda **mail: done.append(("sent", mail["subject"]))),
        "accounts": SimpleNamespace(add=lambda *credit: done.append(("added", *credit))),
        "index": SimpleNamespace(rewrite=lambda after, rows: done.append(("rows", after)) or after + rows),
    }
    with temporary_registry() as registry:
        for example in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
            exec(compile(example, PAGE.name, "exec"), world)
        assert done == [("rows", 0), ("rows", 500)], "as the example of a test does"
        check(registry)
    done.clear()
    with running(RunningJob("job-1", "acme", "bulk", "shop", 1, 5, "chain-1")):
        for _ in range(2):
            world["settle_order"](42)
            world["add_credit"](1, 500, "welcome")
    assert done.count(("charged", 5)) == done.count(("added", 1, 500)) == 1
    assert done.count(("paid", 42, "receipt")) == 2


def check(registry: Registry) -> None:
    types = registry.all()
    assert len(types) == 5
    assert [fault for each in types for fault in each.faults] == []


@pytest.mark.parametrize("name", ["OutcomeUnknown", "EffectNotRecorded", "LeaseLost"])
def test_the_errors_that_it_names_are_public(name: str) -> None:
    assert name in PAGE.read_text()
    assert hasattr(jobops, name)
