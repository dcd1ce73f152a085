"""Malformed arguments are one clear error that names the field, and change nothing in Redis."""

from __future__ import annotations

from typing import Any

import pytest

from jobops.engine.client import Engine
from jobops.engine.errors import EngineUnavailable, InvalidJob
from jobops.engine.lua_source import names
from jobops.engine.records import Outcome
from jobops.engine.scripts import Scripts
from tests.engine.helpers import LANES, Slot, dump, job

# For each command arguments that are right, and by position what is wrong there and which field the error names.
NUMBER = ["", "x", "-1", "1.5", "nan", "inf", "1e300"]
NATURAL = [*NUMBER, "0"]
FLAG = ["", "2", "yes"]
CALLS: dict[str, tuple[list[Any], dict[int, tuple[str, list[Any]]]]] = {
    "abandon": (["slot", "worker_lost", "text"], {0: ("slot", [""]), 1: ("cause", [""])}),
    "batch_ack": (["b1", 5], {0: ("batch", [""]), 1: ("changed_us", NUMBER)}),
    "batch_forget": (["b1"], {0: ("batch", [""])}),
    "batch_state": (["b1"], {0: ("batch", [""])}),
    "batch_tell": (["b1", "lost", "a"], {0: ("batch", [""]), 1: ("how", ["", "failed"])}),
    "cancel": (["a", "", "", "", 60], {4: ("ttl_s", NATURAL)}),
    "claim": (
        ["s9", 1, "w", "token", 1000, "bulk"],
        {0: ("slot", [""]), 1: ("seq", NATURAL), 3: ("token", [""]), 4: ("block_ms", NUMBER)},
    ),
    "dead_ack": ([60, "b:1"], {0: ("ttl_s", NATURAL)}),
    "dead_batch": ([10, 1000], {0: ("limit", NATURAL), 1: ("max_bytes", NATURAL)}),
    "drop_limit": (["stripe"], {0: ("gate", [""])}),
    "drop_policy": (["acme"], {0: ("slug", [""])}),
    "enqueue": (
        [
            "new",
            "acme",
            "bulk",
            "t.work",
            "data",
            5,
            30_000,
            30_000,
            "",
            "",
            0,
            0,
            0,
            60,
            "a:1",
            "",
            "stripe",
            0,
            0,
            0,
            "",
            "",
        ],
        {
            0: ("id", [""]),
            1: ("tenant", [""]),
            2: ("lane", [""]),
            5: ("max_attempts", NATURAL),
            6: ("timeout_ms", NATURAL),
            7: ("lease_ms", NATURAL),
            10: ("delay_ms", NUMBER),
            11: ("due_ms", NUMBER),
            12: ("front", FLAG),
            13: ("result_ttl_s", NATURAL),
            17: ("dedup_ms", NUMBER),
            18: ("drop", FLAG),
            19: ("keep", NUMBER),
        },
    ),
    "epoch": (["proposal"], {0: ("proposal", [""])}),
    "epoch_mark": (["proposal", 1, 1], {0: ("proposal", [""]), 1: ("known", NUMBER), 2: ("most_behind", NUMBER)}),
    "fate": (["a", "gone"], {}),
    "gates": ([], {}),
    "key_holders": (["acme", "t.work", "k"], {}),
    "lock": (["name", "owner", 1000], {0: ("name", [""]), 1: ("owner", [""]), 2: ("ttl_ms", NUMBER)}),
    "mend": (["a", 0, "beta.bulk"], {0: ("id", [""]), 1: ("has_letter", FLAG)}),
    "outcome_ack": (["member"], {}),
    "pause": (["acme", 1], {1: ("paused", FLAG)}),
    "pause_gate": (["stripe", 1], {0: ("gate", [""]), 1: ("paused", FLAG)}),
    "promote": ([10, 0, ""], {0: ("limit", NATURAL), 1: ("min_interval_ms", NUMBER)}),
    "reconcile": (["acme", "bulk", 10], {0: ("tenant", [""]), 1: ("lane", [""]), 2: ("limit", NATURAL)}),
    "release_gate": (["stripe"], {0: ("gate", [""])}),
    "renew": (["a", "token"], {}),
    "rescue": (
        [10, 5000, 30_000, 0, ""],
        {0: ("limit", NATURAL), 1: ("gap_ms", NUMBER), 2: ("hold_ms", NUMBER), 3: ("min_interval_ms", NUMBER)},
    ),
    "run_now": (["a", ""], {0: ("id", [""])}),
    "save_checkpoint": (["a", "token", "[4]"], {0: ("job", [""]), 1: ("token", [""]), 2: ("state", [""])}),
    "save_progress": (
        ["a", "token", 4, 10],
        {0: ("job", [""]), 1: ("token", [""]), 2: ("done", NUMBER), 3: ("total", NUMBER)},
    ),
    "set_lanes": (["bulk", 2], {0: ("lane", [""]), 1: ("share", ["", "x", "0", "-1", "nan", "inf"])}),
    "set_limit": (
        ["stripe", 5, 50, 1000],
        {
            0: ("gate", [""]),
            1: ("concurrency", NUMBER[1:]),
            2: ("rate_count", NATURAL[1:]),
            3: ("rate_per_ms", NATURAL),
        },
    ),
    "set_policy": (
        ["acme", "7", 1, 1.0, 5, 100, 0, 0, 50, 1000, "bulk", 3],
        {
            0: ("slug", [""]),
            2: ("version", NUMBER),
            3: ("weight", ["", "x", "0", "-1", "nan", "inf"]),
            4: ("cap", NUMBER[1:]),
            5: ("depth_limit", NUMBER[1:]),
            6: ("paused", FLAG),
            7: ("intake_closed", FLAG),
            8: ("rate_count", NATURAL[1:]),
            9: ("rate_per_ms", NATURAL),
            10: ("lane", [""]),
            11: ("cap of bulk", NUMBER),
        },
    ),
    "settle": (
        ["slot", 9, "a", "token", "failed", "error", "E", "text", "text", "tb", 0, "", "w", "next", 1000, "bulk"],
        {
            0: ("slot", [""]),
            1: ("seq", NATURAL),
            4: ("kind", ["", "failure", "SUCCEEDED"]),
            10: ("delay_ms", NUMBER),
            13: ("next_token", [""]),
            14: ("block_ms", NUMBER),
        },
    ),
    "stop": (["a", "", "end", "stopped by anna"], {0: ("id", [""]), 2: ("mode", ["", "kill"])}),
    "whereabouts": ([1, "beta.bulk", "a"], {0: ("queues", NUMBER)}),
    "why": (["a", "", "", "", ""], {0: ("id", [""])}),
}
COUNTS = {name: [len(args) - 1] for name, (args, _) in CALLS.items()}
COUNTS |= {"dead_ack": [0], "settle": [13, 14], "renew": [1], "set_policy": [6, 11], "set_lanes": [0, 1]}
COUNTS |= {"batch_tell": [0, 1], "gates": []}
COUNTS |= {"fate": [0], "key_holders": [0, 1, 2], "mend": [1], "outcome_ack": [0], "whereabouts": [1, 2]}
ENDS_IN_A_LIST = {"batch_tell", "claim", "settle", "dead_ack", "fate", "gates", "mend", "outcome_ack", "whereabouts"}


