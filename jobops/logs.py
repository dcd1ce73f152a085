"""How the processes log: one line an event on stderr, as text for people or as JSON for machines."""

from __future__ import annotations

import logging
from typing import Any

import structlog

FORMATS = ("text", "json")
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")

_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def as_one_warning(record: logging.LogRecord) -> bool:
    """Make one line of an event that strangers cause at will: a request for a host that is not ours is no fault."""
    record.levelno, record.levelname = logging.WARNING, "WARNING"
    record.exc_info = record.exc_text = record.stack_info = None
    return logging.getLogger(record.name).isEnabledFor(logging.WARNING)


def configure(style: str, level: str) -> dict[str, Any]:
    """Set structlog up to speak through `logging`, and return Django's LOGGING for `style` (text or json)."""
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    # By default it would use rich where that is installed, which prints the local variables of every frame: arguments
    # that a contract redacts, and passwords.
    renderer: Any = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    if style == "json":
        renderer = structlog.processors.JSONRenderer()
    last = [structlog.processors.format_exc_info] if style == "json" else []
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": "structlog.stdlib.ProcessorFormatter",
                "foreign_pre_chain": _SHARED,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last, renderer],
            }
        },
        "filters": {"one warning": {"()": lambda: as_one_warning}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            "django": {"handlers": [], "level": level, "propagate": True},
            "django.security.DisallowedHost": {"filters": ["one warning"]},
        },
    }
