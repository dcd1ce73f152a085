"""The demo's teams, their rules, and the channels by which they are told: all on this machine.

Running it again adds what is missing and leaves the rest as people have changed it, but for the addresses of the demo's
own servers, which are new with each start.
"""

from __future__ import annotations

import os
import secrets

from django.contrib.auth.models import User

from dlq.models import RuleSet
from dlq.owners.saving import rules_save
from jobops.alerts.acting import rule_set
from jobops.alerts.models import AlertRule, Channel
from jobops.demo.cast import ACME, CREWS, RULES, Crew
from jobops.demo.mailbox import TEAMS
from jobops.demo.places import Places, Services
from tenants.models import Team
from tenants.teams import member_add, team_create

BY = "demo"
CHAT = "demo chat"


def assemble(places: Places, services: Services) -> None:
    """Make the teams, their members, the ownership rules, thresholds and channels. The accounts must be there."""
    for crew in CREWS:
        if not Team.objects.filter(name=crew.name).exists():
            _make_team(crew)
    if not RuleSet.objects.exists():
        rules_save(text=RULES, by=BY, note="The demo's own")
    if not AlertRule.objects.exists():
        # Its workers are busy by design, and who floods its own queue waits in it: nobody is to get up for that.
        rule_set(signal="worker_use", by=BY, enabled=False)
        rule_set(signal="backlog_age", by=BY, tenant=ACME.slug, lane="bulk", enabled=False)
    # Every team's messages go there too, signed.
    _open_channel(CHAT, Channel.Kind.WEBHOOK, None, f"{services.receiver_url}/alerts", signing_key(places))


def signing_key(places: Places) -> str:
    """What messages to the demo's receiver are signed with: made once for this folder, readable by its owner only."""
    if not places.alert_key.exists():
        places.root.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(places.alert_key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(24))
    return places.alert_key.read_text().strip()


def _make_team(crew: Crew) -> None:
    team = team_create(
        name=crew.name, by=BY, about=crew.about, escalates_to=crew.escalates_to, escalate_after_min=crew.after_min
    )
    for user in User.objects.filter(username__in=crew.members):
        member_add(team=team, user=user, by=BY)
    if crew.has_mail:
        _open_channel(f"{crew.name} mail", Channel.Kind.EMAIL, team, f"{crew.name}@{TEAMS}")


def _open_channel(name: str, kind: str, team: Team | None, target: str, secret: str = "") -> None:
    # Not by the service: this process has read its settings before the receiver had a port, and so would refuse its
    # address. Whoever sends looks at the address again.
    channel, is_new = Channel.objects.get_or_create(
        name=name, defaults={"kind": kind, "team": team, "target": target, "secret": secret}
    )
    if not is_new and (channel.target, channel.secret) != (target, secret):
        channel.target, channel.secret = target, secret
        channel.save(update_fields=["target", "secret"])
