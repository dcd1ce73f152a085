"""Finds the job types: ``jobs.py`` of every installed app, and each module of ``JOBOPS_JOB_MODULES``.

A module that cannot be imported must not take the site down with it: it is kept for the system check.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterable
from dataclasses import dataclass

from jobops.contracts.error_text import class_of, shown_message, shown_traceback

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ImportFault:
    """A module of job types that could not be imported."""

    module: str
    error_class: str
    error: str
    traceback: str


_faults: tuple[ImportFault, ...] = ()


def discover(modules: Iterable[str] = ()) -> tuple[ImportFault, ...]:
    """Import ``jobs`` of every installed app, and ``modules``. Answers with those that could not be imported."""
    global _faults
    found: list[ImportFault] = []
    for name in dict.fromkeys((*_app_modules(), *modules)):
        try:
            importlib.import_module(name)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a module may do anything while it is imported
            logger.error("job module %s cannot be imported: %s: %s", name, class_of(error), shown_message(error))
            found.append(ImportFault(name, class_of(error), shown_message(error), shown_traceback(error)))
    _faults = tuple(found)
    return _faults


def import_faults() -> tuple[ImportFault, ...]:
    """What the last ``discover`` could not import."""
    return _faults


def _app_modules() -> list[str]:
    from django.apps import apps
    from django.utils.module_loading import module_has_submodule

    return [
        f"{app.name}.jobs"
        for app in apps.get_app_configs()
        if app.module is not None and module_has_submodule(app.module, "jobs")
    ]
