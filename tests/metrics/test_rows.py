"""Rows of tenants: shares, entitlements, and whose is first."""

from __future__ import annotations

import pytest

from jobops.engine.records import Counters, QueueView
from jobops.metrics.condition import Condition
from jobops.metrics.headline import headline
from jobops.metrics.rows import TenantFacts, tenant_rows, worst_first

LANES = ("interactive", "bulk")


def test_entitlement_is_the_weight_among_those_that_have_work() -> None:
    tenants = [TenantFacts("a", weight=1), TenantFacts("b", weight=3), TenantFacts("idle", weight=100)]
    queues = [QueueView("a", "bulk", 4, 1.0, 1), QueueView("b", "bulk", 0, None, 2)]
    rows = {
        row.slug: row
        for row in tenant_rows(tenants, queues, {"a": Counters(worker_ms=300), "b": Counters(worker_ms=700)}, LANES)
    }
    assert (rows["a"].share, rows["a"].entitled) == (0.3, 0.25)
    assert (rows["b"].share, rows["b"].entitled) == (0.7, 0.75)
    assert (rows["idle"].share, rows["idle"].entitled) == (0.0, None)


def test_nothing_is_divided_by_zero_when_nothing_ran() -> None:
    [row] = tenant_rows([TenantFacts("a", cap=0)], [], {}, LANES, window_s=0)
    assert (row.share, row.entitled, row.retry_rate, row.oldest_s, row.per_minute) == (None, None, None, None, 0.0)
    assert [cell.lane for cell in row.lanes] == ["interactive", "bulk"]


def test_counters_of_a_tenant_that_was_deleted_still_take_their_part_of_the_whole() -> None:
    [row] = tenant_rows([TenantFacts("a")], [], {"a": Counters(worker_ms=100), "gone": Counters(worker_ms=300)}, LANES)
    assert row.share == 0.25


def test_worst_first_is_overdue_then_condition_then_age_and_ties_do_not_jump() -> None:
    tenants = [
        TenantFacts("calm-b"),
        TenantFacts("calm-a"),
        TenantFacts("late", dead_overdue=1),
        TenantFacts("flood"),
        TenantFacts("capped", cap=1),
        TenantFacts("stopped", paused=True),
    ]
    queues = [QueueView("flood", "bulk", 5000, 5.0, 1), QueueView("capped", "bulk", 2, 9.0, 1)]
    rows = worst_first(tenant_rows(tenants, queues, {}, LANES))
    assert [row.slug for row in rows] == ["late", "flood", "capped", "stopped", "calm-a", "calm-b"]
    assert rows[0].condition is Condition.OVERDUE


def test_the_headline_sums_the_rows_and_finds_the_oldest_job() -> None:
    tenants = [TenantFacts("a"), TenantFacts("b")]
    queues = [QueueView("a", "bulk", 4, 700.0, 1), QueueView("b", "interactive", 2, 3.0, 2)]
    counters = {"a": Counters(starts=90, retries=10, succeeded=60, dead=2), "b": Counters(starts=10, succeeded=8)}
    head = headline(tenant_rows(tenants, queues, counters, LANES), LANES, 300, "interactive")
    assert head.worst is not None
    assert (head.worst.lane, head.worst.oldest_s, head.late) == ("bulk", 700.0, True)
    assert (head.waiting, head.running, head.died, head.ended) == (6, 3, 2, 70)
    assert head.per_minute == pytest.approx(14)
    assert (head.retry_rate, head.retrying) == (0.1, True)


def test_the_headline_of_nobody_is_all_zero() -> None:
    head = headline([], LANES, 0)
    assert (head.worst, head.late, head.retry_rate, head.per_minute) == (None, False, None, 0.0)
