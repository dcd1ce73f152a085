"""Limits and pauses of job types and resources: declared in contracts, changed and paused by operators."""
