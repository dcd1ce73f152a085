"""The sentences at the top of the pages."""

from __future__ import annotations

import pytest

from jobops.engine.records import Counters, QueueView
from jobops.metrics.headline import headline
from jobops.metrics.rows import TenantFacts, TenantRow, tenant_rows, worst_first
from jobops.web import words
from jobops.web.selectors.dead import DeadSummary
from jobops.web.selectors.workers import Crew

LANES = ("interactive", "bulk")
CREW = Crew(slots=4, busy=2, workers=1)


def rows(
    *queues: QueueView, tenants: tuple[TenantFacts, ...] = (), counters: dict[str, Counters] | None = None
) -> list[TenantRow]:
    known = tenants or tuple(TenantFacts(slug, cap=2) for slug in ("acme", "bluefin", "calm"))
    return worst_first(tenant_rows(known, queues, counters or {}, LANES, urgent_lane="interactive"))


def title(found: list[TenantRow], dead: DeadSummary | None = None, crew: Crew = CREW, paused: bool = False) -> str:
    return words.overview_title(found, headline(found, LANES, 300, "interactive"), dead or DeadSummary(), crew, paused)


FLOOD = QueueView("acme", "bulk", 5000, 300.0, 2)
WAITS = QueueView("bluefin", "bulk", 3, 400.0, 0)
LATE = QueueView("calm", "interactive", 3, 90.0, 0)


def test_what_is_worst_is_said_first() -> None:
    assert title(rows()) == "All is calm, and nothing is waiting."
    assert title(rows(QueueView("calm", "bulk", 0, None, 1))) == "All is calm."
    assert title(rows(FLOOD)) == "acme is flooding its own queue. Nobody else waits for it."
    assert title(rows(FLOOD, WAITS)).startswith("acme is flooding its own queue. Elsewhere the oldest job waits 6")
    assert title(rows(FLOOD, LATE)) == "Two tenants need a look. Start with acme."
    assert title(rows(LATE)) == "calm has jobs that wait too long."
    assert title(rows(FLOOD), DeadSummary(overdue=12)) == "12 dead letters are past their deadline."
    assert title(rows(FLOOD), crew=Crew()) == "No worker is running, and 5,000 jobs wait."
    assert title(rows(FLOOD), paused=True) == "Everything is paused; 5,000 jobs wait."
    assert title(rows(counters={"acme": Counters(starts=3, dead=3)})).startswith("3 jobs gave up in the last 5")


def test_the_overdue_name_the_tenant_to_start_with() -> None:
    found = rows(tenants=(TenantFacts("acme", dead_overdue=1), TenantFacts("calm")))
    assert title(found, DeadSummary(overdue=1)) == "One dead letter is past its deadline. Start with acme."


def test_the_flood_note_says_what_holds_it() -> None:
    assert words.flood_note(rows(), CREW) == ""
    note = words.flood_note(rows(FLOOD), CREW)
    assert note == "acme is flooding its own queue and its cap holds it to 2 of 4 slots. Nobody else waits for it."
    assert words.flood_note(rows(FLOOD), Crew(slots=2)) == "acme is flooding its own queue. Nobody else waits for it."
    both = rows(FLOOD, QueueView("bluefin", "bulk", 900, 1.0, 2))
    assert words.flood_note(both, CREW) == "acme and bluefin are flooding. Nobody else waits for them."


@pytest.mark.parametrize(
    ("queues", "sentence"),
    [
        ((), "All your jobs are done."),
        ((QueueView("acme", "bulk", 0, None, 1),), "1 of your jobs is running."),
        ((QueueView("acme", "bulk", 1204, 1.0, 12),), "12 of your jobs are running and 1,204 wait their turn."),
        ((QueueView("acme", "bulk", 1, 1.0, 0),), "1 waits its turn."),
    ],
)
def test_a_tenants_people_read_how_far_their_jobs_are(queues: tuple[QueueView, ...], sentence: str) -> None:
    assert words.own_title(rows(*queues, tenants=(TenantFacts("acme"),))) == sentence


def test_a_pause_is_the_first_thing_a_tenants_people_read() -> None:
    found = rows(tenants=(TenantFacts("acme", name="Acme", paused=True),))
    assert words.own_title(found) == "Acme is paused: jobs wait until it is resumed."
    assert words.own_title([]) == "You do not belong to any tenant yet."


def test_a_tenants_page_says_its_condition_with_its_numbers() -> None:
    [flood, *_] = rows(FLOOD)
    assert (
        words.tenant_title(flood)
        == "acme is flooding its own queue: 5,000 jobs wait, the oldest for 5\N{NO-BREAK SPACE}min."
    )
    [retrying] = rows(tenants=(TenantFacts("acme"),), counters={"acme": Counters(starts=100, retries=12)})
    assert words.tenant_title(retrying) == "acme retries a lot: 12.0% of starts are retries."
    [paused] = rows(QueueView("acme", "bulk", 1, 1.0, 0), tenants=(TenantFacts("acme", paused=True),))
    assert words.tenant_title(paused) == "acme is paused; 1 job waits."


def test_the_lede_for_a_tenants_people_counts_what_they_may_and_have() -> None:
    [row] = rows(QueueView("acme", "bulk", 0, None, 0), tenants=(TenantFacts("acme", cap=12),))
    assert words.limits_lede(row) == "You may run 12 jobs at once, and none are running."
    [row] = rows(QueueView("acme", "bulk", 5, 1.0, 1), tenants=(TenantFacts("acme", cap=None, dead_open=3),))
    assert words.limits_lede(row) == "1 is running. 5 wait their turn. 3 did not work."
