"""Solvers of the batch_io family."""
