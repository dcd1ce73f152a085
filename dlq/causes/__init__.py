"""Causes: which dead letters are one, how many each has, and what people decided about it."""
