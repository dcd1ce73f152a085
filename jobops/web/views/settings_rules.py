"""Ownership rules, ``/settings/rules/``: whose a dead letter is; edited beside what the text would do."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from dlq.access import MAX_ID
from dlq.models import RuleSet
from dlq.owners.parsing import LONGEST_TEXT, MOST_RULES, SEVERITIES
from dlq.owners.rule import FIELDS
from dlq.owners.saving import InvalidRules, RulesChanged, Saved, rules_save
from dlq.owners.versions import diff, newest_rules
from jobops.web.selectors.settings_rules import forget, preview_of, version_before, versions
from jobops.web.settings_words import effect_words, returned_words, rules_title, saved_words
from jobops.web.views.settings import check_configures, check_sees, may_configure


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """The rules in force, in an editor, with what they would do."""
    check_sees(request)
    newest = newest_rules()
    return _page(request, newest.text if newest is not None else "", newest)


@require_POST
def preview(request: HttpRequest) -> HttpResponse:
    """What a text would do: a fragment for who types, the whole page for who has no script."""
    check_sees(request)
    text = _text(request)
    if request.headers.get("HX-Request"):
        return render(request, "settings/rules_preview.html", _preview(text))
    return _page(request, text, newest_rules())


@require_POST
def save(request: HttpRequest) -> HttpResponse:
    """Put a text in force; one that cannot be is shown again, with what is wrong beside its lines."""
    check_configures(request)
    base = request.POST.get("base", "")
    text, note = _text(request), request.POST.get("note", "")
    try:
        saved = rules_save(text=text, by=request.user, note=note, base=_number(base))
    except InvalidRules:
        messages.error(request, "Nothing was saved: some lines must be mended first.")
        return _page(request, text, newest_rules(), note=note, status=422)
    except RulesChanged as error:
        messages.error(request, f"Nothing was saved: {error}.")
        return _page(request, text, newest_rules(), note=note, status=409)
    return _told(request, saved)


@require_safe
def version(request: HttpRequest, version_id: int) -> HttpResponse:
    """One version: what it changed, and how the rules in force differ from it."""
    check_sees(request)
    shown, newest = _version(version_id), newest_rules()
    before = version_before(shown)
    context = {
        "version": shown,
        "before": before,
        "changed": diff(before.text if before is not None else "", shown.text),
        "in_force": newest is not None and newest.pk == shown.pk,
        "newest": newest,
        "since": diff(newest.text, shown.text) if newest is not None else [],
        "may": may_configure(request),
    }
    return render(request, "settings/rules_version.html", context)


@require_POST
def restore(request: HttpRequest, version_id: int) -> HttpResponse:
    """Put an older version in force again, as a new one."""
    check_configures(request)
    shown = _version(version_id)
    try:
        saved = rules_save(text=shown.text, by=request.user, note=f"version {shown.pk} again")
    except InvalidRules:
        messages.error(request, "It cannot be in force as it was: some lines must be mended first.")
        return _page(request, shown.text, newest_rules(), status=422)
    return _told(request, saved)


@require_safe
def export(request: HttpRequest) -> HttpResponse:
    """The rules in force as a text file."""
    check_sees(request)
    newest = newest_rules()
    answer = HttpResponse(newest.text if newest is not None else "", content_type="text/plain; charset=utf-8")
    answer.headers["Content-Disposition"] = f'attachment; filename="rules-{newest.pk if newest is not None else 0}.txt"'
    return answer


def _page(
    request: HttpRequest, text: str, newest: RuleSet | None, *, note: str = "", status: int = 200
) -> HttpResponse:
    shown = _preview(text)
    context = {
        **shown,
        "title": rules_title(len(shown["found"].checked.rules), shown["found"].effect.held),
        "text": text,
        "note": note,
        "newest": newest,
        "versions": versions(),
        "fields": tuple(FIELDS),
        "severities": SEVERITIES,
        "most": {"rules": MOST_RULES, "text": LONGEST_TEXT},
        "may": may_configure(request),
    }
    return render(request, "settings/rules.html", context, status=status)


def _preview(text: str) -> dict[str, Any]:
    found = preview_of(text)
    return {"found": found, "effect": effect_words(found.effect), "returned": returned_words(found.effect)}


def _told(request: HttpRequest, saved: Saved) -> HttpResponse:
    forget()
    (messages.success if saved.is_new else messages.info)(request, saved_words(saved))
    return redirect("rules")


def _text(request: HttpRequest) -> str:
    # One more than is taken: that it is too long is said, and not hidden by cutting it.
    return request.POST.get("text", "").replace("\r\n", "\n")[: LONGEST_TEXT + 1]


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _version(version_id: int) -> RuleSet:
    if not 0 < version_id <= MAX_ID:
        raise Http404("No such version.")
    return get_object_or_404(RuleSet, pk=version_id)
