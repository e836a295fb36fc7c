"""Solvers of work directories."""
