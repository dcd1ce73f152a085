"""A module of job types that cannot be imported."""

raise RuntimeError("broken on purpose")
