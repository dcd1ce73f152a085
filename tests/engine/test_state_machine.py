"""The real scripts on a real Redis against the pure model: any sequence of operations, the same picks."""

from __future__ import annotations

import math
from itertools import count

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

from jobops.engine.client import Engine
from jobops.engine.fairness import FairModel, JobModel
from jobops.engine.records import ClaimedJob, NewJob, Outcome, Policy
from tests.engine import invariants
from tests.engine.virtual_time import VirtualScripts, virtual

LANES = {"interactive": 4.0, "bulk": 1.0}
TENANTS = ["ant", "bee", "cow"]
TYPES = ["t.short", "t.long"]
caps = st.none() | st.integers(0, 3)
serving = st.sampled_from([["interactive", "bulk"], ["bulk"], ["interactive"]])


class EngineMachine(RuleBasedStateMachine):
    """Every rule does one thing to both; the model says which picks are right."""

    engine: Engine
    claimed = Bundle("claimed")

    def __init__(self) -> None:
        super().__init__()
        self.ids = count()
        self.slots = count()
        self.now = 0.0
        self.model = self.make_model()
        self.jobs: dict[str, JobModel] = {}
        self.queues: dict[str, list[str]] = {}
        self.attempts: dict[str, int] = {}
        self.policies: dict[str, Policy] = {}
        self.running: dict[str, ClaimedJob] = {}
        self.watched: set[str] = set()
        self.told: dict[str, str] = {}

    def make_model(self) -> FairModel:
        return FairModel(LANES)

    @property
    def scripts(self) -> VirtualScripts:
        assert isinstance(self.engine.scripts, VirtualScripts)
        return self.engine.scripts

    @initialize()
    def start(self) -> None:
        self.engine.redis.flushdb()
        self.scripts.set_clock(0)
        self.engine.prepare()
        for slug in TENANTS:
            self._set(Policy(slug, cap=None))

    def _set(self, policy: Policy) -> None:
        assert self.scripts.set_policy(policy)
        self.policies[policy.slug] = policy
        self.model.set_policy(
            policy.slug, self.now, weight=policy.weight, cap=policy.cap, lane_caps=dict(policy.lane_caps),
            paused=policy.paused,
        )  # fmt: skip

    @rule(slug=st.sampled_from(TENANTS), weight=st.sampled_from([0.5, 1.0, 2.0, 5.0]), cap=caps, lane_cap=caps,
          paused=st.booleans())  # fmt: skip
    def change_policy(self, slug: str, weight: float, cap: int | None, lane_cap: int | None, paused: bool) -> None:
        lane_caps = {} if lane_cap is None else {"bulk": lane_cap}
        self._set(Policy(slug, weight=weight, cap=cap, lane_caps=lane_caps, paused=paused))

    @rule(slug=st.sampled_from(TENANTS), lane=st.sampled_from(list(LANES)), job_type=st.sampled_from(TYPES),
          front=st.booleans(), n=st.integers(1, 4), watch=st.booleans())  # fmt: skip
    def enqueue(self, slug: str, lane: str, job_type: str, front: bool, n: int, watch: bool) -> None:
        for _ in range(n):
            self._enqueue(slug, lane, job_type, front=front, watch=watch)

    def _enqueue(self, slug: str, lane: str, job_type: str, *, front: bool, watch: bool, resource: str = "") -> None:
        job_id = f"j{next(self.ids)}"
        job = NewJob(
            job_id, slug, lane, job_type, b"[]", max_attempts=2, lease_ms=1_500, front=front, resource=resource,
            replay_of=f"{job_id}:1" if watch else "",
        )  # fmt: skip
        self.watched |= {job_id} if watch else set()
        assert self.scripts.enqueue(job).state == "queued"
        self.jobs[job_id] = JobModel(job_id, job_type, resource=resource)
        self._comes(job_id, slug, lane, front=front)

    def _comes(self, job_id: str, slug: str, lane: str, *, front: bool) -> None:
        """The job waits in its queue (again)."""
        job = self.jobs[job_id]
        job.front, job.runnable = front, math.floor(self.now)
        self.model.enqueue(slug, lane, job)

    @rule(ms=st.sampled_from([0.25, 1.0, 10.0, 333.0, 2_000.0]))
    def time_passes(self, ms: float) -> None:
        self.now += ms
        self.scripts.set_clock(self.now)

    @rule(target=claimed, lanes=serving)
    def claim(self, lanes: list[str]) -> ClaimedJob | None:
        slot = f"s{next(self.slots)}"
        got = self.scripts.claim(slot, 1, "w", lanes)
        picked = [(got.job.tenant, got.job.lane)] if got.job else []
        prefer = [*(each for each in self._passed_over() if each not in picked), *picked]  # that one was the last
        expected = self.model.claim(lanes, self.now, prefer=prefer)
        if got.job is None:
            assert expected is None
            return None
        assert expected == (got.job.tenant, got.job.lane, got.job.id)
        self.attempts[got.job.id] = self.attempts.get(got.job.id, 0) + 1
        assert got.job.attempt == self.attempts[got.job.id] <= got.job.max_attempts
        self.running[got.job.id] = got.job
        return got.job

    def _passed_over(self) -> list[tuple[str, str]]:
        """Tenant and lane of those whose jobs the last claim met and did not start."""
        return []

    @rule(job=claimed, stale=st.booleans())
    def succeed(self, job: ClaimedJob | None, stale: bool) -> None:
        if job is None:
            return
        live = self.running.get(job.id)
        token = "0" * 24 if stale or live is None or live.token != job.token else job.token
        settled = self.scripts.settle(f"z{next(self.slots)}", 1, job.id, token, Outcome.succeeded())
        if token != job.token:
            assert settled.outcome == "stale"
            return
        assert settled.outcome == "succeeded"
        del self.running[job.id]
        self.model.settle(job.id, self.now)
        if job.id in self.watched:
            self.told[job.id] = "succeeded"

    @rule(limit=st.integers(1, 3))
    def take_outcomes(self, limit: int) -> None:
        """Whoever reads them twice is told the same, and removes them once."""
        batch = self.scripts.outcome_batch(limit)
        members = [outcome.member for outcome in batch]
        assert (self.scripts.outcome_ack(members), self.scripts.outcome_ack(members)) == (len(batch), 0)
        for outcome in batch:
            del self.told[outcome.id]

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        job = self.running.pop(data.draw(st.sampled_from(sorted(self.running, key=str)).map(str)))
        settled = self.scripts.settle(f"z{next(self.slots)}", 1, job.id, job.token, Outcome.released())
        assert settled.outcome == "released"
        self.attempts[job.id] -= 1
        self.model.settle(job.id, self.now, learn=False)
        self._comes(job.id, job.tenant, job.lane, front=True)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        job = self.running[data.draw(st.sampled_from(sorted(self.running)))]
        if self.scripts.renew([(job.id, job.token), (job.id, "0")]) == [True, False]:
            self.model.renew(job.id, self.now)

    @precondition(lambda self: self.running)
    @rule()
    def rescue(self) -> None:
        """Whatever outlived its lease comes back as its next attempt, or dies."""
        before = dict(self.running)
        rescued = self.scripts.rescue(gap_ms=2**40)
        assert not rescued.held
        gone = [(self.engine.redis.zscore(self.engine.keys.leases(), job_id), job) for job_id, job in before.items()]
        lost = [job for score, job in gone if score is None]
        assert len(lost) == rescued.moved + rescued.dead
        # The script takes them in the order of expiry, then of id.
        for job in sorted(lost, key=lambda job: (self._expiry[job.id], job.id)):
            del self.running[job.id]
            self.model.settle(job.id, self.now, learn=False, extra=200.0)
            if self.attempts[job.id] < job.max_attempts:
                self._comes(job.id, job.tenant, job.lane, front=True)

    @invariant()
    def leases_are_remembered(self) -> None:
        scores = self.engine.redis.zrange(self.engine.keys.leases(), 0, -1, withscores=True)
        self._expiry = {job_id.decode(): score for job_id, score in scores}
        assert set(self._expiry) == set(self.running)

    @invariant()
    def exactly_the_ends_of_watched_jobs_are_told(self) -> None:
        assert {told.id: told.outcome for told in self.scripts.outcome_batch(10_000)} == self.told
        ended = self.watched - set(self.running)
        assert {name for name, fate in self.scripts.fates(sorted(ended)).items() if fate.state == "missing"} == set()

    @invariant()
    def caps_hold_for_what_was_claimed_under_them(self) -> None:
        for slug in TENANTS:
            mine = [job for job in self.running.values() if job.tenant == slug]
            assert self.engine.redis.zcard(self.engine.keys.inflight(slug)) == len(mine)

    @invariant()
    def rings_and_virtual_times_agree_with_the_model(self) -> None:
        for name, lane in self.model.lanes.items():
            ring = {
                k.decode(): v / 1000
                for k, v in self.engine.redis.zrange(self.engine.keys.ring(name), 0, -1, withscores=True)
            }
            # Who may not run leaves the ring when a claim comes to it, which among equals need not be the same one.
            able = {slug for slug in TENANTS if self.model.tenants[slug].may_run(name)}
            expected = {slug: vtime for slug, vtime in lane.ring.items() if slug in able}
            assert {slug: vtime for slug, vtime in ring.items() if slug in able} == pytest.approx(expected, abs=1e-3)
            for slug, tenant in self.model.tenants.items():
                vtime = self.engine.redis.hget(self.engine.keys.tenant(slug), f"vt:{name}") or 0
                assert float(vtime) / 1000 == pytest.approx(tenant.vtime.get(name, 0.0), abs=1e-3)
            waiting = [
                j.decode() for slug in TENANTS for j in self.engine.redis.lrange(f"rq:queue:{slug}.{name}", 0, -1)
            ]
            assert waiting == [job.id for slug in TENANTS for job in self.model.queues.get((slug, name), ())]


def test_the_scripts_pick_as_the_model_does(engine: Engine) -> None:
    EngineMachine.engine = virtual(engine)
    machine = EngineMachine.TestCase
    machine.settings = settings(
        max_examples=100, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
    )
    machine("runTest").runTest()
    invariants.check(engine, lowered=TENANTS)  # at its end the last example may have lowered a cap below what runs
    engine.redis.flushdb()
