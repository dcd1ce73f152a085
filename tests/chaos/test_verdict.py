"""The judge itself is judged: it sees what it is there to see."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from jobops.engine.jobs import view_of
from jobops.engine.records import Attempt, JobView, NewJob
from tests.chaos.judgement import Evidence, judge
from tests.chaos.theatre import Nap
from tests.chaos.verdict import Line, doubled, peaks, runs, starts

SECOND = 1_000_000_000


def line(word: str, job: str, at: float, *, attempt: int = 1, tenant: str = "acme", pid: int = 1) -> Line:
    return Line(word, job, attempt, tenant, int(at * SECOND), pid)


def spans(lines: list[Line], killed: dict[int, int] | None = None) -> list[tuple[str, float, float]]:
    return [(run.tenant, run.begin / SECOND, run.end / SECOND) for run in runs(lines, killed or {})]


def test_overlapping_runs_of_a_tenant_are_counted() -> None:
    lines = [line("start", "a", 0), line("start", "b", 5, pid=2), line("end", "a", 10), line("end", "b", 12, pid=2)]
    assert peaks((tenant, int(begin), int(end)) for tenant, begin, end in spans(lines)) == {"acme": 2}


def test_runs_that_follow_each_other_are_not_at_once() -> None:
    assert peaks([("acme", 0, 10), ("acme", 10, 12)]) == {"acme": 1}


def test_a_killed_run_lasts_until_its_kill() -> None:
    lines = [line("start", "a", 0, pid=7), line("start", "a", 20, attempt=2), line("end", "a", 30, attempt=2)]
    assert spans(lines, {7: 15 * SECOND}) == [("acme", 0, 15), ("acme", 20, 30)]
    assert doubled(runs(lines, {7: 15 * SECOND})) == []
    assert len(doubled(runs(lines, {7: 25 * SECOND}))) == 1


def test_a_run_without_an_end_lasts_until_its_last_line() -> None:
    assert spans([line("start", "a", 0), line("tick", "a", 4)]) == [("acme", 0, 4)]


def test_one_process_may_run_a_job_again_and_again() -> None:
    lines = [line("start", "a", 0), line("later", "a", 1), line("start", "a", 2), line("end", "a", 3)]
    assert spans(lines) == [("acme", 0, 1), ("acme", 2, 3)]


def test_starts_are_listed_in_their_order() -> None:
    lines = [line("start", "a", 9, attempt=2), line("start", "a", 3), line("end", "a", 12, attempt=2)]
    assert starts(lines) == {"a": [1, 2]}


def job(name: str = "work-1", kind: str = "chaos.work", **fields: object) -> NewJob:
    return NewJob(name, "acme", "bulk", kind, b"", max_attempts=2)._replace(**fields)  # type: ignore[arg-type]


def view(name: str, state: str = "succeeded", *leases: tuple[int, int]) -> JobView:
    times = [(datetime.fromtimestamp(begin, UTC), datetime.fromtimestamp(end, UTC)) for begin, end in leases]
    history = tuple(Attempt(n + 1, "w", begin, end, state, "", "") for n, (begin, end) in enumerate(times))
    return replace(view_of(name, {}), state=state, history=history)


def all_right(*jobs: NewJob) -> Evidence:
    """Each ran once, one after the other."""
    jobs = jobs or (job(),)
    lines = [line(word, each.id, 10 * n + at) for n, each in enumerate(jobs) for word, at in (("start", 0), ("end", 5))]
    views: dict[str, JobView | None] = {
        each.id: view(each.id, "succeeded", (1000 + 10 * n, 1005 + 10 * n)) for n, each in enumerate(jobs)
    }
    return Evidence(list(jobs), {"acme": 1}, views=views, lines=lines, seen={"acme": 1, "narrow": 3})


def test_what_is_right_is_found_right() -> None:
    assert judge(all_right(job(), job("work-2"))) == []


@pytest.mark.parametrize(
    ("spoilt", "told"),
    [
        ({"views": {}}, "work-1 is lost"),
        ({"views": {"work-1": view("work-1", "started")}}, "work-1 is stuck as started"),
        ({"views": {"work-1": view("work-1", "dead")}}, "work-1 is dead after 0 of 2 attempts"),
        ({"lines": [line("start", "work-1", 0)]}, "work-1 succeeded without having run to its end"),
        ({"seen": {"acme": 2}}, "acme: 2 in flight at once, 1 are allowed"),
        ({"seen": {"narrow": 4}}, "narrow: 4 in flight at once, 3 are allowed"),
        ({"left": ["leases: 1"]}, "left over: leases: 1"),
        ({"doctor": ["in_two_lists"]}, "doctor: in_two_lists"),
    ],
)
def test_each_wrong_is_told(spoilt: dict[str, object], told: str) -> None:
    assert told in judge(replace(all_right(), **spoilt))  # type: ignore[arg-type]


def test_too_many_starts_are_told_unless_they_were_given_back() -> None:
    evidence = all_right()
    again = [line(word, "work-1", at) for at in (20, 30) for word in ("start", "end")]
    assert any("started 3 times" in each for each in judge(replace(evidence, lines=evidence.lines + again)))
    postponed = [line(word, "work-1", at) for at in (-20, -30) for word in ("start", "later")]
    assert judge(replace(evidence, lines=postponed + evidence.lines)) == []


def test_one_attempt_that_started_twice_is_told() -> None:
    evidence = all_right()
    again = [line("start", "work-1", 20), line("end", "work-1", 21)]
    assert any("started its attempts [1, 1]" in each for each in judge(replace(evidence, lines=evidence.lines + again)))


def test_leases_over_a_cap_are_told() -> None:
    evidence = all_right(job(), job("work-2"))
    evidence.views["work-2"] = view("work-2", "succeeded", (1004, 1009))
    assert judge(evidence) == ["acme: 2 leases at once, 1 are allowed"]


def test_a_job_that_gave_way_and_ran_all_the_same_is_told() -> None:
    assert judge(replace(all_right(), coalesced={"work-1"})) == ["work-1 ran though it had given way to another"]


def test_a_checkpoint_that_went_back_and_a_step_left_out_are_told() -> None:
    steps = job("steps-1", "chaos.steps")
    evidence = all_right(steps)
    words = [f"{word}:{number}" for number in (1, 2, 3, 4, 5, 6, 7, 8) for word in ("step", "saved")]
    good = [line(word, "steps-1", 0.1 * (n + 1)) for n, word in enumerate(words)]
    start, end = evidence.lines
    assert judge(replace(evidence, lines=[start, *good, end])) == []
    assert judge(replace(evidence, lines=[start, *good[:-2], end])) == ["steps-1 left out steps [8]"]
    back = [line("start", "steps-1", 6, attempt=2), line("step:1", "steps-1", 7, attempt=2)]
    told = judge(replace(evidence, lines=[start, *good, end, *back]))
    assert told == ["steps-1 went back to step 1, it had saved 8"]


@pytest.mark.parametrize(("last", "told"), [(20.5, 0), (21.5, 1)])
def test_a_process_that_slept_may_go_on_for_a_moment_only(last: float, told: int) -> None:
    """Its job runs elsewhere from 10 to 30; it wakes at 20."""
    lines = [
        *(line("start", "work-1", 0, pid=7), line("tick", "work-1", last, pid=7)),
        *(line("start", "work-1", 10, attempt=2), line("end", "work-1", 30, attempt=2)),
    ]
    evidence = replace(all_right(), lines=sorted(lines, key=lambda each: each.at))
    nap: list[Nap] = [Nap(None, [7], 20 * SECOND, woken_at=20 * SECOND)]  # type: ignore[arg-type]
    assert len(judge(replace(evidence, naps=nap))) == told
    assert any("ran twice at once" in each for each in judge(evidence))
