"""``manage.py batches``."""

from __future__ import annotations

import pytest

from jobops.audit.models import AuditEntry
from jobops.engine.client import Engine
from tests.runtime.asking import ask, refusal, text
from tests.runtime.batch_factory import POISON, count, end, filled
from tests.runtime.factory import tenant, waiting

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_lists_shows_and_cancels(both: Engine) -> None:
    tenant("beta")
    done, stuck = filled(0, name="Empty"), filled(3, name="Import 2026-11")
    end(both, None, POISON)
    other = filled(1, tenant="beta")
    count(both)
    assert [row["id"] for row in ask("batches", "list")] == [other.id, stuck.id, done.id]
    assert [row["id"] for row in ask("batches", "list", "--tenant", "acme", "--state", "stuck")] == [stuck.id]
    assert [row["id"] for row in ask("batches", "list", "--limit", "1")] == [other.id]
    assert "Import 2026-11" in text("batches", "list")
    shown = ask("batches", "show", stuck.id)
    wanted = {"state": "stuck", "total": 3, "left": 1, "succeeded": 1, "dead": 1, "parked": 0, "then": "tests.after"}
    assert {name: shown[name] for name in wanted} == wanted
    assert (shown["then_job_id"], shown["ended_at"]) == (None, None)
    assert "succeeded       1" in text("batches", "show", stuck.id)
    assert ask("batches", "cancel", stuck.id, "--reason", "wrong file") == {"id": stuck.id, "state": "cancelled"}
    assert waiting(both) == []
    assert AuditEntry.objects.get(action="batch.cancel").reason == "wrong file"
    assert "cancelled" in text("batches", "cancel", other.id)


def test_what_cannot_be_done_is_one_line(both: Engine) -> None:
    batch = filled(0)
    count(both)
    assert refusal("batches", "cancel", batch.id)[1] == (
        f"batch {batch.id} cannot be cancelled: it is over already (succeeded)"
    )
    for action in ("show", "cancel"):
        assert refusal("batches", action, "nobody") == (1, "batch nobody: nothing is kept of it, or it never existed")
    assert refusal("batches", "list", "--tenant", "nobody")[0] == 1
    assert refusal("batches", "list", "--state", "odd")[0] == 2
    assert ask("batches", "list", "--tenant", "acme", "--state", "lost") == []
    assert text("batches", "list", "--state", "lost").strip() == "no such batches"
