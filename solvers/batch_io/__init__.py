"""Solvers of the batch I/O family."""
