"""Solvers of the flexgang family."""
