"""Bounds of work directories."""
