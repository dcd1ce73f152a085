"""Numbers about the running system, read from the engine: what the overview and the exporters show."""
