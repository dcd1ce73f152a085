"""The catalog, ``/catalog/``: the execution design of the running code. For staff."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from jobops.contracts.catalog.document import as_document
from jobops.contracts.catalog.markdown import as_markdown
from jobops.contracts.catalog.summary import summary
from jobops.web.selectors.catalog import catalog_now, catalog_page
from tenants.access import can
from tenants.roles import Action

FILE = "execution-design"


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """The whole page; with ``?format=markdown`` or ``?format=json`` the document, to be saved."""
    allowed = can(request.user, Action.SEE_FLEET)
    if not allowed:
        raise PermissionDenied(allowed.reason)
    form = request.GET.get("format")
    if form == "markdown":
        return _saved(HttpResponse(as_markdown(catalog_now()), content_type="text/markdown; charset=utf-8"), "md")
    if form == "json":
        document = JsonResponse(as_document(catalog_now()), json_dumps_params={"ensure_ascii": False, "indent": 2})
        return _saved(document, "json")
    return render(request, "catalog/page.html", _context())


def _saved(answer: HttpResponse, suffix: str) -> HttpResponse:
    answer["Content-Disposition"] = f'attachment; filename="{FILE}.{suffix}"'
    return answer


def _context() -> dict[str, Any]:
    found = catalog_page()
    return {"page": found, "title": summary(found.catalog)}
