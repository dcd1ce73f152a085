"""Batches: many jobs that somebody waits for as one."""
