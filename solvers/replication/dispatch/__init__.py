"""Dispatchers of workflows, which decide while they run: one module each."""
