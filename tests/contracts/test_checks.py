"""The system check names each fault of a contract, with an id and a hint."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks

from jobops import Backoff, checks, job
from jobops.contracts import config, discovery
from tests.contracts.samples import GOOD


def declare(name: str = "sample", **contract: Any) -> None:
    namespace: dict[str, Any] = {}
    exec(compile("def func(): ...", f"<{name} {contract}>", "exec"), namespace)
    job(**{**GOOD, "name": name, **contract})(namespace["func"])


def found() -> list[CheckMessage]:
    return checks.check_contracts()


@pytest.fixture(autouse=True)
def no_import_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "_faults", ())


def test_a_good_contract_passes() -> None:
    declare()
    assert found() == []


@pytest.mark.parametrize(
    ("contract", "id_"),
    [
        ({"owner": None}, "E001"),
        ({"drain_sla": None}, "E002"),
        ({"idempotent": None}, "E003"),
        ({"timeout": None}, "E004"),
        ({"backoff": Backoff.exponential(base="1s")}, "E005"),
        ({"owner": 7}, "E009"),
        ({"poison_on": "("}, "E009"),
        ({"lane": "express"}, "E010"),
        ({"lease": "3s"}, "E011"),
        ({"idempotent": "yes"}, "W001"),
        ({"name": "__main__.func"}, "W003"),
        ({"drain_sla": "1m", "backoff": Backoff.fixed("1h")}, "W004"),
        ({"on_unknown": "dead"}, "E013"),
        ({"dedup_window": "1d", "result_ttl": "1h"}, "E013"),
        ({"on_full": "drop_oldest"}, "I001"),
    ],
)
def test_each_fault_has_an_id_and_a_hint_and_names_where_it_is(contract: dict[str, Any], id_: str) -> None:
    declare(**contract)
    (message,) = found()
    assert message.id == f"jobops.{id_}"
    assert message.hint
    assert "func" in message.msg
    assert message.is_serious() is id_.startswith("E")


def test_a_guard_alone_passes() -> None:
    declare(idempotent=None, guard=lambda: "key")
    assert found() == []


def test_two_contracts_that_limit_one_resource_differently_are_told_once_with_both() -> None:
    declare("one", resource="stripe", concurrency=10, rate="50/s")
    declare("two", resource="stripe", concurrency=5, rate="3000/m")
    declare("three", resource="stripe")
    declare("four", resource="stripe", concurrency=10)
    messages = found()
    assert [message.id for message in messages] == ["jobops.E012"]
    assert "concurrency 10 (four), 10 (one), 5 (two)" in messages[0].msg
    assert "50/s (one)" in messages[0].msg


def test_what_contracts_say_of_a_resource_adds_up() -> None:
    declare("one", resource="stripe", concurrency=10)
    declare("two", resource="stripe", rate="50/s")
    declare("three", resource="stripe")
    assert found() == []


def test_every_fault_is_listed_at_once() -> None:
    declare("one", owner=None, timeout=None)
    declare("two", drain_sla=None)
    assert [(message.obj, message.id) for message in found()] == [
        ("one", "jobops.E001"), ("one", "jobops.E004"), ("two", "jobops.E002"),
    ]  # fmt: skip


def test_two_types_of_one_name_are_an_error() -> None:
    declare("same", timeout="1s")
    declare("same", timeout="2s")
    (message,) = found()
    assert (message.id, message.obj) == ("jobops.E006", "same")
    assert "name=" in (message.hint or "")


def test_an_alias_that_hides_a_name_is_an_error() -> None:
    declare("mail")
    declare("post", aliases="mail")
    (message,) = found()
    assert (message.id, message.obj) == ("jobops.E007", "post")


def test_a_module_that_cannot_be_imported_is_an_error() -> None:
    discovery.discover(["no.such.module"])
    (message,) = found()
    assert message.id == "jobops.E008"
    assert "no.such.module" in message.msg
    assert "JOBOPS_JOB_MODULES" in (message.hint or "")


def test_lanes_and_heartbeats_are_those_of_the_installation() -> None:
    declare(lane="express", lease="3s")
    config.configure(config.ContractConfig(lanes=("express",), heartbeat=timedelta(seconds=1)))
    assert found() == []


def test_the_check_is_registered_with_django() -> None:
    declare(owner=None)
    assert "jobops.E001" in [message.id for message in run_checks(tags=["jobops"])]
