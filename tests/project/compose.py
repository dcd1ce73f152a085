"""The files for containers, read as Docker reads them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("web", "worker", "scheduler", "migrate")
DOCKERFILE = (ROOT / "Dockerfile").read_text()

_VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<rest>[^}]*))?\}")


def resolved(text: str, given: dict[str, str]) -> str:
    """A value with its variables filled in; one that must be set and is not raises KeyError."""

    def value(match: re.Match[str]) -> str:
        name = match["name"]
        if given.get(name):
            return given[name]
        if match["kind"] == "-":
            return match["rest"]
        raise KeyError(name)

    return _VARIABLE.sub(value, text)


def variables() -> dict[str, str]:
    """Every variable that the compose file takes from outside, with its default; required ones have none."""
    found = _VARIABLE.finditer((ROOT / "docker-compose.yml").read_text())
    return {match["name"]: match["rest"] if match["kind"] == "-" else "" for match in found}


def environment(service: str, **given: str) -> dict[str, str]:
    """What the processes of a service find in their environment."""
    return {name: resolved(str(value), given) for name, value in SERVICES[service]["environment"].items()}


def command(service: str) -> list[str]:
    """A service's command, split into words."""
    value = SERVICES[service]["command"]
    return shlex.split(value) if isinstance(value, str) else list(value)


def check(service: str) -> list[str]:
    """What its health check runs."""
    test = SERVICES[service]["healthcheck"]["test"]
    assert test[0] == "CMD"
    return [str(word) for word in test[1:]]


def seconds(text: str) -> float:
    """A duration as compose files write it."""
    units = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+)(ms|s|m|h)", text))


def instructions(name: str) -> list[str]:
    """The Dockerfile's instructions of this name, each on one line."""
    whole = re.sub(r"\\\n\s*", " ", DOCKERFILE)
    return [line.partition(" ")[2] for line in whole.splitlines() if line.startswith(f"{name} ")]
