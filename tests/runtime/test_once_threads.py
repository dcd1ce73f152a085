"""``once`` in the threads of one run: one of them does it, and the others have its result."""

from __future__ import annotations

import contextvars
import multiprocessing
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from jobops import OnceMisused, OutcomeUnknown, current_job
from jobops.context import once_begin, once_turns
from jobops.context.models import OnceRecord
from jobops.contracts.running import RunningJob, running
from jobops.engine.client import Engine
from jobops.engine.payload import decode_result
from jobops.engine.timeouts import JobTimeout
from tests.runtime.attempts import attempt, calling, enqueue
from tests.tools import wait_for

pytestmark = pytest.mark.django_db(transaction=True)

Answers = list[Any]


def at_once(*calls: Callable[[], Any]) -> Answers:
    """What each comes to, in a thread of its own that belongs to the running job; an error stands for itself."""

    def run(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except BaseException as error:  # noqa: BLE001  (a time-out is one of them)
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        started = [pool.submit(contextvars.copy_context().run, run, call) for call in calls]
        return [each.result(20) for each in started]


class Effect:
    """Takes until the others wait for it, and ends in turn as ``ends`` says."""

    def __init__(self, *ends: BaseException | str) -> None:
        self.ends, self.count = list(ends), 0

    def __call__(self) -> str:
        self.count += 1
        end = self.ends.pop(0)
        wait_for(lambda: once_turns.waiting() == len(self.ends), what="the others, who are to wait")
        if isinstance(end, BaseException):
            raise end
        return end


def two(effect: Effect, **how: Any) -> Callable[[], Answers]:
    def do() -> Any:
        return current_job().once("k", **how).run(effect)

    return lambda: at_once(do, do)


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("on_unknown", ["run", "dead"])
def test_of_two_threads_one_does_it_and_both_have_its_result(both: Engine, atomic: bool, on_unknown: str) -> None:
    effect = Effect("first", "second")
    enqueue(calling("threads.both", two(effect, atomic=atomic, on_unknown=on_unknown)))
    assert decode_result(attempt(both)[1].result) == ["first", "first"]
    assert effect.count == 1


def test_without_a_lease_too(db: None) -> None:
    effect = Effect("first", "second")
    with running(RunningJob("job-1", "acme", "bulk", "t", 1, 5, "chain-1")):
        assert two(effect)() == ["first", "first"]
    assert effect.count == 1


@pytest.mark.parametrize("atomic", [False, True])
def test_after_a_known_failure_the_one_that_waited_tries_itself(both: Engine, atomic: bool) -> None:
    effect = Effect(ValueError("declined"), "second")
    answers: Answers = []
    enqueue(calling("threads.failing", lambda: answers.extend(two(effect, atomic=atomic, on_unknown="dead")())))
    assert attempt(both)[2] == "succeeded"
    assert {str(answer) for answer in answers} == {"declined", "second"}
    assert effect.count == 2


@pytest.mark.parametrize("on_unknown", ["run", "dead"])
def test_after_an_unknown_end_the_one_that_waited_does_as_on_unknown_says(both: Engine, on_unknown: str) -> None:
    effect = Effect(JobTimeout(30), "second")
    answers: Answers = []
    enqueue(calling("threads.unknown", lambda: answers.extend(two(effect, on_unknown=on_unknown)())))
    attempt(both)
    assert {type(answer) for answer in answers} == {JobTimeout, str if on_unknown == "run" else OutcomeUnknown}
    assert effect.count == (2 if on_unknown == "run" else 1)


def test_many_threads_and_many_keys(both: Engine) -> None:
    counts: dict[str, list[int]] = {f"k{number}": [] for number in range(3)}

    def does(key: str) -> Callable[[], str]:
        def do() -> str:
            counts[key].append(1)
            return key

        return lambda: current_job().once(key).run(do)

    answers: Answers = []
    calls = [does(key) for key in counts for _ in range(4)]
    enqueue(calling("threads.many", lambda: answers.extend(at_once(*calls))))
    assert attempt(both)[2] == "succeeded"
    assert answers == [key for key in counts for _ in range(4)]
    assert {len(done) for done in counts.values()} == {1}


@pytest.mark.parametrize("lease", [True, False])
def test_a_key_within_its_own_block_is_one_clear_error(both: Engine, lease: bool) -> None:
    def body() -> None:
        with current_job().once("k"), current_job().once("k"):
            pass

    said = r"once 'k': this thread is within it already, and cannot wait for itself"
    if lease:
        enqueue(calling("threads.nested", body))
        assert said in attempt(both)[1].error
    else:
        with running(RunningJob("job-1", "acme", "bulk", "t", 1, 5, "chain-1")):
            with pytest.raises(OnceMisused, match=said):
                body()
            current_job().once("k").run(lambda: None)  # and its key is free again
    assert not OnceRecord.objects.exists()


def test_threads_that_would_wait_for_each_other_are_told_and_none_of_them_hangs(both: Engine) -> None:
    inside = threading.Barrier(2)

    def crossing(first: str, second: str) -> Callable[[], Any]:
        def do() -> None:
            with current_job().once(first):
                inside.wait(10)
                current_job().once(second).run(lambda: None)

        return do

    answers: Answers = []
    enqueue(calling("threads.cross", lambda: answers.extend(at_once(crossing("a", "b"), crossing("b", "a")))))
    attempt(both)
    told = [answer for answer in answers if isinstance(answer, OnceMisused)]
    assert len(told) == 1
    assert "the thread within it waits for this thread, which cannot wait for it" in str(told[0])


def test_another_process_of_the_same_run_that_is_at_it_is_waited_for(
    both: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs under the same lease, and nothing in this process tells of it."""
    monkeypatch.setattr(once_begin, "PATIENCE_S", 0.2)
    fork = multiprocessing.get_context("fork")
    begun, may_end = fork.Event(), fork.Event()

    def effect() -> str:
        begun.set()
        assert may_end.wait(20)
        return "of the child"

    def body() -> str:
        def child() -> None:
            current_job().once("k", on_unknown="dead").run(effect)

        connections.close_all()
        process = fork.Process(target=child)
        process.start()
        assert begun.wait(10)
        try:
            return str(current_job().once("k", on_unknown="dead").run(lambda: "of the parent"))
        finally:
            may_end.set()
            process.join(20)

    enqueue(calling("threads.process", body))
    _, outcome, ended = attempt(both)
    assert (outcome.error_class, ended) == ("jobops.OnceBusy", "postponed")
    assert decode_result(attempt(both)[1].result) == "of the child"
