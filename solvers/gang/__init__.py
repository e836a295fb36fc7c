"""Solvers of the gang family."""
