"""Alerts: signals from everywhere, thresholds, episodes, silences, and the channels that people are told through."""
