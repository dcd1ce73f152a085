"""Calling the Lua commands: loading, one round trip for many, and errors in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redis import Redis
from redis.exceptions import NoScriptError, ResponseError

from jobops.engine.direct import Direct
from jobops.engine.errors import EngineUnavailable
from jobops.engine.keys import Keys
from jobops.engine.lua_source import names, source


class Commands:
    """Carries calls to one Redis, over ``direct`` where that is given. Raises redis-py's ConnectionError and
    TimeoutError when Redis is away."""

    def __init__(self, redis: Redis, keys: Keys | None = None, direct: Direct | None = None) -> None:
        self.redis = redis
        self.keys = keys or Keys()
        self._direct = direct or Direct(redis)
        self._shas: dict[str, str] = {}
        self._prefix = self.keys.prefix

    def load(self) -> None:
        """Loads all commands into Redis, so that no later call pays for it."""
        for name in names():
            self._sha(name)

    def _sha(self, name: str) -> str:
        sha = self._shas.get(name)
        if sha is None:
            sha = self._shas[name] = str(self.redis.script_load(source(name)))
        return sha

    def _call(self, name: str, *args: Any) -> Any:
        try:
            return self._direct.call(self._shas.get(name) or self._sha(name), 0, self._prefix, *args)
        except NoScriptError:  # Redis restarted or its scripts were flushed; it did nothing, so once more is safe
            self._shas.pop(name, None)
            return self._direct.call(self._sha(name), 0, self._prefix, *args)
        except ResponseError as error:
            raise _explain(name, error) from error

    def _pipeline(self, name: str, calls: Sequence[Sequence[Any]]) -> list[Any]:
        if not calls:
            return []
        sha = self._sha(name)
        answers = self._direct.many([(sha, 0, self._prefix, *args) for args in calls])
        lost = [place for place, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
        if lost:  # Redis restarted in the middle: these did nothing
            self._shas.pop(name, None)
            for place, answer in zip(lost, self._pipeline(name, [calls[place] for place in lost]), strict=True):
                answers[place] = answer
        return answers


def _explain(name: str, error: ResponseError) -> Exception:
    text = str(error)
    if "user_script" in text or text.startswith("ERR Error running script"):
        return EngineUnavailable(f"{name}: Redis refused its arguments or holds data of another form ({text[:300]})")
    return error
