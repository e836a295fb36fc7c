"""Searches over whole schedules: annealing and the link-aware search."""
