"""Template tags and filters of the pages: ``{% load ops %}``.

HTML is built by ``format_html`` or by a template, never by hand, so that whatever a job says stays text.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from django import template
from django.contrib.messages.storage.base import Message
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dlq.models import DeadLetter
from dlq.payloads import shown_error
from dlq.text import one_line
from jobops.alerts.models import Delivery
from jobops.alerts.reading import Counts, counts
from jobops.metrics.condition import RETRY_LIMIT, RETRY_LIMIT_OF_ALL, RETRY_STARTS
from jobops.web import alert_words, formats, job_words
from jobops.web.breaking import breakable
from jobops.web.charts import Bar, Spark
from jobops.web.group_words import owned_words
from jobops.web.inline import inline
from jobops.web.list_links import in_list
from jobops.web.message_acts import MessageAct, act_of
from jobops.web.navigation import Navigation, navigation_of
from jobops.web.selectors.group_counts import undrained_count
from jobops.web.words import Look
from tenants.access import sees_all

register = template.Library()

LONGEST_LINE = 500
STYLES = {
    "clock": formats.clock,
    "seconds": formats.clock_seconds,
    "moment": formats.moment,
    "ago": formats.ago,
    "due": formats.due,
}
JOB_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")

register.filter("number", formats.number)
register.filter("decimal", formats.decimal)
register.filter("percent", formats.percent)
register.filter("plain", formats.plain)
register.filter("duration", formats.duration)
register.filter("run_time", formats.run_time)
register.filter("full_time", formats.full_time)
register.filter("inline", inline)
register.filter("breakable", breakable)


@register.filter
def plural(count: int, word: str) -> str:
    """``{{ 3|plural:"job" }}`` → ``3 jobs``; another plural stands after a comma: ``"entry,entries"``."""
    one, _, many = word.partition(",")
    return formats.plural(count, one, many)


@register.simple_tag
def icon(name: str, size: str = "") -> SafeString:
    """An icon of the sprite, hidden from screen readers: the word beside it speaks. ``size``: ``s`` for small."""
    classes = "i i-s" if size == "s" else "i"
    return format_html(
        '<svg class="{}" aria-hidden="true"><use href="{}#i-{}"/></svg>', classes, static("icons.svg"), name
    )


@register.simple_tag
def when(at: datetime | None, style: str = "clock") -> SafeString | str:
    """An instant as ``<time>``, its full form in the title. ``style``: clock, seconds, moment, ago or due."""
    if at is None:
        return formats.NOTHING
    text = STYLES[style](at)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', at.isoformat(timespec="seconds"), formats.full_time(at), text
    )


@register.simple_tag
def count(value: float | None, hot: bool = False) -> SafeString:
    """A number in a cell: grey when it is 0 or not applicable, its exact value in the title when it is large."""
    text = formats.number(value)
    if not value:
        return format_html('<span class="n0">{}</span>', text)
    return format_html('<span class="{}">{}</span>', "hot" if hot else "", text) if hot else format_html("{}", text)


@register.inclusion_tag("parts/spark.html")
def sparkline(chart: Spark | None) -> dict[str, Any]:
    """Draw a ``charts.Spark``; nothing for None."""
    return {"chart": chart}


@register.inclusion_tag("parts/bar.html")
def meter(chart: Bar | None) -> dict[str, Any]:
    """Draw a ``charts.Bar``; nothing for None."""
    return {"chart": chart}


@register.simple_tag
def zone() -> str:
    """The name of the zone in which times on this page are written: ``Europe/Berlin``, ``UTC``."""
    return timezone.get_current_timezone_name()


@register.filter
def clock_zone(at: datetime | None) -> str:
    """``03:14 CET``: when a page was read, for its live line."""
    if at is None:
        return formats.NOTHING
    here = timezone.localtime(at)
    return f"{here:%H:%M} {formats.zone_name(here)}"


@register.simple_tag(takes_context=True)
def theme(context: template.Context) -> str:
    """``light`` or ``dark`` if the person has chosen one, else the empty string: the system decides."""
    request = context.get("request")
    chosen = request.COOKIES.get("theme", "") if request is not None else ""
    return chosen if chosen in ("light", "dark") else ""


@register.simple_tag(takes_context=True)
def navigation(context: template.Context) -> Navigation | None:
    """The top bar for whoever is signed in; None for nobody."""
    request = context.get("request")
    user = getattr(request, "user", None)
    if not request or not user or not user.is_authenticated:
        return None
    return navigation_of(user, request.path_info, _undrained(context), _alarms(context))


@register.simple_tag(takes_context=True)
def undrained(context: template.Context) -> str:
    """How many letters the person still has to deal with, as the navigation writes it."""
    return formats.number(_undrained(context))


def _undrained(context: template.Context) -> int:
    """Counted once for a page, and not at all where its view has counted it: one page says one number."""
    request, told = context["request"], context.get("undrained")
    if told is None:
        told = getattr(request, "undrained", None)
    if told is None:
        told = request.undrained = undrained_count(request.user)
    return int(told)


@register.simple_tag(takes_context=True)
def alarms(context: template.Context) -> Counts:
    """The open alerts, for staff; of none for everybody else."""
    return _alarms(context)


def _alarms(context: template.Context) -> Counts:
    """Counted once for a page."""
    request = context["request"]
    told: Counts | None = getattr(request, "alarms", None)
    if told is None:
        told = request.alarms = counts() if sees_all(request.user) else Counts()
    return told


@register.simple_tag
def delivery_look(delivery: Delivery) -> Look:
    """How it went with a message of an alert."""
    return alert_words.DELIVERIES[delivery.state]


register.simple_tag(alert_words.event_word, name="event_word")


@register.simple_tag
def act_url(thing: str, act: str, number: int) -> str:
    """Where an act on one thing of a kind posts to: ``{% act_url "group" "take" 7 %}``."""
    return reverse(f"{thing}-{act}", args=[number])


@register.simple_tag
def message_act(message: Message) -> MessageAct | None:
    """What can be done from within this message: an undo, or a look; None if nothing."""
    return act_of(message.extra_tags or "")


@register.filter
def age(at: datetime | None) -> str:
    """How long ago, without the word: ``12 s``."""
    return formats.duration(None if at is None else (timezone.now() - at).total_seconds())


@register.filter
def shown(text: object) -> str:
    """Any text on one line, with what cannot be seen spelled out, and cut where nobody reads on."""
    return one_line(str(text or ""), LONGEST_LINE)


@register.filter
def what_failed(letter: DeadLetter) -> str:
    """A dead letter's error for the tenant's people: its very words, without what they may not see."""
    return one_line(shown_error(letter), LONGEST_LINE).strip() or letter.get_reason_display()


@register.filter
def is_job_id(text: object) -> bool:
    """Whether a job's page can have this address."""
    return bool(JOB_ID.fullmatch(str(text or "")))


register.filter("plain_name", job_words.plain_name)
register.filter("in_list", in_list)


@register.filter
def reason_word(reason: str) -> str:
    """Why a job gave up, in words."""
    return job_words.REASONS.get(reason, reason)


@register.simple_tag
def outcome(name: str, staff: object) -> Look:
    """How an attempt's end looks to staff, or to a tenant's people."""
    return job_words.outcome_of(name, staff=bool(staff))


register.simple_tag(job_words.look_of, name="job_look")
register.filter("limit", formats.limit)


@register.simple_tag
def retries_are_many(of_all: bool = False) -> str:
    """When retries are called many, as the help text of their number."""
    most = RETRY_LIMIT_OF_ALL if of_all else RETRY_LIMIT
    return f"Many: more than {most * 100:g}% of starts, once there were {RETRY_STARTS} starts in 5 minutes"


@register.filter
def owned_by(text: str) -> str:
    """What decided whose a letter or a cause is: ``rule: job=billing.*``, ``the default team: no rule matched``."""
    return owned_words(text)
