"""Searches that improve whole schedules: annealing and the link-aware search."""
