"""Solvers of instances; their programs are formulated in ``models``."""
