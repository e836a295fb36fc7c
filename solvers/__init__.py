"""Solve instances: one file per technique. Solvers never formulate."""
