"""What is said of a replay: what its options come to, where it stands, what guards it. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dlq.bulk_progress import Progress
from dlq.models import BulkAction, ReplayPlan
from dlq.replay_guard import BreakerStanding, CanaryStanding
from dlq.replay_plan import DEFAULTS, PlanOptions
from jobops.metrics.waits import Wait
from jobops.web import bulk_words, replay_chart_words, replay_words
from jobops.web.bulk_steps import steps
from jobops.web.replay_guard_words import guards, stop_of
from jobops.web.replay_words import Standing, standing

NOW = datetime(2026, 3, 12, 3, 14, 38, tzinfo=UTC)
NBSP = "\u00a0"


def said(n: int, plan: PlanOptions | None = DEFAULTS, *, staff: bool = True, unchecked: int = 0) -> str:
    found = steps("replay", n, unchecked, plan, NOW, staff=staff)
    return " ".join(f"{claim} {rest}" for claim, rest in found).replace(NBSP, " ")


def at(**fields: Any) -> Progress:
    values: dict[str, Any] = {
        "state": "running",
        "matched": 20,
        "done": 5,
        "skipped": 0,
        "waiting": 15,
        "skipped_for": {},
    }
    return Progress(**(values | fields))


def plan_row(bulk: BulkAction, **fields: Any) -> ReplayPlan:
    return ReplayPlan(bulk=bulk, **fields)


def test_the_safe_defaults_are_told_as_four_sentences() -> None:
    text = said(3_121)
    assert text.startswith(
        "5 run first. We watch them to the end. If one dies again, everything stops and you see why."
    )
    assert "If all 5 succeed, the other 3,116 follow by themselves at 20 per second, done in about 2 min." in text
    assert "It stops by itself when more than 5 of the last 100 die again." in text
    assert "No other tenant waits." in text
    assert bulk_words.button("replay", 3_121, DEFAULTS, staff=True) == "Start with 5, then 3,116"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"canary_failures": 2}, "If more than 2 die again, everything stops"),
        ({"canary_failures": 2}, "If no more than 2 die, the other 95 follow"),
        ({"canary": 1}, "1 runs first. We watch it to the end. If it dies again, everything"),
        ({"canary": 99}, "the other one follows by itself"),
        ({"rate": None}, "follow by themselves as fast as they go."),
        ({"rate": None, "spread_s": 7_200}, "follow by themselves spread over 2 h."),
        ({"in_flight": 24}, "at most 24 at once."),
        ({"breaker_percent": 100.0}, "Nothing else stops it."),
        ({"canary": 0}, "100 go back to their queues. At 20 per second, done in about 5 s; each tenant stays"),
        ({"start_at": NOW + timedelta(hours=2)}, "It starts by itself at 05:14, in 2 h. Until then you can cancel it."),
    ],
)
def test_each_option_changes_what_is_told(changes: dict[str, Any], told: str) -> None:
    assert told in said(100, replace(DEFAULTS, **changes))
    assert told not in said(100)


def test_where_all_are_the_canary_nobody_waits_for_it() -> None:
    for n in (1, 5):
        assert "first" not in said(n)
        assert bulk_words.button("replay", n, DEFAULTS, staff=True) == f"Replay {n}"
    assert "per second" not in said(5)
    assert "7 are checked as they go." in said(100, unchecked=7)


def test_a_canary_that_is_all_of_them_is_told_with_what_stops_it() -> None:
    text = said(630, replace(DEFAULTS, canary=5_000))
    assert "All 630 are the canary. As soon as one dies again, nothing further is sent and you see why." in text
    text = said(630, replace(DEFAULTS, canary=5_000, canary_failures=3))
    assert "As soon as more than 3 die again, nothing further is sent" in text
    assert "canary" not in said(5)


def test_that_it_can_be_stopped_is_said_once() -> None:
    for plan in (replace(DEFAULTS, canary=0), replace(DEFAULTS, canary=0, breaker_percent=100.0)):
        assert said(100, plan).count("at any moment") == 1
    assert "It stops by itself when more than 5 of the last 100 die again." in said(100, replace(DEFAULTS, canary=0))
    assert "Nothing stops it by itself, however many die again." in said(100, plan)


def test_after_a_success_nobody_says_that_it_will_be_stopped() -> None:
    assert "will probably stop this replay" in replay_words.failing_then(100, DEFAULTS, staff=True)
    told = replay_words.failing_then(100, DEFAULTS, staff=True, succeeded=1)
    assert told == "The canary will show whether it is mended."
    ago = NOW - timedelta(seconds=24)
    note = bulk_words.failing_note(5, False, ago, NOW, staff=True, of_cause=True, succeeded=1)
    assert note.replace(NBSP, " ") == "This cause failed until 24 s ago: 5 died of it in the last 5 minutes."
    told = replay_words.failing_then(90, replace(DEFAULTS, canary=90), staff=True)
    assert told == "The canary, which is all of them, will probably stop it."


def test_when_all_is_sent_is_told_as_what_will_have_been() -> None:
    eta = replay_words.Eta(31, NOW)
    told = replay_words.eta_words(eta, Standing.CANARY).replace(NBSP, " ")
    assert told == "If it goes well, all will have been sent by 03:14:38, in 31 s."


def test_a_tenants_people_read_no_part_of_the_machine() -> None:
    text = said(100, staff=False)
    assert "5 run first. We watch them to the end. If one fails again, everything stops" in text
    for word in ("die", "dead letter", "tenant", "per second", "lane"):
        assert word not in text, word


@pytest.mark.parametrize(
    ("bulk", "plan", "done", "expected"),
    [
        ("running", {"start_at": NOW + timedelta(hours=1)}, 0, Standing.SCHEDULED),
        ("running", {"start_at": NOW - timedelta(hours=1)}, 0, Standing.CANARY),
        ("running", {}, 5, Standing.CANARY),
        ("running", {"phase": "rest"}, 5, Standing.RUNNING),
        ("running", {"canary": 0}, 5, Standing.RUNNING),
        ("paused", {"paused_by": "canary"}, 5, Standing.CANARY_STOPPED),
        ("paused", {"paused_by": "breaker"}, 5, Standing.BREAKER_TRIPPED),
        ("paused", {"paused_by": "olga"}, 5, Standing.PAUSED),
        ("cancelled", {}, 5, Standing.CANCELLED),
    ],
)
def test_where_it_stands_follows_from_its_rows(bulk: str, plan: dict[str, Any], done: int, expected: Standing) -> None:
    action = BulkAction(pk=7, kind="replay", state=bulk)
    assert standing(action, plan_row(action, **plan), at(state=bulk, done=done), NOW) is expected


def test_what_was_sent_last_is_not_over_while_it_runs() -> None:
    action = BulkAction(pk=7, kind="replay", state="finished")
    assert standing(action, None, at(state="finished", running=1), NOW) is Standing.SENT
    assert standing(action, None, at(state="finished"), NOW) is Standing.OVER


def test_a_canary_that_stopped_it_says_why_and_what_to_do() -> None:
    action = BulkAction(pk=7, kind="replay", state="paused")
    plan = plan_row(action, paused_by="canary", paused_why="2 of 5 died again")
    found = at(state="paused", died=2, succeeded=3, canary=CanaryStanding(5, 0, 3, 2))
    stop = stop_of(Standing.CANARY_STOPPED, plan, found, staff=True)
    assert stop is not None
    assert (stop.tone, stop.resume) == ("d", "Run a new canary")
    assert stop.what == "The canary stopped it: 2 of 5 did not succeed."
    assert stop.why == "15 wait and nothing happens to them. Those that did not are listed below."
    assert "Mend the cause first" in stop.then
    guard = guards(Standing.CANARY_STOPPED, plan, found, staff=True)[0]
    assert (guard.look.word, guard.look.tone) == ("Canary stopped it", "danger")
    assert guard.text == "3 of 5 succeeded, 2 did not. One that does not stops it."


def test_the_breaker_says_how_near_it_is_and_goes_red_only_when_it_tripped() -> None:
    action = BulkAction(pk=7, kind="replay", state="running")
    plan = plan_row(action, phase="rest")
    near = at(breaker=BreakerStanding(100, 2, 5.0, False, 100))
    guard = guards(Standing.RUNNING, plan, near, staff=True)[-1]
    assert guard.text == "2 of the last 100 died again. It stops above 5 of 100."
    assert guard.gauge is not None
    assert (guard.gauge.filled, guard.gauge.tone, guard.gauge.limit, guard.gauge.most) == (200, "mark", "5%", "10%")
    few = at(breaker=BreakerStanding(100, 1, 5.0, False, 4))
    few_guard = guards(Standing.RUNNING, plan, few, staff=True)[-1]
    assert few_guard.text == "1 of the last 4 died again. It stops above 5 of 100."
    assert few_guard.gauge is not None
    assert few_guard.gauge.filled == 100, "one of the hundred that are judged"
    over = at(state="paused", breaker=BreakerStanding(100, 9, 5.0, True, 69))
    guard = guards(Standing.BREAKER_TRIPPED, plan, over, staff=True)[-1]
    assert (guard.look.word, guard.look.tone) == ("Breaker tripped", "danger")
    assert guard.gauge is not None
    assert (guard.gauge.filled, guard.gauge.tone) == (900, "danger")
    waiting = plan_row(action, phase="canary")
    assert guards(Standing.CANARY, waiting, near, staff=True)[-1].look.word == "Breaker to come"


def test_titles_name_the_state_and_how_far_it_is() -> None:
    action = BulkAction(pk=318, kind="replay")
    plan = plan_row(action, start_at=NOW + timedelta(hours=2))
    found = at(matched=3_184, skipped=63, canary=CanaryStanding(5, 2, 3, 0))
    told = {where: replay_words.replay_title("Replay 318", where, found, plan, 3) for where in Standing}
    assert told[Standing.RUNNING] == "Replay 318 is running: 3 of 3,121 done"
    assert told[Standing.CANARY] == "Replay 318 runs its canary: 3 of 5 done"
    assert told[Standing.CANARY_STOPPED] == "Replay 318 was stopped by its canary: 3 of 3,121 done"
    assert told[Standing.BREAKER_TRIPPED] == "Replay 318 was stopped by its breaker: 3 of 3,121 done"
    assert told[Standing.PAUSED] == "Replay 318 is paused: 3 of 3,121 done"
    assert told[Standing.SCHEDULED].endswith("3,121 wait for it")


def test_the_end_is_told_at_the_pace_it_has_or_else_at_the_one_it_is_to_have() -> None:
    starts = [0] * 21 + [50, 50, 50]
    eta = replay_chart_words.eta_of(100, starts, DEFAULTS, NOW)
    assert eta is not None
    assert eta.seconds == 10
    still = replay_chart_words.eta_of(100, [0] * 24, DEFAULTS, NOW)
    assert still is not None
    assert still.seconds == 5
    assert replay_chart_words.eta_of(0, starts, DEFAULTS, NOW) is None
    assert replay_chart_words.eta_of(9, [], replace(DEFAULTS, rate=None), NOW) is None


def waits(seconds: float, start: int, count: int) -> list[Wait]:
    return [Wait(NOW + timedelta(seconds=start + 5 * n), seconds) for n in range(count)]


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        (1.0, 1.1, "unchanged since the start"),
        (0.2, 1.0, "unchanged since the start"),
        (2.0, 1.0, "not longer than before the start"),
        (1.0, 9.0, "1.0 s before the start"),
    ],
)
def test_live_traffic_is_held_against_what_it_was_before(before: float, now: float, told: str) -> None:
    found = replay_chart_words.wait_figure(
        [*waits(before, -100, 10), *waits(now, 5, 10)], "interactive", NOW, NOW + timedelta(seconds=60)
    )
    assert found is not None
    assert found.rest.replace(NBSP, " ") == told
    assert "wait, live interactive jobs" in found.claim
    assert replay_chart_words.wait_figure([], "interactive", NOW, NOW) is None
    unknown = replay_chart_words.wait_figure(waits(1, 5, 3), "interactive", NOW, NOW + timedelta(seconds=60))
    assert unknown is not None
    assert unknown.rest == "how it was before the start was not measured"
    none = replay_chart_words.wait_figure(waits(0, 5, 3), "interactive", NOW, NOW + timedelta(seconds=60))
    assert none is not None
    assert none.claim == "No live interactive job waits"
    figures = [*waits(2.0, -100, 10), *waits(0, 5, 10)]
    none = replay_chart_words.wait_figure(figures, "interactive", NOW, NOW + timedelta(seconds=60))
    assert none is not None
    assert (none.claim, none.rest) == ("No live interactive job waits", "")


def test_the_speed_is_that_of_the_last_seconds_under_its_limit() -> None:
    figure = replay_chart_words.speed_figure([0] * 21 + [100, 100, 101], DEFAULTS)
    assert figure.claim == "20.1 starts per second"
    assert figure.rest == "limit 20"
    assert figure.chart is not None
    assert figure.chart.limit is not None
    assert 0 < float(figure.chart.limit) < 72
    assert replay_chart_words.speed_figure([1, 2], replace(DEFAULTS, rate=None)).chart.limit is None  # type: ignore[union-attr]


def test_five_parts_are_read_in_another_order_than_they_stand_in_the_bar() -> None:
    parts = bulk_words.parts(
        BulkAction(kind="replay"), at(succeeded=1), staff=True, notes={"wait": "1 min at this speed"}
    )
    assert [part.look for part in parts] == ["ok", "dead", "run", "wait", "skip"]
    assert [part.word for part in bulk_words.in_legend(parts)] == [
        "Succeeded", "Running", "Waiting", "Died again", "Skipped",
    ]  # fmt: skip
    assert parts[3].note == "1 min at this speed"


@pytest.mark.parametrize(
    ("reason", "error", "told"),
    [
        ("worker_lost", "", "on a lost worker"),
        ("timeout", "TimeoutError", "timed out"),
        ("exhausted", "shop.errors.PaymentError", "PaymentError"),
        ("exhausted", "", "of something unnamed"),
    ],
)
def test_what_they_died_of_is_told_shortly(reason: str, error: str, told: str) -> None:
    assert replay_words.died_of(reason, error) == told
