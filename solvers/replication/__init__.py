"""Solvers of the replication family."""
