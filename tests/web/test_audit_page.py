"""The audit's page: who sees what, in which words, by which filters."""

from __future__ import annotations

import html
import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dlq.models import DeadLetter
from jobops.audit import recording
from jobops.audit.models import AuditEntry
from jobops.audit.recording import Change
from jobops.web.selectors import audit_folds
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.world import World

OPEN, GONE = {"state": "open"}, {"state": "discarded"}


@pytest.fixture
def acme(world: World) -> Tenant:
    return world.tenant("acme")


@pytest.fixture
def filled(world: World, acme: Tenant) -> dict[str, int]:
    """Rows of two tenants, of people, and of nobody's; answers their ids."""
    rival = world.tenant("rival")
    ours, theirs = world.person(Role.ON_CALL), world.person(Role.TENANT_ADMIN, acme)
    User.objects.filter(pk=ours.pk).update(username="olga")
    User.objects.filter(pk=theirs.pk).update(username="mia")
    AuditEntry.objects.all()._raw_delete("default")
    letter = world.letter(acme)
    changes = {
        "own-by-staff": ("olga", Change("letter.discard", "letter", letter.pk, acme.pk, "acme", OPEN, GONE, "twice")),
        "own-by-member": ("mia", Change("letter.replay", "letter", letter.pk, acme.pk, "acme")),
        "own-by-command": ("command:root", Change("tenant.set", "tenant", "acme", acme.pk, "acme")),
        "own-by-itself": ("scheduler", Change("policy.repair", "tenant", "acme", acme.pk, "acme")),
        "own-membership": ("olga", Change("membership.set", "membership", "mia in acme", acme.pk, "acme")),
        "foreign": ("olga", Change("tenant.pause", "tenant", "rival", rival.pk, "rival", {}, {}, "rival secret")),
        "fleet": ("command:root", Change("worker.drain", "worker", "w-1")),
        "people": ("olga", Change("user.set", "user", "mia", None, "", {}, {"is_superuser": True})),
    }  # fmt: skip
    ids = {}
    for name, (by, change) in changes.items():
        person = User.objects.filter(username=by).first()
        recording.record(person or by, change)
        ids[name] = AuditEntry.objects.latest("id").pk
    return ids


def visitor(world: World, filled: dict[str, int], role: Role, tenant: Tenant | None = None) -> Client:
    """A person of this role, whose being given it is in no row."""
    client = world.client(role, tenant)
    AuditEntry.objects.exclude(pk__in=filled.values())._raw_delete("default")
    return client


def shown(client: Client, query: str = "") -> list[int]:
    answer = client.get(f"/audit/{query}")
    assert answer.status_code == 200
    return [int(pk) for pk in re.findall(r'<tr id="a-(\d+)"', answer.content.decode())]


def test_superusers_and_operators_see_every_row_the_newest_first(world: World, filled: dict[str, int]) -> None:
    for role in (Role.SUPERUSER, Role.OPERATOR):
        assert shown(visitor(world, filled, role)) == sorted(filled.values(), reverse=True)


def test_on_call_sees_all_but_rows_about_people(world: World, filled: dict[str, int]) -> None:
    assert set(shown(visitor(world, filled, Role.ON_CALL))) == set(filled.values()) - {
        filled["people"],
        filled["own-membership"],
    }


def test_a_tenants_admin_sees_the_tenants_rows_alone(world: World, acme: Tenant, filled: dict[str, int]) -> None:
    """I9: on the page and by every filter, and no word of another tenant."""
    client = visitor(world, filled, Role.TENANT_ADMIN, acme)
    own = {pk for name, pk in filled.items() if name.startswith("own-")}
    assert set(shown(client)) == own
    for query in ("?tenant=rival", "?who=root", "?who=command:root", "?target=worker:w-1", "?target=user:mia"):
        assert shown(client, query) == [], query
    assert set(shown(client, "?tenant=acme")) == own
    text = client.get("/audit/").content.decode()
    assert "rival" not in text
    assert "command:root" not in text
    assert "Our team" in text
    assert "By itself" in text
    assert re.search(r">mia</span>", text)
    for hidden in ("olga", "dead letter", "ead letters", "twice", "request"):
        assert hidden not in text.replace("http-equiv", ""), hidden
    assert shown(client, "?who=mia") == [filled["own-by-member"]]
    assert shown(client, "?who=olga") == [], "who of our team it was cannot be found out"


def test_an_admin_of_one_and_viewer_of_another_sees_the_ones_rows(
    world: World, acme: Tenant, filled: dict[str, int]
) -> None:
    from tenants.models import Membership
    from tenants.staff import membership_set

    user = world.person(Role.TENANT_ADMIN, Tenant.objects.get(slug="rival"))
    membership_set(user=user, tenant=acme, role=Membership.Role.VIEWER, by="test")
    client = Client()
    client.force_login(user)
    assert filled["foreign"] in shown(client)
    assert filled["own-by-staff"] not in shown(client)


