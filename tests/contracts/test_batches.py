"""``Batch``: filled in a block, its members counted, its mistakes told where they are made."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from jobops import Batch, BatchCancelled, BatchGone, BatchStatus, Handle, InvalidJob, UnknownTenant, job
from jobops.contracts import batch_port
from jobops.contracts.batch_port import NewBatch
from jobops.contracts.errors import NotInstalled
from jobops.contracts.running import RunningJob, running
from jobops.engine.payload import decode
from tests.contracts.conftest import Recorder
from tests.contracts.samples import GOOD


class Store:
    """Keeps batches by remembering them."""

    def __init__(self) -> None:
        self.opened: list[NewBatch] = []
        self.closed: dict[str, int] = {}
        self.aborted: dict[str, int] = {}
        self.is_there = True
        self.was_cancelled = False
        self.refusal: Exception | None = None

    def open(self, batch: NewBatch) -> Filling:
        if self.refusal is not None:
            raise self.refusal
        self.opened.append(batch)
        return Filling(self, batch.id)

    def status(self, batch_id: str) -> BatchStatus | None:
        known = batch_id in self.closed and self.is_there
        return BatchStatus("running", total=self.closed[batch_id]) if known else None


class Filling:
    """Counts the members of a batch."""

    def __init__(self, store: Store, batch_id: str) -> None:
        self.store, self.batch_id, self.total = store, batch_id, 0

    def joined(self, members: Sequence[Handle]) -> None:
        self.total += len(members)

    def close(self) -> bool:
        self.store.closed[self.batch_id] = self.total
        return self.store.is_there and not self.store.was_cancelled

    def abort(self) -> None:
        self.store.aborted[self.batch_id] = self.total
        if self.store.refusal is not None:
            raise self.store.refusal


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, recorder: Recorder) -> Store:
    store = Store()
    monkeypatch.setattr(batch_port, "_store", store)
    return store


@pytest.fixture
def row(recorder: Recorder) -> Any:
    @job(**GOOD, name="rows.import")
    def row(row_id: int) -> None: ...

    return row


@pytest.fixture
def notify(recorder: Recorder) -> Any:
    @job(**GOOD, name="mail.notify", lane="bulk")
    def notify(user_id: int) -> None: ...

    return notify


def test_members_carry_the_batch_and_are_counted_at_the_end_of_the_block(
    store: Store, recorder: Recorder, row: Any, notify: Any
) -> None:
    batch = Batch(tenant="acme", name="Import 2026-11", then=notify.using(tenant="acme").call(user_id=7))
    with batch as same:
        assert same is batch
        batch.add(row, row_id=1)
        batch.add(row.using(tenant="acme", key="row:2", lane="bulk"), 2)
        batch.add_many(row, ({"row_id": number} for number in range(3, 6)))
        assert store.closed == {}
    assert store.closed == {batch.id: 5}
    assert [member.batch for member in recorder.jobs] == [batch.id] * 5
    assert [member.correlation_id for member in recorder.jobs] == [batch.id] * 5
    assert (recorder.jobs[1].key, recorder.jobs[1].lane) == ("row:2", "bulk")
    opened = store.opened[0]
    assert (opened.tenant, opened.name, opened.correlation_id) == ("acme", "Import 2026-11", batch.id)
    assert opened.then is not None
    assert (opened.then.job_type, opened.then.lane, opened.then.batch) == ("mail.notify", "bulk", "")
    assert decode(opened.then.data) == ("mail.notify", (), {"user_id": 7})
    assert opened.then.correlation_id == batch.id
    assert batch.status() == BatchStatus("running", total=5)


def test_a_refused_member_is_none(store: Store, recorder: Recorder, row: Any) -> None:
    with Batch(tenant="acme") as batch:
        recorder.refusals.append(UnknownTenant("acme"))
        with pytest.raises(UnknownTenant):
            batch.add(row, row_id=1)
        recorder.refusals.append(UnknownTenant("acme"))
        answers = batch.add_many(row, [{"row_id": 2}, {"row_id": 3}])
        assert isinstance(answers[0], UnknownTenant)
        with pytest.raises(InvalidJob, match="row_id"):
            batch.add(row)
    assert store.closed == {batch.id: 1}


def test_in_a_job_the_members_share_its_chain(store: Store, recorder: Recorder, row: Any) -> None:
    parent = RunningJob("parent", "acme", "bulk", "t.parent", 1, 3, "chain-1", "7")
    with running(parent), Batch(tenant="acme") as batch:
        batch.add(row, row_id=1)
    assert recorder.job.correlation_id == store.opened[0].correlation_id == "chain-1"
    assert store.opened[0].tenant_uid == "7"
    with Batch(tenant="acme", correlation_id="c-9") as batch:
        batch.add(row, row_id=1)
    assert recorder.job.correlation_id == "c-9"


def test_an_exception_out_of_the_block_cancels_the_batch_and_goes_on(store: Store, row: Any) -> None:
    with pytest.raises(KeyError, match="seven"), Batch(tenant="acme") as batch:  # noqa: PT012  (what ends the block is what is looked at)
        batch.add(row, row_id=1)
        raise KeyError("seven")
    assert store.aborted == {batch.id: 1}
    assert store.closed == {}


def test_an_exception_is_not_hidden_by_a_store_that_fails(
    store: Store, row: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(KeyError, match="seven"), Batch(tenant="acme") as batch:  # noqa: PT012  (what ends the block is what is looked at)
        store.refusal = RuntimeError("away")
        raise KeyError("seven")
    assert f"batch {batch.id} could not be cancelled" in caplog.text


def test_one_that_somebody_cancelled_while_it_was_filled_says_so(store: Store, row: Any) -> None:
    store.was_cancelled = True
    with pytest.raises(BatchCancelled, match="was cancelled while it was being filled"), Batch(tenant="acme") as batch:
        batch.add(row, row_id=1)
    store.is_there = False
    with pytest.raises(BatchGone), Batch(tenant="acme"):
        pass


def test_members_are_added_within_the_block_and_it_is_filled_once(store: Store, row: Any) -> None:
    batch = Batch(tenant="acme")
    with pytest.raises(RuntimeError, match="within `with batch:`"):
        batch.add(row, row_id=1)
    with batch:
        pass
    with pytest.raises(RuntimeError, match="within `with batch:`"):
        batch.add_many(row, [])
    with pytest.raises(RuntimeError, match="filled once"), batch:
        pass
    assert len(store.opened) == 1


def test_what_cannot_be_is_refused_by_name_before_anything_is_kept(store: Store, row: Any, notify: Any) -> None:
    call = notify.using(tenant="acme")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"tenant": "No Such"}, "tenant: 'No Such' is no tenant's slug"),
        ({"tenant": "acme", "name": "x" * 201}, "name: .* at most 200 printable characters"),
        ({"tenant": "acme", "name": "a\nb"}, "name: "),
        ({"tenant": "acme", "then": (notify, {"user_id": 7})}, r"then: .*\.call\(user_id=7\)"),
        ({"tenant": "acme", "then": notify}, "then: "),
        ({"tenant": "beta", "then": call.call(user_id=7)}, "then: it is of tenant 'acme'"),
    ]
    for options, value in (
        ("key", notify.using(tenant="acme", key="k")),
        ("run_after", notify.using(tenant="acme", run_after=timedelta(hours=1))),
        ("priority", notify.using(tenant="acme", priority="front")),
        ("correlation_id", notify.using(tenant="acme", correlation_id="c")),
    ):
        wrong.append(({"tenant": "acme", "then": value.call(user_id=7)}, f"then: it takes no {options}"))
    for arguments, text in wrong:
        with pytest.raises(InvalidJob, match=text):
            Batch(**arguments)
    with pytest.raises(InvalidJob, match="user_id"):
        call.call()
    assert store.opened == []


def test_a_member_of_another_tenant_or_a_child_is_refused(store: Store, row: Any) -> None:
    with Batch(tenant="acme") as batch:
        with pytest.raises(InvalidJob, match="the batch is of 'acme'"):
            batch.add(row.using(tenant="beta"), row_id=1)
        parent = RunningJob("parent", "acme", "bulk", "t.parent", 1, 3, "chain-1")
        with running(parent), pytest.raises(InvalidJob, match="child: "):
            batch.add(row.using(tenant="acme").child("1"), row_id=1)
    assert store.closed == {batch.id: 0}


def test_without_a_store_or_a_row_it_says_so(recorder: Recorder, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BatchGone, match="nothing is kept of it"):
        Batch(tenant="acme").status()
    monkeypatch.setattr(batch_port, "_store", None)
    with pytest.raises(NotInstalled, match="store of batches"), Batch(tenant="acme"):
        pass
