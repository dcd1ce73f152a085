"""The real scripts on a real Redis against the pure model, with gates: any sequence of operations, the same picks."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from jobops.engine.client import Engine
from jobops.engine.gate_model import GatedModel
from jobops.engine.gates import read_gates
from jobops.engine.records import Outcome
from tests.engine import invariants
from tests.engine.test_state_machine import LANES, TENANTS, TYPES, EngineMachine
from tests.engine.virtual_time import virtual

RESOURCES = ["", "mail", "stripe"]
GATES = ["mail", "stripe", "type:t.long"]


class GateMachine(EngineMachine):
    """As its base, and jobs have to pass gates."""

    model: GatedModel

    def make_model(self) -> GatedModel:
        return GatedModel(LANES)

    @rule(slug=st.sampled_from(TENANTS), lane=st.sampled_from(list(LANES)), job_type=st.sampled_from(TYPES),
          front=st.booleans(), n=st.integers(1, 4), watch=st.booleans(),
          resource=st.sampled_from(RESOURCES))  # fmt: skip
    def enqueue(  # type: ignore[override]
        self, slug: str, lane: str, job_type: str, front: bool, n: int, watch: bool, resource: str
    ) -> None:
        for _ in range(n):
            self._enqueue(slug, lane, job_type, front=front, watch=watch, resource=resource)

    @rule(gate=st.sampled_from(GATES), concurrency=st.none() | st.integers(0, 3))
    def limit(self, gate: str, concurrency: int | None) -> None:
        self.scripts.set_limit(gate, concurrency, None)
        self.model.set_limit(gate, concurrency, self.now)

    @rule(gate=st.sampled_from(GATES))
    def forget_limit(self, gate: str) -> None:
        known = gate in self.model.gates and self.model.gates[gate].known
        assert self.scripts.drop_limit(gate) is known
        self.model.drop_limit(gate, self.now)

    @rule(gate=st.sampled_from(GATES), paused=st.booleans())
    def pause(self, gate: str, paused: bool) -> None:
        was = gate in self.model.gates and self.model.gates[gate].paused
        changed = self.scripts.pause_gate(gate) if paused else self.scripts.resume_gate(gate)
        assert changed is (was != paused)
        self.model.pause_gate(gate, paused, self.now)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), brake=st.booleans(), ms=st.sampled_from([0, 5, 400, 2_500]))
    def postpone(self, data: st.DataObject, brake: bool, ms: int) -> None:
        job = self.running.pop(data.draw(st.sampled_from(sorted(self.running))))
        if brake:
            gate = self.model.brake(job.id, self.jobs[job.id].resource, self.now + ms)
        outcome = Outcome.postponed(ms, "Busy", "come again", brake=brake)
        assert self.scripts.settle(f"z{next(self.slots)}", 1, job.id, job.token, outcome).outcome == "postponed"
        self.attempts[job.id] -= 1
        self.model.settle(job.id, self.now, learn=False)
        if brake:
            waiting = self.jobs[job.id]
            waiting.front, waiting.runnable = False, self.now // 1
            self.model.hold((job.tenant, job.lane), waiting, gate, first=True)
            self.model.release(gate, 1, self.now)
        else:
            assert self.scripts.cancel(job.id) == "cancelled"  # out of the model, which knows no delays
            self.told |= {job.id: "cancelled"} if job.id in self.watched else {}

    @precondition(lambda self: self._cancellable())
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        found = self._cancellable()
        job_id = data.draw(st.sampled_from(sorted(found)))
        queue, waits = found[job_id]
        assert self.scripts.cancel(job_id) == "cancelled"
        self.model.cancel(queue, self.jobs[job_id], waits, self.now)
        self.told |= {job_id: "cancelled"} if job_id in self.watched else {}

    def _cancellable(self) -> dict[str, tuple[tuple[str, str], str]]:
        found = {job.id: (queue, "") for queue, jobs in self.model.queues.items() for job in jobs}
        for name, gate in self.model.gates.items():
            found |= {job.id: (queue, name) for queue, line in gate.lines.items() for job in line}
        return found

    def _passed_over(self) -> list[tuple[str, str]]:
        now = set(self._held())
        before = {
            job.id: queue for gate in self.model.gates.values() for queue, line in gate.lines.items() for job in line
        }
        return [tuple(queue.rsplit(".", 1)) for job_id, queue in self._held().items() if job_id in now - set(before)]

    def _held(self) -> dict[str, str]:
        redis, prefix = self.engine.redis, self.engine.keys.prefix
        return {
            job_id.decode(): key.decode().removeprefix(f"{prefix}:held:")
            for key in redis.scan_iter(f"{prefix}:held:*")
            for job_id in redis.zrange(key, 0, -1)
        }

    @invariant()
    def who_waits_at_gates_agrees_with_the_model(self) -> None:
        redis, keys = self.engine.redis, self.engine.keys
        assert [gate.name for gate in read_gates(self.engine)] == sorted(self.model.gates)
        for name, gate in self.model.gates.items():
            assert {job.decode() for job in redis.zrange(keys.inflight_resource(name), 0, -1)} == gate.inflight
            lines = {
                queue: [job.decode() for job in redis.zrange(keys.line(".".join(queue), name), 0, -1)]
                for queue in gate.lines
            }
            assert lines == {queue: [job.id for job in line] for queue, line in gate.lines.items()}
            turns = redis.zrange(keys.turns(name), 0, -1, withscores=True)
            assert dict(turns) == {".".join(queue).encode(): time for queue, time in gate.turns.items()}

    @invariant()
    def everything_that_must_hold_does(self) -> None:
        invariants.check(self.engine, lowered={*TENANTS, *GATES})


def test_the_scripts_pick_as_the_model_does_when_jobs_have_to_pass_gates(engine: Engine) -> None:
    GateMachine.engine = virtual(engine)
    machine = GateMachine.TestCase
    machine.settings = settings(
        max_examples=100, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
    )
    machine("runTest").runTest()
    engine.redis.flushdb()  # at its end the last example may have lowered a cap below what runs
