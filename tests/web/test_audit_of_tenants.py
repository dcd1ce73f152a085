"""What the audit tells a tenant's admin: what colleagues did and why; of us, that it was our team, and no more."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dlq.bulk import TICKED, bulk_confirm, bulk_draft
from dlq.bulk_run import run_batch
from dlq.endings import Ending, settle
from dlq.models import DeadLetter, ReplayRun
from dlq.services import letter_discard, letter_replay
from jobops.audit import recording
from jobops.audit.recording import Change
from tenants.models import Membership, Tenant
from tenants.roles import Role
from tests.tenants.people import person
from tests.web.bulks import replayable
from tests.web.test_audit_page import login, shown
from tests.web.world import World


@pytest.fixture
def acme(world: World) -> Tenant:
    return world.tenant("acme", may_replay=True)


@pytest.fixture
def admin(acme: Tenant) -> Client:
    return login(person(Role.TENANT_ADMIN, acme, name="mia"))


def text_of(client: Client, query: str = "") -> str:
    return html.unescape(client.get(f"/audit/{query}").content.decode())


def discarded(world: World, tenant: Tenant, by: User | str, reason: str) -> None:
    letter_discard(letter_id=replayable(world, tenant).pk, by=by, reason=reason)


def stays(user: User) -> None:
    """Still one of our team."""


LEAVES: dict[str, Callable[[User], object]] = {
    "is still ours": stays,
    "has no role of ours any more": lambda user: user.groups.clear(),
    "has a closed account": lambda user: User.objects.filter(pk=user.pk).update(is_active=False),
    "has no account any more": lambda user: User.objects.filter(pk=user.pk).delete(),
}


@pytest.mark.parametrize("leaves", LEAVES)
def test_what_our_team_wrote_down_is_for_our_team(world: World, acme: Tenant, admin: Client, leaves: str) -> None:
    """SE-06: reasons, names and the machine's notes; of whoever is no colleague."""
    alice = person(Role.ON_CALL, name="staffalice")
    discarded(world, acme, alice, "they are a fraud")
    discarded(world, acme, "command:root", "a fraud, says root")
    chosen = DeadLetter.objects.filter(pk=replayable(world, acme).pk)
    bulk = bulk_draft(kind="discard", letters=chosen, by=alice, chosen="owner=billing&error=Odd", reason="bulk fraud")
    run_batch(bulk_confirm(bulk_id=bulk.pk, by=alice).pk)
    run = letter_replay(letter_id=replayable(world, acme).pk, by=alice)
    died = Ending(
        run.job_id, ReplayRun.State.DIED, timezone.now(), attempt=1, error_class="OddError", error="db-7 refused"
    )
    settle([died])
    LEAVES[leaves](alice)
    own = text_of(admin)
    for hidden in ("fraud", "staffalice", "root", "OddError", "db-7", "billing", "Odd", "scheduler", "owner"):
        assert hidden not in own, hidden
    assert "Our team" in own
    ours = text_of(world.client(Role.OPERATOR))
    for told in ("they are a fraud", "bulk fraud", "staffalice", "command:root"):
        assert told in ours


def test_why_a_colleague_did_it_is_told(world: World, acme: Tenant, admin: Client) -> None:
    discarded(world, acme, User.objects.get(username="mia"), "we wrote it by hand")
    text = text_of(admin)
    assert "“we wrote it by hand”" in text
    assert re.search(r">mia</span>", text)


def test_only_colleagues_can_be_looked_for_by_name(world: World, acme: Tenant, admin: Client) -> None:
    """SE-05: whether a login is one of ours, the answer is the same as for one that there is not."""
    rival = world.tenant("rival")
    mia, alice = User.objects.get(username="mia"), person(Role.ON_CALL, name="staffalice")
    former, other = person(Role.OPERATOR, name="former"), person(Role.TENANT_ADMIN, rival, name="otto")
    for by in (mia, alice, former, other, "command:root"):
        recording.record(by, Change("job.cancel", "job", "j-1", acme.pk, "acme", reason="why"))
    former.groups.clear()
    assert len(shown(admin, "?who=mia&what=job")) == 1
    answers = set()
    for name in ("staffalice", "former", "otto", "root", "command:root", "nobody"):
        assert shown(admin, f"?who={name}") == []
        text = re.sub(r'<time.*?</time>|csrf\S+" value="\w+"|nonce="[^"]+"', "", text_of(admin, f"?who={name}"))
        answers.add(text.replace(name, "…").replace(name.replace(":", "%3A"), "…"))
    assert len(answers) == 1
    Membership.objects.create(user=alice, tenant=acme, role=Membership.Role.ADMIN)
    assert len(shown(admin, "?who=staffalice&what=job")) == 1, "now she is a colleague"
    assert "“why”" in text_of(admin, "?who=staffalice&what=job")


def test_why_a_bulk_action_was_stopped_by_itself_is_for_our_team(world: World, acme: Tenant, admin: Client) -> None:
    alice = person(Role.ON_CALL, name="staffalice")
    chosen = DeadLetter.objects.filter(pk=replayable(world, acme).pk)
    bulk = bulk_draft(kind="discard", letters=chosen, by=alice, chosen=TICKED, reason="r")
    bulk_confirm(bulk_id=bulk.pk, by=alice)
    alice.groups.clear()
    assert run_batch(bulk.pk) == 0
    assert "staffalice" not in text_of(admin)
    assert "staffalice may not discard dead letters of all these tenants any more" in text_of(
        world.client(Role.OPERATOR)
    )
