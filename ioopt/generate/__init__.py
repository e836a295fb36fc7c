"""Seeded workload generators, one module per family."""
