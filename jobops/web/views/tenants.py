"""The list of tenants, ``/tenants/``."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from jobops.web import words
from jobops.web.selectors.tenants import tenant_list
from jobops.web.tables import OwnTenantTable, TenantTable
from jobops.web.views.live import away_is_said
from jobops.web.views.overview import LONGEST_SEARCH
from tenants.access import sees_all, tenants_visible_to


@require_safe
@away_is_said
def page(request: HttpRequest) -> HttpResponse:
    """The tenants this person may see, by name, fifty a page."""
    find = "".join(filter(str.isprintable, request.GET.get("find", ""))).strip()[:LONGEST_SEARCH]
    found, lines, shot = tenant_list(request.user, request.GET, find)
    visible = tenants_visible_to(request.user)
    staff = sees_all(request.user)
    context = {
        "slice": found,
        "table": TenantTable(lines) if staff else OwnTenantTable(lines),
        "find": find,
        "as_of": shot.fleet.read_at,
        "staff": staff,
        "title": words.tenants_title(
            [shot.rows[slug] for slug in visible.values_list("slug", flat=True) if slug in shot.rows]
        ),
    }
    return render(request, "tenants/list.html", context)
