"""Solvers of the work directory family."""
