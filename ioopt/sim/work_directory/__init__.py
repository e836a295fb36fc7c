"""Replay the plans of work directories, and dispatch their tasks."""
