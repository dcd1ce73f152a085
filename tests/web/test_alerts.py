"""The pages of alerts: what is firing first, who has it, and how people were told."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from jobops.alerts.acting import alert_acknowledge
from jobops.alerts.models import Alert, Delivery, Silence
from jobops.web.formats import clock
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.alert_things import alert_of, channel_of, silence_of
from tests.web.world import World

HOSTILE = '<script>alert(1)</script>" onmouseover="x \' <img src=x onerror=alert(2)>'


def body(client: Client, url: str = "/alerts/") -> str:
    answer = client.get(url)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def title(text: str) -> str:
    return re.search(r"<h1>(.*?)</h1>", text, re.DOTALL)[1].strip()  # type: ignore[index]


def rows(text: str) -> list[int]:
    return [int(pk) for pk in re.findall(r'<li class="fire-r al-r[^"]*" id="al-(\d+)"', text)]


@pytest.fixture
def on_call(world: World) -> Client:
    return world.client(Role.ON_CALL)


def test_without_alerts_it_says_what_is_good(on_call: Client) -> None:
    text = body(on_call)
    assert title(text) == "Nothing is firing."
    assert "No alert has fired yet." in text


def test_firing_comes_first_then_acknowledged_then_silenced_each_most_urgent_first(on_call: Client) -> None:
    silenced = alert_of("quiet-one", severity="critical")
    silence_of()
    known = alert_of("known", severity="critical")
    alert_acknowledge(alert_id=known.pk, by="olga")
    low, critical = alert_of("low", severity="low"), alert_of("worst", severity="critical")
    text = body(on_call)
    assert rows(text) == [critical.pk, low.pk, known.pk, silenced.pk]
    assert title(text) == "Two things are firing, one more is acknowledged. Start with worst."
    assert "2 firing, 1 acknowledged, 1 silenced" in text
    assert "olga has it until" in text
    assert text.count("nobody has taken it") == 2
    assert "silenced until" in text
    assert f'fire-r al-r crit" id="al-{critical.pk}"' in text
    assert f'fire-r al-r crit" id="al-{silenced.pk}"' not in text


def test_what_is_due_first_comes_first_of_those_that_are_as_severe(on_call: Client) -> None:
    now = timezone.now()
    alert_of("no-deadline", since=now - timedelta(days=1))
    alert_of("tomorrow", due_at=now + timedelta(days=1), since=now - timedelta(hours=9))
    alert_of("at-once", due_at=now + timedelta(hours=1), since=now)
    alert_of("severe", severity="high", since=now)
    text = body(on_call)
    order = [Alert.objects.get(pk=pk).key for pk in rows(text)]
    assert order == ["severe", "at-once", "tomorrow", "no-deadline"]
    assert "The most severe first, then what is due first, then the oldest." in text


def test_what_somebody_has_is_not_said_to_be_firing(on_call: Client) -> None:
    for number in range(3):
        alert_of(f"known-{number}", state="acknowledged", acknowledged_by="olga")
    alert_of("acme")
    text = body(on_call)
    assert title(text) == "acme has 48,210 jobs waiting in bulk. Three more are acknowledged."
    assert re.search(r"data-alarms-count>.*?<span data-n>1</span>", text)
    assert 'data-alarms="1"' in text
    alert_of("beta")
    assert title(body(on_call)) == "Two things are firing, three more are acknowledged. Start with acme."


def test_one_of_something_is_not_told_as_many(on_call: Client) -> None:
    alert = alert_of("one", signal="new_cause", value=1.0, threshold=0.0)
    text = body(on_call, f"/alerts/{alert.pk}/")
    assert "<dd>1 dead letter," in text
    Alert.objects.update(value=2.0)
    assert "<dd>2 dead letters," in body(on_call, f"/alerts/{alert.pk}/")


def test_one_alone_is_the_title(on_call: Client) -> None:
    alert = alert_of("acme")
    assert title(body(on_call)) == "acme has 48,210 jobs waiting in bulk."
    alert_acknowledge(alert_id=alert.pk, by="olga")
    assert title(body(on_call)) == "One thing is wrong, and somebody has it."


def test_what_is_over_is_listed_below_and_page_by_page(on_call: Client) -> None:
    now = timezone.now()
    for number in range(60):
        alert_of(f"t-{number:02}", state="resolved", resolved_at=now - timedelta(minutes=number))
    text = body(on_call)
    assert title(text) == "Nothing is firing."
    assert "t-09 has" in text
    assert "t-10 has" not in text
    first = body(on_call, "/alerts/?state=resolved")
    assert first.count("<tr>") == 51
    following = re.search(r'rel="next" href="([^"]+)"', first)
    assert following
    second = body(on_call, "/alerts/" + following[1].replace("&amp;", "&"))
    assert second.count("<tr>") == 11
    assert "t-59 has" in second


def test_many_open_ones_come_page_by_page(on_call: Client) -> None:
    alerts = [alert_of(f"t-{number:03}") for number in range(120)]
    seen: list[int] = []
    url = "/alerts/"
    for _ in range(3):
        text = body(on_call, url)
        seen += rows(text)
        following = re.search(r'rel="next" href="([^"]+)"', text)
        url = "/alerts/" + following[1] if following else ""
    assert sorted(seen) == [alert.pk for alert in alerts]
    assert not url
    back = re.search(r'rel="prev" href="([^"]+)"', text)
    assert back
    assert rows(body(on_call, "/alerts/" + back[1])) == seen[50:100]


def test_queries_do_not_grow_with_the_alerts(on_call: Client, django_assert_max_num_queries: Any) -> None:
    for number in range(3):
        alert_of(f"t-{number}")
    body(on_call)
    counts = []
    for _ in range(2):
        with django_assert_max_num_queries(30) as asked:
            body(on_call)
            body(on_call, "/")
        counts.append(len(asked.captured_queries))
        for number in range(40):
            alert_of(f"more-{len(counts)}-{number}")
            silence_of(tenant=f"none-{number}")
    assert counts[0] == counts[1]


def test_an_alert_has_a_page_of_its_own(on_call: Client) -> None:
    alert = alert_of("acme", told_at=timezone.now(), notices=1, due_at=timezone.now() + timedelta(minutes=40))
    channel = channel_of("payments on call")
    answer = "HTTP 503: not now"
    Delivery.objects.create(key="1", alert=alert, channel=channel, event="fired", attempts=2, answer=answer)
    text = body(on_call, f"/alerts/{alert.pk}/")
    for words in (
        "48,210 jobs",
        "over 10,000 jobs",
        "Channels of no team were told",
        "payments on call",
        "Due in 39",
        "HTTP 503: not now",
    ):
        assert words in text, words
    assert "after 2 tries" in text
    on_call.post(f"/alerts/{alert.pk}/acknowledge/", {"minutes": "240"})
    text = body(on_call, f"/alerts/{alert.pk}/")
    assert "acknowledged it" in text


@pytest.mark.parametrize("number", [0, 999, 2**63, 2**70])
def test_one_that_is_not_there_is_not_found(on_call: Client, number: int) -> None:
    assert on_call.get(f"/alerts/{number}/").status_code == 404
    assert on_call.post(f"/alerts/{number}/acknowledge/").status_code == 404


def test_who_acknowledges_has_it_and_goes_back_to_where_they_were(on_call: Client) -> None:
    alert = alert_of("acme")
    answer = on_call.post(
        f"/alerts/{alert.pk}/acknowledge/", {"minutes": "60"}, headers={"Referer": "http://testserver/alerts/"}
    )
    assert answer["Location"] == "/alerts/"
    alert.refresh_from_db()
    assert alert.state == Alert.State.ACKNOWLEDGED
    assert "You have it: acme has 48,210 jobs waiting in bulk." in body(on_call)


@pytest.mark.parametrize("next_url", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_nobody_is_sent_to_another_site(on_call: Client, next_url: str) -> None:
    """SE-08"""
    alert = alert_of("acme", path=next_url)
    answer = on_call.post(f"/alerts/{alert.pk}/acknowledge/", {"next": next_url})
    assert answer["Location"] == f"/alerts/{alert.pk}/"
    for url in ("/alerts/", f"/alerts/{alert.pk}/", "/"):
        assert f'href="{next_url}"' not in body(on_call, url)


@pytest.mark.parametrize("minutes", ["", "0", "-5", "x", "99999999", "1.5", "٣"])
def test_a_time_that_is_none_changes_nothing_and_says_what_is_right(on_call: Client, minutes: str) -> None:
    alert = alert_of("acme")
    on_call.post(f"/alerts/{alert.pk}/acknowledge/", {"minutes": minutes})
    alert.refresh_from_db()
    assert alert.state == Alert.State.FIRING
    assert "Nothing was changed. Have it for: must be a whole number" in body(on_call)


def test_one_that_is_over_is_not_acknowledged(on_call: Client) -> None:
    alert = alert_of("acme", state="resolved", resolved_at=timezone.now())
    on_call.post(f"/alerts/{alert.pk}/acknowledge/")
    assert "it is over by itself already" in body(on_call)


def test_a_silence_begins_with_what_the_alert_is_about(on_call: Client) -> None:
    alert = alert_of("acme")
    Tenant.objects.create(slug="acme", name="Acme")
    text = body(on_call, f"/alerts/silences/?alert={alert.pk}")
    assert 'name="tenant" maxlength="100" value="acme"' in text
    assert '<option value="depth" selected>' in text
    form = {"signal": "depth", "tenant": "acme", "lane": "bulk", "for": "2h", "reason": "they load their year"}
    answer = on_call.post("/alerts/silences/new/", form)
    assert answer.status_code == 302
    silence = Silence.objects.get()
    assert (silence.signal, silence.tenant, silence.lane, silence.job_type) == ("depth", "acme", "bulk", "")
    assert timedelta(minutes=119) < silence.ends_at - timezone.now() <= timedelta(hours=2)
    text = body(on_call, "/alerts/silences/")
    assert "they load their year" in text
    assert f"lane bulk until {clock(silence.ends_at)}. It is shown all the same." in text
    assert title(body(on_call)) == "Nothing is firing; 1 alert silenced."
    on_call.post(f"/alerts/silences/{silence.pk}/end/")
    assert title(body(on_call)) == "acme has 48,210 jobs waiting in bulk."


def test_until_is_read_in_the_viewers_zone(world: World) -> None:
    client = world.client(Role.ON_CALL)
    client.cookies["tz"] = "Asia/Tokyo"
    day = timezone.now() + timedelta(days=2)
    client.post("/alerts/silences/new/", {"tenant": "a*", "until": f"{day:%Y-%m-%d} 18:00", "reason": "x"})
    assert f"{Silence.objects.get().ends_at:%H:%M}" == "09:00"


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"reason": ""}, "Why?: say why"),
        ({"tenant": ""}, "Signal: say what to silence"),
        ({"tenant": "nosuch"}, "Tenant: &#x27;nosuch&#x27; is not known"),
        ({"team": "nosuch"}, "Team: &#x27;nosuch&#x27; is not known"),
        ({"group": "4711", "tenant": ""}, "Cause, by its number: there is no cause 4711"),
        ({"for": "for ever"}, "For: "),
        ({"for": "500d"}, "For: must be within 90 days"),
        ({"for": "0s"}, "For: must lie in the future"),
        ({"until": "tomorrow"}, "Or until: write it as"),
        ({"until": "2026-02-31 10:00"}, "write it as"),
        ({"until": "1999-01-01 10:00"}, "Or until: must lie in the future"),
        ({"group": "x"}, "must be the number of a cause"),
        ({"signal": "nonsense"}, "no signal is called"),
    ],
)
def test_a_silence_that_cannot_be_is_refused_and_what_was_typed_stays(
    on_call: Client, form: dict[str, str], words: str
) -> None:
    answer = on_call.post("/alerts/silences/new/", {"tenant": "acme-x*", "for": "2h", "reason": "moving", **form})
    text = answer.content.decode()
    assert answer.status_code == 422
    assert words in text
    assert form.get("tenant", "acme-x*") in text
    assert not Silence.objects.exists()


@pytest.mark.parametrize(
    "url", ["/alerts/", "/", "/alerts/{}/", "/alerts/silences/?alert={}", "/alerts/?state=resolved"]
)
def test_what_a_job_says_stays_text(on_call: Client, url: str) -> None:
    """SE-01, SE-03"""
    over = {"state": "resolved", "resolved_at": timezone.now()} if "resolved" in url else {}
    scope = {"tenant": HOSTILE, "job_type": HOSTILE}
    alert = alert_of("x", title=HOSTILE, detail=HOSTILE, owner=HOSTILE, scope=scope, **over)
    silence_of(tenant=f"other {HOSTILE}", reason=HOSTILE)
    Delivery.objects.create(key="1", alert=alert, channel=channel_of("c"), event="fired", answer=HOSTILE)
    text = body(on_call, url.format(alert.pk))
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert '" onmouseover="' not in text
    assert "&lt;script&gt;" in text


def test_whoever_may_not_act_sees_why(world: World) -> None:
    alert_of("acme")
    text = body(world.client(Role.STAFF_VIEWER))
    assert 'title="As staff viewer you may not acknowledge."' in text
    assert "Silence…" not in text


def test_a_tenants_people_see_nothing_of_it_anywhere(world: World) -> None:
    acme = world.tenant("acme")
    alert_of("acme", title="a secret of the machinery")
    client = world.client(Role.TENANT_ADMIN, acme)
    assert client.get("/alerts/").status_code == 403
    text = body(client, "/")
    assert "a secret" not in text
    assert ">Alerts" not in text


def test_the_navigation_counts_what_people_are_told_of(on_call: Client) -> None:
    def told() -> tuple[str, str, bool]:
        found = re.search(
            r'<span class="(cnt(?:-d)?)" data-alarms-count( hidden)?>.*?<span data-n>(\d+)', body(on_call)
        )
        assert found
        return found[1], found[3], bool(found[2])

    assert told() == ("cnt", "0", True)
    alert = alert_of("acme")
    alert_of("quiet-one")
    silence_of()
    assert told() == ("cnt-d", "1", False)
    alert_acknowledge(alert_id=alert.pk, by="olga")
    assert told() == ("cnt", "0", True)
