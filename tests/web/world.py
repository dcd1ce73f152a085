"""A small world for the pages: tenants with policies, people of every role, and jobs in every state."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dlq.models import DeadLetter
from jobops.engine.client import Engine
from jobops.engine.payload import encode
from jobops.engine.records import ClaimedJob, NewJob, Outcome
from jobops.engine.registrations import SlotReport, SupervisorReport, announce
from tenants.models import Tenant
from tenants.policy import policy_of
from tenants.roles import Role
from tests.tenants.people import again, new_tenant, person

LANES = ("interactive", "bulk")


@dataclass
class World:
    """What a test of a page needs: make tenants, people and jobs, and run jobs as a slot would."""

    engine: Engine
    seq: int = 0
    slot: str = field(default_factory=lambda: uuid.uuid4().hex)

    def tenant(self, slug: str, **fields: Any) -> Tenant:
        tenant = new_tenant(slug, **fields)
        self.engine.scripts.set_policy(policy_of(tenant))
        return tenant

    def person(self, role: Role | None = None, tenant: Tenant | None = None) -> User:
        user = person(role, tenant)
        if role is Role.SUPERUSER:
            User.objects.filter(pk=user.pk).update(is_staff=True)
        return again(user)

    def client(self, role: Role | None = None, tenant: Tenant | None = None, **extra: Any) -> Client:
        client = Client(**extra)
        client.force_login(self.person(role, tenant))
        return client

    def enqueue(self, slug: str, job_type: str = "shop.jobs.send", lane: str = "bulk", **kwargs: Any) -> str:
        arguments = kwargs.pop("arguments", {"number": 1})
        new = NewJob(
            id=uuid.uuid4().hex,
            tenant=slug,
            lane=lane,
            job_type=job_type,
            data=encode(job_type, (), arguments),
            **kwargs,
        )
        return self.engine.scripts.enqueue(new).id

    def claim(self) -> ClaimedJob:
        self.seq += 1
        claim = self.engine.scripts.claim(self.slot, self.seq, "worker-1.0", LANES, 0)
        assert claim.job is not None
        return claim.job

    def settle(self, job: ClaimedJob, outcome: Outcome) -> None:
        self.seq += 1
        self.engine.scripts.settle(self.slot, self.seq, job.id, job.token, outcome)

    def worker(self, slots: int = 2, busy: str = "", name: str = "w-1") -> None:
        """A supervisor that has just announced itself; ``busy``: the job that its first slot has."""
        now = self.engine.scripts.now_ms()
        report = SupervisorReport(name, "host-1", 4711, LANES, now - 60_000, 5000, False, 7, "0.1")
        born = timezone.now()
        reports = [
            SlotReport(f"{name}.{i}", 4800 + i, bool(busy) and i == 0, busy if i == 0 else "", 5, 1, 2.5, born)
            for i in range(slots)
        ]
        announce(self.engine, report, reports)

    def letter(self, tenant: Tenant, **fields: Any) -> DeadLetter:
        now = timezone.now()
        values: dict[str, Any] = {
            "job_id": uuid.uuid4().hex,
            "attempt": 3,
            "attempts": 3,
            "max_attempts": 3,
            "tenant": tenant,
            "tenant_slug": tenant.slug,
            "lane": "bulk",
            "queue": f"{tenant.slug}.bulk",
            "job_type": "shop.jobs.send",
            "payload": json.dumps({"args": [], "kwargs": {"number": 1}}),
            "reason": "exhausted",
            "error_class": "ConnectionError",
            "error": "the provider did not answer",
            "traceback": "Traceback (most recent call last): …",
            "owner": "billing",
            "due_at": now + timedelta(hours=1),
            "dead_at": now - timedelta(minutes=5),
            "enqueued_at": now - timedelta(minutes=9),
        }
        return DeadLetter.objects.create(**(values | fields))
