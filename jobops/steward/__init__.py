"""The time-driven duties of the leading scheduler, one small file each. Each is right when two do it at once."""
