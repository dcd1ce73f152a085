"""Thresholds: the narrowest rule that fits, or the signal's own."""

from __future__ import annotations

import pytest

from jobops.alerts.matching import Matcher, fits
from jobops.alerts.models import AlertRule
from jobops.alerts.rules import Limits, rules_in_force
from jobops.alerts.signals import SIGNALS
from jobops.contracts.catalog.promises import ALERTS
from tests.alerts.rounds import alert, evaluate, signal

ACME = {"tenant": "acme", "lane": "bulk"}


def rule(**fields: object) -> AlertRule:
    return AlertRule(**({"signal": "depth"} | fields))


def threshold(*rules: AlertRule, scope: dict[str, str] = ACME, owner: str = "payments") -> float | None:
    return Limits(rules).of(signal(), scope, owner).threshold


def test_without_a_rule_that_fits_the_signals_own_threshold_holds() -> None:
    assert threshold() == 100
    assert threshold(rule(tenant="beta", threshold=5)) == 100
    assert threshold(rule(signal="backlog_age", threshold=5)) == 100
    assert threshold(rule(job_type="*", threshold=5)) == 100  # a queue has no job type


def test_the_narrowest_rule_that_fits_is_in_force() -> None:
    everywhere, by_glob = rule(threshold=1), rule(tenant="ac*", threshold=2)
    by_name, by_two = rule(tenant="acme", threshold=3), rule(tenant="*", lane="bulk", threshold=4)
    assert threshold(everywhere) == 1
    assert threshold(by_glob, everywhere) == 2
    assert threshold(everywhere, by_glob, by_name) == 3
    assert threshold(by_two, by_name, by_glob, everywhere) == 4
    assert threshold(rule(team="payments", threshold=5), everywhere) == 5
    assert threshold(rule(team="exports", threshold=5), everywhere) == 1


def test_of_two_that_are_as_narrow_the_newer_one_is_in_force() -> None:
    older, newer = rule(pk=1, tenant="acme", threshold=1), rule(pk=2, tenant="acme", threshold=2)
    assert threshold(older, newer) == threshold(newer, older) == 2


def test_what_a_rule_does_not_say_is_as_the_signal_has_it() -> None:
    limit = Limits([rule(severity="critical")]).of(signal(for_s=300), ACME, "payments")
    assert (limit.threshold, limit.clears_at, limit.for_s, limit.severity) == (100, 90, 300, "critical")
    assert Limits([rule(for_s=5)]).of(signal(for_s=300), ACME, "payments").for_s == 5


def test_the_lower_threshold_moves_in_proportion() -> None:
    assert Limits([rule(threshold=1000)]).of(signal(), ACME, "").clears_at == 900
    under = signal(threshold=60, clears_at=90, under=True)
    assert Limits([rule(threshold=10)]).of(under, ACME, "").clears_at == 15
    # A signal that fires at anything at all has no proportion.
    assert Limits([rule(threshold=10)]).of(signal(threshold=0, clears_at=0), ACME, "").clears_at == 9
    assert Limits([rule(threshold=0)]).of(signal(threshold=0, clears_at=0), ACME, "").clears_at == 0


def test_a_subjects_own_default_gives_way_to_a_rule() -> None:
    assert Limits().of(signal(), ACME, "", default=7).threshold == 7
    assert Limits([rule(threshold=5)]).of(signal(), ACME, "", default=7).threshold == 5


@pytest.mark.parametrize(
    ("glob", "value", "does"),
    [("", None, True), ("", "x", True), ("*", None, False), ("*", "", False), ("ac*", "acme", True),
     ("ac?e", "acme", True), ("acme", "acme2", False), ("ACME", "acme", False), ("[ab]*", "beta", True),
     ("a.c", "abc", False), ("*", 5, False)],
)  # fmt: skip
def test_globs(glob: str, value: object, does: bool) -> None:
    assert fits(glob, value) is does


def test_a_matcher_of_a_group_is_about_that_group_alone() -> None:
    assert Matcher(group=5).fits("sla_breach", {"group": 5}, "ops")
    assert not Matcher(group=5).fits("sla_breach", {"group": 6}, "ops")
    assert not Matcher(group=5).fits("depth", {}, "ops")


@pytest.mark.django_db
def test_a_rule_that_switches_a_signal_off_ends_its_episode() -> None:
    evaluate(0, 500)
    off = (rule(enabled=False),)
    evaluate(1, 500, rules=off)
    evaluate(3, 500, rules=off)
    assert alert().state == "resolved"


@pytest.mark.django_db
def test_a_rule_gives_an_alert_another_owner_and_severity() -> None:
    evaluate(0, 500, rules=(rule(owner="exports", severity="critical"),))
    assert (alert().owner, alert().severity) == ("exports", "critical")


@pytest.mark.django_db
def test_rules_are_read_from_the_table() -> None:
    AlertRule.objects.create(signal="depth", tenant="acme", threshold=5)
    limits = rules_in_force()
    assert limits.of(SIGNALS["depth"], ACME, "").threshold == 5
    assert limits.names("depth", "tenant", ACME)
    assert not limits.names("depth", "tenant", {"tenant": "beta"})
    assert (limits.globs("depth", "tenant"), limits.globs("depth", "lane")) == (["acme"], [])
    assert limits.has_rule("depth")
    assert not limits.has_rule("retry_rate")


def test_every_signal_says_what_it_is_and_clears_on_the_right_side() -> None:
    for name, each in SIGNALS.items():
        assert name == each.name
        assert each.title
        assert each.about.endswith(".")
        if each.threshold is not None and each.clears_at is not None:
            apart = each.clears_at - each.threshold
            assert apart >= 0 if each.under else apart <= 0
        assert not each.overruled_by or each.overruled_by in SIGNALS


def test_what_the_catalog_says_a_job_type_alerts_of_are_signals() -> None:
    assert ALERTS.keys() <= SIGNALS.keys()