def test_the_next_tenant_of_a_slug_sees_nothing_of_the_former_one(world: World, acme: Tenant) -> None:
    recording.record("ada", Change("tenant.set", "tenant", "acme", acme.pk, "acme", {}, {"name": "old secret"}))
    acme.delete()
    client = world.client(Role.TENANT_ADMIN, world.tenant("acme"))
    assert "old secret" not in client.get("/audit/").content.decode()
    assert "old secret" not in client.get("/audit/?tenant=acme").content.decode()
    assert "old secret" in world.client(Role.OPERATOR).get("/audit/").content.decode()


def test_a_row_is_a_sentence_with_from_to_why_and_links(world: World, filled: dict[str, int]) -> None:
    text = re.sub(r"\s+", " ", visitor(world, filled, Role.OPERATOR).get("/audit/").content.decode())
    row = text[text.index(f'id="a-{filled["own-by-staff"]}"') :].partition("</tr>")[0]
    assert "olga" in row
    assert re.search(r'discarded dead letter <a href="/dlq/\d+/">', row)
    assert "“twice”" in row
    assert re.search(r"state</span> open → discarded", row)
    assert 'href="/tenants/acme/"' in row
    assert "8 changes in the last 24 hours, 5 of them by people." in text


def test_each_filter_narrows_what_is_shown(world: World, filled: dict[str, int]) -> None:
    client = visitor(world, filled, Role.OPERATOR)
    assert shown(client, "?who=root") == [filled["fleet"], filled["own-by-command"]]
    assert shown(client, "?what=letter.replay") == [filled["own-by-member"]]
    assert shown(client, "?tenant=rival") == [filled["foreign"]]
    assert shown(client, "?target=worker+w-1") == [filled["fleet"]]
    assert shown(client, "?since=1h") == sorted(filled.values(), reverse=True)
    assert shown(client, "?until=1h") == []
    text = client.get("/audit/?until=1h").content.decode()
    assert "Nothing matches these filters." in text


def test_the_headline_is_about_what_is_listed(world: World, filled: dict[str, int]) -> None:
    client = visitor(world, filled, Role.OPERATOR)
    titles = {
        "": "8 changes in the last 24 hours, 5 of them by people.",
        "?request=zz": "No change matches.",
        "?tenant=acme": "5 changes match, 3 of them by people.",
        "?who=root": "2 changes match, none by a person.",
    }
    for query, title in titles.items():
        assert f"<h1>{title}</h1>" in client.get(f"/audit/{query}").content.decode(), query


def test_a_row_leads_only_to_what_is_there_and_may_be_opened(world: World, acme: Tenant) -> None:
    from dlq.bulk import TICKED, bulk_confirm, bulk_draft

    admin = world.person(Role.TENANT_ADMIN, acme)
    letter = world.letter(acme)
    everything = DeadLetter.objects.filter(pk=letter.pk)
    ours, theirs = (
        bulk_confirm(bulk_id=bulk_draft(kind="discard", letters=everything, by=by, chosen=TICKED, reason="r").pk, by=by)
        for by in (world.person(Role.ON_CALL), admin)
    )
    for kind in ("bulk", "letter"):
        recording.record("command:root", Change(f"{kind}.mend", kind, 10**9, acme.pk, "acme"))
    for client, links in ((login(admin), {theirs.pk}), (world.client(Role.OPERATOR), {ours.pk, theirs.pk})):
        text = client.get("/audit/").content.decode()
        found = {int(pk) for pk in re.findall(r'href="/dlq/discards/(\d+)/"', text)}
        assert found == links
        assert str(10**9) not in "".join(re.findall(r'href="([^"]+)"', text))
        for pk in found:
            assert client.get(f"/dlq/discards/{pk}/").status_code == 200


