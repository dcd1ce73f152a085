"""`python -m tests.lint_lua`: luacheck over the engine's commands as Redis gets them, includes in front."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from jobops.engine import lua_source
from tests import tools

EXPANDED = Path("var/lua")


def main() -> int:
    """Write the expanded commands to `EXPANDED` and check them; returns the exit code."""
    program = shutil.which("luacheck")
    if program is None:
        print("left out: luacheck, because it is not installed (Debian: lua-check)")
        return int(tools.everything_must_run())
    shutil.rmtree(EXPANDED, ignore_errors=True)
    EXPANDED.mkdir(parents=True)
    for name in lua_source.names():
        (EXPANDED / f"{name}.lua").write_text(lua_source.source(name))
    command = [program, "--no-color", "--quiet", "--config", ".luacheckrc", EXPANDED]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
