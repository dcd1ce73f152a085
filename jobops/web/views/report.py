"""How the teams keep their drain SLAs, ``/dlq/report/``. For staff."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from dlq.clock.report import report
from dlq.clock.report_rows import COLUMNS, report_rows
from jobops.spreadsheets import csv_lines
from jobops.web.report_words import report_title
from jobops.web.selectors.report import asked, report_page
from jobops.web.views.settings import check_sees


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """The report of a period, of all teams or one."""
    check_sees(request)
    if "" in request.GET.values():
        # A form sends its empty fields too; the address says only what is asked for.
        given = [(name, str(value)) for name, value in request.GET.items() if value]
        return redirect(f"{request.path}?{urlencode(given)}")
    found = report_page(request.GET, timezone.now())
    return render(request, "report/page.html", {"page": found, "title": report_title(found.report, found.team)})


@require_safe
def export(request: HttpRequest) -> HttpResponseBase:
    """The same as CSV: a line for each team, and one for all."""
    check_sees(request)
    now = timezone.now()
    period, team, _faults = asked(request.GET, now)
    lines = csv_lines(COLUMNS, report_rows(report(period, now, team)))
    name = f"drain-report-{timezone.localdate(period.since):%Y-%m-%d}-{timezone.localdate(period.until):%Y-%m-%d}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8", headers=headers)
