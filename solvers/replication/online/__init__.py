"""Dispatchers of workflows that plan ahead while tasks run."""
