"""``manage.py doctor``: exit codes, what it prints, and that every code is one that a test plants."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.management import call_command

from dlq.models import DeadLetter
from jobops.audit.models import AuditEntry
from jobops.doctor import site as site_module
from jobops.doctor.findings import CODES
from jobops.doctor.site import Site
from jobops.management.base import Found
from tests.doctor import plant
from tests.runtime.asking import ask, refusal, text


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_module.time, "sleep", lambda _seconds: None)


def test_a_healthy_system_is_said_to_be_healthy_with_what_was_looked_at(site: Site) -> None:
    plant.waiting_job(site.engine)
    assert "nothing is wrong (looked at 0 groups, 1 jobs" in text("doctor")
    shown = ask("doctor")
    assert (shown["healthy"], shown["findings"], shown["looked_at"]["jobs"]) == (True, [], 1)


def test_a_fault_is_exit_code_1_until_it_is_repaired(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    lost = plant.waiting_job(site.engine)
    site.engine.redis.lrem("rq:queue:acme.interactive", 1, lost)
    site.engine.scripts.reconcile("acme.interactive")
    with pytest.raises(Found) as found:  # the name stands before the line, and nothing was refused
        call_command("doctor")
    assert (found.value.returncode, str(found.value)) == (1, "1 thing is wrong; --repair mends what it can")
    out = capsys.readouterr().out
    assert f"WRONG  I1     in_no_list                   job {lost}: it is queued, but stands nowhere" in out
    assert "--repair mends it" in out
    shown = ask("doctor", "--repair")
    assert (shown["healthy"], shown["found"], shown["repaired"]) == (True, 1, 1)
    row = shown["findings"][0]
    assert (row["invariant"], row["code"], row["subject"], row["tenant"]) == ("I1", "in_no_list", f"job {lost}", "acme")
    assert (row["repairable"], row["repaired"], row["done"]) == (True, True, "put back into its queue")
    assert AuditEntry.objects.filter(action="job.mend", target_id=lost).count() == 1
    assert "nothing is wrong" in text("doctor", "--repair")


def test_what_cannot_be_mended_stays_exit_code_1(site: Site) -> None:
    site.engine.redis.delete(site.engine.keys.lock("scheduler"))
    assert refusal("doctor", "--repair") == (1, "1 thing is wrong")


def test_without_repair_nothing_is_changed(site: Site) -> None:
    lost = plant.waiting_job(site.engine)
    site.engine.redis.lrem("rq:queue:acme.interactive", 1, lost)
    before = site.engine.redis.hgetall(f"rq:job:{lost}"), sorted(site.engine.redis.scan_iter())
    refusal("doctor")
    assert (site.engine.redis.hgetall(f"rq:job:{lost}"), sorted(site.engine.redis.scan_iter())) == before
    assert (AuditEntry.objects.filter(action__endswith=".mend").count(), DeadLetter.objects.count()) == (0, 0)


def test_an_odd_option_is_wrong_usage() -> None:
    assert refusal("doctor", "--mend")[0] == 2


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_planted_by_a_test_and_found_by_a_check(code: str) -> None:
    tests = "".join(
        path.read_text() for path in Path(__file__).parent.glob("test_*.py") if path.name != Path(__file__).name
    )
    checks = "".join(path.read_text() for path in Path(site_module.__file__).parent.rglob("*.py"))
    assert f'"{code}"' in tests
    assert len(re.findall(f'"{code}"', checks)) > 1, "beside the table"
