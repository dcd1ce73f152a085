"""Children of a job: each is made once, however often its parent is tried again."""

from __future__ import annotations

from typing import Any

import pytest

from jobops import InvalidJob, job
from jobops.contracts.running import RunningJob, running
from tests.contracts.conftest import Recorder
from tests.contracts.samples import GOOD


def parent(job_id: str = "a" * 32, attempt: int = 1) -> RunningJob:
    return RunningJob(job_id, "acme", "bulk", "t.parent", attempt, 3, "chain-1")


@pytest.fixture
def resize(recorder: Recorder) -> Any:
    @job(**GOOD, name="media.resize")
    def resize(photo: int) -> None: ...

    return resize


def test_a_child_has_the_same_id_in_every_attempt_and_replay_of_its_parent(resize: Any, recorder: Recorder) -> None:
    """OB-09"""
    ids = set()
    for each in (parent(), parent(attempt=2), parent("a" * 32 + "-3-r1"), parent("a" * 32 + "-3-r12")):
        with running(each):
            resize.using(tenant="acme").child("photo:7").enqueue(photo=7)
            resize.using(tenant="acme").enqueue_many([{"photo": 7}], child_key=lambda call: f"photo:{call['photo']}")
        ids |= {new.id for new in recorder.jobs}
    assert len(ids) == 1
    assert recorder.job.correlation_id == "chain-1"


def test_children_differ_by_parent_key_and_type(resize: Any, recorder: Recorder) -> None:
    @job(**GOOD, name="media.other")
    def other(photo: int) -> None: ...

    for each in (parent(), parent("b" * 32), parent("c" * 32 + "-r1")):
        with running(each):
            for key in ("1", "2"):
                resize.using(tenant="acme").child(key).enqueue(photo=7)
            other.using(tenant="acme").child("1").enqueue(photo=7)
    assert len({new.id for new in recorder.jobs}) == 9


def test_outside_of_a_job_and_for_a_key_that_cannot_be_it_is_refused(resize: Any, recorder: Recorder) -> None:
    with pytest.raises(InvalidJob, match="child: this code runs in no job"):
        resize.using(tenant="acme").child("1")
    with running(parent()):
        for bad in ("", "a\nb", 7):
            with pytest.raises(InvalidJob, match="child: "):
                resize.using(tenant="acme").child(bad)
        with pytest.raises(InvalidJob, match="child: one key for many runs"):
            resize.using(tenant="acme").child("1").enqueue_many([{"photo": 7}])
        call = resize.using(tenant="acme").child("1")
    with pytest.raises(InvalidJob, match="child: this code runs in no job"):
        call.enqueue(photo=7)
    with running(parent()), pytest.raises(InvalidJob) as raised:
        resize.using(tenant="acme").enqueue_many([{"photo": 7}, {"photo": 8}], child_key=lambda call: "")
    assert str(raised.value).startswith("item 0 (counted from 0): child: '' cannot be used; ")
    assert recorder.jobs == []