@pytest.fixture
def busy(engine: Engine, scripts: Scripts) -> Engine:
    """A Redis with a job in each state."""
    scripts.enqueue_many([job("a"), job("b", max_attempts=1), job("c", delay_ms=99_000), job("d", key="k")])
    slot = Slot(scripts)
    slot.need()
    Slot(scripts, "other").run(Outcome.failed("error"))
    Slot(scripts, "idle", lanes=["interactive"]).claim()
    return engine


def test_every_command_is_listed_here() -> None:
    assert sorted(CALLS) == names()


@pytest.mark.parametrize("name", CALLS)
def test_the_arguments_called_right_are_right(busy: Engine, name: str) -> None:
    busy.scripts._call(name, *CALLS[name][0])


@pytest.mark.parametrize("name", CALLS)
def test_a_malformed_argument_is_named_and_changes_nothing(busy: Engine, name: str) -> None:
    right, wrong = CALLS[name]
    before = dump(busy.redis)
    for at, (field, values) in wrong.items():
        for bad in values:
            with pytest.raises(EngineUnavailable, match=rf"^{name}: .*\({field}: '{bad[:40]}' must be "):
                busy.scripts._call(name, *right[:at], bad, *right[at + 1 :])
    assert dump(busy.redis) == before


@pytest.mark.parametrize("name", CALLS)
def test_missing_and_superfluous_arguments_are_told_and_change_nothing(busy: Engine, name: str) -> None:
    right, _ = CALLS[name]
    calls = [right[:count] for count in COUNTS[name]]
    if name not in ENDS_IN_A_LIST:
        calls.append([*right, "more"])
    before = dump(busy.redis)
    for args in calls:
        with pytest.raises(EngineUnavailable, match=rf"^{name}: .*\(arguments: \d+ were given"):
            busy.scripts._call(name, *args)
    assert dump(busy.redis) == before