def login(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_odd_filters_and_cursors_break_nothing_and_are_said(world: World, filled: dict[str, int]) -> None:
    """HX-07."""
    client = world.client(Role.OPERATOR)
    text = client.get("/audit/?since=soon&who=root").content.decode()
    assert "“Since” was passed over: write a date" in text
    assert 'value="soon"' in text
    for value in ("0", "-1", "abc", "9" * 30, "%00", "1e30", "²"):
        for name in ("after", "before", "who", "what", "tenant", "target", "request", "since", "until"):
            assert client.get(f"/audit/?{name}={value}").status_code == 200, (name, value)


def test_pages_follow_each_other_while_rows_come_in(world: World) -> None:
    for number in range(120):
        recording.record("ada", Change("x.y", "job", number))
    client = world.client(Role.OPERATOR)
    AuditEntry.objects.filter(action="user.set")._raw_delete("default")
    first = shown(client)
    recording.record("ada", Change("x.y", "job", "late"))
    second = shown(client, f"?after={first[-1]}")
    third = shown(client, f"?after={second[-1]}")
    assert len({*first, *second, *third}) == len(first) + len(second) + len(third) == 120
    assert shown(client, f"?before={third[0]}") == second
    page = client.get(f"/audit/?who=ada&after={first[-1]}").content.decode()
    assert f"?who=ada&amp;after={second[-1]}" in page
    assert f"?who=ada&amp;before={second[0]}" in page


def test_the_number_of_queries_does_not_grow_with_the_rows(
    world: World, filled: dict[str, int], django_assert_max_num_queries: object
) -> None:
    """UP-04."""
    for number in range(60):
        recording.record("ada", Change("letter.replay", "letter", number, None, "acme"))
    client = world.client(Role.OPERATOR)
    with django_assert_max_num_queries(17):  # type: ignore[operator]
        client.get("/audit/")


def test_what_was_done_to_many_letters_at_once_is_one_line_that_can_be_opened(world: World, acme: Tenant) -> None:
    rival = world.tenant("rival")
    client = world.client(Role.OPERATOR)
    AuditEntry.objects.all()._raw_delete("default")
    recording.record("ada", Change("tenant.set", "tenant", "acme", acme.pk, "acme"))
    for tenant in (acme, rival):
        many = [
            Change("letter.discard", "letter", number, tenant.pk, tenant.slug, OPEN, GONE, "gone")
            for number in range(60)
        ]
        recording.record_many("ada", many)
    for number in range(2):
        recording.record("bob", Change("letter.replay", "letter", number))
    ids = sorted(AuditEntry.objects.values_list("pk", flat=True), reverse=True)
    assert shown(client) == [*ids[:3], ids[-1]]
    text = client.get("/audit/").content.decode()
    row = re.search(r'discarded <a href="/audit/([^"]+)">120 dead letters</a>', text)
    assert row is not None
    assert "2 tenants" in text
    assert "“gone”" in text
    each = html.unescape(row[1])
    first = shown(client, each)
    assert first == ids[2:52]
    following = re.search(r'href="(\?[^"]*each=1[^"]*after=\d+)"', client.get(f"/audit/{each}").content.decode())
    assert following is not None
    assert shown(client, html.unescape(following[1])) == ids[52:102]


def test_folds_do_not_break_the_pages(world: World, acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    client = world.client(Role.OPERATOR)
    AuditEntry.objects.all()._raw_delete("default")
    for act in range(60):
        recording.record_many(f"p{act}", [Change("letter.replay", "letter", n, acme.pk, "acme") for n in range(5)])
    first = shown(client)
    assert len(first) == 50
    after = re.search(r"after=(\d+)", client.get("/audit/").content.decode())
    assert after is not None
    second = shown(client, f"?after={after[1]}")
    assert len(second) == 10
    assert shown(client, f"?before={second[0]}") == first
    monkeypatch.setattr(audit_folds, "MOST_READ", 7)
    assert len(shown(client)) == 3, "an act of five, and two of the next one"


def test_a_tenants_admin_reads_of_many_jobs_in_their_words(world: World, acme: Tenant) -> None:
    client = world.client(Role.TENANT_ADMIN, acme)
    changes = [Change("letter.discard", "letter", n, acme.pk, "acme", OPEN, GONE, "gone") for n in range(4)]
    recording.record_many("olga", changes)
    text = client.get("/audit/").content.decode()
    row = re.search(r'gave up on <a href="/audit/([^"]+)">4 jobs</a>', text)
    assert row is not None
    assert "olga" not in row[1]
    assert len(shown(client, html.unescape(row[1]))) == 4


def test_whatever_a_row_holds_is_text(world: World, acme: Tenant) -> None:
    """SE-01."""
    evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
    recording.record(
        evil[:100], Change(evil[:60], evil[:30], evil, None, evil[:50], {evil: evil}, {evil: [evil]}, evil)
    )
    text = world.client(Role.OPERATOR).get("/audit/", {"who": evil, "since": evil}).content.decode()
    text += world.client(Role.OPERATOR).get("/audit/").content.decode()
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert "&lt;script&gt;alert(1)" in text


def test_old_rows_carry_their_date(world: World) -> None:
    AuditEntry.objects.create(
        at=timezone.now() - timedelta(days=400), actor="ada", actor_kind="person", action="x.y", target_kind="job",
        target_id="1",
    )  # fmt: skip
    text = world.client(Role.OPERATOR).get("/audit/").content.decode()
    assert re.search(r"<time[^>]*>\d+ \w+ \d{4}, ", text)
