"""The table that a person reads and the JSON document that a script reads."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("django", "rq", "rq-scheduler", "redis", "hiredis")


@dataclass(frozen=True)
class Row:
    """One figure. ``ratio``: against the row it is compared with, measured in the same run; None for a base."""

    name: str
    value: float
    unit: str
    ratio: float | None = None


def arguments(description: str, **options: tuple[int | str, str]) -> argparse.Namespace:
    """Parses ``--json`` and the whole numbers and texts given as name=(default, help)."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    for name, (default, text) in options.items():
        shown = f"{text} (default {default})" if default != "" else text
        parser.add_argument(f"--{name}", type=type(default), default=default, help=shown)
    return parser.parse_args()


def show(rows: list[Row], as_json: bool, redis_version: str, more: Mapping[str, str] | None = None) -> None:
    """Prints the rows. ``more``: versions of what is measured beside ours."""
    versions = {name: version(name) for name in PACKAGES} | dict(more or {})
    versions |= {"python": platform.python_version(), "redis-server": redis_version}
    machine = {"cpu": _cpu(), "cores": os.cpu_count(), "system": f"{platform.system()} {platform.release()}"}
    if as_json:
        print(json.dumps({"machine": machine, "versions": versions, "rows": [asdict(row) for row in rows]}, indent=1))
        return
    print(f"{machine['cpu']}, {machine['cores']} cores; " + ", ".join(f"{k} {v}" for k, v in versions.items()))
    width = max(len(row.name) for row in rows)
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:8.2f} ×"
        print(f"{row.name:<{width}}  {row.value:>12,.2f} {row.unit:<8} {ratio}")


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()
