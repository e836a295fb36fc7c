"""Replay and dispatch of work directories."""
