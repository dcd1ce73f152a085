"""The doctor and the counts of causes: told when they are wrong, put right by the letters, left alone when right."""

from __future__ import annotations

import pytest
from django.db.models import F

from dlq.causes.checking import differences
from dlq.models import DeadLetter, DeadLetterGroup, GroupTenant
from jobops.audit.models import AuditEntry
from jobops.doctor.checks import causes
from jobops.doctor.site import Site
from tenants.models import Tenant
from tests.dlq.causes.ways import discard, take_in, undo
from tests.doctor.plant import look, mended


def acme() -> Tenant:
    return Tenant.objects.get(slug="acme")


def test_counts_that_are_right_are_no_finding(site: Site) -> None:
    letter = take_in(acme(), "torn")
    discard(letter)
    undo(letter)
    assert look(site) == []
    assert list(causes.check(site)) == []
    assert site.looked_at["groups"] >= 1


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"open": F("open") + 2}, "open is 3, and should be 1"),
        ({"deaths": 0}, "deaths is 0, and should be 1"),
        ({"due_at": None}, "due_at is None"),
    ],
)
def test_a_wrong_count_is_told_and_put_right(site: Site, fields: dict[str, object], told: str) -> None:
    group_id = take_in(acme(), "torn").group_id
    other = take_in(acme(), "wet").group_id
    before = DeadLetterGroup.objects.values().get(pk=other)
    DeadLetterGroup.objects.filter(pk=group_id).update(**fields)
    assert told in next(iter(causes.check(site))).text
    mended(site, ("group_counts_wrong", str(group_id)))
    assert list(differences()) == []
    assert DeadLetterGroup.objects.values().get(pk=other) == before
    row = AuditEntry.objects.get(action="group.mend")
    assert (row.target_id, row.after["found"]) == (str(group_id), "group_counts_wrong")
    assert not AuditEntry.objects.filter(action="group.repair").exists()


def test_a_tenants_share_that_is_missing_is_made(site: Site) -> None:
    letter = take_in(acme(), "torn")
    GroupTenant.objects.all().delete()
    mended(site, ("group_counts_wrong", str(letter.group_id)))
    assert GroupTenant.objects.get().open == 1


def test_letters_that_were_written_past_the_services_are_counted_as_they_are(site: Site) -> None:
    letter = take_in(acme(), "torn")
    DeadLetter.objects.update(state="discarded")
    mended(site, ("group_counts_wrong", str(letter.group_id)))
    group = DeadLetterGroup.objects.get()
    assert (group.open, group.discarded, group.state) == (0, 1, "drained")


def test_what_somebody_else_put_right_meanwhile_leaves_no_row(site: Site) -> None:
    letter = take_in(acme(), "torn")
    DeadLetterGroup.objects.update(open=7)
    found = list(causes.check(site))
    DeadLetterGroup.objects.update(open=1)
    assert found[0].remedy is not None
    assert found[0].remedy() == ""
    assert letter.group_id is not None
