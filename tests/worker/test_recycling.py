"""Slots are replaced after a number of jobs or above a size of memory, between jobs; failed starts are not hurried."""

from __future__ import annotations

from itertools import pairwise

from tests.tools import wait_for
from tests.worker.crew import Crew


def test_a_slot_is_replaced_after_so_many_jobs(crew: Crew) -> None:
    jobs = [crew.enqueue("nothing") for _ in range(25)]
    crew.run_burst(max_jobs=10)
    counts = [sum(1 for m in crew.marks("start") if m.pid == pid) for pid in {m.pid for m in crew.marks("start")}]
    assert sum(counts) == len(jobs)
    assert max(counts) <= 10
    assert len(counts) in (3, 4)


def test_a_slot_that_grew_is_replaced_after_its_job(crew: Crew) -> None:
    crew.start(max_memory_mib=150)
    job = crew.enqueue("eat_memory", mib=200)
    pid = crew.wait_mark("start", job)[0].pid
    assert crew.wait_end(job).attempts == 1
    wait_for(lambda: (slots := crew.slots()) and slots[0].pid not in (0, pid), what="the replacement")
    assert crew.wait_end(crew.enqueue("nothing")).state == "succeeded"


def test_slots_that_do_not_come_up_are_started_ever_more_slowly(crew: Crew) -> None:
    worker = crew.start(hooks="broken")
    wait_for(lambda: worker.text().count("exit status 70") >= 3, what="a few tries")
    wait_for(lambda: worker.text().count("exit status 70") >= 5, what="more tries")
    times = [line.split()[1] for line in worker.text().splitlines() if "exit status 70" in line]
    seconds = [int(h) * 3600 + int(m) * 60 + float(s.replace(",", ".")) for h, m, s in (t.split(":") for t in times)]
    gaps = [later - earlier for earlier, later in pairwise(seconds)]
    assert gaps[3] > gaps[0] * 2
    assert worker.stop() == 0
