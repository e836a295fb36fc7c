"""Solvers: one file per technique. Solvers never formulate."""
