"""The audit, ``/audit/``: who changed what, when and why. Its export is for superusers."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from jobops.audit import filters, reading, recording
from jobops.audit.exporting import FORMATS
from jobops.web.audit_access import asked
from jobops.web.audit_filter_words import filter_words
from jobops.web.audit_words import audit_title
from jobops.web.selectors.audit import audit_form, audit_page
from tenants.access import can
from tenants.roles import Action


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """Fifty rows, the newest first."""
    wanted, faults = filters.parse(request.GET)
    found = audit_page(request.user, wanted, request.GET)
    context = {
        "page": found,
        "slice": found.slice,
        "staff": found.staff,
        "title": audit_title(found.count, found.by_people, narrowed=not wanted.is_empty),
        "wanted": wanted,
        "faults": faults,
        "fields": audit_form(request.user, request.GET, faults),
        "words": filter_words(wanted, staff=found.staff),
        "may_export": can(request.user, Action.EXPORT_AUDIT),
        "as_of": timezone.now(),
    }
    return render(request, "audit/page.html", context)


@require_POST
def export(request: HttpRequest) -> HttpResponseBase:
    """All rows that the filter in the query string asks for, the oldest first, as a file. It is in the audit itself."""
    allowed = can(request.user, Action.EXPORT_AUDIT)
    if not allowed:
        raise PermissionDenied(allowed.reason)
    wanted, _faults = filters.parse(request.GET)
    style = "csv" if request.POST.get("format") == "csv" else "jsonl"
    lines, content_type = FORMATS[style]
    # Its own row stays out, and so does what is changed while it is being read.
    up_to = reading.newest_id()
    parts = [part.filter(id__lte=up_to) for part in asked(request.user, wanted)]
    done = {"filter": wanted.as_query(), "format": style, "up_to": up_to}
    recording.record(request.user, recording.Change("audit.export", "audit", "export", after=done))
    response = StreamingHttpResponse(lines(reading.walk(parts)), content_type=content_type)
    response.headers["Content-Disposition"] = f'attachment; filename="audit-{timezone.now():%Y%m%d-%H%M%S}.{style}"'
    return response
