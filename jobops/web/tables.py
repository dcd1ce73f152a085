"""Tables of lists. Cells are text, or HTML built by ``format_html``: whatever a job or a person wrote stays text."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import django_tables2 as tables
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dlq.models import DeadLetter
from dlq.payloads import shown_error
from dlq.text import one_line
from jobops.web import formats
from jobops.web.selectors.tenants import TenantLine
from jobops.web.tags import icon, when

RIGHT = {"th": {"class": "r"}, "td": {"class": "r"}}


def _quiet(value: float | None) -> SafeString | str:
    return formats.number(value) if value else format_html('<span class="n0">{}</span>', formats.number(value))


class TenantTable(tables.Table):
    """Every tenant a person may see, with its limits and what it is doing."""

    slug = tables.Column("Tenant", orderable=False)
    state = tables.Column("State", accessor="look", orderable=False)
    weight = tables.Column(accessor="tenant__weight", orderable=False, attrs=RIGHT)
    cap = tables.Column("Running / cap", accessor="running", orderable=False, attrs=RIGHT)
    depth = tables.Column("Waiting", orderable=False, attrs=RIGHT)
    depth_limit = tables.Column(
        "Depth limit", accessor="tenant__depth_limit", empty_values=(), orderable=False, attrs=RIGHT
    )
    ended = tables.Column("Ended, /min", accessor="per_minute", orderable=False, attrs=RIGHT)
    dead = tables.Column("Dead letters", accessor="dead_open", orderable=False, attrs=RIGHT)

    class Meta:
        template_name = "tables/jt.html"
        attrs = {"class": "jt tl"}
        row_attrs = {"id": lambda record: f"t-{record.slug}"}

    def render_slug(self, value: str, record: TenantLine) -> SafeString:
        name = record.tenant.name if record.tenant.name != value else ""
        note = format_html('<span class="note-l">{}</span>', name) if name else ""
        return format_html('<a class="q b" href="{}">{}</a>{}', reverse("tenant", args=[value]), value, note)

    def render_state(self, value: Any) -> SafeString:
        return format_html('<span class="st st-{}">{}{}</span>', value.tone, icon(value.icon), value.word)

    def render_weight(self, value: float) -> str:
        return f"{value:g}"

    def render_cap(self, value: int, record: TenantLine) -> SafeString:
        return format_html('{}<span class="of"> / {}</span>', _quiet(value), formats.limit(record.tenant.cap))

    def render_depth(self, value: int) -> SafeString | str:
        return _quiet(value)

    def render_depth_limit(self, value: int | None) -> SafeString | str:
        return formats.number(value) if value else format_html('<span class="n0">{}</span>', formats.limit(value))

    def render_ended(self, value: float) -> SafeString | str:
        return formats.decimal(value) if value else format_html('<span class="n0">{}</span>', "0.0")

    def render_dead(self, value: int) -> SafeString | str:
        return _quiet(value)


class OwnTenantTable(tables.Table):
    """The same for a tenant's people: what their jobs do, and how many may run."""

    slug = tables.Column("Tenant", orderable=False)
    state = tables.Column("State", accessor="look", orderable=False)
    running = tables.Column("Running", orderable=False, attrs=RIGHT)
    depth = tables.Column("Waiting", orderable=False, attrs=RIGHT)
    dead = tables.Column("Did not work", accessor="dead_open", orderable=False, attrs=RIGHT)

    class Meta:
        template_name = "tables/jt.html"
        attrs = {"class": "jt tl"}
        row_attrs = {"id": lambda record: f"t-{record.slug}"}

    render_slug = TenantTable.render_slug
    render_state = TenantTable.render_state
    render_depth = TenantTable.render_depth

    def render_running(self, value: int, record: TenantLine) -> SafeString | str:
        cap = record.tenant.cap
        return _quiet(value) if cap is None else format_html('{}<span class="of"> of {}</span>', _quiet(value), cap)

    def render_dead(self, value: int, record: TenantLine) -> SafeString | str:
        if not value:
            return _quiet(value)
        url = f"{reverse('dlq')}?{urlencode({'tenant': record.slug})}"
        return format_html('<a class="q" href="{}">{}</a>', url, formats.number(value))


class LetterTable(tables.Table):
    """Dead letters of one tenant, newest first."""

    dead_at = tables.Column("Died", orderable=False)
    job_type = tables.Column("Job", orderable=False)
    error = tables.Column("Ended with", accessor="error_class", empty_values=(), orderable=False)
    attempts = tables.Column("Attempts", orderable=False, attrs=RIGHT)
    owner = tables.Column("Owner", orderable=False)
    due_at = tables.Column("Due", orderable=False)

    class Meta:
        template_name = "tables/jt.html"
        attrs = {"class": "jt dl"}
        row_attrs = {"id": lambda record: f"d-{record.pk}"}

    def render_dead_at(self, value: Any) -> SafeString | str:
        return when(value, "ago")

    def render_job_type(self, value: str, record: DeadLetter) -> SafeString:
        return format_html(
            '<a class="q b mono" href="{}">{}</a>', reverse("letter", args=[record.pk]), one_line(value, 120)
        )

    def render_error(self, record: DeadLetter) -> SafeString:
        text = one_line(shown_error(record) or record.get_reason_display(), 160)
        label = one_line(record.error_class, 80) or record.get_reason_display()
        return format_html('<b>{}</b><span class="note-l">{}</span>', label, text)

    def render_due_at(self, value: Any, record: DeadLetter) -> SafeString:
        return format_html('<span class="{}">{}</span>', "hot" if record.is_overdue else "", when(value, "due"))
