"""Ownership: whose a dead letter is, by rule, by contract or by hand."""
