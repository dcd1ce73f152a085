"""The catalog as one JSON document. Durations are seconds."""

from __future__ import annotations

from typing import Any

from jobops.contracts.catalog.design import Catalog, Chapter, JobDesign, Line
from jobops.contracts.catalog.promises import ALERTS


def as_document(catalog: Catalog) -> dict[str, Any]:
    """The whole design, for ``json.dumps``."""
    at = catalog.measured_at
    return {
        "version": catalog.version,
        "measured_at": at.isoformat(timespec="seconds").replace("+00:00", "Z") if at else None,
        "not_measured": catalog.missing or None,
        "jobs": [_job(job) for job in catalog.jobs],
        **{chapter.key: _chapter(chapter) for chapter in catalog.chapters},
        "checks": lines_as_documents(catalog.lines),
        "broken": catalog.broken,
    }


def lines_as_documents(lines: tuple[Line, ...]) -> list[dict[str, Any]]:
    """The checked lines with what breaks each."""
    return [
        {
            "key": line.key,
            "line": line.promise,
            "state": line.state.value,
            "held": line.held,
            "of": line.of,
            "note": line.note or None,
            "measured": line.measured or None,
            "failures": [{"subject": each.subject, "text": each.text} for each in line.failures],
        }
        for line in lines
    ]


def _job(job: JobDesign) -> dict[str, Any]:
    times = job.run_times
    return {
        "job": job.name,
        "defined_in": job.defined_in,
        "aliases": list(job.aliases),
        "trigger": job.trigger,
        "expected_duration": {
            "average": times.average_s,
            "p99": times.p99_s,
            "runs": times.runs,
            "over": times.over_s or None,
        },
        "side_effects": job.side_effects or None,
        "guard": job.guard or None,
        "idempotency": job.idempotent or None,
        "lane": job.lane,
        "contract": _contract(job),
    }


def _contract(job: JobDesign) -> dict[str, Any]:
    sorts = job.classifier
    return {
        "idempotency_key_or_guard": job.guard or None,
        "on_unknown": job.on_unknown if job.guard else None,
        "dedup_window": job.dedup_window_s,
        "on_full": job.on_full,
        "result_ttl": job.result_ttl_s,
        "result_ttl_by_default": not job.promises_result_ttl,
        "keep_results": job.keep_results,
        "resource": job.limits.resource or None,
        "concurrency": job.limits.concurrency,
        "rate": job.limits.rate or None,
        "limits_declared_by": list(job.limits.by),
        "limits_changed": job.limits.changed or None,
        "attempts": job.attempts,
        "backoff": job.backoff,
        "jitter": job.jitter,
        "retry_on": list(sorts.retry),
        "poison_on": list(sorts.poison),
        "discard_on": list(sorts.discard),
        "raised_in_code": list(sorts.in_code),
        "otherwise": "retry",
        "lease": job.lease_s,
        "timeout": job.timeout_s,
        "p99": job.run_times.p99_s,
        "owner": job.owner,
        "owner_by_default": not job.promises_owner,
        "drain_sla": job.drain_sla_s,
        "drain_sla_by_default": not job.promises_sla,
        "alert": list(ALERTS),
        "checkpoint_granularity": "in code" if job.checkpoints else None,
        "redact": list(job.redacted),
    }


def _chapter(chapter: Chapter) -> dict[str, Any]:
    keys = [column.replace(" ", "_") for column in chapter.columns]
    rows = [dict(zip(keys, (cell or None for cell in row), strict=True)) for row in chapter.rows]
    return {"title": chapter.title, "intro": chapter.intro, "rows": rows}