NEW = job("new")
BAD_JOBS = [
    (NEW._replace(id=""), "id"),
    (NEW._replace(id="a:1"), "id"),
    (NEW._replace(id="a b"), "id"),
    (NEW._replace(id="a\n"), "id"),
    (NEW._replace(id="é"), "id"),
    (NEW._replace(id="x" * 161), "id"),
    (NEW._replace(id=7), "id"),  # type: ignore[arg-type]
    (NEW._replace(tenant="A"), "tenant"),
    (NEW._replace(tenant="a.b"), "tenant"),
    (NEW._replace(tenant=None), "tenant"),  # type: ignore[arg-type]
    (NEW._replace(lane=""), "lane"),
    (NEW._replace(lane="a.b"), "lane"),
    (NEW._replace(lane="Bulk"), "lane"),
    (NEW._replace(job_type=""), "job_type"),
    (NEW._replace(job_type="a:b"), "job_type"),
    (NEW._replace(job_type="x" * 201), "job_type"),
    (NEW._replace(job_type=None), "job_type"),  # type: ignore[arg-type]
    (NEW._replace(job_type="\ud800"), "job_type"),
    (NEW._replace(data="text"), "data"),  # type: ignore[arg-type]
    (NEW._replace(data=None), "data"),  # type: ignore[arg-type]
    (NEW._replace(key="x" * 201), "key"),
    (NEW._replace(key="\udfff"), "key"),
    (NEW._replace(key=None), "key"),  # type: ignore[arg-type]
    (NEW._replace(correlation_id="x" * 201), "correlation_id"),
    (NEW._replace(correlation_id="\ud800"), "correlation_id"),
    (NEW._replace(replay_of="x" * 251), "replay_of"),
    (NEW._replace(replay_of="\ud800"), "replay_of"),
    (NEW._replace(replay_of=None), "replay_of"),  # type: ignore[arg-type]
    (NEW._replace(tenant_uid="x" * 101), "tenant_uid"),
    (NEW._replace(tenant_uid=7), "tenant_uid"),  # type: ignore[arg-type]
    (NEW._replace(max_attempts=0), "max_attempts"),
    (NEW._replace(max_attempts=True), "max_attempts"),
    (NEW._replace(max_attempts=1.0), "max_attempts"),  # type: ignore[arg-type]
    (NEW._replace(timeout_ms=-1), "timeout_ms"),
    (NEW._replace(lease_ms="30"), "lease_ms"),  # type: ignore[arg-type]
    (NEW._replace(result_ttl_s=0), "result_ttl_s"),
    (NEW._replace(delay_ms=-1), "delay_ms"),
    (NEW._replace(delay_ms=2**60), "delay_ms"),
    (NEW._replace(due_at_ms=2**60), "due_at_ms"),
    (NEW._replace(delay_ms=5, due_at_ms=5), "delay_ms"),
    (NEW._replace(front="yes"), "front"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("bad", "field"), BAD_JOBS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_bad_job_is_one_clear_error_and_nothing_is_kept(
    engine: Engine, scripts: Scripts, bad: Any, field: str
) -> None:
    before = dump(engine.redis)
    with pytest.raises(InvalidJob, match=rf"^{field}: .*(must be|not both)") as refused:
        scripts.enqueue(bad)
    assert refused.value.field == field
    assert len(str(refused.value)) < 300
    with pytest.raises(InvalidJob):
        scripts.enqueue_many([job("fine"), bad])
    assert dump(engine.redis) == before


def test_a_slot_goes_on_after_a_malformed_request(scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    with pytest.raises(EngineUnavailable, match="block_ms"):
        scripts.claim("s", 1, "w", LANES, block_ms=-5)
    with pytest.raises(EngineUnavailable, match="arguments: 6 were given"):
        scripts.claim("s", 1, "w", [])
    claimed = scripts.claim("s", 1, "w", LANES).job
    assert claimed is not None
    assert scripts.settle("s", 2, "a", claimed.token, Outcome.succeeded()).outcome == "succeeded"


def test_data_of_another_form_is_one_clear_error(engine: Engine, scripts: Scripts) -> None:
    engine.redis.set(engine.keys.leases(), "not a set")
    with pytest.raises(EngineUnavailable, match=r"rescue: .*WRONGTYPE"):
        scripts.rescue()
    engine.redis.delete(engine.keys.leases())


def test_what_is_known_to_be_right_makes_nothing_right_that_is_only_equal_to_it(scripts: Scripts) -> None:
    """1, True and 1.0 are one key of a dict, and so are a text and a kind of its own."""
    scripts.enqueue(job("right", max_attempts=1))
    for value in (True, 1.0):
        with pytest.raises(InvalidJob, match=r"^max_attempts: "):
            scripts.enqueue(job("wrong", max_attempts=value))
    with pytest.raises(InvalidJob, match=r"^front: "):
        scripts.enqueue(job("wrong", max_attempts=1, front=0))
