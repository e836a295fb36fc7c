"""Solvers of the flexible gang family."""
