"""keys.py and the Lua commands build the same names, under the same prefix."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest
from redis import Redis

from jobops.engine import keys as rq
from jobops.engine.client import Engine
from jobops.engine.keys import Keys
from jobops.engine.lua_source import names, source
from jobops.engine.records import Outcome, Policy
from jobops.engine.scripts import Scripts
from tests.engine import invariants
from tests.engine.helpers import BOOM, Slot, expire, job, make_due

LUA = {path.name: path.read_text() for path in (files("jobops.engine") / "lua" / "include").iterdir()}


def everything(engine: Engine) -> None:
    """One run through all commands, so that every key there is has been written."""
    scripts = engine.scripts
    engine.prepare()
    scripts.set_policy(Policy("acme", lane_caps={"bulk": 5}))
    scripts.enqueue_many([job("a", key="k"), job("b"), job("c", delay_ms=50_000), job("d"), job("e"), job("f")])
    slot = Slot(scripts)
    slot.run()
    slot.run(Outcome.failed("poison"))
    make_due(engine, "c")
    scripts.promote()
    slot.run(BOOM)
    scripts.cancel("e")
    scripts.enqueue(job("g", replay_of="x:1"))
    scripts.cancel("g")
    slot.need()
    Slot(scripts, "idle", lanes=["interactive"]).claim()
    scripts.enqueue(job("i", lane="interactive", key="k"))
    scripts.rescue()
    scripts.lock("l", "me", 60_000)
    at_gates(scripts)


def at_gates(scripts: Scripts) -> None:
    """Somebody in flight at a gate, others that wait, and a queue that has left the turns and owes one."""
    scripts.set_policy(Policy("beta"))
    scripts.set_limit("mail", 1, None)
    scripts.enqueue_many([job(name, resource="mail") for name in "mno"])
    one = Slot(scripts, "one", lanes=["bulk"])
    while one.need().id != "m":
        one.settle()
    scripts.enqueue_many([job("q", "beta", resource="mail"), job("u", "beta", resource="nobody-knows")])
    assert Slot(scripts, "two", lanes=["bulk"]).claim() is None
    one.settle()
    scripts.cancel("o")
    assert Slot(scripts, "three", lanes=["bulk"]).claim() is not None


def named(keys: Keys) -> set[str]:
    """Every name that keys.py can give, with the values used above."""
    made = set()
    for lane in ("interactive", "bulk"):
        made |= {keys.ring(lane), keys.active(lane), keys.idle(lane), keys.wake(lane)}
    for name in "abcdefgimnoqu":
        made |= {keys.lease(name), keys.pushed(name)}
    made |= {
        keys.slot("slot"),
        keys.slot("idle"),
        keys.unique("acme", "t.work", "k"),
        keys.lock("l"),
        keys.epoch(),
        keys.mark(),
    }
    made |= {keys.lanes(), keys.cell(), keys.tenant("acme"), keys.inflight("acme"), keys.busy()}
    made |= {keys.slot(name) for name in ("one", "two", "three")}
    made |= {keys.tenant("beta"), keys.gates(), keys.parked(), keys.turned("mail")}
    for gate in ("mail", "nobody-knows"):
        made |= {keys.resource(gate), keys.inflight_resource(gate), keys.waiting(gate), keys.turns(gate)}
        for tenant in ("acme", "beta"):
            queue = f"{tenant}.bulk"
            made |= {keys.held(tenant, "bulk"), keys.line(queue, gate), keys.lines(queue), keys.inflight(tenant)}
    return made | {keys.leases(), keys.dead(), keys.outcomes(), keys.outcome_of()}


@pytest.mark.parametrize("prefix", ["jobops", "cell7"])
def test_every_key_in_redis_has_a_function_that_names_it(redis: Redis, prefix: str) -> None:
    engine = Engine(redis, lanes={"interactive": 4.0, "bulk": 1.0}, prefix=prefix)
    everything(engine)
    invariants.check(engine)
    keys = {key.decode() for key in redis.scan_iter()}
    ours = {key for key in keys if not key.startswith("rq:")}
    minutes = {key for key in ours if re.fullmatch(rf"{prefix}:minute:\d+:(tenant|type)", key)}
    minute = int(min(minutes).split(":")[2])
    assert engine.keys.minute(minute, "tenant") in minutes
    assert ours - minutes - named(engine.keys) == set()
    assert {key for key in named(engine.keys) if "mail" in key} - ours == {engine.keys.line("acme.bulk", "mail")}
    queue = "acme.bulk"
    rq_names = {rq.RQ_QUEUES, rq.rq_queue(queue), rq.rq_queue("acme.interactive")}
    rq_names |= {rq.rq_wip(queue), rq.rq_finished(queue), rq.rq_failed(queue), f"rq:canceled:{queue}", rq.RQ_SCHEDULED}
    assert {key for key in keys - ours if not key.startswith("rq:job:")} - rq_names == set()


def test_two_engines_with_two_prefixes_keep_their_state_apart(redis: Redis) -> None:
    one, two = (Engine(redis, lanes={"bulk": 1.0}, prefix=prefix) for prefix in ("one", "two"))
    assert one.prepare() != two.prepare()
    one.scripts.set_policy(Policy("acme"))
    assert two.scripts.policy("acme") is None


def test_keys_in_lua_are_built_by_one_function() -> None:
    """No command writes a name of ours by hand."""
    for name in names():
        body = re.sub(r"--[^\n]*", "", source(name))
        assert "jobops:" not in body, name
        rq_literals = set(re.findall(r"'(rq:[a-z:_]+)", body))
        assert rq_literals <= {
            "rq:job:", "rq:queue:", "rq:wip:", "rq:finished:", "rq:failed:", "rq:canceled:", "rq:queues", "rq:worker:",
            rq.RQ_SCHEDULED,
        }, name  # fmt: skip


def test_every_command_says_what_it_takes_and_answers() -> None:
    for name in names():
        head = source(name).partition("\nlocal")[0]
        assert head.startswith(f"-- {name}: "), name
        assert "\n-- ARGV: prefix" in head, name
        assert "\n-- Answers: " in head, name


def test_every_include_is_used_and_every_command_has_a_method(engine: Engine) -> None:
    used = set()
    for text in [*LUA.values(), *((files("jobops.engine") / "lua" / f"{name}.lua").read_text() for name in names())]:
        used |= set(" ".join(re.findall(r"^-- @include (.+)$", text, re.MULTILINE)).split())
    assert {f"{name}.lua" for name in used} == set(LUA)
    methods = [path for path in files("jobops.engine").iterdir() if path.name.endswith(("scripts.py", "_commands.py"))]
    code = "".join(path.read_text() for path in methods)
    for name in names():
        assert f'"{name}"' in code, name


def test_a_queues_name_is_split_at_its_last_dot() -> None:
    assert rq.split_queue("acme.bulk") == ("acme", "bulk")
    for wrong in ("", "acme", ".bulk", "acme."):
        with pytest.raises(ValueError, match=r"is not <tenant>.<lane>"):
            rq.split_queue(wrong)


def test_expiring_a_lease_in_tests_really_expires_it(engine: Engine) -> None:
    engine.scripts.set_policy(Policy("acme"))
    engine.scripts.enqueue(job("a"))
    Slot(engine.scripts).need()
    expire(engine, "a")
    assert engine.scripts.rescue().moved == 1
