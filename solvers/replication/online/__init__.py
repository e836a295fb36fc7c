"""Dispatchers of workflows that plan ahead while they run."""
