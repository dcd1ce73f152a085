"""The audit: append-only rows that say who changed what, when, why, and in which request."""
