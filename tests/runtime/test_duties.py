"""The agenda: when duties run, and that a failing one stops nobody."""

from __future__ import annotations

from itertools import pairwise

import pytest

from jobops.engine.client import Engine
from jobops.scheduling.duties import Agenda, Context, Duty


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def context(engine: Engine) -> Context:
    return Context(engine)


def test_a_duty_runs_at_its_interval_and_again_at_once_while_it_finds_something(context: Context) -> None:
    clock, answers, ran = Clock(), [2, 1, 0, 0], []
    agenda = Agenda([Duty("d", lambda _: ran.append(clock.now) or answers[len(ran) - 1], every_s=5.0)], clock)
    for _ in range(60):
        agenda.run_due(context)
        clock.now = round(clock.now + 0.1, 1)
    assert [round(at, 1) for at in ran] == [100.0, 100.1, 100.2, 105.2]


def test_a_patient_duty_keeps_its_interval_whatever_it_finds(context: Context) -> None:
    clock, ran = Clock(), []
    agenda = Agenda([Duty("d", lambda _: ran.append(1) or 1, every_s=1.0, eager=False)], clock)
    for _ in range(30):
        agenda.run_due(context)
        clock.now = round(clock.now + 0.1, 1)
    assert len(ran) == 3


def test_a_failing_duty_backs_off_and_the_others_go_on(context: Context) -> None:
    clock, tries, good = Clock(), [], []

    def fail(_: Context) -> int:
        tries.append(clock.now)
        raise RuntimeError("database away")

    agenda = Agenda([Duty("bad", fail, every_s=1.0), Duty("good", lambda _: good.append(1) or 0, every_s=1.0)], clock)
    for _ in range(1000):
        agenda.run_due(context)
        clock.now = round(clock.now + 0.1, 1)
    gaps = [round(later - earlier) for earlier, later in pairwise(tries)]
    assert gaps[:4] == [2, 4, 8, 16]
    assert max(gaps) <= 31
    assert len(good) > 80


def test_a_duty_that_works_again_returns_to_its_interval(context: Context) -> None:
    clock, ran = Clock(), []

    def sometimes(_: Context) -> int:
        ran.append(clock.now)
        if len(ran) < 4:
            raise RuntimeError
        return 0

    agenda = Agenda([Duty("d", sometimes, every_s=1.0)], clock)
    for _ in range(400):
        agenda.run_due(context)
        clock.now = round(clock.now + 0.1, 1)
    gaps = [round(later - earlier) for earlier, later in pairwise(ran)]
    assert gaps[:3] == [2, 4, 8]
    assert set(gaps[3:]) == {1}


def test_a_round_ends_when_leadership_is_lost_in_it(context: Context) -> None:
    ran: list[str] = []
    duties = [Duty(name, lambda _, name=name: ran.append(name) or 0, every_s=1.0) for name in "abc"]  # type: ignore[misc]
    Agenda(duties).run_due(context, between=lambda: len(ran) < 2)
    assert ran == ["a", "b"]


def test_the_wait_is_until_the_next_duty_and_never_negative(context: Context) -> None:
    clock = Clock()
    agenda = Agenda([Duty("a", lambda _: 0, every_s=3.0), Duty("b", lambda _: 0, every_s=0.5)], clock)
    assert agenda.wait_s(1.0) == 0.0
    agenda.run_due(context)
    assert agenda.wait_s(1.0) == 0.5
    clock.now += 60
    assert agenda.wait_s(1.0) == 0.0


def test_once_means_until_nothing_is_left(context: Context) -> None:
    left = {"a": 3}

    def take(_: Context) -> int:
        left["a"] -= 1
        return 1 if left["a"] >= 0 else 0

    def fail(_: Context) -> int:
        raise RuntimeError("no")

    results = Agenda([Duty("bad", fail, every_s=1), Duty("a", take, every_s=1)]).run_all(context)
    assert results["a"] == 3
    assert isinstance(results["bad"], RuntimeError)
